//! Reads a split from its HDF5 file: the index when opened, the samples by hyperslabs.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, File, Hyperslab, SliceOrIndex};
use ndarray::IxDyn;

use super::external::external_problems;
use super::texts::Texts;
use super::write::stored_length;
use crate::dataset::error::Error;
use crate::dataset::index::IndexEntry;
use crate::dataset::layout::{ENVIRONMENT_ID, SAMPLE, SAMPLE_COUNT, TIME, TRAJECTORY, TRAJECTORY_ID};
use crate::dataset::manifest::Manifest;
use crate::schema::{Split, StateShape, Trajectory};

/// An open HDF5 file (one shard) of a split, checked against the manifest.
pub(crate) struct OpenSplit {
    path: PathBuf,
    /// The trajectories without their samples, in stored order.
    pub(crate) index: Vec<IndexEntry>,
    time: Time,
    /// One variable `[B, T, n_1, .., n_k]` a channel.
    channels: Vec<Dataset>,
    /// One variable `[B, T]` an input.
    inputs: Vec<Dataset>,
    state: StateShape,
    /// Lengths of the axes of a channel beyond `B` and `T`.
    space: Vec<usize>,
    longest: usize,
}

/// Greatest compression ratio accepted: deflate's limit is 1032.
const GREATEST_DEFLATION: u64 = 1040;

enum Time {
    /// The times `[T]` of every trajectory.
    Shared(Vec<f64>),
    /// The variable `[B, T]`.
    Own(Dataset),
}

