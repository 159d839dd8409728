//! Writes both copies of a dataset from one stream of trajectories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::check::{Population, order_problem, parameters_problem, trajectory_problems};
use super::layout::{CARD, MANIFEST, data_file, file_entry};
use super::manifest::KIND;
use super::parquet_store::Shard;
use super::{Error, Manifest, SplitSummary, Store, card, hdf5_store};
use crate::atomic::Directory;
use crate::schema::{FormatVersion, Split, Trajectory};

/// Writes a dataset; it appears under its name only at [`Writer::finish`].
///
/// The bytes depend on the manifest and the trajectories only. The trajectories of one split are held in memory until
/// the split ends, for its HDF5 file is built there.
pub struct Writer {
    target: PathBuf,
    directory: Directory,
    manifest: Manifest,
    open: Option<OpenSplit>,
    ended: BTreeSet<Split>,
    /// Parameters of every environment so far.
    environments: BTreeMap<(Population, String), Vec<Option<f64>>>,
}

/// The split that is being written.
struct OpenSplit {
    split: Split,
    rows: Vec<Trajectory>,
    shard: Shard,
    summary: SplitSummary,
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
        let mut problems = trajectory_problems(trajectory, &self.manifest.channels, &self.manifest.parameters);
        let previous = self.open.as_ref().filter(|open| open.split == split).and_then(|open| open.rows.last());
        problems.extend(order_problem(previous.map(Trajectory::key), trajectory.key()));
        if self.ended.contains(&split) {
            problems.push("the split has ended; expected all trajectories of a split one after the other".to_owned());
        }
        let environment = (Population::of(split), trajectory.environment.clone());
        let known = self.environments.get(&environment);
        problems.extend(known.and_then(|known| parameters_problem(known, &trajectory.parameters)));
        Error::trajectory(&self.target, split, trajectory, problems)?;

        if self.open.as_ref().is_none_or(|open| open.split != split) {
            self.end_split()?;
            let path = self.directory.path().join(data_file(split, Store::Parquet));
            let shard = Shard::create(&path, &self.manifest, split)?;
            self.open = Some(OpenSplit { split, rows: Vec::new(), shard, summary: SplitSummary::default() });
        }
        if let Some(open) = &mut self.open {
            open.shard.write(trajectory)?;
            let new_environment = open.rows.last().is_none_or(|last| last.environment != trajectory.environment);
            open.summary.add(new_environment, trajectory.len());
            open.rows.push(trajectory.clone());
        }
        self.environments.entry(environment).or_insert_with(|| trajectory.parameters.clone());
        Ok(())
    }

    /// Completes both copies, the card and the manifest, and puts the dataset in place, replacing what stood there.
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
        let path = self.directory.path().join(CARD);
        fs::write(&path, card::text(&self.manifest)).map_err(Error::io(&path))?;
        self.list(CARD)?;
        self.manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
        let path = self.directory.path().join(MANIFEST);
        let mut json = serde_json::to_vec_pretty(&self.manifest).map_err(|error| Error::Json {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
            found: error.to_string(),
        })?;
        json.push(b'\n');
        fs::write(&path, json).map_err(Error::io(&path))?;
        self.directory.publish().map_err(Error::io(&self.target))?;
        Ok(self.manifest)
    }

    fn end_split(&mut self) -> Result<(), Error> {
        let Some(OpenSplit { split, rows, shard, summary }) = self.open.take() else { return Ok(()) };
        shard.finish()?;
        self.list(&data_file(split, Store::Parquet))?;
        let relative = data_file(split, Store::Hdf5);
        let path = self.directory.path().join(&relative);
        let image = hdf5_store::image(&self.manifest, split, &rows).map_err(Error::hdf5(&path))?;
        fs::write(&path, image).map_err(Error::io(&path))?;
        self.list(&relative)?;
        self.manifest.splits.insert(split, summary);
        self.ended.insert(split);
        Ok(())
    }

    fn list(&mut self, relative: &str) -> Result<(), Error> {
        self.manifest.files.push(file_entry(self.directory.path(), relative)?);
        Ok(())
    }
}
