//! Gathers what is compared of runs from their workspaces. Their pipeline files are not asked for: the records of the stages have the settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::decide::product_name;
use super::error::Error;
use super::fingerprint::canonical;
use super::record::Record;
use super::stage::Stage;
use crate::checkpoint::StoredModel;
use crate::estimate::{Evaluation, Manifest, rows};
use crate::problems::{Kind, Problem};
use crate::report::{ComparedRun, DataOfRun, LossPoint, SideBySide, Summary};

/// These workspaces side by side.
///
/// # Errors
/// [`Error::Problems`] with every one that holds no run, or that is named twice; else the first product that cannot be read.
pub fn side_by_side(workspaces: &[PathBuf]) -> Result<SideBySide, Error> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for (place, workspace) in workspaces.iter().enumerate() {
        let is_same = |other: &PathBuf| match (workspace.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => workspace == other,
        };
        if let Some(first) = workspaces[..place].iter().find(|other| is_same(other)) {
            let remedy = "leave one of them out";
            let found = format!("the same run as {}", first.display());
            problems.push(Problem::new(Kind::Setting, found, "a run that is named once", remedy).file(workspace));
            continue;
        }
        let path_of = |stage: Stage| workspace.join("stages").join(format!("{stage}.json"));
        let records: BTreeMap<Stage, Record> =
            Stage::ALL.into_iter().filter_map(|stage| Some((stage, Record::read(&path_of(stage))?))).collect();
        let damaged = Stage::ALL.into_iter().map(|stage| (stage, path_of(stage)));
        let damaged: Vec<PathBuf> =
            damaged.filter(|(stage, path)| path.exists() && !records.contains_key(stage)).map(|it| it.1).collect();
        if !damaged.is_empty() {
            let remedy = "run its pipeline: the stage is then done anew";
            problems.extend(damaged.into_iter().map(|path| {
                Problem::new(Kind::Setting, "no record of a stage", "one as a run writes it", remedy).file(&path)
            }));
            continue;
        }
        if let Some(found) = mixed(&records) {
            let expected = "products that were made from each other";
            problems.push(Problem::new(Kind::Setting, found, expected, "run its pipeline to the end").file(workspace));
            continue;
        }
        if !records.contains_key(&Stage::Train) && !records.contains_key(&Stage::Estimate) {
            let expected = "the workspace of a run that has trained or estimated, such as runs/lv-demo";
            let remedy = "name its directory, or run its pipeline first";
            let found = "no record of a finished training or estimation";
            problems.push(Problem::new(Kind::Setting, found, expected, remedy).file(workspace));
            continue;
        }
        found.push((workspace, records));
    }
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    let runs = found.into_iter().map(|(workspace, records)| run(workspace, &records));
    Ok(SideBySide::new(runs.collect::<Result<_, _>>()?))
}

/// What of a workspace is made from something else than what stands in it now.
fn mixed(records: &BTreeMap<Stage, Record>) -> Option<String> {
    let estimates = records.get(&Stage::Estimate)?;
    let is_old = |stage: &&Stage| {
        let of_now = records.get(*stage).map(|record| &record.sha256);
        let of_then = estimates.ingredients.parents.iter().find(|it| it.name == product_name(**stage));
        of_now.zip(of_then).is_some_and(|(now, then)| *now != then.sha256)
    };
    let stage = [Stage::Train, Stage::Map].iter().find(is_old)?;
    Some(format!("estimates that another product of `{stage}` made than the one that stands there"))
}

