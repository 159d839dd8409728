//! Writes both copies of a dataset from one stream of trajectories.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::disk_space::require_space;
use super::error::Error;
use super::file_entry::{FileEntry, file_entry};
use super::index::IndexEntry;
use super::layout::{CARD, CROISSANT, MANIFEST, data_file};
use super::manifest::{KIND, Manifest, SplitSummary};
use super::rules::{Population, order_problem, parameters_problem, trajectory_problems};
use super::store::Store;
use super::unfinished;
use super::unfinished::{FinishedShard, Resumed, Shards};
use super::{card, croissant, hdf5_store, parquet_store, seal};
use crate::atomic::Directory;
use crate::digest::sha256;
use crate::disk;
use crate::progress::Run;
use crate::schema::{FormatVersion, Split, Trajectory};

/// Writes a dataset, which appears at its path only at [`Writer::finish`].
///
/// The bytes depend on the manifest and the trajectories only. A large split is divided into shards of bounded size; the
/// trajectories of a shard are held in memory until it is complete. A trajectory larger than a shard is written at once as a
/// shard of its own.
pub struct Writer {
    target: PathBuf,
    directory: Directory,
    manifest: Manifest,
    /// SHA-256 of the initial manifest, if finished shards are recorded for a later writer.
    description: Option<String>,
    finished: Shards,
    open: Option<OpenSplit>,
    /// Parameters of the environments so far, to compare with those of later splits.
    environments: BTreeMap<(Population, String), Vec<Option<f64>>>,
}

/// Size at which a shard ends, counted in doubles (16 MiB).
pub(crate) const SHARD_VALUES: usize = 1 << 21;
/// Memory of a trajectory besides its samples, in doubles.
const TRAJECTORY_VALUES: usize = 64;

/// The split that is being written.
struct OpenSplit {
    split: Split,
    summary: SplitSummary,
    /// Trajectories of the current shard, and their size in doubles.
    rows: Vec<Trajectory>,
    values: usize,
    last: Option<IndexEntry>,
}

impl Writer {
    /// Starts a dataset at `directory`, described by `manifest`; the writer fills in `splits`, `files`, `format` and `kind`.
    ///
    /// # Errors
    /// If names or units are invalid or collide (every problem), or the directory cannot be written to.
    pub fn create(directory: &Path, manifest: Manifest) -> Result<Self, Error> {
        let manifest = prepared(manifest, directory)?;
        let place = Directory::create(directory).map_err(Error::io(directory))?;
        Writer::start(directory, place, manifest)
    }

    /// Resumes a dataset that an earlier writer with the same `manifest` left unfinished; its finished shards are kept. `trajectories` is the final
    /// number in each split; kept ones must not be written again. Parameters of kept environments are not compared with those of later splits.
    ///
    /// # Errors
    /// As [`Writer::create`], and if another process is writing this dataset.
    pub fn resume(
        directory: &Path,
        manifest: Manifest,
        trajectories: &BTreeMap<Split, usize>,
    ) -> Result<(Self, Resumed), Error> {
        let manifest = prepared(manifest, directory)?;
        let description = sha256(&serde_json::to_vec(&manifest).map_err(|error| Error::io(directory)(error.into()))?);
        let place = Directory::resume(directory).map_err(Error::io(directory))?;
        let (finished, kept) = unfinished::restore(place.path(), &description, trajectories)?;
        let mut writer = Writer::start(directory, place, manifest)?;
        writer.open = finished.last_key_value().and_then(|(&split, shards)| {
            let FinishedShard { summary, last, .. } = shards.last()?.clone();
            Some(OpenSplit { split, summary, rows: Vec::new(), values: 0, last: Some(last) })
        });
        (writer.description, writer.finished) = (Some(description), finished);
        Ok((writer, kept))
    }

    fn start(target: &Path, directory: Directory, manifest: Manifest) -> Result<Self, Error> {
        for folder in ["data", "hdf5"] {
            let folder = directory.path().join(folder);
            disk::create_directories(&folder).map_err(Error::io(&folder))?;
        }
        Ok(Writer {
            target: target.to_owned(),
            directory,
            manifest,
            description: None,
            finished: Shards::new(),
            open: None,
            environments: BTreeMap::new(),
        })
    }

    /// Keeps finished shards for [`Writer::resume`] and returns the number of their trajectories; without any, nothing is left behind.
    pub fn keep(self) -> usize {
        let kept = self.finished.values().filter_map(|shards| Some(shards.last()?.summary.trajectories)).sum();
        if kept > 0 && self.description.is_some() {
            self.directory.keep();
        }
        kept
    }

