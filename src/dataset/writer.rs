//! Writes both copies of a dataset from one stream of trajectories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::check::{Population, order_problem, parameters_problem};
use super::layout::{CARD, CROISSANT, MANIFEST, data_file, file_entry};
use super::manifest::KIND;
use super::{Error, Manifest, SplitSummary, Store, card, croissant, hdf5_store, parquet_store, seal};
use crate::atomic::Directory;
use crate::schema::{FormatVersion, Split, Trajectory};

/// Writes a dataset; it appears under its name only at [`Writer::finish`].
///
/// The bytes depend on the manifest and the trajectories only. A large split is cut into shards of bounded size, whose
/// trajectories are held in memory until the shard ends: its HDF5 file is built there, and its Parquet file says whether
/// cells are missing.
pub struct Writer {
    target: PathBuf,
    directory: Directory,
    manifest: Manifest,
    open: Option<OpenSplit>,
    ended: BTreeSet<Split>,
    /// Parameters of every environment so far that could come again in another split.
    environments: BTreeMap<(Population, String), Vec<Option<f64>>>,
}

/// Size at which a shard ends, counted in doubles (16 MiB).
const SHARD_VALUES: usize = 1 << 21;
/// What a trajectory takes beside its samples, in doubles: ids, parameters, and what holds them.
const TRAJECTORY_VALUES: usize = 64;

/// The split that is being written.
struct OpenSplit {
    split: Split,
    summary: SplitSummary,
    /// Shards begun.
    shards: usize,
    /// Trajectories of the current shard, and their size in doubles.
    rows: Vec<Trajectory>,
    values: usize,
    /// The last trajectory of the shard before.
    before: Option<Trajectory>,
}

impl OpenSplit {
    fn last(&self) -> Option<&Trajectory> {
        self.rows.last().or(self.before.as_ref())
    }
}

impl Writer {
    /// Starts a dataset that will stand at `directory`, described by `manifest` (whose `splits` and `files` are filled
    /// in by the writer, and whose `format` and `kind` are set to what this build writes).
    ///
    /// # Errors
    /// If the quantities cannot be columns or collide (every problem), or the place cannot be written to.
    pub fn create(directory: &Path, mut manifest: Manifest) -> Result<Self, Error> {
        Error::problems(directory, manifest.description_problems())?;
        manifest.format = FormatVersion::CURRENT;
        manifest.kind = KIND.to_owned();
        manifest.splits.clear();
        manifest.files.clear();
        let target = directory.to_owned();
        let directory = Directory::create(directory).map_err(Error::io(directory))?;
        for folder in ["data", "hdf5"] {
            let folder = directory.path().join(folder);
            fs::create_dir(&folder).map_err(Error::io(&folder))?;
        }
        Ok(Writer { target, directory, manifest, open: None, ended: BTreeSet::new(), environments: BTreeMap::new() })
    }

    /// Appends one trajectory. Trajectories of a split come in ascending [`Trajectory::key`] order; splits come one
    /// after the other. A refused trajectory leaves the dataset as it was.
    ///
    /// # Errors
    /// If the trajectory breaks a rule of the format (every rule it breaks), or a file cannot be written.
    pub fn write(&mut self, split: Split, trajectory: &Trajectory) -> Result<(), Error> {
        let mut problems = self.manifest.trajectory_problems(trajectory);
        let previous = self.open.as_ref().filter(|open| open.split == split).and_then(OpenSplit::last);
        problems.extend(order_problem(previous.map(Trajectory::key), trajectory.key()));
        if self.ended.contains(&split) {
            problems.push("the split has ended; expected all trajectories of a split one after the other".to_owned());
        }
        let population = Population::of(split);
        let known = match previous.filter(|previous| previous.environment == trajectory.environment) {
            Some(previous) => Some(&previous.parameters),
            None => self.environments.get(&(population, trajectory.environment.clone())),
        };
        problems.extend(known.and_then(|known| parameters_problem(known, &trajectory.parameters)));
        let is_new = known.is_none();
        Error::trajectory(&self.target, split, trajectory, problems)?;

        let values = trajectory.times.len() + trajectory.states.len() + TRAJECTORY_VALUES;
        match &self.open {
            Some(open) if open.split == split => {
                if open.values + values > SHARD_VALUES {
                    self.next_shard()?;
                }
            }
            _ => {
                self.end_split()?;
                let (summary, rows) = (SplitSummary::default(), Vec::new());
                self.open = Some(OpenSplit { split, summary, shards: 1, rows, values: 0, before: None });
            }
        }
        if let Some(open) = &mut self.open {
            let new_environment = open.last().is_none_or(|last| last.environment != trajectory.environment);
            open.summary.add(new_environment, trajectory.len(), trajectory.missing());
            open.values += values;
            open.rows.push(trajectory.clone());
        }
        if is_new && population != Population::Grid {
            self.environments.insert((population, trajectory.environment.clone()), trajectory.parameters.clone());
        }
        Ok(())
    }

