//! What no schema can state: values that contradict one another, or name what does not exist.

use serde_json::Value;

use super::stages::disagreements;
use crate::estimate;
use crate::estimate::Method;
use crate::generate;
use crate::pipeline::document::Document;
use crate::pipeline::settings::Settings;
use crate::problems::Diagnostic;
use crate::problems::nearest;
use crate::report::Summary;

/// Every such value, at its place in `document`.
pub(crate) fn impossible_values(document: &Document, settings: &Settings) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut push = |path: Vec<String>, found: String, expected: String, remedy: String| {
        let place = document.value_place(&path);
        problems.push(Diagnostic { place, key: path.join("."), found, expected, remedy });
    };
    let at = |section: &str, key: &str| segments(&format!("{section}.{key}"));
    for problem in settings.generate.iter().flat_map(generate::Settings::validate) {
        push(at("generate", &problem.key), problem.found, problem.expected, problem.remedy);
    }
    if let Some(import) = &settings.import {
        for problem in import.validate() {
            let key = problem.setting.unwrap_or_default();
            push(
                at("import", key.strip_prefix("import").unwrap_or(&key)),
                problem.found,
                problem.expected,
                problem.remedy,
            );
        }
    }
    let sources = [
        ("generate", settings.generate.as_ref().map(|section| &section.dataset)),
        ("import", settings.import.as_ref().map(|section| &section.dataset)),
    ];
    for (section, dataset) in sources {
        if let Some(name) = dataset.filter(|name| !is_name(name)) {
            push(
                at(section, "dataset"),
                format!("the name \"{name}\""),
                NAME_RULE.to_owned(),
                "choose a name that can be a directory".to_owned(),
            );
        }
    }
    let by_equations = |it: &&estimate::Settings| it.method == Method::Physics || it.physics.is_some();
    if let Some(estimate) = settings.estimate.as_ref().filter(by_equations) {
        let physics = estimate.physics.clone().unwrap_or_default();
        for problem in physics.validate() {
            let key = format!("physics.{}", problem.key);
            push(at("estimate", &key), problem.found, problem.expected, problem.remedy);
        }
        if physics.system.is_none() && settings.import.is_some() {
            push(
                at("estimate", "physics.system"),
                "nothing".to_owned(),
                "the equations of the imported data".to_owned(),
                "add `system = \"...\"` to [estimate.physics]".to_owned(),
            );
        }
    }
    let is_said = |key: &str| document.is_said(&segments(key));
    for problem in disagreements(settings, &is_said) {
        push(segments(&problem.key), problem.found, problem.expected, problem.remedy);
    }
    let figures = figures();
    for (position, published) in settings.report.iter().flat_map(|report| report.published.iter().enumerate()) {
        if !figures.contains(&published.figure) {
            let remedy = nearest(&published.figure, figures.iter().map(String::as_str));
            push(
                at("report", &format!("published.{position}.figure")),
                format!("the figure \"{}\"", published.figure),
                format!("one of {}", figures.join(", ")),
                remedy.map_or("choose one of them".to_owned(), |name| format!("did you mean \"{name}\"?")),
            );
        }
    }
    problems
}

/// The figures of a summary that can stand beside a published number.
fn figures() -> Vec<String> {
    let schema = schemars::schema_for!(Summary).to_value();
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_figure = |field: &Value| field.pointer("/type/0").and_then(Value::as_str) == Some("number");
    fields.into_iter().flatten().filter(|(_, field)| is_figure(field)).map(|(name, _)| name.clone()).collect()
}

/// A dotted key, list positions in brackets or not, as a path.
pub(crate) fn segments(key: &str) -> Vec<String> {
    key.split(['.', '[', ']']).filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

pub(crate) const NAME_RULE: &str = "letters, digits, `.`, `_` and `-`, beginning with a letter or digit";

pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-'))
}
