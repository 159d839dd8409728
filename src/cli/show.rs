//! `paramill show`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::arguments::Show;
use super::dataset_arguments::ShowDataset;
use super::kinds::{A_DATASET, lead_to, recognise};
use super::output::{complain, number, print, print_file, print_json, table};
use crate::checkpoint::Opened;
use crate::dataset::{Dataset, Manifest, SplitSurvey, ValueRange, damaged, first_trajectories, survey};
use crate::estimate;
use crate::estimate::{ParameterEstimate, Status};
use crate::pipeline::{Cell, Error, Locations, Plan, Sweep, check_manifest, load_system, read_manifest};
use crate::report::{MOST_TRAJECTORIES, draw_trajectories};
use crate::schema::{Input, Quantity, Split};
use crate::systems::{Equations, StartSetting, StateEquation, Values};

/// Environments shown of a split.
const MOST_ESTIMATES: usize = 50;
/// Exit code if a file of a dataset is damaged.
const BAD_DATA: u8 = 3;

pub(crate) fn show(command: &Show) -> Result<u8, Error> {
    recognise(&command.path)?;
    let opened = Opened::new(&command.path)?;
    if let Some(directory) = Some(opened.directory()).filter(|directory| directory.is_dir()) {
        let manifest = read_manifest(directory)?;
        check_manifest(directory, &manifest)?;
        if command.json {
            print_json(&manifest);
        } else {
            match serde_json::from_value::<Manifest>(manifest.clone()) {
                Ok(dataset) if dataset.kind == "dataset" => print(&dataset_card(&dataset)),
                _ if manifest["kind"] == "estimates" => print(&estimates_table(directory)?),
                _ => print(&tree(&manifest, 0)),
            }
        }
        return Ok(0);
    }
    if let Some(equations) = load_system(&command.path) {
        let equations = equations.map_err(Error::Problems)?;
        if command.json {
            print_json(&json!(equations));
        } else {
            print(&system_card(&equations));
        }
        return Ok(0);
    }
    if let Some(sweep) = Sweep::load(&command.path, &command.set, &Locations::default()).map_err(Error::Problems)? {
        let cell = |it: &Cell| json!({ "cell": it.name, "labels": it.labels, "settings": it.plan.effective_json() });
        match command.json {
            true => {
                print_json(&json!({ "sweep": sweep.name, "cells": sweep.cells.iter().map(cell).collect::<Vec<_>>() }))
            }
            false => print_file(&sweep.effective_toml()),
        }
        return Ok(0);
    }
    let plan = Plan::load(&command.path, &command.set, &Locations::default()).map_err(Error::Problems)?;
    if command.json {
        let settings = plan.effective_json();
        print_json(&json!({ "pipeline": plan.name, "stages": plan.stages(), "settings": settings }));
    } else {
        print_file(&plan.effective_toml());
    }
    Ok(0)
}

/// The estimates of each split, one environment a line, parameters with 95 % intervals.
fn estimates_table(directory: &Path) -> Result<String, Error> {
    let (manifest, _) = estimate::Manifest::read(directory)?;
    let mut text = String::new();
    for &split in &manifest.splits {
        let mut header = vec!["environment".to_owned(), "status".to_owned()];
        header.extend((!manifest.models.is_empty()).then(|| "model".to_owned()));
        header.extend(manifest.parameters.iter().map(|it| format!("{} ({})", it.name, it.unit)));
        let (mut statuses, mut first) = (BTreeMap::<Status, usize>::new(), Vec::new());
        for row in estimate::rows(directory, &manifest, split)? {
            let row = row?;
            *statuses.entry(row.status).or_default() += 1;
            if first.len() < MOST_ESTIMATES {
                first.push(row);
            }
        }
        // Without parameters, contexts are what distinguishes environments.
        let contexts =
            if manifest.parameters.is_empty() { first.first().map_or(0, |row| row.context.len()) } else { 0 };
        let tested = first.iter().any(|row| row.test_mse.is_some());
        header.extend((0..contexts).map(|k| format!("context {k}")));
        header.extend(tested.then(|| "test mse".to_owned()));
        header.push("reason".to_owned());
        let mut lines = vec![header];
        for row in &first {
            let value = |it: &ParameterEstimate| match it.lower.is_finite() && it.upper.is_finite() {
                true => format!("{} [{}, {}]", number(it.value), number(it.lower), number(it.upper)),
                false if it.value.is_finite() => number(it.value),
                false => "-".to_owned(),
            };
            let mut cells = vec![row.environment.clone(), row.status.name().to_owned()];
            cells.extend(row.model.clone());
            cells.extend(row.parameters.iter().map(value));
            cells.extend(
                row.context.iter().take(contexts).map(|xi| if xi.is_finite() { number(*xi) } else { "-".to_owned() }),
            );
            if tested {
                cells.push(row.test_mse.map_or("-".to_owned(), number));
            }
            cells.push(row.reason.clone());
            lines.push(cells);
        }
        let what = if manifest.parameters.is_empty() { "" } else { ", each parameter with its 95 % interval" };
        let count: usize = statuses.values().sum();
        let of_each = estimate::statuses_in_words(&statuses);
        let _ = writeln!(text, "{split}: {count} environments ({of_each}){what}\n");
        text += &table(&lines);
        if count > MOST_ESTIMATES {
            let file = directory.join(format!("{split}.parquet"));
            let _ = writeln!(text, "and {} more in {}", count - MOST_ESTIMATES, file.display());
        }
        if !manifest.models.is_empty() {
            let figures = manifest.evaluation.models.iter();
            let preferred: Vec<String> = figures.map(|it| format!("{} in {}", it.model, it.preferred)).collect();
            let file = directory.join(format!("models_{split}.parquet"));
            let _ =
                writeln!(text, "preferred over all splits: {}; all models in {}", preferred.join(", "), file.display());
        }
        if !manifest.of_trajectories.is_empty() {
            text += &trajectories_table(directory, &manifest, split)?;
        }
        text.push('\n');
    }
    text.pop();
    Ok(text)
}

