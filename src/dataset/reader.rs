//! Reads a dataset, and trusts nothing it reads: digests first, then shapes, then every trajectory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::check::{order_problem, trajectory_problems};
use super::hdf5_store::OpenSplit;
use super::layout::{CARD, MANIFEST, data_file, file_problem};
use super::{Error, Manifest, SplitSummary, Store, parquet_store};
use crate::digest::sha256_of_file;
use crate::schema::{Split, Trajectory};

/// A stream of batches of trajectories; it ends after the first error.
pub type Batches<'a> = Box<dyn Iterator<Item = Result<Vec<Trajectory>, Error>> + Send + 'a>;

/// One trajectory as the index knows it, without its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    /// Environment id.
    pub environment: String,
    /// Trajectory id.
    pub trajectory: String,
    /// The environment's parameters `[d_p]`, `None` where unknown.
    pub parameters: Vec<Option<f64>>,
    /// Number of samples `T`.
    pub samples: usize,
}

impl IndexEntry {
    /// Key that orders trajectories, as [`Trajectory::key`].
    pub fn key(&self) -> (&str, &str) {
        (&self.environment, &self.trajectory)
    }
}

/// An open dataset.
pub struct Dataset {
    directory: PathBuf,
    manifest: Manifest,
    content_hash: String,
    /// Files whose digest has been found right.
    sound: Mutex<BTreeSet<String>>,
    splits: Mutex<BTreeMap<Split, Arc<OpenSplit>>>,
}

