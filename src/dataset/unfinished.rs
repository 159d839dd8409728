//! Finished shards of an unfinished dataset. Each has a record, written after both of its files, so that a later writer of the same
//! dataset can continue after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::file_entry::{FileEntry, file_entry};
use super::index::IndexEntry;
use super::manifest::SplitSummary;
use crate::regular;
use crate::schema::Split;
use crate::{atomic, disk};

/// Folder of the records in an unfinished dataset.
const RECORDS: &str = "shards";

/// The record of a finished shard: its files, and the state of its split after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FinishedShard {
    /// SHA-256 of the dataset's initial manifest.
    pub description: String,
    /// Counts of the split, up to the end of this shard.
    pub summary: SplitSummary,
    /// The last trajectory.
    pub last: IndexEntry,
    /// The Parquet and the HDF5 file, at their temporary paths.
    pub files: [FileEntry; 2],
}

/// What a resumed writer found of its dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// Number of trajectories kept of each split: the first ones.
    pub trajectories: BTreeMap<Split, usize>,
    /// Whether shards of a different dataset were discarded.
    pub discarded: bool,
}

pub(crate) type Shards = BTreeMap<Split, Vec<FinishedShard>>;

/// Records a shard whose files are written.
pub(crate) fn record(directory: &Path, split: Split, shard: usize, finished: &FinishedShard) -> Result<(), Error> {
    for file in &finished.files {
        let path = directory.join(&file.path);
        disk::sync(&path).map_err(Error::io(&path))?;
    }
    let path = record_path(directory, split, shard);
    let json = serde_json::to_vec(finished).map_err(|error| Error::io(&path)(error.into()))?;
    atomic::write_file(&path, &json).map_err(Error::io(&path))
}

/// The intact shards in `directory` that belong to the dataset with this `description`, up to the first that does not; removes all else.
/// `trajectories` is the final number in each split.
pub(crate) fn restore(
    directory: &Path,
    description: &str,
    trajectories: &BTreeMap<Split, usize>,
) -> Result<(Shards, Resumed), Error> {
    let mut shards = Shards::new();
    let mut kept = Resumed::default();
    let mut wanted = BTreeSet::new();
    'splits: for (&split, &total) in trajectories {
        let mut done = 0;
        while done < total {
            let shard = shards.get(&split).map_or(0, Vec::len);
            let path = record_path(directory, split, shard);
            let Ok(bytes) = regular::read(&path) else { break 'splits };
            let Ok(finished) = serde_json::from_slice::<FinishedShard>(&bytes) else { break 'splits };
            if finished.description != description {
                kept.discarded = true;
                break 'splits;
            }
            let whole = finished.files.iter().all(|file| file_entry(directory, &file.path).is_ok_and(|it| it == *file));
            if !whole || !(done + 1..=total).contains(&finished.summary.trajectories) {
                break 'splits;
            }
            done = finished.summary.trajectories;
            wanted.extend(finished.files.iter().map(|file| directory.join(&file.path)).chain([path]));
            kept.trajectories.insert(split, done);
            shards.entry(split).or_default().push(finished);
        }
    }
    remove_all_but(&wanted, directory)?;
    Ok((shards, kept))
}

/// Number of trajectories in the finished shards of an unfinished dataset at `directory`, as their records say; `None` if none is
/// unfinished. Reads only, so it may be asked while the dataset is written.
pub fn unfinished_trajectories(directory: &Path) -> Option<u64> {
    let entries = fs::read_dir(atomic::unfinished(directory).ok()?.join(RECORDS)).ok()?;
    // Each record counts its split up to its own end.
    let mut of_splits: BTreeMap<String, usize> = BTreeMap::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some((split, _)) = name.rsplit_once('-') else { continue };
        let finished = regular::read(&path).ok().and_then(|it| serde_json::from_slice::<FinishedShard>(&it).ok());
        if let Some(finished) = finished {
            let count = of_splits.entry(split.to_owned()).or_default();
            *count = (*count).max(finished.summary.trajectories);
        }
    }
    Some(of_splits.values().sum::<usize>() as u64)
}

/// Removes the records of a dataset that is complete.
pub(crate) fn forget(directory: &Path) -> Result<(), Error> {
    let folder = directory.join(RECORDS);
    disk::remove_tree(&folder).map_err(Error::io(&folder))
}

fn record_path(directory: &Path, split: Split, shard: usize) -> PathBuf {
    directory.join(RECORDS).join(format!("{split}-{shard:05}.json"))
}

/// Removes all other files, but no folders: a dataset has the same folders.
fn remove_all_but(wanted: &BTreeSet<PathBuf>, directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
        let entry = entry.map_err(Error::io(directory))?;
        let path = entry.path();
        if entry.file_type().map_err(Error::io(&path))?.is_dir() {
            remove_all_but(wanted, &path)?;
        } else if !wanted.contains(&path) {
            disk::remove_file(&path).map_err(Error::io(&path))?;
        }
    }
    Ok(())
}
