//! Predictions of fields: files as the dataset has them in `hdf5/`, whose channels hold what is predicted.

use std::path::{Path, PathBuf};

use super::predictions::in_words;
use crate::dataset::hdf5_store::read::OpenSplit;
use crate::dataset::{Dataset, Error, Store};
use crate::forecast::ROUNDING;
use crate::problems::{Kind, Problem, Problems};
use crate::schema::{Split, Trajectory};

/// The files of a split, which have the trajectories of the dataset in its order.
pub(super) struct Fields {
    shards: Vec<(PathBuf, OpenSplit)>,
}

/// The names of the files of a split.
pub(super) fn names(dataset: &Dataset, split: Split) -> Vec<String> {
    let files = dataset.manifest().data_files(split, Store::Hdf5).into_iter();
    files.map(|file| file.trim_start_matches("hdf5/").to_owned()).collect()
}

impl Fields {
    /// Opens the files of a split in a directory; `None` where none is there.
    ///
    /// # Errors
    /// If one of several is missing, or one cannot be read or is not shaped as the dataset's.
    pub(super) fn open(dataset: &Dataset, split: Split, directory: &Path) -> Result<Option<Self>, Error> {
        let paths: Vec<PathBuf> = names(dataset, split).iter().map(|name| directory.join(name)).collect();
        if !paths.iter().any(|path| path.is_file()) {
            return Ok(None);
        }
        let open = |path: PathBuf| OpenSplit::open(&path, dataset.manifest(), split).map(|shard| (path, shard));
        Ok(Some(Fields { shards: paths.into_iter().map(open).collect::<Result<_, Error>>()? }))
    }

    /// The path of the first file.
    pub(super) fn path(&self) -> &Path {
        self.shards.first().map_or(Path::new(""), |(path, _)| path)
    }

    /// Predicted and observed values of the trajectory in this row of the split, but for those that are missing and those of its first complete
    /// sample and of earlier ones; adds a problem where something else is predicted, or nothing.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn pairs_of(
        &self,
        row: usize,
        observed: &Trajectory,
        problems: &mut Problems,
    ) -> Result<Vec<(f64, f64)>, Error> {
        let mut first = 0;
        let Some((path, shard, at)) = self.shards.iter().find_map(|(path, shard)| {
            let at = row.checked_sub(first);
            first += shard.index.len();
            at.filter(|at| *at < shard.index.len()).map(|at| (path, shard, at))
        }) else {
            let found = format!("fewer trajectories than {}", row + 1);
            let problem = Problem::new(Kind::MissingValue, found, "those of the dataset", "add those that are missing");
            problems.push(problem.file(self.path()));
            return Ok(Vec::new());
        };
        let Some(predicted) = shard.read(at..at + 1)?.pop() else { return Ok(Vec::new()) };
        let ids = |it: &Trajectory| in_words(&[it.environment.clone(), it.trajectory.clone()]);
        let mut differs = |found: String, expected: String| {
            let remedy = "keep ids and times as they are in the dataset's own file, and replace the channels alone";
            problems.push(Problem::new(Kind::UnknownEnvironment, found, expected, remedy).file(path));
        };
        if ids(&predicted) != ids(observed) {
            differs(format!("{} in row {at}", ids(&predicted)), ids(observed));
            return Ok(Vec::new());
        }
        let (times, expected) = (&predicted.times, &observed.times);
        let length = expected.last().zip(expected.first()).map_or(0.0, |(last, first)| last - first);
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING * length;
        if times.len() != expected.len() || !times.iter().zip(expected).all(is_near) {
            differs(format!("other times of {}", ids(observed)), format!("its {} times", expected.len()));
            return Ok(Vec::new());
        }
        // Without a complete sample there is nothing to start from.
        let Some(start) = observed.start() else { return Ok(Vec::new()) };
        let scored = (start + 1) * observed.channels()..;
        let pairs = observed.states[scored.clone()].iter().zip(&predicted.states[scored]);
        let pairs: Vec<(f64, f64)> = pairs.filter(|(y, _)| !y.is_nan()).map(|(y, z)| (*z, *y)).collect();
        let missing = pairs.iter().filter(|(predicted, _)| !predicted.is_finite()).count();
        if missing > 0 {
            let found = format!("{missing} of {} values are no numbers, of {}", pairs.len(), ids(observed));
            let remedy = "write a number at every point; a figure has no value without it";
            let problem = Problem::new(Kind::MissingValue, found, "a prediction of every value that is scored", remedy);
            problems.push(problem.file(path));
            return Ok(Vec::new());
        }
        Ok(pairs)
    }
}
