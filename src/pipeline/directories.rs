//! Directories that a user names: datasets, models and estimates, told apart by their `manifest.json`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::error::Error;
use crate::dataset::Dataset;
use crate::{checkpoint, dataset, estimate, regular};

/// The `manifest.json` of a directory.
///
/// # Errors
/// [`Error::Unrecognised`] if there is none, [`Error::Damaged`] if it does not say its kind.
pub fn read_manifest(directory: &Path) -> Result<Value, Error> {
    let within = || {
        let children =
            |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let grandchildren = children(directory).flat_map(|child| children(&child));
        let mut all: Vec<_> = children(directory).chain(grandchildren).collect();
        all.sort();
        let first = all.into_iter().find(|path| path.join("manifest.json").is_file());
        first.map_or_else(String::new, |path| format!(", such as {}", path.display()))
    };
    let unrecognised = |found: String| Error::Unrecognised {
        path: directory.to_owned(),
        found,
        expected: format!(
            "a pipeline file, or a dataset, model or estimates directory with a manifest.json{}",
            within()
        ),
    };
    let path = directory.join("manifest.json");
    let damaged = |found: String| {
        let expected = "the manifest of a dataset, a model or estimates; restore the directory, or make it again";
        Error::Damaged { path: path.clone(), found, expected: expected.to_owned() }
    };
    let bytes = regular::read(&path)
        .map_err(|error| unrecognised(format!("a directory without a readable manifest.json ({error})")))?;
    let manifest: Value =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("a file that is not JSON ({error})")))?;
    match manifest.get("kind") {
        Some(Value::String(_)) => Ok(manifest),
        _ => Err(damaged("a file that does not say its `kind`".to_owned())),
    }
}

/// Checks that the manifest of `directory` is as it was written, and that what it says is possible.
///
/// # Errors
/// The first problem.
pub fn check_manifest(directory: &Path, manifest: &Value) -> Result<(), Error> {
    match manifest["kind"].as_str() {
        Some("dataset") => drop(Dataset::open(directory)?),
        Some("model") => drop(checkpoint::Manifest::read(directory)?),
        Some("estimates") => drop(estimate::Manifest::read(directory)?),
        _ => {}
    }
    Ok(())
}

/// Every problem of the dataset, model or estimates in `directory`, whose manifest is `manifest`.
///
/// # Errors
/// If Paramill does not know such directories.
pub fn check_directory(directory: &Path, manifest: &Value) -> Result<Vec<String>, Error> {
    match manifest.get("kind").and_then(Value::as_str) {
        Some("dataset") => Ok(dataset::verify(directory)),
        Some("model") => Ok(checkpoint::verify(directory)),
        Some("estimates") => Ok(estimate::verify(directory)),
        kind => Err(Error::Unrecognised {
            path: directory.to_owned(),
            found: format!("the kind \"{}\"", kind.unwrap_or_default()),
            expected: "a pipeline file, a dataset, a model or estimates".to_owned(),
        }),
    }
}