/// The parameters of trajectories of a split, one a line.
fn trajectories_table(directory: &Path, manifest: &estimate::Manifest, split: Split) -> Result<String, Error> {
    let all = estimate::read_trajectories(directory, manifest, split)?;
    let unit =
        |name: &str| manifest.of_trajectories.iter().find(|it| it.name == name).map_or("", |it| it.unit.as_str());
    let mut lines = vec![["environment", "trajectory", "parameter", "value"].map(str::to_owned).to_vec()];
    for it in all.iter().take(MOST_ESTIMATES) {
        let value = match (it.value.is_finite(), it.lower.is_finite() && it.upper.is_finite()) {
            (true, true) => format!("{} [{}, {}]", number(it.value), number(it.lower), number(it.upper)),
            (true, false) => number(it.value),
            (false, _) => "-".to_owned(),
        };
        let parameter = format!("{} ({})", it.parameter, unit(&it.parameter));
        lines.push(vec![it.environment.clone(), it.trajectory.clone(), parameter, value]);
    }
    let mut text = format!("\nof each trajectory, with 95 % intervals\n\n{}", table(&lines));
    if all.len() > MOST_ESTIMATES {
        let file = directory.join(format!("trajectories_{split}.parquet"));
        let _ = writeln!(text, "and {} more in {}", all.len() - MOST_ESTIMATES, file.display());
    }
    Ok(text)
}

/// `paramill dataset show`.
pub(crate) fn show_dataset(command: &ShowDataset) -> Result<u8, Error> {
    if let Some(path) =
        command.plot.as_ref().filter(|path| !path.extension().is_some_and(|it| it == "svg" || it == "png"))
    {
        return Err(Error::Usage(format!(
            "--plot {}: is no .svg or .png; name a file that ends in one",
            path.display()
        )));
    }
    lead_to([(command.dataset.as_path(), A_DATASET)])?;
    let dataset = Dataset::open(&command.dataset)?;
    let surveys = survey(&dataset)?;
    if let Some(path) = &command.plot {
        let trajectories = first_trajectories(&dataset, MOST_TRAJECTORIES)?;
        draw_trajectories(dataset.manifest(), &trajectories, path).map_err(Error::Report)?;
    }
    let damaged = damaged(&command.dataset, dataset.manifest());
    if command.json {
        print_json(&json!({ "manifest": dataset.manifest(), "splits": surveys, "damaged": damaged }));
    } else {
        print(&format!("{}\n{}", dataset_card(dataset.manifest()), ranges(dataset.manifest(), &surveys)));
        for path in &damaged {
            let path = command.dataset.join(path);
            complain(&format!(
                "error: {}: is not as it was recorded; get the dataset again, `paramill dataset verify` says more",
                path.display()
            ));
        }
    }
    Ok(if damaged.is_empty() { 0 } else { BAD_DATA })
}

