//! Reads a pipeline file to settings, and finds every problem that the file alone has.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use super::schema;
use super::sections::impossible_values;
use super::system_file;
use crate::pipeline::document::{Document, whole_numbers};
use crate::pipeline::name::name_problem;
use crate::pipeline::settings::Settings;
use crate::pipeline::stage::Stage;
use crate::problems::{Kind, Problem};
use crate::rules;

static SCHEMA: LazyLock<(Value, jsonschema::Validator)> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Settings).to_value();
    let validator = jsonschema::validator_for(&schema).expect("schemars writes valid schemas");
    (schema, validator)
});

/// A pipeline file whose settings can be read.
pub(crate) struct Read {
    pub document: Document,
    pub settings: Settings,
    /// Problems of these settings, in order of place.
    pub problems: Vec<Problem>,
}

/// The settings in `file` after the `--set` arguments.
///
/// # Errors
/// Every problem, in order of place, if the settings cannot be read.
pub(crate) fn read(file: &Path, arguments: &[String]) -> Result<Read, Vec<Problem>> {
    read_with(file, arguments, missing_stages)
}

/// The settings in `file` after the `--set` arguments, of which [import] must be one.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_mapping(file: &Path, arguments: &[String]) -> Result<Read, Vec<Problem>> {
    read_with(file, arguments, missing_import)
}

fn read_with(file: &Path, arguments: &[String], missing: fn(&Document) -> Vec<Problem>) -> Result<Read, Vec<Problem>> {
    let (document, problems) = written(file, arguments)?;
    settled(document, problems, file, missing)
}

/// What stands in `file`, with the files of systems that it names, after the `--set` arguments; and the problems of values that no setting can have.
///
/// # Errors
/// As [`read`], of what cannot be read at all.
pub(crate) fn written(file: &Path, arguments: &[String]) -> Result<(Document, Vec<Problem>), Vec<Problem>> {
    let (mut document, mut problems) = Document::read(file)?;
    problems.extend(system_file::embed(&mut document, file)?);
    for (index, argument) in arguments.iter().enumerate() {
        match document.set(index, argument) {
            Ok(more) => problems.extend(more),
            Err(problem) => problems.push(*problem),
        }
    }
    problems.extend(system_file::embed(&mut document, file)?);
    Ok((document, problems))
}

/// How a document differs from what a pipeline may be.
pub(crate) fn differences(document: &Document) -> Vec<Problem> {
    let (schema, validator) = &*SCHEMA;
    schema::differences(document, schema, validator)
}

/// The settings of a cell of a sweep: `document` is what stands in `file` after what the cell sets.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_cell(mut document: Document, file: &Path) -> Result<Read, Vec<Problem>> {
    let problems = system_file::embed(&mut document, file)?;
    settled(document, problems, file, missing_stages)
}

fn settled(
    document: Document,
    mut problems: Vec<Problem>,
    file: &Path,
    missing: fn(&Document) -> Vec<Problem>,
) -> Result<Read, Vec<Problem>> {
    problems.extend(differences(&document));
    problems.extend(missing(&document));
    if problems.is_empty() {
        match serde_json::from_value::<Settings>(whole_numbers(document.root())) {
            Ok(settings) => {
                let mut problems = impossible_values(&document, &settings);
                problems.extend(name_problem(file));
                problems.sort();
                problems.dedup();
                return Ok(Read { document, settings, problems });
            }
            Err(error) => {
                let (found, expected) =
                    (format!("an impossible value ({error})"), "what `paramill schema pipeline` says");
                problems.push(Problem::new(Kind::Setting, found, expected, "correct the value").file(file));
            }
        }
    }
    problems.extend(name_problem(file));
    problems.sort();
    problems.dedup();
    Err(problems)
}

/// The problem of a mapping without an archive.
fn missing_import(document: &Document) -> Vec<Problem> {
    if document.root().get(Stage::Import.name()).is_some() {
        return Vec::new();
    }
    let remedy = "add an [import] section, which says what the files are (`paramill import --guess ARCHIVE` drafts it)";
    let problem = Problem::new(Kind::Setting, "no [import]", "a mapping of an archive", remedy);
    vec![problem.at(document.key_place(&[]))]
}

/// The problems of missing and contradicting sections.
pub(crate) fn missing_stages(document: &Document) -> Vec<Problem> {
    let has = |stage: Stage| document.root().get(stage.name()).is_some();
    let mut problems = Vec::new();
    let mut push = |path: &[String], found: String, expected: &str, remedy: &str| {
        let problem = Problem::new(Kind::Setting, found, expected, remedy);
        problems.push(problem.setting(path.join(".")).at(document.key_place(path)));
    };
    match (has(Stage::Generate), has(Stage::Import)) {
        (false, false) => push(
            &[],
            "neither [generate] nor [import]".to_owned(),
            "one of them: a pipeline begins with its dataset",
            "add a [generate] section, or an [import] section for archives",
        ),
        (true, true) => push(
            &["import".to_owned()],
            "[import] beside [generate]".to_owned(),
            "one of them: a pipeline has one dataset",
            "remove one of the two sections",
        ),
        _ => {}
    }
    // Environments that own weights have no context, and so no map.
    let rule = document.root().pointer("/train/rule").cloned();
    let owns_weights = rule.is_some_and(|it| serde_json::from_value(it).is_ok_and(rules::Kind::owns_weights));
    let of_estimate = if owns_weights { Stage::Train } else { Stage::Map };
    let needs = [(Stage::Map, Stage::Train), (Stage::Estimate, of_estimate), (Stage::Report, Stage::Estimate)];
    let method = document.root().pointer("/estimate/method").and_then(Value::as_str);
    for (stage, needed) in needs {
        let needs_none = stage == Stage::Estimate && method == Some("physics");
        if has(stage) && !has(needed) && !needs_none {
            push(
                &[stage.name().to_owned()],
                format!("[{stage}] without [{needed}]"),
                &format!("[{needed}] before it"),
                &format!("add [{needed}] (it may be empty: every key has a default), or remove [{stage}]"),
            );
        }
    }
    problems
}
