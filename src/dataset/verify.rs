//! Checks the files of a dataset against its manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::Error;
use super::file_entry::listed_problem;
use super::hdf5_store::read::OpenSplit;
use super::index::{counts_problem, index_problems};
use super::layout::{CARD, CROISSANT, MANIFEST};
use super::manifest::{Manifest, SplitSummary};
use super::rules::{Population, order_problem, parameters_problem, trajectory_problems};
use super::store::Store;
use super::{parquet_store, seal};
use crate::regular;
use crate::schema::{Split, Trajectory};
use crate::seal::SUMS;

/// Files besides those that the manifest lists.
const DESCRIPTIONS: [&str; 4] = [MANIFEST, CARD, CROISSANT, SUMS];
/// Trajectories compared at a time.
const BATCH: usize = 64;

/// The files of a dataset whose size or digest is not what `manifest` states.
pub fn damaged<'a>(directory: &Path, manifest: &'a Manifest) -> Vec<&'a str> {
    let damaged = manifest.files.iter().filter(|file| listed_problem(directory, file).is_some());
    damaged.map(|file| file.path.as_str()).collect()
}

/// Checks the files against the manifest: digests, sizes, counts and shapes, that both copies agree, and that no trajectory occurs
/// twice. Returns all problems, a sentence each that names file and place.
pub fn verify(directory: &Path) -> Vec<String> {
    let sealed = match seal::problems(directory) {
        Ok(problems) => problems,
        Err(error) => return vec![error.to_string()],
    };
    let of_sealed = sealed.iter().map(|(name, problem)| format!("{}: {problem}", directory.join(name).display()));
    let of_sealed: Vec<String> = of_sealed.collect();
    if sealed.iter().any(|(name, _)| *name == MANIFEST) {
        return of_sealed;
    }
    let path = directory.join(MANIFEST);
    let manifest = match regular::read(&path).map_err(Error::io(&path)).and_then(|bytes| Manifest::parse(&path, &bytes))
    {
        Ok(manifest) => manifest,
        Err(error) => return vec![error.to_string()],
    };
    let stated = manifest.problems();
    if !stated.is_empty() {
        return stated.into_iter().map(|problem| format!("{}: {problem}", path.display())).collect();
    }
    let mut verification = Verification {
        directory,
        manifest: &manifest,
        problems: of_sealed,
        unsound: BTreeSet::new(),
        environments: BTreeMap::new(),
        places: BTreeMap::new(),
    };
    verification.check_listed_files();
    verification.check_extra_files(directory, "");
    for split in manifest.splits.keys() {
        verification.check_split(*split);
    }
    verification.check_repeated();
    verification.problems
}

/// The parameters of an environment, and the split where they were read first.
struct KnownParameters {
    split: Split,
    parameters: Vec<Option<f64>>,
}

/// What has been read of a split, shard after shard.
#[derive(Default)]
struct Seen {
    counted: SplitSummary,
    last: Option<Trajectory>,
}

struct Verification<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
    problems: Vec<String>,
    /// Files with a wrong size or digest; their content is not read.
    unsound: BTreeSet<String>,
    environments: BTreeMap<(Population, String), KnownParameters>,
    /// Trajectories by the digest of their samples.
    places: BTreeMap<[u8; 32], Vec<(Split, String, String)>>,
}

