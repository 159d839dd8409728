//! The row that a fit of one environment makes.

use nalgebra::DMatrix;

use super::errors::FitErrors;
use super::interval;
use super::interval::Part;
use super::row::{LogLikelihood, Minima, Row, Status};
use crate::estimate::bounds::Bounds;

/// The fit of one environment, by either method, in the units and in the order of the table.
pub(crate) struct EnvironmentFit<'a> {
    pub environment: String,
    pub status: Status,
    pub reason: String,
    /// `[d_xi]`; empty by known equations.
    pub context: Vec<f64>,
    /// Estimated parameters `[d_p]`.
    pub values: &'a [f64],
    /// Their covariance `[d_p, d_p]`.
    pub covariance: &'a DMatrix<f64>,
    /// True parameters `[d_p]` where they are known.
    pub truth: &'a [Option<f64>],
    /// `[d_p]`.
    pub bounds: &'a [Bounds],
    pub errors: FitErrors,
    pub noise_terms: Vec<f64>,
    pub likelihood: Option<LogLikelihood>,
    pub test_mse: Option<f64>,
    pub points: usize,
    pub minima: Option<Minima>,
    /// Of the noise, which the intervals have.
    pub degrees_of_freedom: f64,
    /// The share of the variance of each parameter `[d_p]` that depends on how well the noise is known; empty where it is all.
    pub shares: Vec<f64>,
    /// How many independent values say as much as the `points`.
    pub effective_points: f64,
    /// Correlations of successive residuals `[C]`; NaN where not measured.
    pub autocorrelation: Vec<f64>,
    pub iterations: usize,
    pub in_hull: Option<bool>,
}

impl EnvironmentFit<'_> {
    /// The row of the table, without Cramér-Rao bounds.
    pub(crate) fn row(self) -> Row {
        self.row_of_model(&[])
    }

    /// The same where these parts of the variances `[d_p]` are the model's own error; none where it is not known.
    pub(crate) fn row_of_model(self, of_model: &[Part]) -> Row {
        let (mut parameters, mut correlations) = interval::parameter_estimates(
            self.values,
            self.covariance,
            (self.degrees_of_freedom, &self.shares),
            of_model,
            self.bounds,
            self.truth,
        );
        if self.status.is_failure() {
            // Standard errors hold at a minimum only: anything else must not look like one.
            for it in &mut parameters {
                (it.standard_error, it.lower, it.upper, it.model_error) = (f64::NAN, f64::NAN, f64::NAN, None);
            }
            correlations.fill(f64::NAN);
        }
        let noise = noise(&self.errors, self.degrees_of_freedom, self.effective_points);
        Row {
            environment: self.environment,
            status: self.status,
            reason: self.reason,
            context: self.context,
            model: None,
            parameters,
            correlations,
            noise,
            noise_terms: self.noise_terms,
            likelihood: self.likelihood,
            autocorrelation: self
                .autocorrelation
                .into_iter()
                .map(|rho| Some(rho).filter(|it| it.is_finite()))
                .collect(),
            trajectory_rmse: self.errors.rmse,
            trajectory_mape: self.errors.mape,
            test_mse: self.test_mse,
            points: self.points,
            minima: self.minima,
            degrees_of_freedom: self.degrees_of_freedom,
            iterations: self.iterations,
            in_hull: self.in_hull,
        }
    }
}

/// The noise of each channel `[C]`: residuals are smaller than it, for part of it the unknowns fit.
pub(crate) fn noise(errors: &FitErrors, degrees_of_freedom: f64, effective_points: f64) -> Vec<f64> {
    let free = (degrees_of_freedom / effective_points).sqrt().min(1.0);
    let free = if free.is_finite() { free } else { 1.0 };
    errors.by_channel.iter().map(|size| size / free).collect()
}