/// Ranges of time, channels and parameters, by split.
fn ranges(dataset: &Manifest, surveys: &BTreeMap<Split, SplitSurvey>) -> String {
    let shown = |value: Option<f64>| value.map_or_else(String::new, number);
    let cells = |split: &Split, name: &str, unit: &str, range: &ValueRange| {
        vec![split.to_string(), name.to_owned(), unit.to_owned(), shown(range.least), shown(range.greatest)]
    };
    let mut samples = vec![["split", "range of", "unit", "least", "greatest"].map(str::to_owned).to_vec()];
    let header = ["split", "coverage of", "unit", "least", "greatest", "distinct", "unknown"];
    let mut coverage = vec![header.map(str::to_owned).to_vec()];
    for (split, survey) in surveys {
        samples.push(cells(split, "time", &dataset.time_unit, &survey.times));
        let channels = dataset.channels.iter().zip(&survey.channels);
        samples.extend(channels.map(|(channel, range)| cells(split, &channel.name, &channel.unit, range)));
        let inputs = dataset.inputs.iter().map(|input| &input.quantity).zip(&survey.inputs);
        samples.extend(inputs.map(|(input, range)| cells(split, &input.name, &input.unit, range)));
        coverage.extend(dataset.parameters.iter().zip(&survey.parameters).map(|(parameter, it)| {
            let mut row = cells(split, &parameter.name, &parameter.unit, &it.range);
            row.extend([it.distinct.to_string(), it.unknown.to_string()]);
            row
        }));
    }
    let coverage = if dataset.parameters.is_empty() { String::new() } else { format!("\n{}", table(&coverage)) };
    format!("{}{coverage}", table(&samples))
}

