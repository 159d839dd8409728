//! All that the estimation of one environment gives.

use super::compared::Compared;
use super::fitted::FittedSamples;
use super::of_trajectory::OfTrajectory;
use super::row::Row;
use crate::blocks::exact_fields;

exact_fields!(Estimated: row, samples, starts, own, compared, early);

/// The row of one environment, and what is written beside it.
pub(crate) struct Estimated {
    pub row: Row,
    /// Fitted trajectories, where they are asked for.
    pub samples: FittedSamples,
    /// Initial values that were fitted between bounds.
    pub starts: Vec<OfTrajectory>,
    /// Parameters of trajectories.
    pub own: Vec<OfTrajectory>,
    /// The models that were compared, this one among them; empty where one was fitted.
    pub compared: Vec<Compared>,
    /// Whether it has samples before the time at which the equations start.
    pub early: bool,
}