fn run(workspace: &Path, records: &BTreeMap<Stage, Record>) -> Result<ComparedRun, Error> {
    let mut settings = BTreeMap::new();
    for (stage, record) in records.iter().filter(|(stage, _)| **stage != Stage::Report) {
        flatten(stage.name(), &record.ingredients.settings, &mut settings);
        settings.insert(format!("{stage} (version of its algorithm)"), record.ingredients.algorithm.into());
    }
    // The name of a dataset says nothing of what is in it.
    for stage in Stage::ALL.into_iter().filter(|stage| stage.makes_dataset()) {
        settings.remove(&format!("{stage}.dataset"));
    }
    let by = records.get(&Stage::Train).or_else(|| records.get(&Stage::Estimate));
    let mut compared = ComparedRun {
        workspace: workspace.display().to_string(),
        seed: records.values().find_map(|record| record.ingredients.seed),
        data: data(records),
        settings,
        seconds: records.iter().map(|(stage, record)| (stage.name().to_owned(), record.seconds)).collect(),
        device: by.map_or_else(String::new, |record| record.device.clone()),
        engine: by.map_or_else(String::new, |record| record.engine.clone()),
        ..ComparedRun::default()
    };
    if let Some(name) = records.get(&Stage::Train).and_then(|record| Path::new(&record.product).file_name()) {
        let model = StoredModel::read_without_map(&workspace.join("models").join(name))?;
        compared.validation = Some(model.manifest.training.validation);
        let point =
            |it: crate::checkpoint::LogRecord| LossPoint { step: it.step, train: it.train, validation: it.validation };
        compared.losses = model.log.into_iter().map(point).collect();
    }
    if records.contains_key(&Stage::Report) {
        compared.errors_over_time = Summary::read(&workspace.join("report")).and_then(|it| it.errors_over_time);
    }
    if records.contains_key(&Stage::Estimate) {
        let directory = workspace.join("estimates");
        let (manifest, _) = Manifest::read(&directory)?;
        compared.errors = errors(&directory, &manifest)?;
        compared.evaluation = Some(manifest.evaluation);
    }
    Ok(compared)
}

/// The dataset of a run: of several the one that was trained on, or that was estimated.
fn data(records: &BTreeMap<Stage, Record>) -> DataOfRun {
    let used = |record: &&Record| {
        let users = [Stage::Train, Stage::Estimate].into_iter().filter_map(|stage| records.get(&stage));
        users.flat_map(|user| &user.ingredients.parents).any(|parent| parent.sha256 == record.sha256)
    };
    let makers = || records.iter().filter(|(stage, _)| stage.makes_dataset()).map(|(_, record)| record);
    let Some(record) = makers().find(used).or_else(|| makers().next()) else { return DataOfRun::default() };
    let mut settings = record.ingredients.settings.clone();
    settings.as_object_mut().map(|settings| settings.remove("dataset"));
    let sources: Vec<&str> = record.ingredients.parents.iter().map(|parent| parent.sha256.as_str()).collect();
    let name = Path::new(&record.product).file_name().unwrap_or_default();
    DataOfRun {
        name: name.to_string_lossy().into_owned(),
        sha256: record.sha256.clone(),
        origin: format!("{}\n{}\n{}", record.ingredients.stage, canonical(&settings), sources.join("\n")),
    }
}

/// The values within `value` by their dotted keys, which begin with `key`. A list is one value.
fn flatten(key: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, into));
        }
        value => drop(into.insert(key.to_owned(), value.clone())),
    }
}

/// By parameter the median relative error (percent) over the environments of the split that errors are measured on.
fn errors(directory: &Path, manifest: &Manifest) -> Result<BTreeMap<String, f64>, Error> {
    let Evaluation { parameter_split: Some(split), .. } = manifest.evaluation else { return Ok(BTreeMap::new()) };
    let mut of_each = vec![Vec::new(); manifest.parameters.len()];
    for row in rows(directory, manifest, split)? {
        let row = row?;
        for (errors, it) in of_each.iter_mut().zip(&row.parameters).filter(|_| !row.status.is_failure()) {
            let error = it.truth.map(|truth| 100.0 * ((it.value - truth) / truth).abs());
            errors.extend(error.filter(|error| error.is_finite()));
        }
    }
    let median = |mut errors: Vec<f64>| {
        errors.sort_by(f64::total_cmp);
        let middle = errors.len() / 2;
        let below = errors.len().checked_sub(1)? / 2;
        Some(0.5 * (errors[below] + errors[middle]))
    };
    let named = manifest.parameters.iter().zip(of_each);
    Ok(named.filter_map(|(parameter, errors)| Some((parameter.name.clone(), median(errors)?))).collect())
}
