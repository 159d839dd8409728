//! `manifest.json` of a dataset.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::file_entry::{FileEntry, path_problem};
use super::layout::{RESERVED, data_file, shards_of_first};
use super::publication::Publication;
use super::store::Store;
use crate::schema::{FormatVersion, Grid, GridAxis, Input, Quantity, Split, StateShape, TOOL, algorithm};

/// The `kind` of a dataset's manifest.
pub(crate) const KIND: &str = "dataset";

/// The description of a dataset. It holds no date and no absolute path, so the same inputs give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of the format.
    pub format: FormatVersion,
    /// Always `dataset`.
    pub kind: String,
    /// Name of the dataset.
    pub name: String,
    /// One sentence for the card.
    pub description: String,
    /// SPDX expression or `unknown`.
    pub license: String,
    /// Who made it, and how it is cited; absent where nothing is said.
    #[serde(default, skip_serializing_if = "Publication::is_empty")]
    pub publication: Publication,
    /// What made it.
    pub provenance: Provenance,
    /// Unit of all times.
    pub time_unit: String,
    /// The observed quantities `[C]`.
    pub channels: Vec<Quantity>,
    /// The grid on which each channel is a field; absent without space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// Known signals that act on the system; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The parameters of environments `[d_p]`.
    pub parameters: Vec<Quantity>,
    /// What an import did besides copying values; absent if it did nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub import_report: Vec<Treatment>,
    /// Tolerance of the data themselves (the solver's `rtol`); absent where it is unknown, as for measurements.
    pub data_tolerance: Option<f64>,
    /// Counts of each split.
    pub splits: BTreeMap<Split, SplitSummary>,
    /// The data files.
    pub files: Vec<FileEntry>,
}

/// Something that an import did with its input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Treatment {
    /// What was done: `rows_left_out`, `missing`, `converted`, `interpolated`, `events`, `input_samples`, `outside`, `dropped`, `merged`,
    /// `cut` or `left_alone`; of fields `samples_left_out` or `points_left_out`.
    pub done: String,
    /// The channel, input or column, if it was done to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How often: rows, cells, values, samples, points, gaps or files, as the text says.
    pub count: u64,
    /// The same for people.
    pub text: String,
}

/// How a directory was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// `paramill` and its version.
    pub tool: String,
    /// `generate`, `import`, `merge`, `split`, `train` or `estimate`.
    pub stage: String,
    /// The version of the stage's algorithm; absent where it is the first.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub algorithm: u32,
    /// The effective settings of the stage, every default filled in.
    pub configuration: serde_json::Value,
    /// Seed of random draws, if the stage draws.
    pub seed: Option<u64>,
    /// Digests of its inputs.
    pub parents: Vec<Parent>,
}

pub(crate) fn first() -> u32 {
    1
}

fn is_first(version: &u32) -> bool {
    *version == first()
}

impl Provenance {
    /// What this build makes by `stage`.
    pub fn new(stage: &str, configuration: serde_json::Value, seed: Option<u64>, parents: Vec<Parent>) -> Self {
        Provenance {
            tool: TOOL.to_owned(),
            stage: stage.to_owned(),
            algorithm: algorithm(stage),
            configuration,
            seed,
            parents,
        }
    }
}

/// An input of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parent {
    /// Name of the dataset, model or source file.
    pub name: String,
    /// SHA-256, hex: of the manifest for a directory, of the bytes for a file.
    pub sha256: String,
}

/// Counts of one split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SplitSummary {
    /// Number of environments.
    pub environments: usize,
    /// Number of trajectories.
    pub trajectories: usize,
    /// Samples of all trajectories together.
    pub samples: usize,
    /// Fewest samples of a trajectory.
    pub shortest: usize,
    /// Most samples of a trajectory.
    pub longest: usize,
    /// Missing cells of all trajectories together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: usize,
}

pub(crate) fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The part of a manifest that all format versions share.
#[derive(Deserialize)]
struct Header {
    kind: String,
    format: FormatVersion,
}

