//! Systems in files of their own: read in place of their path, so that everything after sees equations alone.

use std::path::Path;

use serde_json::Value;

use super::check::schema;
use super::document::Document;
use super::document::whole_numbers;
use crate::problems::{Diagnostic, Place};
use crate::regular;
use crate::systems::Equations;

/// Where a pipeline names a system.
const KEYS: [&[&str]; 2] = [&["generate", "system"], &["estimate", "physics", "system"]];

/// Puts the equations in place of the path wherever the pipeline at `pipeline` names a system by one. The problems are values that
/// no setting can have.
///
/// # Errors
/// A file cannot be read or is not TOML.
pub fn embed(document: &mut Document, pipeline: &Path) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for key in KEYS {
        let key: Vec<String> = key.iter().map(|part| (*part).to_owned()).collect();
        let named = document.root().pointer(&format!("/{}", key.join("/"))).and_then(Value::as_str);
        let Some(name) = named.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"))
        else {
            continue;
        };
        let path = pipeline.parent().unwrap_or(Path::new("")).join(name);
        let text = regular::read_to_string(&path).map_err(|error| {
            vec![Diagnostic {
                place: document.value_place(&key),
                key: key.join("."),
                found: format!("\"{name}\", where {} cannot be read ({error})", path.display()),
                expected: "a file with a system's equations, relative to the pipeline file".to_owned(),
                remedy: "correct the path".to_owned(),
            }]
        })?;
        let (system, of_system) = Document::parse(&path.display().to_string(), &text)?;
        document.embed(&key, system);
        problems.extend(of_system);
    }
    Ok(problems)
}

/// The equations in `file`; `None` if it cannot be read or looks like anything but a system.
///
/// # Errors
/// Every problem of the equations, in order of place.
pub fn load_system(file: &Path) -> Option<Result<Equations, Vec<Diagnostic>>> {
    let (document, problems) = Document::read(file).ok()?;
    let has = |key: &str| document.root().get(key).is_some();
    (has("states") && !has("generate") && !has("import")).then(|| resolve(&document, problems))
}

fn resolve(document: &Document, mut problems: Vec<Diagnostic>) -> Result<Equations, Vec<Diagnostic>> {
    let schema = schemars::schema_for!(Equations).to_value();
    let validator = jsonschema::validator_for(&schema).expect("schemars writes valid schemas");
    problems.extend(schema::differences(document, &schema, &validator));
    if problems.is_empty() {
        let checked = serde_json::from_value::<Equations>(whole_numbers(document.root()));
        let place = Place::File { file: document.file().to_owned() };
        let equations = checked.map_err(|error| {
            let (found, expected) = (format!("a value that cannot be ({error})"), "a system's equations".to_owned());
            vec![Diagnostic { place, key: String::new(), found, expected, remedy: "correct the value".to_owned() }]
        })?;
        match equations.system() {
            Ok(_) => return Ok(equations),
            Err(of_system) => problems.extend(of_system.into_iter().map(|problem| {
                let path: Vec<String> = problem.key.split('.').map(str::to_owned).collect();
                Diagnostic {
                    place: document.value_place(&path),
                    key: problem.key,
                    found: problem.found,
                    expected: problem.expected,
                    remedy: problem.remedy,
                }
            })),
        }
    }
    problems.sort();
    problems.dedup();
    Err(problems)
}