impl OpenSplit {
    /// Opens the file at `path` and reads its index. The shape of a single file is that of the manifest; several shards must
    /// each be consistent, and `index_problems` checks them together against the manifest.
    ///
    /// # Errors
    /// If the file refers to another file, or does not match the manifest (every difference).
    pub(crate) fn open(path: &Path, manifest: &Manifest, split: Split) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::hdf5(path))?;
        let variables = Variables { path, file: &file };
        Error::problems(path, external_problems(path, &file)?)?;

        let summary = manifest.splits.get(&split).cloned().unwrap_or_default();
        let (rows, longest) = match manifest.shards(split) {
            1 => (summary.trajectories, stored_length(summary.longest)),
            _ => {
                let along = if file.link_exists(SAMPLE) { SAMPLE } else { TIME };
                let length = |name, most: usize| variables.length(name).unwrap_or(0).min(most);
                (length(TRAJECTORY, summary.trajectories), length(along, stored_length(summary.longest)))
            }
        };
        let float = TypeDescriptor::Float(FloatSize::U8);
        let integer = TypeDescriptor::Integer(IntSize::U8);
        let mut problems = Vec::new();
        variables.check_variable(TRAJECTORY, &integer, &[rows], &mut problems);
        for id in [ENVIRONMENT_ID, TRAJECTORY_ID] {
            variables.check_variable(id, &TypeDescriptor::VarLenUnicode, &[rows], &mut problems);
        }
        for parameter in &manifest.parameters {
            variables.check_variable(&parameter.name, &float, &[rows], &mut problems);
        }
        let state = manifest.state_shape();
        let own_times = file.link_exists(SAMPLE);
        let space = if state.space.is_empty() && !own_times { vec![1] } else { state.space.clone() };
        let shape: Vec<usize> = [rows, longest].into_iter().chain(space.iter().copied()).collect();
        for channel in &manifest.channels {
            variables.check_variable(&channel.name, &float, &shape, &mut problems);
        }
        for input in &manifest.inputs {
            variables.check_variable(&input.quantity.name, &float, &[rows, longest], &mut problems);
        }
        for axis in manifest.grid.iter().flat_map(|grid| &grid.axes) {
            variables.check_variable(&axis.name, &float, &[axis.count], &mut problems);
        }
        if own_times {
            variables.check_variable(SAMPLE, &integer, &[longest], &mut problems);
            variables.check_variable(TIME, &float, &[rows, longest], &mut problems);
            variables.check_variable(SAMPLE_COUNT, &integer, &[rows], &mut problems);
        } else {
            variables.check_variable(TIME, &float, &[longest], &mut problems);
        }
        Error::problems(path, problems)?;

        let (time, counts) = if own_times {
            let counts = variables.open(SAMPLE_COUNT)?.read_raw::<i64>().map_err(Error::hdf5(path))?;
            (Time::Own(variables.open(TIME)?), counts)
        } else {
            let times = variables.open(TIME)?.read_raw::<f64>().map_err(Error::hdf5(path))?;
            (Time::Shared(times), vec![longest as i64; rows])
        };
        let channels =
            manifest.channels.iter().map(|channel| variables.open(&channel.name)).collect::<Result<_, _>>()?;
        let inputs = manifest.inputs.iter().map(|input| variables.open(&input.quantity.name));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let index = variables.index(manifest, &counts, longest)?;
        Ok(OpenSplit { path: path.to_owned(), index, time, channels, inputs, state, space, longest })
    }

    /// The common times of all trajectories, if the file has them.
    pub(crate) fn shared_times(&self) -> Option<&[f64]> {
        match &self.time {
            Time::Shared(times) => Some(times),
            Time::Own(_) => None,
        }
    }

    /// Reads the trajectories of these rows, which must be within the index.
    pub(crate) fn read(&self, rows: Range<usize>) -> Result<Vec<Trajectory>, Error> {
        let entries = &self.index[rows.clone()];
        let longest = stored_length(entries.iter().map(|entry| entry.samples).max().unwrap_or(0));
        let slab = |variable: &Dataset| {
            variable.read_slice_2d::<f64, _>((rows.clone(), 0..longest)).map_err(Error::hdf5(&self.path))
        };
        let mut trajectories: Vec<_> = entries
            .iter()
            .map(|entry| Trajectory {
                environment: entry.environment.clone(),
                trajectory: entry.trajectory.clone(),
                parameters: entry.parameters.clone(),
                times: Vec::new(),
                states: vec![0.0; entry.samples * self.state.size()],
                inputs: vec![0.0; entry.samples * self.inputs.len()],
            })
            .collect();
        match &self.time {
            Time::Shared(times) => trajectories.iter_mut().for_each(|trajectory| trajectory.times.clone_from(times)),
            Time::Own(variable) => {
                let times = slab(variable)?;
                for ((trajectory, entry), times) in trajectories.iter_mut().zip(entries).zip(times.outer_iter()) {
                    trajectory.times.extend(times.iter().take(entry.samples));
                }
            }
        }
        let points = self.state.points().max(1);
        for (c, variable) in self.channels.iter().enumerate() {
            let values = self.fields(variable, rows.clone(), longest)?;
            for (trajectory, values) in trajectories.iter_mut().zip(values.chunks((longest * points).max(1))) {
                let states = trajectory.states.chunks_exact_mut(points).skip(c).step_by(self.channels.len());
                states.zip(values.chunks_exact(points)).for_each(|(state, value)| state.copy_from_slice(value));
            }
        }
        for (u, variable) in self.inputs.iter().enumerate() {
            for (trajectory, values) in trajectories.iter_mut().zip(slab(variable)?.outer_iter()) {
                let inputs = trajectory.inputs.iter_mut().skip(u).step_by(self.inputs.len());
                inputs.zip(values).for_each(|(input, value)| *input = *value);
            }
        }
        Ok(trajectories)
    }

    /// The values `[rows, samples, n_1, .., n_k]` of a channel.
    fn fields(&self, variable: &Dataset, rows: Range<usize>, samples: usize) -> Result<Vec<f64>, Error> {
        let space = self.space.iter().map(|count| 0..*count);
        let slices: Vec<SliceOrIndex> = [rows, 0..samples].into_iter().chain(space).map(SliceOrIndex::from).collect();
        let values = variable.read_slice::<f64, _, IxDyn>(Hyperslab::from(slices)).map_err(Error::hdf5(&self.path))?;
        Ok(values.into_raw_vec_and_offset().0)
    }

    /// Reports values other than NaN after the ends of these rows' trajectories, a sentence each.
    pub(crate) fn padding_problems(&self, rows: Range<usize>) -> Result<Vec<String>, Error> {
        let mut variables: Vec<(&Dataset, usize, Vec<f64>)> = Vec::new();
        for variable in &self.channels {
            let values = self.fields(variable, rows.clone(), self.longest)?;
            variables.push((variable, self.state.points(), values));
        }
        let times = match &self.time {
            Time::Own(variable) => Some(variable),
            Time::Shared(_) => None,
        };
        for variable in times.into_iter().chain(&self.inputs) {
            let slab = variable.read_slice_2d::<f64, _>((rows.clone(), 0..self.longest));
            variables.push((variable, 1, slab.map_err(Error::hdf5(&self.path))?.into_raw_vec_and_offset().0));
        }
        let mut problems = Vec::new();
        for (variable, points, values) in variables {
            for (entry, values) in self.index[rows.clone()].iter().zip(values.chunks((self.longest * points).max(1))) {
                if values.iter().skip(entry.samples * points).any(|value| !value.is_nan()) {
                    problems.push(format!(
                        "environment `{}`, trajectory `{}`: variable `{}` has values after the last sample; expected NaN",
                        entry.environment,
                        entry.trajectory,
                        variable.name().trim_start_matches('/')
                    ));
                }
            }
        }
        Ok(problems)
    }
}