impl Manifest {
    /// What describes trajectories that are in memory alone: values at points, without inputs.
    pub(crate) fn in_memory(time_unit: &str, channels: Vec<Quantity>, parameters: Vec<Quantity>) -> Self {
        Manifest {
            format: FormatVersion::DATASET,
            kind: KIND.to_owned(),
            name: String::new(),
            description: String::new(),
            license: String::new(),
            publication: Publication::default(),
            provenance: Provenance::new("import", serde_json::Value::Null, None, Vec::new()),
            time_unit: time_unit.to_owned(),
            channels,
            grid: None,
            inputs: Vec::new(),
            parameters,
            import_report: Vec::new(),
            data_tolerance: None,
            splits: BTreeMap::new(),
            files: Vec::new(),
        }
    }

    /// The shape of one sample's state.
    pub fn state_shape(&self) -> StateShape {
        StateShape::new(self.channels.len(), self.grid.as_ref())
    }

    /// Values of one sample: its state and its inputs.
    pub(crate) fn sample_size(&self) -> usize {
        self.state_shape().size() + self.inputs.len()
    }

    /// Reads a manifest from the bytes of the file `path`, without checking what it says.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Manifest, Error> {
        if let Ok(Header { kind, format }) = serde_json::from_slice(bytes) {
            if kind != KIND {
                return Err(Error::invalid(path, format!("kind is `{kind}`"), format!("`{KIND}`")));
            }
            if let Some((found, expected)) = format.problem(FormatVersion::DATASET) {
                return Err(Error::invalid(path, found, expected));
            }
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let text = error.to_string();
            let found = text.rsplit_once(" at line ").map_or(text.as_str(), |(found, _)| found).to_owned();
            Error::Json { path: path.to_owned(), line: error.line(), column: error.column(), found }
        })
    }

    /// All problems of the manifest, a sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.description_problems();
        if self.kind != KIND {
            problems.push(format!("kind is `{}`; expected `{KIND}`", self.kind));
        }
        if self.splits.is_empty() {
            problems.push("`splits` is empty; expected at least one split".to_owned());
        }
        for (split, summary) in &self.splits {
            summary.problems(*split, &mut problems);
        }
        self.file_problems(&mut problems);
        problems
    }

    /// The problems of names, units and texts.
    pub(crate) fn description_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            problems.push(format!("name is {:?}; expected one line of text", self.name));
        }
        if self.channels.is_empty() {
            problems.push("`channels` is empty; expected at least one channel".to_owned());
        }
        if let Some(tolerance) = self.data_tolerance.filter(|value| !(value.is_finite() && *value >= 0.0)) {
            problems.push(format!("`data_tolerance` is {tolerance}; expected a number from 0 up, or null"));
        }
        let texts = [("description", &self.description), ("license", &self.license), ("time_unit", &self.time_unit)];
        for (what, text) in texts {
            if text.contains('\0') {
                problems.push(format!("`{what}` has a NUL character; expected text"));
            }
        }
        let mut seen: BTreeMap<&str, String> =
            RESERVED.iter().map(|name| (*name, "a name that the format uses itself".to_owned())).collect();
        let channels = self.channels.iter().map(|it| ("channel", &it.name, [&it.unit, &it.description]));
        let parameters = self.parameters.iter().map(|it| ("parameter", &it.name, [&it.unit, &it.description]));
        let inputs =
            self.inputs.iter().map(|Input { quantity: it, .. }| ("input", &it.name, [&it.unit, &it.description]));
        let axes = self.grid.iter().flat_map(|grid| &grid.axes).map(|it| ("axis", &it.name, [&it.unit, &it.unit]));
        for (role, name, texts) in channels.chain(inputs).chain(parameters).chain(axes) {
            let name = name.as_str();
            if name.is_empty()
                || name == "."
                || name.trim() != name
                || name.contains(|c: char| c == '/' || c.is_control())
            {
                problems.push(format!(
                    "{role} name {name:?} cannot be a column; expected text without `/`, control characters or space at its ends"
                ));
            }
            if texts.iter().any(|text| text.contains('\0')) {
                problems.push(format!("{role} `{name}` has a NUL character in its unit or description; expected text"));
            }
            match seen.get(name) {
                Some(other) => problems.push(format!("{role} `{name}` collides with {other}; expected distinct names")),
                None => {
                    seen.insert(name, format!("another quantity, the {role} `{name}`"));
                }
            }
        }
        problems.extend(self.grid.iter().flat_map(grid_problems));
        problems
    }

    fn file_problems(&self, problems: &mut Vec<String>) {
        let mut expected = BTreeSet::new();
        for split in self.splits.keys() {
            let files = [Store::Hdf5, Store::Parquet].map(|store| self.data_files(*split, store));
            expected.extend(files.into_iter().flatten());
        }
        let mut listed = BTreeSet::new();
        for FileEntry { path, sha256, .. } in &self.files {
            if let Some(problem) = path_problem(path) {
                problems.push(format!("file path {path:?} {problem}; expected a relative path inside the directory"));
            } else if !expected.contains(path) {
                problems.push(format!("file `{path}` is listed; expected the HDF5 and Parquet files of each split"));
            }
            if !listed.insert(path.as_str()) {
                problems.push(format!("file `{path}` is listed twice; expected it once"));
            }
            if sha256.len() != 64 || !sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                problems.push(format!("`sha256` of `{path}` is {sha256:?}; expected 64 lower-case hex digits"));
            }
        }
        for path in expected.iter().filter(|path| !listed.contains(path.as_str())) {
            problems.push(format!("file `{path}` is not listed; expected it with its size and digest"));
        }
    }

    /// Number of files of each copy of a split.
    pub(crate) fn shards(&self, split: Split) -> usize {
        let stated = self.files.iter().find_map(|entry| shards_of_first(split, &entry.path));
        // No more shards than listed files: a wrong count must not make a huge list of expected paths.
        stated.unwrap_or(1).min(self.files.len().max(1))
    }

    /// Relative paths of the shards of a split's copy in `store`, in order.
    pub(crate) fn data_files(&self, split: Split, store: Store) -> Vec<String> {
        let shards = self.shards(split);
        (0..shards).map(|shard| data_file(split, store, shard, shards)).collect()
    }

    /// The entry of the file at the relative `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&FileEntry> {
        self.files.iter().find(|entry| entry.path == path)
    }
}