fn dataset_card(dataset: &Manifest) -> String {
    let provenance = &dataset.provenance;
    let tolerance = dataset.data_tolerance.map_or("unknown".to_owned(), |tolerance| format!("{tolerance:e}"));
    let seed = provenance.seed.map_or("none".to_owned(), |seed| seed.to_string());
    let mut text = table(&[
        vec!["dataset".to_owned(), dataset.name.clone()],
        vec!["description".to_owned(), dataset.description.clone()],
        vec!["license".to_owned(), dataset.license.clone()],
        vec!["format".to_owned(), dataset.format.to_string()],
        vec!["made by".to_owned(), format!("{} ({})", provenance.tool, provenance.stage)],
        vec!["seed".to_owned(), seed],
        vec!["tolerance".to_owned(), tolerance],
        vec!["time unit".to_owned(), dataset.time_unit.clone()],
    ]);
    for parent in &provenance.parents {
        text.push_str(&format!("made from    {} (sha256 {})\n", parent.name, parent.sha256));
    }
    text.push_str(&format!("\n{}", quantities("channel", &dataset.channels)));
    if !dataset.inputs.is_empty() {
        let mut rows = vec![["input", "unit", "between samples", "description"].map(str::to_owned).to_vec()];
        rows.extend(dataset.inputs.iter().map(|Input { quantity: it, between }| {
            vec![it.name.clone(), it.unit.clone(), between.name().to_owned(), it.description.clone()]
        }));
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if !dataset.parameters.is_empty() {
        text.push_str(&format!("\n{}", quantities("parameter", &dataset.parameters)));
    }
    let columns = if dataset.splits.values().any(|summary| summary.missing > 0) { 7 } else { 6 };
    let header = ["split", "environments", "trajectories", "samples", "shortest", "longest", "missing cells"];
    let mut rows = vec![header[..columns].iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    for (split, it) in &dataset.splits {
        let counts = [it.environments, it.trajectories, it.samples, it.shortest, it.longest, it.missing];
        let counts = counts.map(|count| count.to_string()).into_iter();
        rows.push(std::iter::once(split.to_string()).chain(counts).take(columns).collect());
    }
    text.push_str(&format!("\n{}", table(&rows)));
    if !dataset.import_report.is_empty() {
        let lines: String = dataset.import_report.iter().map(|it| format!("  {}\n", it.text)).collect();
        text.push_str(&format!("\nwhat the import did\n{lines}"));
    }
    let mut rows = vec![["file", "bytes", "sha256"].map(str::to_owned).to_vec()];
    let files = dataset.files.iter();
    rows.extend(files.map(|file| vec![file.path.clone(), file.bytes.to_string(), file.sha256.clone()]));
    text.push_str(&format!("\n{}", table(&rows)));
    text
}

fn system_card(system: &Equations) -> String {
    let mut text = table(&[
        vec!["system".to_owned(), system.name.clone()],
        vec!["description".to_owned(), system.description.clone()],
        vec!["time unit".to_owned(), system.time_unit.clone()],
        vec!["horizon".to_owned(), system.horizon.to_string()],
        vec!["time step".to_owned(), system.time_step.to_string()],
    ]);
    let mut rows = vec![["state", "unit", "initial", "derivative", "description"].map(str::to_owned).to_vec()];
    rows.extend(system.states.iter().map(|state| {
        vec![
            state.name.clone(),
            state.unit.clone(),
            initial(state),
            state.derivative.clone(),
            state.description.clone(),
        ]
    }));
    text.push_str(&format!("\n{}", table(&rows)));
    if !system.inputs.is_empty() {
        let mut rows = vec![["input", "unit", "description"].map(str::to_owned).to_vec()];
        rows.extend(system.inputs.iter().map(|it| vec![it.name.clone(), it.unit.clone(), it.description.clone()]));
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if !system.outputs.is_empty() {
        let mut rows = vec![["output", "unit", "expression", "description"].map(str::to_owned).to_vec()];
        rows.extend(
            system
                .outputs
                .iter()
                .map(|it| vec![it.name.clone(), it.unit.clone(), it.expression.clone(), it.description.clone()]),
        );
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if let Some(rest) = &system.preequilibration {
        let mut rows = vec![["at rest before the start", "under"].map(str::to_owned).to_vec()];
        rows.extend(rest.iter().map(|(name, value)| vec![name.clone(), value.to_string()]));
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if !system.covariates.is_empty() {
        let mut rows = vec![["covariate", "unit", "description"].map(str::to_owned).to_vec()];
        rows.extend(system.covariates.iter().map(|it| vec![it.name.clone(), it.unit.clone(), it.description.clone()]));
        text.push_str(&format!("\n{}", table(&rows)));
    }
    let mut rows = vec![["parameter", "unit", "lower", "upper", "description"].map(str::to_owned).to_vec()];
    rows.extend(system.parameters.iter().map(|it| {
        let (lower, upper) = (it.lower.to_string(), it.upper.to_string());
        vec![it.name.clone(), it.unit.clone(), lower, upper, it.description.clone()]
    }));
    text.push_str(&format!("\n{}", table(&rows)));
    if !system.constants.is_empty() {
        let mut rows = vec![["constant", "value"].map(str::to_owned).to_vec()];
        rows.extend(system.constants.iter().map(|(name, value)| vec![name.clone(), value.to_string()]));
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if !system.environments.is_empty() {
        let mut rows = vec![["set", "environments"].map(str::to_owned).to_vec()];
        rows.extend(
            system.environments.iter().map(|(name, values)| {
                vec![name.clone(), values.values().map(Values::len).product::<usize>().to_string()]
            }),
        );
        text.push_str(&format!("\n{}", table(&rows)));
    }
    text
}

/// The initial value of a state: that of fits, or else the range of simulations.
fn initial(state: &StateEquation) -> String {
    let range = |lower: f64, upper: f64| match lower == upper {
        true => lower.to_string(),
        false => format!("{lower} to {upper}"),
    };
    match (&state.start, state.initial) {
        (Some(StartSetting::Number(value)), _) => value.to_string(),
        (Some(StartSetting::Expression(text)), _) => text.clone(),
        (Some(StartSetting::Free(free)), _) => format!("{}, fitted", range(free.lower, free.upper)),
        (None, initial) => initial.map(|[lower, upper]| range(lower, upper)).unwrap_or_default(),
    }
}

fn quantities(what: &str, quantities: &[Quantity]) -> String {
    let mut rows = vec![[what, "unit", "description"].map(str::to_owned).to_vec()];
    rows.extend(quantities.iter().map(|one| vec![one.name.clone(), one.unit.clone(), one.description.clone()]));
    table(&rows)
}

/// Any manifest as indented lines.
fn tree(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let line = |key: &str, value: &Value| match value {
        Value::Object(inner) if !inner.is_empty() => format!("{indent}{key}:\n{}", tree(value, depth + 1)),
        Value::Array(inner) if inner.iter().any(|item| item.is_object() || item.is_array()) => {
            format!("{indent}{key}:\n{}", tree(value, depth + 1))
        }
        Value::String(text) => format!("{indent}{key}: {text}\n"),
        leaf => format!("{indent}{key}: {leaf}\n"),
    };
    match value {
        Value::Object(table) => table.iter().map(|(key, value)| line(key, value)).collect(),
        Value::Array(items) => items.iter().map(|item| line("-", item)).collect(),
        leaf => format!("{indent}{leaf}\n"),
    }
}