impl Dataset {
    /// Opens the dataset in `directory`: reads and checks its manifest and that its files are there with the right
    /// sizes. The card is for people: it may have been edited.
    ///
    /// # Errors
    /// Everything that is wrong with the manifest; or, where nothing is, everything that is wrong with the files.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let (manifest, content_hash) = Manifest::load(directory)?;
        let data_files = manifest.files.iter().filter(|entry| entry.path != CARD);
        Error::problems(directory, data_files.filter_map(|entry| file_problem(directory, entry)).collect())?;
        Ok(Dataset {
            directory: directory.to_owned(),
            manifest,
            content_hash,
            sound: Mutex::default(),
            splits: Mutex::default(),
        })
    }

    /// Where the dataset stands, as it was given to [`Dataset::open`].
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the dataset says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256 of the manifest, hex: the identity of everything in the dataset.
    pub fn content_hash(&self) -> &str {
        &self.content_hash
    }

    /// The trajectories of a split without their samples, in stored order; empty if the dataset has no such split.
    ///
    /// # Errors
    /// If the split's HDF5 file cannot be read or is not what the manifest states.
    pub fn index(&self, split: Split) -> Result<Vec<IndexEntry>, Error> {
        if !self.manifest.splits.contains_key(&split) {
            return Ok(Vec::new());
        }
        Ok(self.open_split(split)?.index.clone())
    }

    /// Reads the trajectories at these rows of a split, in the order asked for (random access; only they are held in
    /// memory).
    ///
    /// # Errors
    /// If a row is not in the split, or the split's HDF5 file cannot be read or is not what the manifest states.
    pub fn read_rows(&self, split: Split, rows: &[usize]) -> Result<Vec<Trajectory>, Error> {
        let count = self.manifest.splits.get(&split).map_or(0, |summary| summary.trajectories);
        if let Some(row) = rows.iter().find(|row| **row >= count) {
            return Err(Error::invalid(
                &self.directory,
                format!("row {row} of split `{split}` was asked for"),
                format!("rows below {count}"),
            ));
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let open = self.open_split(split)?;
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut found = BTreeMap::new();
        for run in sorted.chunk_by(|a, b| a + 1 == *b) {
            let trajectories = open.read(run[0]..run[0] + run.len())?;
            self.check(split, Store::Hdf5, &trajectories)?;
            found.extend(run.iter().copied().zip(trajectories));
        }
        Ok(rows.iter().filter_map(|row| found.get(row).cloned()).collect())
    }

    /// Streams a split in stored order, `batch` trajectories at a time; nothing if the dataset has no such split.
    ///
    /// # Errors
    /// If `batch` is zero, or the file cannot be read or is not what the manifest states. An error met later is an
    /// item of the stream.
    pub fn batches(&self, split: Split, store: Store, batch: usize) -> Result<Batches<'_>, Error> {
        if batch == 0 {
            return Err(Error::invalid(&self.directory, "batches of 0 trajectories were asked for", "1 or more"));
        }
        let Some(summary) = self.manifest.splits.get(&split) else { return Ok(Box::new(std::iter::empty())) };
        let count = summary.trajectories;
        let raw: Batches = match store {
            Store::Hdf5 => {
                let open = self.open_split(split)?;
                let starts = (0..count).step_by(batch);
                Box::new(starts.map(move |start| open.read(start..start.saturating_add(batch).min(count))))
            }
            Store::Parquet => {
                let path = self.sound_file(&data_file(split, store))?;
                Box::new(parquet_store::stream(&path, &self.manifest, split, batch)?)
            }
        };
        let mut last: Option<(String, String)> = None;
        let mut failed = false;
        Ok(Box::new(raw.map_while(move |trajectories| {
            if failed {
                return None;
            }
            let checked = trajectories.and_then(|trajectories| {
                self.check_order(split, store, &mut last, &trajectories)?;
                self.check(split, store, &trajectories)?;
                Ok(trajectories)
            });
            failed = checked.is_err();
            Some(checked)
        })))
    }

    /// The whole split.
    ///
    /// # Errors
    /// As [`Dataset::read_rows`].
    pub fn read(&self, split: Split) -> Result<Vec<Trajectory>, Error> {
        let count = self.manifest.splits.get(&split).map_or(0, |summary| summary.trajectories);
        if count == 0 {
            return Ok(Vec::new());
        }
        let trajectories = self.open_split(split)?.read(0..count)?;
        self.check(split, Store::Hdf5, &trajectories)?;
        Ok(trajectories)
    }

    fn check(&self, split: Split, store: Store, trajectories: &[Trajectory]) -> Result<(), Error> {
        for trajectory in trajectories {
            let problems = trajectory_problems(trajectory, &self.manifest.channels, &self.manifest.parameters);
            if !problems.is_empty() {
                return Error::trajectory(&self.directory.join(data_file(split, store)), split, trajectory, problems);
            }
        }
        Ok(())
    }

    fn check_order(
        &self,
        split: Split,
        store: Store,
        last: &mut Option<(String, String)>,
        trajectories: &[Trajectory],
    ) -> Result<(), Error> {
        let mut previous = last.as_ref().map(|(environment, trajectory)| (environment.as_str(), trajectory.as_str()));
        for trajectory in trajectories {
            if let Some(problem) = order_problem(previous, trajectory.key()) {
                let path = self.directory.join(data_file(split, store));
                return Error::trajectory(&path, split, trajectory, vec![problem]);
            }
            previous = Some(trajectory.key());
        }
        *last = previous.map(|(environment, trajectory)| (environment.to_owned(), trajectory.to_owned()));
        Ok(())
    }

    /// The full path of a file of the manifest, after its digest has been checked (once a file).
    fn sound_file(&self, relative: &str) -> Result<PathBuf, Error> {
        let path = self.directory.join(relative);
        let mut sound = lock(&self.sound);
        if sound.contains(relative) {
            return Ok(path);
        }
        let Some(entry) = self.manifest.file(relative) else {
            let manifest = self.directory.join(MANIFEST);
            return Err(Error::invalid(&manifest, format!("file `{relative}` is not listed"), "it in `files`"));
        };
        let found = sha256_of_file(&path).map_err(Error::io(&path))?;
        if found != entry.sha256 {
            return Err(Error::Digest { path, found, expected: entry.sha256.clone() });
        }
        sound.insert(relative.to_owned());
        Ok(path)
    }

    fn open_split(&self, split: Split) -> Result<Arc<OpenSplit>, Error> {
        let mut splits = lock(&self.splits);
        if let Some(open) = splits.get(&split) {
            return Ok(open.clone());
        }
        let path = self.sound_file(&data_file(split, Store::Hdf5))?;
        let open = Arc::new(OpenSplit::open(&path, &self.manifest, split)?);
        Error::problems(&path, index_problems(&open.index, &self.manifest, split))?;
        splits.insert(split, open.clone());
        Ok(open)
    }
}

/// What is wrong with the index of a split; a sentence each.
pub(super) fn index_problems(index: &[IndexEntry], manifest: &Manifest, split: Split) -> Vec<String> {
    let mut problems = Vec::new();
    let mut counted = SplitSummary::default();
    let mut previous: Option<&IndexEntry> = None;
    for entry in index {
        if let Some(problem) = order_problem(previous.map(IndexEntry::key), entry.key()) {
            problems.push(format!("environment `{}`, trajectory `{}` {problem}", entry.environment, entry.trajectory));
        }
        counted.add(previous.is_none_or(|last| last.environment != entry.environment), entry.samples);
        previous = Some(entry);
    }
    problems.extend(manifest.splits.get(&split).and_then(|stated| counts_problem(&counted, stated)));
    problems
}

/// How the counts of a file differ from those of the manifest, if they do.
pub(super) fn counts_problem(counted: &SplitSummary, stated: &SplitSummary) -> Option<String> {
    let say = |summary: &SplitSummary| {
        format!(
            "{} environments, {} trajectories, {} samples, {} to {} a trajectory",
            summary.environments, summary.trajectories, summary.samples, summary.shortest, summary.longest
        )
    };
    (counted != stated).then(|| format!("holds {}; expected {} as the manifest states", say(counted), say(stated)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