impl Verification<'_> {
    fn problem(&mut self, relative: &str, problem: impl std::fmt::Display) {
        self.problems.push(format!("{}: {problem}", self.directory.join(relative).display()));
    }

    fn check_listed_files(&mut self) {
        for entry in &self.manifest.files {
            if let Some(problem) = listed_problem(self.directory, entry) {
                self.problem(&entry.path, problem);
                self.unsound.insert(entry.path.clone());
            }
        }
    }

    fn check_extra_files(&mut self, folder: &Path, prefix: &str) {
        let mut entries = match fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>()) {
            Ok(entries) => entries,
            Err(error) => return self.problem(prefix, error),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let relative = format!("{prefix}{}", name.to_string_lossy());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.check_extra_files(&entry.path(), &format!("{relative}/"));
            } else if !DESCRIPTIONS.contains(&relative.as_str()) && self.manifest.file(&relative).is_none() {
                self.problem(&relative, "is not listed in the manifest; expected only listed files");
            }
        }
    }

    fn check_split(&mut self, split: Split) {
        let [hdf5, parquet] = [Store::Hdf5, Store::Parquet].map(|store| self.manifest.data_files(split, store));
        let opened: Vec<Option<OpenSplit>> = hdf5.iter().map(|relative| self.open(split, relative)).collect();
        if opened.iter().all(Option::is_some) {
            let index = opened.iter().flatten().flat_map(|open| &open.index);
            for problem in index_problems(index, self.manifest, split) {
                self.problem(&hdf5[0], problem);
            }
        }
        let mut seen = Seen::default();
        let mut complete = true;
        for ((open, hdf5), parquet) in opened.iter().zip(&hdf5).zip(&parquet) {
            let open = open.as_ref().map(|open| (open, hdf5.as_str()));
            let read =
                if self.unsound.contains(parquet) { None } else { self.check_parquet(split, parquet, open, &mut seen) };
            complete &= read.is_some();
            if let (None, Some((open, hdf5))) = (read, open) {
                let rows = open.index.len();
                for start in (0..rows).step_by(BATCH) {
                    if let Some(trajectories) = self.check_hdf5(split, hdf5, open, start..(start + BATCH).min(rows)) {
                        self.remember(split, parquet, &trajectories);
                    }
                }
            }
        }
        let stated = self.manifest.splits.get(&split).filter(|_| complete);
        if let Some(problem) = stated.and_then(|stated| counts_problem(&seen.counted, stated)) {
            self.problem(&parquet[0], problem);
        }
    }

    fn open(&mut self, split: Split, relative: &str) -> Option<OpenSplit> {
        if self.unsound.contains(relative) {
            return None;
        }
        let open = OpenSplit::open(&self.directory.join(relative), self.manifest, split);
        open.map_err(|error| self.problems.push(error.to_string())).ok()
    }

    /// Reads rows of the HDF5 copy and checks each trajectory.
    fn check_hdf5(
        &mut self,
        split: Split,
        relative: &str,
        open: &OpenSplit,
        rows: Range<usize>,
    ) -> Option<Vec<Trajectory>> {
        match open.padding_problems(rows.clone()).and_then(|problems| Ok((problems, open.read(rows)?))) {
            Ok((problems, trajectories)) => {
                for problem in problems {
                    self.problem(relative, problem);
                }
                self.check_trajectories(split, relative, &trajectories);
                Some(trajectories)
            }
            Err(error) => {
                self.problems.push(error.to_string());
                None
            }
        }
    }

    /// Reads a shard of the Parquet copy and checks it alone and against the HDF5 copy; `None` if it could not be read
    /// completely.
    fn check_parquet(
        &mut self,
        split: Split,
        relative: &str,
        open: Option<(&OpenSplit, &str)>,
        seen: &mut Seen,
    ) -> Option<()> {
        let batches = match parquet_store::stream(&self.directory.join(relative), self.manifest, split, BATCH) {
            Ok(batches) => batches,
            Err(error) => {
                self.problems.push(error.to_string());
                return None;
            }
        };
        let mut start = 0;
        for batch in batches {
            let trajectories = match batch {
                Ok(trajectories) => trajectories,
                Err(error) => {
                    self.problems.push(error.to_string());
                    return None;
                }
            };
            self.check_trajectories(split, relative, &trajectories);
            if let Some((open, hdf5)) = open {
                let rows = start.min(open.index.len())..(start + trajectories.len()).min(open.index.len());
                for (ours, theirs) in self.check_hdf5(split, hdf5, open, rows).iter().flatten().zip(&trajectories) {
                    for difference in differences(ours, theirs, self.manifest) {
                        let place = place(theirs);
                        self.problem(relative, format!("{place}: {difference}; expected the same as in the HDF5 copy"));
                    }
                }
            }
            start += trajectories.len();
            self.remember(split, relative, &trajectories);
            for trajectory in trajectories {
                let previous = seen.last.as_ref();
                if let Some(problem) = order_problem(previous.map(Trajectory::key), trajectory.key()) {
                    self.problem(relative, format!("{} {problem}", place(&trajectory)));
                }
                let new_environment = previous.is_none_or(|last| last.environment != trajectory.environment);
                seen.counted.add(new_environment, trajectory.len(), trajectory.missing());
                seen.last = Some(trajectory);
            }
        }
        if let Some((open, hdf5)) = open.filter(|(open, _)| open.index.len() != start) {
            self.problem(relative, format!("{start} rows; expected {} as in `{hdf5}`", open.index.len()));
        }
        Some(())
    }

    fn check_trajectories(&mut self, split: Split, relative: &str, trajectories: &[Trajectory]) {
        for trajectory in trajectories {
            for problem in trajectory_problems(trajectory, self.manifest, split) {
                self.problem(relative, format!("{}: {problem}", place(trajectory)));
            }
        }
    }

    /// Records trajectories for the checks across splits.
    fn remember(&mut self, split: Split, relative: &str, trajectories: &[Trajectory]) {
        for trajectory in trajectories {
            if !trajectory.is_empty() {
                let mut hasher = Sha256::new();
                for value in trajectory.times.iter().chain(&trajectory.states).chain(&trajectory.inputs) {
                    hasher.update(value.to_bits().to_le_bytes());
                }
                let place = (split, trajectory.environment.clone(), trajectory.trajectory.clone());
                self.places.entry(hasher.finalize().into()).or_default().push(place);
            }
            let environment = (Population::of_split(split), trajectory.environment.clone());
            let known = self
                .environments
                .entry(environment)
                .or_insert_with(|| KnownParameters { split, parameters: trajectory.parameters.clone() });
            if let Some(problem) = parameters_problem(&known.parameters, &trajectory.parameters) {
                let problem = format!("{}: {problem} (split `{}`)", self::place(trajectory), known.split);
                self.problem(relative, problem);
            }
        }
    }

    /// Reports trajectories that occur in two splits: a model would be tested on its training data.
    fn check_repeated(&mut self) {
        for places in std::mem::take(&mut self.places).into_values() {
            let (first_split, environment, trajectory) = &places[0];
            for (split, other_environment, other_trajectory) in &places[1..] {
                if split != first_split {
                    self.problem(
                        &self.manifest.data_files(*split, Store::Parquet)[0],
                        format!(
                            "environment `{other_environment}`, trajectory `{other_trajectory}` has the samples of environment \
                             `{environment}`, trajectory `{trajectory}` in split `{first_split}`; expected splits that share none"
                        ),
                    );
                }
            }
        }
    }
}

