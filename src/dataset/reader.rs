//! Reads a dataset and checks everything: first digests, then shapes, then every trajectory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::Error;
use super::file_entry::file_problem;
use super::hdf5_store::read::OpenSplit;
use super::index::{IndexEntry, index_problems};
use super::layout::MANIFEST;
use super::manifest::Manifest;
use super::parquet_store;
use super::rules::{order_problem, trajectory_problems};
use super::store::Store;
use crate::digest::sha256_of_file;
use crate::schema::{Split, Trajectory};

/// Trajectories that [`Dataset::stream`] reads at a time.
const READ_AHEAD: usize = 256;

/// A stream of batches of trajectories; it ends after the first error.
pub type Batches<'a> = Box<dyn Iterator<Item = Result<Vec<Trajectory>, Error>> + Send + 'a>;

/// An open dataset.
pub struct Dataset {
    directory: PathBuf,
    manifest: Manifest,
    content_hash: String,
    /// Files whose digest has been checked.
    sound: Mutex<BTreeSet<String>>,
    /// The opened HDF5 shards of each split.
    splits: Mutex<BTreeMap<Split, Arc<Vec<OpenSplit>>>>,
}

impl Dataset {
    /// Opens the dataset in `directory`: reads and checks its manifest and that its files are there with the right
    /// sizes. Manifest, card and Croissant description must match the seal; [`seal`](crate::dataset::seal()) records an edited card.
    ///
    /// # Errors
    /// All problems of the manifest; if it has none, all problems of the files.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let (manifest, content_hash) = Manifest::load(directory)?;
        let files = manifest.files.iter();
        Error::problems(directory, files.filter_map(|entry| file_problem(directory, entry)).collect())?;
        Ok(Dataset {
            directory: directory.to_owned(),
            manifest,
            content_hash,
            sound: Mutex::default(),
            splits: Mutex::default(),
        })
    }

    /// The directory given to [`Dataset::open`].
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256 of the manifest, hex: identifies the whole dataset.
    pub fn content_hash(&self) -> &str {
        &self.content_hash
    }

    /// The trajectories of a split without their samples, in stored order; empty if the dataset has no such split.
    ///
    /// # Errors
    /// If the split's HDF5 file cannot be read or does not match the manifest.
    pub fn index(&self, split: Split) -> Result<Vec<IndexEntry>, Error> {
        if !self.manifest.splits.contains_key(&split) {
            return Ok(Vec::new());
        }
        Ok(self.open_split(split)?.iter().flat_map(|shard| shard.index.iter().cloned()).collect())
    }

    /// The common times of a split's trajectories; `None` if they differ.
    pub(crate) fn shared_times(&self, split: Split) -> Result<Option<Vec<f64>>, Error> {
        let shards = self.open_split(split)?;
        let mut times = shards.iter().map(|shard| shard.shared_times());
        let first = times.next().flatten();
        Ok(first.filter(|first| times.all(|others| others == Some(first))).map(<[f64]>::to_vec))
    }

    /// Reads the trajectories at these rows of a split, in the order given (random access).
    ///
    /// # Errors
    /// If a row is not in the split, or the split's HDF5 file cannot be read or does not match the manifest.
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
        let shards = self.open_split(split)?;
        let firsts: Vec<usize> =
            shards.iter().scan(0, |first, shard| Some(std::mem::replace(first, *first + shard.index.len()))).collect();
        let shard_of = |row: usize| firsts.partition_point(|first| *first <= row) - 1;
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut found = BTreeMap::new();
        for run in sorted.chunk_by(|a, b| a + 1 == *b && shard_of(*a) == shard_of(*b)) {
            let shard = shard_of(run[0]);
            let start = run[0] - firsts[shard];
            let trajectories = shards[shard].read(start..start + run.len())?;
            self.check_trajectories(split, Store::Hdf5, &trajectories)?;
            found.extend(run.iter().copied().zip(trajectories));
        }
        Ok(rows.iter().filter_map(|row| found.get(row).cloned()).collect())
    }

    /// Streams a split in stored order from the Parquet copy, which is the faster to read.
    ///
    /// # Errors
    /// As [`Dataset::batches`].
    pub fn stream(&self, split: Split) -> Result<Batches<'_>, Error> {
        self.batches(split, Store::Parquet, READ_AHEAD)
    }

    /// Streams these rows of a split in stored order. Only files that hold some of them are read and checked.
    ///
    /// # Errors
    /// As [`Dataset::batches`].
    pub(crate) fn stream_rows(&self, split: Split, rows: Range<usize>) -> Result<Batches<'_>, Error> {
        let count = self.manifest.splits.get(&split).map_or(0, |summary| summary.trajectories);
        if rows == (0..count) {
            return self.stream(split);
        }
        let mut first = 0;
        let mut wanted = Vec::new();
        for relative in self.manifest.data_files(split, Store::Parquet) {
            let stored = parquet_store::rows(&self.directory.join(&relative))?;
            let inside = rows.start.clamp(first, first + stored) - first..rows.end.clamp(first, first + stored) - first;
            first += stored;
            if !inside.is_empty() {
                wanted.push((relative, inside));
            }
        }
        if first != count || rows.end > count {
            let found = format!("rows {} to {} asked for of {first} in split `{split}`", rows.start, rows.end);
            return Err(Error::invalid(&self.directory, found, format!("rows below {count} as the manifest states")));
        }
        let open = move |relative: &str, inside: Range<usize>| -> Result<Batches<'_>, Error> {
            let path = self.sound_file(relative)?;
            let mut at = 0;
            Ok(Box::new(parquet_store::stream(&path, &self.manifest, split, READ_AHEAD)?.map_while(move |batch| {
                let first = at;
                (first < inside.end).then(|| {
                    let mut batch = batch?;
                    at += batch.len();
                    batch.truncate(inside.end - first);
                    batch.drain(..inside.start.saturating_sub(first).min(batch.len()));
                    Ok(batch)
                })
            })))
        };
        let raw = wanted.into_iter().flat_map(move |(relative, inside)| {
            open(&relative, inside).unwrap_or_else(|error| Box::new(std::iter::once(Err(error))) as Batches<'_>)
        });
        let mut last = None;
        Ok(Box::new(raw.map(move |batch| {
            let batch = batch?;
            self.check_order(split, Store::Parquet, &mut last, &batch)?;
            self.check_trajectories(split, Store::Parquet, &batch)?;
            Ok(batch)
        })))
    }

    /// Streams a split in stored order, `batch` trajectories at a time; nothing if the dataset has no such split.
    ///
    /// # Errors
    /// If `batch` is zero, or the file cannot be read or does not match the manifest. A later error is an item of the stream.
    pub fn batches(&self, split: Split, store: Store, batch: usize) -> Result<Batches<'_>, Error> {
        if batch == 0 {
            return Err(Error::invalid(&self.directory, "batches of 0 trajectories were asked for", "1 or more"));
        }
        let Some(summary) = self.manifest.splits.get(&split) else { return Ok(Box::new(std::iter::empty())) };
        let count = summary.trajectories;
        let mut raw = match store {
            Store::Hdf5 => self.hdf5_batches(split, batch)?,
            Store::Parquet => self.parquet_batches(split, batch)?,
        };
        let mut last: Option<(String, String)> = None;
        let mut examined = move |trajectories: &[Trajectory]| {
            self.check_order(split, store, &mut last, trajectories)?;
            self.check_trajectories(split, store, trajectories)
        };
        // The rest of a shard begins the next batch.
        let mut pending: Vec<Trajectory> = Vec::new();
        let (mut seen, mut ended) = (0, false);
        Ok(Box::new(std::iter::from_fn(move || {
            while !ended {
                let read = match raw.next() {
                    Some(read) => read.and_then(|trajectories| examined(&trajectories).map(|()| trajectories)),
                    None if seen == count => {
                        ended = true;
                        break;
                    }
                    None => Err(Error::invalid(
                        &self.directory,
                        format!("{seen} trajectories in split `{split}`"),
                        format!("{count} as the manifest states"),
                    )),
                };
                match read {
                    Ok(trajectories) => {
                        seen += trajectories.len();
                        pending.extend(trajectories);
                    }
                    Err(error) => {
                        ended = true;
                        pending.clear();
                        return Some(Err(error));
                    }
                }
                if pending.len() >= batch {
                    let rest = pending.split_off(batch);
                    return Some(Ok(std::mem::replace(&mut pending, rest)));
                }
            }
            (!pending.is_empty()).then(|| Ok(std::mem::take(&mut pending)))
        })))
    }

    fn hdf5_batches(&self, split: Split, batch: usize) -> Result<Batches<'_>, Error> {
        let shards = self.open_split(split)?;
        let mut ranges: Vec<(usize, Range<usize>)> = Vec::new();
        for (shard, open) in shards.iter().enumerate() {
            let rows = open.index.len();
            ranges.extend((0..rows).step_by(batch).map(|start| (shard, start..start.saturating_add(batch).min(rows))));
        }
        Ok(Box::new(ranges.into_iter().map(move |(shard, rows)| shards[shard].read(rows))))
    }

    /// Opens the first shard at once and the others when the stream reaches them.
    fn parquet_batches(&self, split: Split, batch: usize) -> Result<Batches<'_>, Error> {
        let open = move |relative: &str| -> Result<Batches<'_>, Error> {
            let path = self.sound_file(relative)?;
            Ok(Box::new(parquet_store::stream(&path, &self.manifest, split, batch)?))
        };
        let mut files = self.manifest.data_files(split, Store::Parquet).into_iter();
        let Some(first) = files.next() else { return Ok(Box::new(std::iter::empty())) };
        let later = files.flat_map(move |relative| {
            open(&relative).unwrap_or_else(|error| Box::new(std::iter::once(Err(error))) as Batches<'_>)
        });
        Ok(Box::new(open(&first)?.chain(later)))
    }

    /// Reads the whole split.
    ///
    /// # Errors
    /// As [`Dataset::read_rows`].
    pub fn read(&self, split: Split) -> Result<Vec<Trajectory>, Error> {
        let count = self.manifest.splits.get(&split).map_or(0, |summary| summary.trajectories);
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut trajectories = Vec::with_capacity(count);
        for shard in self.open_split(split)?.iter() {
            trajectories.extend(shard.read(0..shard.index.len())?);
        }
        self.check_trajectories(split, Store::Hdf5, &trajectories)?;
        Ok(trajectories)
    }

    fn check_trajectories(&self, split: Split, store: Store, trajectories: &[Trajectory]) -> Result<(), Error> {
        let none_missing = self.manifest.splits.get(&split).is_some_and(|summary| summary.missing == 0);
        for trajectory in trajectories {
            let mut problems = trajectory_problems(trajectory, &self.manifest, split);
            let missing = if none_missing { trajectory.missing() } else { 0 };
            if missing > 0 {
                problems.push(format!("{missing} missing cells; expected none as the manifest states"));
            }
            if !problems.is_empty() {
                return Error::trajectory(&self.place(split, store), split, trajectory, problems);
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
                return Error::trajectory(&self.place(split, store), split, trajectory, vec![problem]);
            }
            previous = Some(trajectory.key());
        }
        *last = previous.map(|(environment, trajectory)| (environment.to_owned(), trajectory.to_owned()));
        Ok(())
    }

    /// The full path of a listed file; checks its digest once.
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

    /// The path to report for a copy of a split: its file, or the directory if there are several.
    fn place(&self, split: Split, store: Store) -> PathBuf {
        match &self.manifest.data_files(split, store)[..] {
            [file] => self.directory.join(file),
            _ => self.directory.clone(),
        }
    }

    fn open_split(&self, split: Split) -> Result<Arc<Vec<OpenSplit>>, Error> {
        let mut splits = lock(&self.splits);
        if let Some(open) = splits.get(&split) {
            return Ok(open.clone());
        }
        let files = self.manifest.data_files(split, Store::Hdf5).into_iter();
        let shards = files.map(|relative| OpenSplit::open(&self.sound_file(&relative)?, &self.manifest, split));
        let shards = shards.collect::<Result<Vec<_>, Error>>()?;
        let index = shards.iter().flat_map(|shard| &shard.index);
        Error::problems(&self.place(split, Store::Hdf5), index_problems(index, &self.manifest, split))?;
        let open = Arc::new(shards);
        splits.insert(split, open.clone());
        Ok(open)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
