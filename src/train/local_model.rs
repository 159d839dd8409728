//! The penalised residuals around what is trained, to first order, from which a step of Gauss-Newton is computed.

use super::curvature::Curvature;
use super::settings::GaussNewton;
use crate::rules::Rule;

/// A step and what is expected of it.
pub struct Step {
    /// `z + dz`.
    pub trained: Vec<f64>,
    /// Expected decrease of the penalised sum of squares, by the linear model and the parabolas.
    pub decrease: f64,
}

/// Residuals, linearised around `z`, with the parabolas that touch the penalties from above.
pub trait LocalModel {
    /// The sum of squared residuals at `z`.
    fn squares(&self) -> f64;

    /// What the first damping is relative to.
    fn mean_diagonal(&self) -> f64;

    /// The step with damping `mu`, corrected by `curvature` if it is given and the model can; `None` where it cannot be computed: its
    /// matrix is not numerically positive definite, a value is not finite, or a signal came.
    fn step(&self, damping: f64, curvature: Option<&Curvature>) -> Option<Step>;
}

/// `h` of the shared values for `n` residuals. Without a penalty nothing is held, not even a row whose norm is zero.
pub(super) fn shared_majorizer(rule: &dyn Rule, settings: &GaussNewton, shared: &[f64], n: usize) -> Vec<f64> {
    match settings.locality_penalty {
        0.0 => vec![0.0; shared.len()],
        lambda => rule.majorizer_weights(shared).into_iter().map(|q| n as f64 * lambda * q).collect(),
    }
}
