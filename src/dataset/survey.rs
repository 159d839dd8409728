//! Statistics of a dataset: ranges of channels and inputs, coverage of parameters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::error::Error;
use super::reader::Dataset;
use super::store::Store;
use crate::schema::{Split, Trajectory};

/// Trajectories held in memory at once.
const BATCH: usize = 64;

/// Least and greatest of the values that are not missing; `None` if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ValueRange {
    /// The least value.
    pub least: Option<f64>,
    /// The greatest value.
    pub greatest: Option<f64>,
}

impl ValueRange {
    fn add(&mut self, values: &[f64]) {
        for &value in values.iter().filter(|value| !value.is_nan()) {
            self.least = Some(self.least.map_or(value, |least| least.min(value)));
            self.greatest = Some(self.greatest.map_or(value, |greatest| greatest.max(value)));
        }
    }
}

/// The values of a parameter over the environments of a split.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Coverage {
    /// Their range.
    #[serde(flatten)]
    pub range: ValueRange,
    /// Number of distinct values.
    pub distinct: usize,
    /// Number of environments where it is unknown.
    pub unknown: usize,
}

/// Statistics of a split.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SplitSurvey {
    /// Range of the sample times.
    pub times: ValueRange,
    /// One a channel, in the order of the manifest.
    pub channels: Vec<ValueRange>,
    /// One an input, in the order of the manifest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<ValueRange>,
    /// One a parameter, in the order of the manifest.
    pub parameters: Vec<Coverage>,
}

/// The first trajectory of each of at most `most` environments, at equal distances in the dataset's first split.
///
/// # Errors
/// If they cannot be read.
pub fn first_trajectories(dataset: &Dataset, most: usize) -> Result<Vec<Trajectory>, Error> {
    let Some(&split) = dataset.manifest().splits.keys().next() else { return Ok(Vec::new()) };
    let mut firsts: Vec<(usize, String)> =
        dataset.index(split)?.into_iter().map(|entry| entry.environment).enumerate().collect();
    firsts.dedup_by(|(_, later), (_, earlier)| later == earlier);
    let count = firsts.len().min(most);
    let rows: Vec<usize> = (0..count).map(|i| firsts[i * firsts.len() / count].0).collect();
    dataset.read_rows(split, &rows)
}

/// The statistics of all splits; reads a few trajectories at a time.
///
/// # Errors
/// If it cannot be read or does not match its manifest.
pub fn survey(dataset: &Dataset) -> Result<BTreeMap<Split, SplitSurvey>, Error> {
    let manifest = dataset.manifest();
    let shape = manifest.state_shape();
    let mut surveys = BTreeMap::new();
    for &split in manifest.splits.keys() {
        let mut survey = SplitSurvey {
            channels: vec![ValueRange::default(); manifest.channels.len()],
            inputs: vec![ValueRange::default(); manifest.inputs.len()],
            ..SplitSurvey::default()
        };
        let mut values = vec![BTreeSet::new(); manifest.parameters.len()];
        let mut coverage = vec![Coverage::default(); manifest.parameters.len()];
        let mut environment = None;
        for batch in dataset.batches(split, Store::Hdf5, BATCH)? {
            for trajectory in batch? {
                survey.times.add(&trajectory.times);
                for (c, range) in survey.channels.iter_mut().enumerate() {
                    shape.channel(&trajectory.states, c).for_each(|values| range.add(values));
                }
                for t in 0..trajectory.len() {
                    survey.inputs.iter_mut().zip(trajectory.input(t)).for_each(|(range, value)| range.add(&[*value]));
                }
                if environment.as_ref() == Some(&trajectory.environment) {
                    continue;
                }
                for ((value, coverage), values) in trajectory.parameters.iter().zip(&mut coverage).zip(&mut values) {
                    match value {
                        Some(value) => {
                            coverage.range.add(&[*value]);
                            values.insert(value.to_bits());
                        }
                        None => coverage.unknown += 1,
                    }
                }
                environment = Some(trajectory.environment);
            }
        }
        coverage.iter_mut().zip(&values).for_each(|(coverage, values)| coverage.distinct = values.len());
        survey.parameters = coverage;
        surveys.insert(split, survey);
    }
    Ok(surveys)
}
