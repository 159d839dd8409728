//! Training data: which trajectories are in a batch, where rollouts restart, and what is held in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::settings::{Labels, TeacherForcing};
use crate::checkpoint::{Environment, Units};
use crate::dataset::{Dataset, Error, IndexEntry};
use crate::engine::{Batch, Segment};
use crate::random::Stream;
use crate::schema;
use crate::schema::{Split, Trajectory};

/// A trajectory in a step.
pub(super) struct Turn {
    /// Its place among those of its environment.
    pub place: usize,
    /// Its row in the split.
    pub row: usize,
}

/// A split of the training environments, in memory or read batch by batch.
///
/// A trajectory starts at its first complete sample; one in which no sample follows a complete one is left out.
#[derive(Clone)]
pub(super) struct SplitData<'a> {
    dataset: &'a Dataset,
    split: Split,
    units: Units,
    /// Square root of the weight in the loss of each value of a state; empty where all weights are equal.
    roots: Vec<f64>,
    /// Rows of the split, by environment in the order of the model's contexts.
    rows: Vec<Vec<usize>>,
    /// Number of observed values after the start of each of these rows: what a rollout is compared with.
    compared: Vec<Vec<usize>>,
    /// Most intervals between samples of a trajectory.
    longest: usize,
    /// Trajectories that are left out.
    left_out: usize,
    /// Every trajectory by its row, scaled, if the split fits the memory budget.
    held: Option<Arc<Vec<Trajectory>>>,
    /// Trajectories of each environment that the memory budget holds at once.
    held_per_environment: usize,
}

impl<'a> SplitData<'a> {
    /// Indexes `split`, and reads it into memory if it takes at most `budget` bytes. Where labels are not known, all its rows are in the first
    /// of the environments, until they are [`assigned`](SplitData::assigned).
    ///
    /// # Errors
    /// Any error of reading.
    pub(super) fn open(
        dataset: &'a Dataset,
        split: Split,
        (environments, labels): (&[Environment], Labels),
        units: &Units,
        roots: &[f64],
        budget: usize,
    ) -> Result<Self, Error> {
        let places: BTreeMap<&str, usize> =
            environments.iter().enumerate().map(|(e, it)| (it.id.as_str(), e)).collect();
        let index = dataset.index(split)?;
        let of_rows = compared(dataset, split, &index)?;
        let (mut rows, mut compared) = (vec![Vec::new(); environments.len()], vec![Vec::new(); environments.len()]);
        let mut left_out = 0;
        for ((row, entry), values) in index.iter().enumerate().zip(of_rows) {
            left_out += usize::from(values.is_none());
            let place = match labels {
                Labels::Known => places.get(entry.environment.as_str()).copied(),
                Labels::Infer => Some(0),
            };
            if let (Some(e), Some(values)) = (place, values) {
                rows[e].push(row);
                compared[e].push(values);
            }
        }
        let samples: usize = index.iter().map(|entry| entry.samples).sum();
        let bytes = samples * (1 + units.state.len() + units.inputs.len()) * size_of::<f64>();
        let most = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut data = SplitData {
            dataset,
            split,
            units: units.clone(),
            roots: roots.to_vec(),
            rows,
            compared,
            longest: index.iter().map(|entry| entry.samples.saturating_sub(1)).max().unwrap_or(0),
            left_out,
            held: None,
            held_per_environment: most,
        };
        if bytes <= budget {
            let all: Vec<usize> = (0..index.len()).collect();
            data.held = Some(Arc::new(data.read(&all)?));
        } else {
            data.held_per_environment = (most as f64 * budget as f64 / bytes as f64).max(1.0) as usize;
        }
        Ok(data)
    }

    /// All rows, ascending.
    pub(super) fn rows_in_order(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.rows.iter().flatten().copied().collect();
        rows.sort_unstable();
        rows
    }

    /// The same split with each of its rows, ascending, in the environment that is given for it.
    pub(super) fn assigned(&self, assignments: &[usize]) -> Self {
        let all = self.rows.iter().flatten().copied().zip(self.compared.iter().flatten().copied());
        let values: BTreeMap<usize, usize> = all.collect();
        let mut split = self.clone();
        split.rows.iter_mut().for_each(Vec::clear);
        split.compared.iter_mut().for_each(Vec::clear);
        for ((row, values), &e) in values.into_iter().zip(assignments) {
            split.rows[e].push(row);
            split.compared[e].push(values);
        }
        let most = split.trajectories_per_environment();
        split.held_per_environment = if self.is_held() { most } else { self.held_per_environment.min(most) };
        split
    }

