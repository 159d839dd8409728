//! What a version of a model was trained on, by content: `trained-on.txt` in its directory, the digest of each trajectory of the train and
//! validation splits, a line each, sorted. The dataset of a later night need not have them any more.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::plan::Plan;
use crate::checkpoint::Manifest;
use crate::dataset::Dataset;
use crate::digest::sha256;
use crate::regular;
use crate::schema::{Split, Trajectory};

/// The file in a version's directory.
pub(crate) const TRAINED_ON: &str = "trained-on.txt";
/// Digits of a digest: 128 bits, which no two of any number of trajectories share by chance.
const DIGITS: usize = 32;

/// The digests of the trajectories that training on `dataset` uses.
///
/// # Errors
/// If the dataset cannot be read.
pub(crate) fn of_dataset(dataset: &Dataset) -> Result<BTreeSet<String>, Error> {
    let mut digests = BTreeSet::new();
    for split in [Split::Train, Split::Validation] {
        digests.extend(trajectories(dataset, split)?.into_iter().map(|(_, digest)| digest));
    }
    Ok(digests)
}

/// The digests of all that the model of `manifest`, which was trained on `dataset`, has learned from: also of what the model that it started from
/// was trained on. `None` where that is not known any more.
///
/// # Errors
/// If the dataset cannot be read.
pub(crate) fn of_training(
    plan: &Plan,
    manifest: &Manifest,
    dataset: &Dataset,
) -> Result<Option<BTreeSet<String>>, Error> {
    let mut digests = of_dataset(dataset)?;
    let mut parents = manifest.provenance.parents.iter();
    let Some(start) = parents.find(|parent| parent.sha256 != dataset.content_hash()) else { return Ok(Some(digests)) };
    let versions = fs::read_dir(plan.versions_directory()).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_start = |directory: &PathBuf| Manifest::read(directory).is_ok_and(|(_, sha256)| sha256 == start.sha256);
    let of_start = versions.chain(plan.start_of_training()).find(is_start).and_then(|it| of_version(&it));
    Ok(of_start.map(|of_start| {
        digests.extend(of_start);
        digests
    }))
}

/// The digests in the directory of a version; `None` if it has none, as of a model whose dataset had changed when it was kept.
pub(crate) fn of_version(directory: &Path) -> Option<BTreeSet<String>> {
    let text = regular::read_to_string(&directory.join(TRAINED_ON)).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}

/// The trajectories of a split as `environment/trajectory`, with their digests, in stored order.
///
/// # Errors
/// If the dataset cannot be read.
pub(crate) fn trajectories(dataset: &Dataset, split: Split) -> Result<Vec<(String, String)>, Error> {
    let mut all = Vec::new();
    if !dataset.manifest().splits.contains_key(&split) {
        return Ok(all);
    }
    for batch in dataset.stream(split)? {
        all.extend(batch?.iter().map(|it| (format!("{}/{}", it.environment, it.trajectory), digest(it))));
    }
    Ok(all)
}

/// By times, inputs and states alone: another name makes no other trajectory.
fn digest(trajectory: &Trajectory) -> String {
    let mut bytes = Vec::new();
    for values in [&trajectory.times, &trajectory.inputs, &trajectory.states] {
        bytes.extend((values.len() as u64).to_le_bytes());
        let bits = values.iter().map(|value| if value.is_nan() { f64::NAN } else { *value }.to_bits());
        bits.for_each(|bits| bytes.extend(bits.to_le_bytes()));
    }
    let mut digest = sha256(&bytes);
    digest.truncate(DIGITS);
    digest
}
