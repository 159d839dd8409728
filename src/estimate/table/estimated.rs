//! All that the estimation of one environment gives.

use super::fitted::FittedSamples;
use super::row::Row;
use super::starts::FittedStart;
use crate::blocks::exact_fields;

exact_fields!(Estimated: row, samples, starts, early);

/// The row of one environment, and what is written beside it.
pub(crate) struct Estimated {
    pub row: Row,
    /// Fitted trajectories, where they are asked for.
    pub samples: FittedSamples,
    /// Initial values that were fitted between bounds.
    pub starts: Vec<FittedStart>,
    /// Whether it has samples before the time at which the equations start.
    pub early: bool,
}
