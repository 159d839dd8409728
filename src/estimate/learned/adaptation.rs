//! What a fit of contexts gives.

use nalgebra::DMatrix;

use crate::estimate::table::row::Status;

/// The fitted context of one environment.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// `[d]`; NaN where the status says why.
    pub context: Vec<f64>,
    /// Covariance of the context `[d, d]`: its block of `s^2 (J'J)^-1`, `s^2 = |r|^2 / degrees`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// Observed values less unknowns that they determine.
    pub degrees: f64,
    /// States that the support trajectories start from, observed or estimated: one `[C]` a trajectory, in the model's own units.
    pub initial_states: Vec<Vec<f64>>,
    /// Predictions of the support trajectories at the fitted context: one `[T - 1, C]` a trajectory.
    pub predictions: Vec<Vec<f64>>,
    /// How the fit ended.
    pub status: Status,
    /// Why, where the status is not `ok`; else empty.
    pub reason: String,
    /// Gauss-Newton iterations, those of rough and repeated fits included.
    pub iterations: usize,
}

impl Adaptation {
    /// Whether another start may find the minimum that this one did not.
    pub(crate) fn could_begin_elsewhere(&self) -> bool {
        matches!(self.status, Status::NotConverged | Status::Diverged | Status::Unidentifiable)
    }
}