/// Most points of a grid: a state of one channel then takes half a gigabyte.
const MOST_POINTS: usize = 1 << 26;

/// The problems of a grid, a sentence each.
pub(crate) fn grid_problems(grid: &Grid) -> Vec<String> {
    let mut problems = Vec::new();
    if !(1..=3).contains(&grid.axes.len()) {
        problems.push(format!("`grid` has {} axes; expected one to three, or no grid", grid.axes.len()));
    }
    for GridAxis { name, count, spacing, start, .. } in &grid.axes {
        if *count == 0 {
            problems.push(format!("axis `{name}` has no point; expected at least one"));
        }
        if !(spacing.is_finite() && *spacing > 0.0) {
            problems.push(format!("axis `{name}` has spacing {spacing}; expected a positive number"));
        }
        if !start.is_finite() {
            problems.push(format!("axis `{name}` starts at {start}; expected a number"));
        }
    }
    let points = grid.axes.iter().try_fold(1_usize, |points, axis| points.checked_mul(axis.count));
    if points.is_none_or(|points| points > MOST_POINTS) {
        problems.push(format!("`grid` has too many points; expected {MOST_POINTS} at most"));
    }
    problems
}

impl SplitSummary {
    /// Counts one more trajectory, in ascending key order.
    pub(crate) fn add(&mut self, new_environment: bool, samples: usize, missing: usize) {
        self.environments += usize::from(new_environment);
        self.trajectories += 1;
        self.samples += samples;
        self.shortest = if self.trajectories == 1 { samples } else { self.shortest.min(samples) };
        self.longest = self.longest.max(samples);
        self.missing += missing;
    }

    fn problems(&self, split: Split, problems: &mut Vec<String>) {
        let SplitSummary { environments, trajectories, samples, shortest, longest, .. } = *self;
        if trajectories == 0 {
            problems.push(format!("split `{split}` has no trajectory; expected at least one"));
            return;
        }
        if environments == 0 || environments > trajectories {
            problems.push(format!(
                "split `{split}` has {environments} environments for {trajectories} trajectories; expected from 1 to as many"
            ));
        }
        let fewest = split.fewest_samples();
        if shortest < fewest || longest < shortest {
            problems.push(format!(
                "split `{split}` has {shortest} to {longest} samples a trajectory; expected at least {fewest}, the longest last"
            ));
        }
        let bounds = (shortest.checked_mul(trajectories), longest.checked_mul(trajectories));
        if !matches!(bounds, (Some(fewest), Some(most)) if (fewest..=most).contains(&samples)) {
            problems.push(format!(
                "split `{split}` has {samples} samples in {trajectories} trajectories of {shortest} to {longest}; expected counts that agree"
            ));
        }
    }
}