    /// Appends one trajectory. Trajectories of a split come in ascending [`Trajectory::key`] order; splits come one
    /// after the other. A refused trajectory leaves the dataset as it was.
    ///
    /// # Errors
    /// If the trajectory breaks a rule of the format (every rule it breaks), or a file cannot be written.
    pub fn write(&mut self, split: Split, trajectory: &Trajectory) -> Result<(), Error> {
        let mut problems = trajectory_problems(trajectory, &self.manifest, split);
        let previous = self.open.as_ref().filter(|open| open.split == split).and_then(|open| open.last.as_ref());
        problems.extend(order_problem(previous.map(IndexEntry::key), trajectory.key()));
        if self.finished.contains_key(&split) && self.open.as_ref().is_none_or(|open| open.split != split) {
            problems.push("the split has ended; expected all trajectories of a split one after the other".to_owned());
        }
        let population = Population::of_split(split);
        let known = match previous.filter(|previous| previous.environment == trajectory.environment) {
            Some(previous) => Some(&previous.parameters),
            None => self.environments.get(&(population, trajectory.environment.clone())),
        };
        problems.extend(known.and_then(|known| parameters_problem(known, &trajectory.parameters)));
        let is_new = known.is_none();
        Error::trajectory(&self.target, split, trajectory, problems)?;

        let values = trajectory.times.len() + trajectory.states.len() + trajectory.inputs.len() + TRAJECTORY_VALUES;
        match &self.open {
            Some(open) if open.split == split => {
                if open.values + values > SHARD_VALUES {
                    self.end_shard()?;
                }
            }
            _ => {
                self.end_shard()?;
                let (summary, rows) = (SplitSummary::default(), Vec::new());
                self.open = Some(OpenSplit { split, summary, rows, values: 0, last: None });
            }
        }
        let is_long = values > SHARD_VALUES && self.manifest.grid.is_none();
        if let Some(open) = &mut self.open {
            let new_environment = open.last.as_ref().is_none_or(|last| last.environment != trajectory.environment);
            open.summary.add(new_environment, trajectory.len(), trajectory.missing());
            open.last = Some(IndexEntry::new(trajectory));
            if !is_long {
                open.values += values;
                open.rows.push(trajectory.clone());
            }
        }
        if is_long {
            self.write_shard(std::slice::from_ref(trajectory), is_long)?;
        }
        if is_new && population != Population::Grid && !trajectory.parameters.is_empty() {
            self.environments.insert((population, trajectory.environment.clone()), trajectory.parameters.clone());
        }
        Ok(())
    }

    /// Completes the dataset and moves it to its path, replacing what was there.
    ///
    /// # Errors
    /// If no trajectory was written, or a file cannot be written; the path is then unchanged.
    pub fn finish(self) -> Result<Manifest, Error> {
        self.publish(&Run::silent())
    }

