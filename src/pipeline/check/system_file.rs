//! Reads systems from files of their own and puts their equations in place of the path.

use std::path::Path;

use serde_json::Value;

use super::schema;
use crate::pipeline::document::{Document, whole_numbers};
use crate::problems::{Kind, Problem};
use crate::regular;
use crate::systems::Equations;

/// The keys at which a pipeline names a system, beside those of a list.
const KEYS: [&[&str]; 2] = [&["generate", "system"], &["estimate", "physics", "system"]];

/// Replaces every path of a system file in the pipeline at `pipeline` by the equations in that file. Returns the values in them that no setting
/// can have.
///
/// # Errors
/// A file cannot be read or is not TOML.
pub(crate) fn embed(document: &mut Document, pipeline: &Path) -> Result<Vec<Problem>, Vec<Problem>> {
    let mut problems = Vec::new();
    let listed = document.root().pointer("/estimate/physics/systems").and_then(Value::as_array).map_or(0, Vec::len);
    let listed =
        (0..listed).map(|index| ["estimate", "physics", "systems", &index.to_string()].map(str::to_owned).to_vec());
    let keys = KEYS.iter().map(|key| key.iter().map(|part| (*part).to_owned()).collect::<Vec<String>>());
    for key in keys.chain(listed) {
        let named = document.root().pointer(&format!("/{}", key.join("/"))).and_then(Value::as_str);
        let Some(name) = named.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"))
        else {
            continue;
        };
        let path = pipeline.parent().unwrap_or(Path::new("")).join(name);
        let text = regular::read_to_string(&path).map_err(|error| {
            let found = format!("\"{name}\", where {} cannot be read ({error})", path.display());
            let expected = "a file with a system's equations, relative to the pipeline file";
            let problem = Problem::new(Kind::Setting, found, expected, "correct the path");
            vec![document.placed(problem.setting(key.join(".")))]
        })?;
        let (system, of_system) = Document::parse(&path.display().to_string(), &text)?;
        document.embed(&key, system);
        problems.extend(of_system);
    }
    Ok(problems)
}

/// The equations in `file`; `None` if it cannot be read or does not look like a system.
///
/// # Errors
/// Every problem of the equations, in order of place.
pub fn load_system(file: &Path) -> Option<Result<Equations, Vec<Problem>>> {
    let (document, problems) = Document::read(file).ok()?;
    let has = |key: &str| document.root().get(key).is_some();
    (has("states") && !has("generate") && !has("import")).then(|| resolve(&document, problems))
}

fn resolve(document: &Document, mut problems: Vec<Problem>) -> Result<Equations, Vec<Problem>> {
    let schema = schemars::schema_for!(Equations).to_value();
    let validator = jsonschema::validator_for(&schema).expect("schemars writes valid schemas");
    problems.extend(schema::differences(document, &schema, &validator));
    if problems.is_empty() {
        let checked = serde_json::from_value::<Equations>(whole_numbers(document.root()));
        let equations = checked.map_err(|error| {
            let (found, expected) = (format!("an impossible value ({error})"), "a system's equations");
            let problem = Problem::new(Kind::Setting, found, expected, "correct the value");
            vec![problem.file(Path::new(document.file()))]
        })?;
        match equations.system() {
            Ok(_) => return Ok(equations),
            Err(of_system) => problems.extend(of_system.into_iter().map(|problem| document.placed(problem))),
        }
    }
    problems.sort();
    problems.dedup();
    Err(problems)
}
