//! Some rows of a split.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exact::exact_fields;
use crate::schema::{Split, Trajectory};

exact_fields!(Trajectory: environment, trajectory, parameters, times, states, inputs);

/// Consecutive trajectories of a split, in stored order: those of whole environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The split.
    pub split: Split,
    /// The first trajectory, from 0.
    pub first: usize,
    /// Number of trajectories.
    pub count: usize,
}

impl Rows {
    /// These rows of a split.
    pub fn new(split: Split, rows: Range<usize>) -> Self {
        Rows { split, first: rows.start, count: rows.len() }
    }

    /// Their numbers in the split.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}
