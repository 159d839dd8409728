//! Generations of a dataset: `NAME.versions` beside it.
//!
//! ```text
//! datasets/tanks/                                              the dataset, replaced whole when its archive has grown
//! datasets/tanks.versions/2024-03-01T021743.120Z-1a2b3c4d/     one as it was; a generation never changes
//! ```
//!
//! The files of the newest are those of the dataset, under a second name: they take no room until the dataset is replaced.

use std::fs;
use std::path::{Path, PathBuf};

use super::clock::{now, seconds};
use super::error::Error;
use super::lock::{dataset_reading, sweep_directories};
use super::plan::Plan;
use super::versions::{DIGITS, kept_at, versions};
use crate::atomic::{self, Directory};
use crate::dataset::Dataset;
use crate::digest::sha256;
use crate::progress::Run;
use crate::{disk, regular};

const SECONDS_A_DAY: f64 = 86_400.0;
const MANIFEST: &str = "manifest.json";

/// Keeps the dataset of `plan` as a generation if it is none yet, and removes old ones.
///
/// # Errors
/// If the dataset cannot be read, another process writes it, or something cannot be written.
pub(crate) fn keep(plan: &Plan, run: &Run<'_>) -> Result<(), Error> {
    let folder = folder(plan);
    let _reading = dataset_reading(&plan.dataset_directory)?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let digest = &dataset.content_hash()[..DIGITS];
    if !names(&folder).iter().any(|name| name.ends_with(digest)) {
        let to = folder.join(format!("{}-{digest}", now().replace(':', "")));
        let place = Directory::create(&to).map_err(Error::io(&to))?;
        disk::link_tree(&plan.dataset_directory, place.path()).map_err(Error::io(&to))?;
        place.publish().map_err(Error::io(&to))?;
    }
    sweep_directories(&folder, run);
    retain(plan).map(drop)
}

/// Removes the oldest generations but for those that `[run]` keeps by count or age, and those that a model or the estimates of the workspace were
/// made from. How many are gone.
///
/// # Errors
/// If one cannot be removed.
pub(crate) fn retain(plan: &Plan) -> Result<usize, Error> {
    let folder = folder(plan);
    let names = names(&folder);
    if plan.run.datasets == 0 || names.is_empty() {
        return Ok(0);
    }
    let makers = makers(plan);
    let now = seconds(&now()).unwrap_or_default();
    let days = f64::from(plan.run.dataset_days.unwrap_or(0));
    // One whose name tells no time is not known to be old.
    let is_young = |name: &str| days > 0.0 && kept_at(name).is_none_or(|at| now - at <= days * SECONDS_A_DAY);
    let mut removed = 0;
    for name in &names[..names.len().saturating_sub(plan.run.datasets)] {
        let directory = folder.join(name);
        // One that cannot be read is left to the user.
        let Ok(manifest) = regular::read(&directory.join(MANIFEST)) else { continue };
        let digest = sha256(&manifest);
        if is_young(name) || makers.iter().any(|text| text.contains(&digest)) {
            continue;
        }
        atomic::remove_directory(&directory).map_err(Error::io(&directory))?;
        removed += 1;
    }
    Ok(removed)
}

/// Where they are.
fn folder(plan: &Plan) -> PathBuf {
    let name = plan.dataset_directory.file_name().unwrap_or_default().to_string_lossy();
    plan.dataset_directory.with_file_name(format!("{name}.versions"))
}

/// Their names, the oldest first.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    // Names sort as times do.
    names.sort();
    names
}

/// The manifests of what the workspace has made of datasets, as text, which needs no version of their formats.
fn makers(plan: &Plan) -> Vec<String> {
    let products = [plan.model_directory(), plan.estimates_directory()];
    let all = products.into_iter().chain(versions(plan).into_iter().map(|version| version.directory));
    all.filter_map(|directory| regular::read_to_string(&directory.join(MANIFEST)).ok()).collect()
}