    /// These rows as those of one environment, cut into segments at the samples that `restarts` returns.
    ///
    /// # Errors
    /// Any error of reading, where the split is not in memory.
    pub(super) fn of_rows(
        &self,
        rows: &[usize],
        restarts: impl FnMut(usize, &Trajectory) -> Vec<usize>,
    ) -> Result<Batch, Error> {
        self.gather(&[rows.to_vec()], restarts)
    }

    /// Largest number of residuals of a step on at most `per_environment` trajectories of each environment, or on all.
    pub(super) fn most_residuals(&self, per_environment: Option<usize>) -> usize {
        most_residuals(self.compared.iter().map(Vec::as_slice), per_environment)
    }

    /// Names of the channels.
    pub(super) fn channel_names(&self) -> Vec<&str> {
        self.dataset.manifest().channels.iter().map(|channel| channel.name.as_str()).collect()
    }

    /// Whether the split is in memory.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Number of trajectories that are left out because they have no complete sample that another follows.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Most intervals between samples of a trajectory.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Indices of the environments whose trajectories are all left out.
    pub(super) fn empty_environments(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|&e| self.rows[e].is_empty())
    }

    /// The largest number of trajectories that an environment has.
    pub(super) fn trajectories_per_environment(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Trajectories of each environment that the memory budget holds at once: all, if the split is in memory.
    pub(super) fn held_per_environment(&self) -> usize {
        self.held_per_environment
    }

    fn read(&self, rows: &[usize]) -> Result<Vec<Trajectory>, Error> {
        let mut trajectories = self.dataset.read_rows(self.split, rows)?;
        for trajectory in &mut trajectories {
            trajectory.start_at(trajectory.start().unwrap_or(0));
            self.units.scale(trajectory);
        }
        Ok(trajectories)
    }

    /// `per_environment` trajectories of each environment for `step`: they take turns, so that all are used in
    /// `trajectories / per_environment` steps. Each is cut into segments at the samples that `restarts` returns.
    ///
    /// # Errors
    /// Any error of reading, where the split is not in memory.
    pub(super) fn batch(
        &self,
        step: u64,
        per_environment: usize,
        restarts: impl FnMut(usize, &Trajectory) -> Vec<usize>,
    ) -> Result<Batch, Error> {
        let turns = self.turns(step, per_environment);
        let chosen: Vec<Vec<usize>> = turns.iter().map(|of| of.iter().map(|turn| turn.row).collect()).collect();
        self.gather(&chosen, restarts)
    }

    /// The trajectories of each environment whose turn `step` is.
    pub(super) fn turns(&self, step: u64, per_environment: usize) -> Vec<Vec<Turn>> {
        let of_environment = |rows: &Vec<usize>| {
            let count = per_environment.min(rows.len());
            let first = step.wrapping_mul(count as u64);
            let place = |i: u64| (first.wrapping_add(i) % rows.len() as u64) as usize;
            (0..count as u64).map(place).map(|place| Turn { place, row: rows[place] }).collect()
        };
        self.rows.iter().map(of_environment).collect()
    }

    /// Every trajectory, whole: row `b` of an environment is the one at that place of it.
    ///
    /// # Errors
    /// Any error of reading, where the split is not in memory.
    pub(super) fn whole(&self) -> Result<Batch, Error> {
        self.part(0, self.trajectories_per_environment())
    }

    /// A trajectory of a split that is in memory.
    pub(super) fn trajectory(&self, turn: &Turn) -> &Trajectory {
        &self.held.as_ref().expect("the split is in memory")[turn.row]
    }

    /// Whole trajectories `first..first + count` of each environment, or those of them that exist.
    ///
    /// # Errors
    /// Any error of reading, where the split is not in memory.
    fn part(&self, first: usize, count: usize) -> Result<Batch, Error> {
        let chosen: Vec<Vec<usize>> =
            self.rows.iter().map(|rows| rows.iter().skip(first).take(count).copied().collect()).collect();
        self.gather(&chosen, |_, _| Vec::new())
    }

    /// Calls `take` with batches of whole trajectories until all were used, each as large as the memory budget allows.
    ///
    /// # Errors
    /// Any error of reading, where the split is not in memory.
    pub(super) fn each_part(&self, mut take: impl FnMut(&Batch)) -> Result<(), Error> {
        for first in (0..self.trajectories_per_environment()).step_by(self.held_per_environment) {
            take(&self.part(first, self.held_per_environment)?);
        }
        Ok(())
    }

    /// The rows `chosen` of each environment.
    fn gather(
        &self,
        chosen: &[Vec<usize>],
        mut restarts: impl FnMut(usize, &Trajectory) -> Vec<usize>,
    ) -> Result<Batch, Error> {
        let flat: Vec<usize> = chosen.iter().flatten().copied().collect();
        let read;
        let trajectories: Vec<&Trajectory> = match &self.held {
            Some(held) => flat.iter().map(|&row| &held[row]).collect(),
            None => {
                read = self.read(&flat)?;
                read.iter().collect()
            }
        };
        let mut next = trajectories.into_iter();
        let mut segments = Vec::with_capacity(chosen.len());
        for rows in chosen {
            let mut of_environment = Vec::new();
            for (&row, trajectory) in rows.iter().zip(&mut next) {
                cut(trajectory, &restarts(row, trajectory), &mut of_environment);
            }
            segments.push(of_environment);
        }
        let mut batch = Batch::new(self.units.state.len(), &self.units.between, &segments, (0, 0));
        batch.weigh(&self.roots);
        Ok(batch)
    }
}