    /// The same, and tells the observer of `run` ([`crate::progress::Observer::complete`]) before the dataset appears. Shards that were finished
    /// are kept for [`Writer::resume`] where the disk is full.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn publish(mut self, run: &Run) -> Result<Manifest, Error> {
        let described = self.end_shard().and_then(|()| self.describe());
        let told = described.and_then(|sha256| {
            let inode = fs::metadata(self.directory.path()).map(|metadata| metadata.ino());
            inode.and_then(|inode| run.observer.complete(&sha256, inode)).map_err(Error::io(&self.target))
        });
        if let Err(error) = told {
            self.keep();
            return Err(error);
        }
        self.name_shards()?;
        self.directory.publish().map_err(Error::io(&self.target))?;
        Ok(self.manifest)
    }

    /// Writes the manifest and what else describes the dataset, with the final names of the data files. Returns the manifest's SHA-256.
    fn describe(&mut self) -> Result<String, Error> {
        if self.finished.is_empty() {
            return Err(Error::invalid(
                &self.target,
                "no trajectory was written",
                "at least one split with trajectories",
            ));
        }
        self.manifest.files.clear();
        for (&split, shards) in &self.finished {
            for (shard, FinishedShard { files, .. }) in shards.iter().enumerate() {
                for (entry, store) in files.iter().zip([Store::Parquet, Store::Hdf5]) {
                    let path = data_file(split, store, shard, shards.len());
                    self.manifest.files.push(FileEntry { path, ..entry.clone() });
                }
            }
            if let Some(last) = shards.last() {
                self.manifest.splits.insert(split, last.summary.clone());
            }
        }
        self.manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
        for (name, text) in [(CARD, card::text(&self.manifest)), (CROISSANT, croissant::text(&self.manifest))] {
            let path = self.directory.path().join(name);
            disk::write(&path, text).map_err(Error::io(&path))?;
        }
        let path = self.directory.path().join(MANIFEST);
        let mut json = serde_json::to_vec_pretty(&self.manifest).map_err(|error| Error::Json {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
            found: error.to_string(),
        })?;
        json.push(b'\n');
        disk::write(&path, &json).map_err(Error::io(&path))?;
        seal::write(self.directory.path())?;
        Ok(sha256(&json))
    }

    /// Writes both copies of the current shard, if it has a trajectory.
    fn end_shard(&mut self) -> Result<(), Error> {
        let Some(open) = self.open.as_mut().filter(|open| !open.rows.is_empty()) else { return Ok(()) };
        let mut rows = std::mem::take(&mut open.rows);
        open.values = 0;
        self.write_shard(&rows, false)?;
        rows.clear();
        if let Some(open) = &mut self.open {
            open.rows = rows;
        }
        Ok(())
    }

    /// Writes both copies of a shard of these rows; a single long trajectory is written without a second copy in memory.
    fn write_shard(&mut self, rows: &[Trajectory], is_long: bool) -> Result<(), Error> {
        let Some(open) = &self.open else { return Ok(()) };
        let Some(last) = open.last.clone() else { return Ok(()) };
        let directory = self.directory.path();
        let shards = self.finished.entry(open.split).or_default();
        let [data, hdf5] = ["data", "hdf5"].map(|folder| format!("{folder}/{}-{:05}.part", open.split, shards.len()));
        let (manifest, split) = (&self.manifest, open.split);
        let write_table = || {
            match rows {
                [row] if is_long => parquet_store::write_long(&directory.join(&data), manifest, split, row)?,
                rows => parquet_store::write(&directory.join(&data), manifest, split, rows)?,
            }
            file_entry(directory, &data)
        };
        let write_image = || {
            let path = directory.join(&hdf5);
            if let ([row], true) = (rows, is_long) {
                let wanted = row.len() * (manifest.sample_size() + 1) * size_of::<f64>();
                require_space(directory, &path, wanted as u64)?;
                disk::before_library_creates(&path).map_err(Error::io(&path))?;
                disk::before_library_writes(&path).map_err(Error::io(&path))?;
                hdf5_store::write_long(&path, manifest, split, row).map_err(Error::unwritten(&path))?;
                return file_entry(directory, &hdf5);
            }
            let image = hdf5_store::image(manifest, split, rows).map_err(Error::hdf5(&path))?;
            disk::write(&path, &image).map_err(Error::io(&path))?;
            Ok(FileEntry { path: hdf5.clone(), bytes: image.len() as u64, sha256: sha256(&image) })
        };
        let (table, image) = rayon::join(write_table, write_image);
        let finished = FinishedShard {
            description: self.description.clone().unwrap_or_default(),
            summary: open.summary.clone(),
            last,
            files: [table?, image?],
        };
        if self.description.is_some() {
            unfinished::record(directory, open.split, shards.len(), &finished)?;
        }
        shards.push(finished);
        Ok(())
    }

    /// Gives the files of all shards their final names, which hold the number of shards.
    fn name_shards(&mut self) -> Result<(), Error> {
        if self.description.is_some() {
            unfinished::forget(self.directory.path())?;
        }
        for (split, shards) in std::mem::take(&mut self.finished) {
            let count = shards.len();
            for (shard, FinishedShard { files, .. }) in shards.into_iter().enumerate() {
                for (entry, store) in files.into_iter().zip([Store::Parquet, Store::Hdf5]) {
                    let path = data_file(split, store, shard, count);
                    let [from, to] = [&entry.path, &path].map(|path| self.directory.path().join(path));
                    disk::rename(&from, &to).map_err(Error::io(&to))?;
                }
            }
        }
        Ok(())
    }
}

/// The manifest at the start of writing.
fn prepared(mut manifest: Manifest, directory: &Path) -> Result<Manifest, Error> {
    Error::problems(directory, manifest.description_problems())?;
    manifest.format = FormatVersion::DATASET;
    manifest.kind = KIND.to_owned();
    manifest.splits.clear();
    manifest.files.clear();
    Ok(manifest)
}
