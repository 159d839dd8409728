//! Whether held-out trajectories lie in the bands that a fit foretells of them.
//!
//! ```text
//! y_c(t) in x_c(t) +- q sqrt(T_xi Sigma T_xi' + T_0 S T_0' + s_c^2),   T_xi = dx_c(t)/dxi [d],  T_0 = dx_c(t)/dx(t_0) [C]
//! ```
//!
//! `Sigma [d, d]` covariance of the context, `S [C, C]` that of the start, which is a measurement: `s_c^2` of its channels, the noise that the fit
//! found; `q` the quantile of Student's distribution for 95 %. Of a model and intervals that are right the band holds 95 % of the values.

use nalgebra::{DMatrix, DVector};

use super::support::Support;
use crate::checkpoint::Units;
use crate::engine::{Batch, Engine, Tangents, Wrt};
use crate::estimate::table::interval::{LEVEL, quantile};

/// The context of an environment, and how well it is known.
pub(super) struct Fitted {
    /// `[d]`.
    pub context: Vec<f64>,
    /// `[d, d]`.
    pub covariance: DMatrix<f64>,
    /// Degrees of freedom of the covariance.
    pub degrees: f64,
}

/// How many values of the `held_out` trajectories lie in their bands, and how many there are; `noise [C]` is in the dataset's units. Values without
/// a band are not counted.
pub(super) fn in_bands(
    (engine, tangents): (&dyn Engine, &dyn Tangents),
    fitted: &Fitted,
    noise: &[f64],
    held_out: &Support,
    units: &Units,
) -> [usize; 2] {
    let (values, d) = (units.state.len(), fitted.context.len());
    let variances: Vec<f64> = noise.iter().zip(&units.state).map(|(s, scale)| (s / scale.scale).powi(2)).collect();
    let quantile = quantile(LEVEL, fitted.degrees);
    // An engine takes batches of a fixed number of environments: the others have no segment.
    let together = engine.environments_per_batch();
    let mut segments = vec![held_out.segments()];
    segments.resize(together, Vec::new());
    let batch = Batch::new(values, &units.between, &segments, (1, 1));
    let mut contexts = fitted.context.clone();
    contexts.resize(together * d, 0.0);
    let (predictions, moved) = tangents.roll_out_wrt(Wrt::ContextAndInitial, &contexts, &batch);
    let count = batch.rows * batch.steps * values;
    let mut counted = [0, 0];
    let of_values = predictions.iter().zip(&batch.targets).zip(&batch.mask).zip(moved.chunks_exact(d + values));
    for (i, (((predicted, observed), mask), tangent)) in of_values.take(count).enumerate() {
        let (of_context, of_start) = tangent.split_at(d);
        let of_context = DVector::from_column_slice(of_context);
        let of_start: f64 = of_start.iter().zip(&variances).map(|(t, variance)| t * t * variance).sum();
        let variance = (&fitted.covariance * &of_context).dot(&of_context) + of_start + variances[i % values];
        let half = quantile * variance.sqrt();
        if *mask > 0.0 && half.is_finite() {
            counted[0] += usize::from((predicted - observed).abs() <= half);
            counted[1] += 1;
        }
    }
    counted
}