    /// Completes both copies and what describes them, and puts the dataset in place, replacing what stood there.
    ///
    /// # Errors
    /// If no trajectory was written, or a file cannot be written; the place is then unchanged.
    pub fn finish(mut self) -> Result<Manifest, Error> {
        self.end_split()?;
        if self.manifest.splits.is_empty() {
            return Err(Error::invalid(
                &self.target,
                "no trajectory was written",
                "at least one split with trajectories",
            ));
        }
        self.manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
        for (name, text) in [(CARD, card::text(&self.manifest)), (CROISSANT, croissant::text(&self.manifest))] {
            let path = self.directory.path().join(name);
            fs::write(&path, text).map_err(Error::io(&path))?;
        }
        let path = self.directory.path().join(MANIFEST);
        let mut json = serde_json::to_vec_pretty(&self.manifest).map_err(|error| Error::Json {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
            found: error.to_string(),
        })?;
        json.push(b'\n');
        fs::write(&path, json).map_err(Error::io(&path))?;
        seal::write(self.directory.path())?;
        self.directory.publish().map_err(Error::io(&self.target))?;
        Ok(self.manifest)
    }

    /// Where a shard lies until it is known how many there are.
    fn unnamed(&self, split: Split, store: Store, shard: usize) -> PathBuf {
        let folder = self.directory.path().join(if store == Store::Hdf5 { "hdf5" } else { "data" });
        folder.join(format!("{split}-{shard:05}.part"))
    }

    fn next_shard(&mut self) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        self.write_shard(&open)?;
        open.before = open.rows.pop();
        open.rows.clear();
        open.values = 0;
        open.shards += 1;
        self.open = Some(open);
        Ok(())
    }

    /// Writes the current shard of both copies.
    fn write_shard(&self, open: &OpenSplit) -> Result<(), Error> {
        let path = self.unnamed(open.split, Store::Parquet, open.shards - 1);
        parquet_store::write(&path, &self.manifest, open.split, &open.rows)?;
        let path = self.unnamed(open.split, Store::Hdf5, open.shards - 1);
        let image = hdf5_store::image(&self.manifest, open.split, &open.rows).map_err(Error::hdf5(&path))?;
        fs::write(&path, image).map_err(Error::io(&path))
    }

    fn end_split(&mut self) -> Result<(), Error> {
        let Some(open) = self.open.take() else { return Ok(()) };
        self.write_shard(&open)?;
        let OpenSplit { split, summary, shards, .. } = open;
        for shard in 0..shards {
            for store in [Store::Parquet, Store::Hdf5] {
                let relative = data_file(split, store, shard, shards);
                let path = self.directory.path().join(&relative);
                fs::rename(self.unnamed(split, store, shard), &path).map_err(Error::io(&path))?;
                self.list(&relative)?;
            }
        }
        self.manifest.splits.insert(split, summary);
        self.ended.insert(split);
        Ok(())
    }

    fn list(&mut self, relative: &str) -> Result<(), Error> {
        self.manifest.files.push(file_entry(self.directory.path(), relative)?);
        Ok(())
    }
}