/// Pushes the segments of `trajectory` that start at its first sample and at each of `restarts` (ascending inner
/// samples).
fn cut<'t>(trajectory: &'t Trajectory, restarts: &[usize], segments: &mut Vec<Segment<'t>>) {
    let (channels, inputs) = (trajectory.channels(), trajectory.inputs_per_sample());
    let ends = restarts.iter().copied().chain([trajectory.len() - 1]);
    let mut start = 0;
    for end in ends {
        segments.push(Segment {
            times: &trajectory.times[start..=end],
            states: &trajectory.states[start * channels..(end + 1) * channels],
            inputs: &trajectory.inputs[start * inputs..(end + 1) * inputs],
        });
        start = end;
    }
}

/// Probability that a sample restarts the rollout at `step`.
pub(super) fn restart_probability(settings: &TeacherForcing, step: u64) -> f64 {
    settings.start * settings.decay.powf(step as f64 / settings.every as f64)
}

/// Largest number of residuals of a step on at most `per_environment` trajectories of each environment, or on all,
/// given how many values of each are compared. Trajectories take turns, so the number differs between steps.
fn most_residuals<'a>(compared: impl Iterator<Item = &'a [usize]>, per_environment: Option<usize>) -> usize {
    let of_environment = |values: &[usize]| {
        let together = per_environment.unwrap_or(values.len()).min(values.len());
        let from = |first: usize| values.iter().cycle().skip(first).take(together).sum::<usize>();
        // The sum over all of them is the same wherever it begins.
        let begins = if together == values.len() { 1 } else { values.len() };
        (0..begins).map(from).max().unwrap_or(0)
    };
    compared.map(of_environment).sum()
}

/// Number of observed values after the start of each row of `split`; `None` where no sample follows a complete one.
fn compared(dataset: &Dataset, split: Split, index: &[IndexEntry]) -> Result<Vec<Option<usize>>, Error> {
    let manifest = dataset.manifest();
    if manifest.splits.get(&split).is_none_or(|summary| summary.missing == 0) {
        let values = |entry: &IndexEntry| Some((entry.samples - 1) * manifest.state_shape().size());
        return Ok(index.iter().map(values).collect());
    }
    let mut found = Vec::with_capacity(index.len());
    for batch in dataset.stream(split)? {
        let values = |it: &Trajectory| it.start().map(|_| schema::compared(&it.states, it.len()));
        found.extend(batch?.iter().map(values));
    }
    Ok(found)
}

/// The samples of the trajectory at `row` where the rollout restarts: inner ones, and complete ones only.
pub(super) fn draw_restarts(seed: u64, step: u64, row: usize, trajectory: &Trajectory, probability: f64) -> Vec<usize> {
    if probability < 1e-6 {
        return Vec::new(); // fewer than one restart in a million samples
    }
    let mut stream = Stream::new(seed, "teacher-forcing", &[step, row as u64]);
    let drawn = (1..trajectory.len().saturating_sub(1)).filter(|_| stream.unit() < probability);
    drawn.filter(|&sample| trajectory.is_complete(sample)).collect()
}

/// The samples where segments of `segment` intervals begin, or longer ones where the sample at their end is not complete.
pub(super) fn even_restarts(trajectory: &Trajectory, segment: usize) -> Vec<usize> {
    let (mut restarts, mut last) = (Vec::new(), 0);
    for sample in 1..trajectory.len().saturating_sub(1) {
        if sample - last >= segment && trajectory.is_complete(sample) {
            restarts.push(sample);
            last = sample;
        }
    }
    restarts
}

/// The training environments in ascending order of their id, with their known parameters.
///
/// # Errors
/// Any error of reading.
pub(super) fn environments(dataset: &Dataset) -> Result<Vec<Environment>, Error> {
    let mut environments: Vec<Environment> = Vec::new();
    for entry in dataset.index(Split::Train)? {
        if environments.last().is_none_or(|last| last.id != entry.environment) {
            environments.push(Environment { id: entry.environment, parameters: entry.parameters });
        }
    }
    Ok(environments)
}