/// The variables of an open file.
struct Variables<'a> {
    path: &'a Path,
    file: &'a File,
}

impl Variables<'_> {
    fn open(&self, name: &str) -> Result<Dataset, Error> {
        self.file.dataset(name).map_err(Error::hdf5(self.path))
    }

    /// Length of the first dimension of a variable, if it exists.
    fn length(&self, name: &str) -> Option<usize> {
        if !self.file.link_exists(name) {
            return None;
        }
        self.file.dataset(name).and_then(|variable| variable.get_shape()).ok()?.first().copied()
    }

    fn check_variable(&self, name: &str, kind: &TypeDescriptor, shape: &[usize], problems: &mut Vec<String>) {
        if !self.file.link_exists(name) {
            problems.push(format!("variable `{name}` is missing; expected it as the manifest states"));
            return;
        }
        let variable = match self.file.dataset(name) {
            Ok(variable) => variable,
            Err(error) => {
                problems.push(format!("`{name}` cannot be opened as a variable: {error}"));
                return;
            }
        };
        match variable.dtype().and_then(|dtype| dtype.to_descriptor()) {
            Ok(found) if found == *kind => {}
            Ok(found) => problems.push(format!("variable `{name}` has type {found}; expected {kind}")),
            Err(error) => problems.push(format!("variable `{name}` has no readable type: {error}")),
        }
        match variable.get_shape() {
            Ok(found) if found == shape => {}
            Ok(found) => problems.push(format!("variable `{name}` has shape {found:?}; expected {shape:?}")),
            Err(error) => problems.push(format!("variable `{name}` has no readable shape: {error}")),
        }
        let claimed = variable.size().saturating_mul(size_of::<f64>()) as u64;
        let most = variable.storage_size().saturating_mul(GREATEST_DEFLATION);
        if claimed > most {
            problems.push(format!(
                "variable `{name}` claims {claimed} bytes, of which {} are stored; expected no more than they can hold ({most})",
                variable.storage_size()
            ));
        }
    }

    fn index(&self, manifest: &Manifest, counts: &[i64], longest: usize) -> Result<Vec<IndexEntry>, Error> {
        let environments = self.strings(ENVIRONMENT_ID)?;
        let trajectories = self.strings(TRAJECTORY_ID)?;
        let parameters = manifest
            .parameters
            .iter()
            .map(|parameter| self.open(&parameter.name)?.read_raw::<f64>().map_err(Error::hdf5(self.path)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut problems = Vec::new();
        let rows = environments.into_iter().zip(trajectories).zip(counts);
        let index = rows
            .enumerate()
            .map(|(row, ((environment, trajectory), &count))| {
                let samples = usize::try_from(count).ok().filter(|count| *count <= longest).unwrap_or_else(|| {
                    problems.push(format!("`{SAMPLE_COUNT}` of row {row} is {count}; expected from 0 to {longest}"));
                    0
                });
                let parameters =
                    parameters.iter().map(|values| Some(values[row]).filter(|value| !value.is_nan())).collect();
                IndexEntry { environment, trajectory, parameters, samples }
            })
            .collect();
        Error::problems(self.path, problems)?;
        Ok(index)
    }

    fn strings(&self, name: &str) -> Result<Vec<String>, Error> {
        let variable = self.open(name)?;
        let texts = Texts::new(self.path, &variable).and_then(|mut texts| texts.read(0..variable.size()));
        let read = texts.map_err(|found| Error::invalid(self.path, format!("`{name}`: {found}"), "ids as texts"))?;
        let text = |(row, place): (usize, Option<usize>)| {
            let missing = || Error::invalid(self.path, format!("no text in `{name}` of row {row}"), "an id");
            place.map(|place| read.texts[place].clone()).ok_or_else(missing)
        };
        read.places.into_iter().enumerate().map(text).collect()
    }
}