fn place(trajectory: &Trajectory) -> String {
    format!("environment `{}`, trajectory `{}`", trajectory.environment, trajectory.trajectory)
}

/// How the copy `found` of a trajectory differs from `expected`, a sentence each.
fn differences(expected: &Trajectory, found: &Trajectory, manifest: &Manifest) -> Vec<String> {
    if expected.key() != found.key() {
        return vec![format!("stands in place of {}", place(expected))];
    }
    let mut differences = Vec::new();
    for ((parameter, expected), found) in manifest.parameters.iter().zip(&expected.parameters).zip(&found.parameters) {
        if expected.map(f64::to_bits) != found.map(f64::to_bits) {
            differences.push(format!("parameter `{}` is {found:?} and not {expected:?}", parameter.name));
        }
    }
    if expected.len() != found.len() {
        differences.push(format!("{} samples and not {}", found.len(), expected.len()));
        return differences;
    }
    let differs = |(a, b): (&f64, &f64)| a.to_bits() != b.to_bits();
    if let Some(t) = expected.times.iter().zip(&found.times).position(differs) {
        differences.push(format!("time of sample {t} is {} and not {}", found.times[t], expected.times[t]));
    }
    for (u, input) in manifest.inputs.iter().enumerate() {
        let of = |trajectory: &Trajectory| -> Vec<f64> {
            trajectory.inputs.iter().skip(u).step_by(manifest.inputs.len()).copied().collect()
        };
        let (expected, found) = (of(expected), of(found));
        if let Some(t) = expected.iter().zip(&found).position(differs) {
            let name = &input.quantity.name;
            differences.push(format!("`{name}` at sample {t} is {} and not {}", found[t], expected[t]));
        }
    }
    for (c, channel) in manifest.channels.iter().enumerate() {
        let state = manifest.state_shape();
        let samples = state.channel(&expected.states, c).zip(state.channel(&found.states, c)).enumerate();
        let mut pairs = samples.flat_map(|(t, (expected, found))| expected.iter().zip(found).map(move |it| (t, it)));
        if let Some((t, (expected, found))) = pairs.find(|(_, (expected, found))| differs((expected, found))) {
            differences.push(format!("`{}` at sample {t} is {found} and not {expected}", channel.name));
        }
    }
    differences
}
