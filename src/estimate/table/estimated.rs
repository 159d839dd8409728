//! All that the estimation of one environment gives.

use super::fitted::FittedSamples;
use super::row::Row;
use super::starts::FittedStart;

/// The row of one environment, and what is written beside it.
pub(crate) struct Estimated {
    pub row: Row,
    /// Fitted trajectories, where they are asked for.
    pub samples: FittedSamples,
    /// Initial values that were fitted between bounds.
    pub starts: Vec<FittedStart>,
}
