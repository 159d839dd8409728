//! Problems that no schema can state: values that contradict one another or name things that do not exist.

use serde_json::Value;

use super::stages::disagreements;
use crate::estimate;
use crate::estimate::{Intervals, Method};
use crate::generate;
use crate::import;
use crate::pipeline::document::{Document, segments};
use crate::pipeline::name::{NAME_RULE, is_name};
use crate::pipeline::settings::{RunSettings, Settings};
use crate::pipeline::slurm_settings::SlurmSettings;
use crate::problems::{Problem, Problems, did_you_mean, one_of};
use crate::report::Summary;

/// Every such problem, at its place in `document`.
pub(crate) fn impossible_values(document: &Document, settings: &Settings) -> Vec<Problem> {
    let mut problems = Problems::default();
    let of_generate = settings.generate.iter().flat_map(generate::Settings::validate);
    problems.extend(of_generate.map(|problem| problem.within("generate")));
    problems.extend(settings.import.iter().flat_map(import::Settings::validate));
    let datasets = [
        ("generate", settings.generate.as_ref().map(|section| &section.dataset)),
        ("import", settings.import.as_ref().map(|section| &section.dataset)),
    ];
    for (section, dataset) in datasets {
        if let Some(name) = dataset.filter(|name| !is_name(name)) {
            let found = format!("the name \"{name}\"");
            problems.add(format!("{section}.dataset"), found, NAME_RULE, "choose a name that can be a directory");
        }
    }
    if settings.estimate.as_ref().is_some_and(|it| it.intervals == Intervals::Profile && it.method == Method::Learned) {
        problems.add(
            "estimate.intervals",
            "\"profile\", and estimates by a trained model",
            "\"wald\", or `method = \"physics\"`",
            "leave it out: profiles are made with known equations alone",
        );
    }
    let by_equations = |it: &&estimate::Settings| it.method == Method::Physics || it.physics.is_some();
    if let Some(estimate) = settings.estimate.as_ref().filter(by_equations) {
        let physics = estimate.physics.clone().unwrap_or_default();
        problems.extend(physics.validate().into_iter().map(|problem| problem.within("estimate.physics")));
        if physics.system.is_none() && physics.systems.is_empty() && settings.import.is_some() {
            let remedy = "add `system = \"...\"` to [estimate.physics]";
            problems.add("estimate.physics.system", "nothing", "the equations of the imported data", remedy);
        }
    }
    problems.extend(settings.run.iter().flat_map(RunSettings::validate).map(|problem| problem.within("run")));
    problems.extend(settings.slurm.iter().flat_map(SlurmSettings::validate).map(|problem| problem.within("slurm")));
    problems.extend(disagreements(settings, &|key| document.is_given(&segments(key))));
    for (position, published) in settings.report.iter().flat_map(|report| report.published.iter().enumerate()) {
        is_a_figure(&published.figure, format!("report.published.{position}.figure"), &mut problems);
    }
    problems.into_vec().into_iter().map(|problem| document.placed(problem)).collect()
}

/// Adds the problem of a figure that no summary has.
pub(crate) fn is_a_figure(name: &str, key: String, problems: &mut Problems) {
    let figures = figures();
    if !figures.iter().any(|figure| figure == name) {
        let remedy = did_you_mean(name, figures.iter().map(String::as_str));
        let remedy = remedy.unwrap_or_else(|| "choose one of them".to_owned());
        problems.add(key, format!("the figure \"{name}\""), one_of(&figures), remedy);
    }
}

/// The figures of a summary that can be compared with a published number.
fn figures() -> Vec<String> {
    let schema = schemars::schema_for!(Summary).to_value();
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_figure = |field: &Value| field.pointer("/type/0").and_then(Value::as_str) == Some("number");
    fields.into_iter().flatten().filter(|(_, field)| is_figure(field)).map(|(name, _)| name.clone()).collect()
}
