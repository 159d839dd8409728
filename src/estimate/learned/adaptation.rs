//! The result of fitting a context.

use nalgebra::DMatrix;

use crate::estimate::table::row::Status;

/// The fitted context of one environment.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// `[d]`; NaN where the fit failed, as `status` and `reason` tell.
    pub context: Vec<f64>,
    /// Covariance of the context `[d, d]`: its block of `s^2 (J'J)^-1`, `s^2 = |r|^2 / degrees`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// Degrees of freedom: the number of observed values minus that of the unknowns that they determine.
    pub degrees: f64,
    /// States that the support trajectories start from, observed or estimated: one `[C]` per trajectory, in the model's
    /// own units.
    pub initial_states: Vec<Vec<f64>>,
    /// Predictions of the support trajectories at the fitted context: one `[T - 1, C]` per trajectory, in the model's
    /// own units.
    pub predictions: Vec<Vec<f64>>,
    /// What the fit made least: the weighted mean of the squared residuals, with the penalty of the context.
    pub cost: f64,
    /// How the fit ended.
    pub status: Status,
    /// Why, where the status is not `ok`; else empty.
    pub reason: String,
    /// Gauss-Newton iterations, those of rough and repeated fits included.
    pub iterations: usize,
}

impl Adaptation {
    /// Whether a fit from another start may find a minimum where this one found none.
    pub(crate) fn could_begin_elsewhere(&self) -> bool {
        matches!(self.status, Status::NotConverged | Status::Diverged | Status::Unidentifiable)
    }

    /// Becomes the fit `again` from another start if that found a minimum, and this one none or one whose cost is more than `1 / clearly` times as great;
    /// says whether it did. Iterations are those of both.
    pub(crate) fn give_way_to(&mut self, again: Adaptation, clearly: f64) -> bool {
        let iterations = self.iterations + again.iterations;
        let is_better = self.could_begin_elsewhere() || again.cost < clearly * self.cost;
        let gives_way = again.status == Status::Ok && is_better;
        if gives_way {
            *self = again;
        }
        self.iterations = iterations;
        gives_way
    }
}
