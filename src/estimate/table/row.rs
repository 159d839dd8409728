//! One row of the estimates: everything known of one environment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::errors::Mean;

/// How the estimation of one environment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Converged to a minimum.
    Ok,
    /// Stopped at the iteration limit.
    NotConverged,
    /// No step led to a finite rollout.
    Diverged,
    /// Fewer observed values than unknowns.
    TooFewPoints,
    /// No observed value that a rollout leads to.
    NoData,
    /// The observed values do not determine the parameters.
    Unidentifiable,
    /// Converged, and the estimate lies at or beyond a bound of a parameter, which is what the row gives.
    AtBound,
    /// Converged, far from all training environments: the model extrapolates.
    OutsideTrainingRange,
    /// Converged, and what is left of the observed values is far more than their own noise, or than the model's error.
    Misfit,
}

impl Status {
    pub const ALL: [Status; 9] = [
        Status::Ok,
        Status::NotConverged,
        Status::Diverged,
        Status::TooFewPoints,
        Status::NoData,
        Status::Unidentifiable,
        Status::AtBound,
        Status::OutsideTrainingRange,
        Status::Misfit,
    ];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::NotConverged => "not_converged",
            Status::Diverged => "diverged",
            Status::TooFewPoints => "too_few_points",
            Status::NoData => "no_data",
            Status::Unidentifiable => "unidentifiable",
            Status::AtBound => "at_bound",
            Status::OutsideTrainingRange => "outside_training_range",
            Status::Misfit => "misfit",
        }
    }

    /// Whether the environment has no estimate to rely on. `at_bound`, `outside_training_range` and `misfit` are cautions: the fit converged.
    pub fn is_failure(self) -> bool {
        !matches!(self, Status::Ok | Status::AtBound | Status::OutsideTrainingRange | Status::Misfit)
    }
}

/// How many environments have each status, in words: `8 ok, 24 at_bound`.
pub fn statuses_in_words(statuses: &BTreeMap<Status, usize>) -> String {
    let counts: Vec<String> = statuses.iter().map(|(status, count)| format!("{count} {}", status.name())).collect();
    counts.join(", ")
}

/// One parameter of one environment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterEstimate {
    /// Estimate; NaN where the status says why there is none. Of a status that counts as failed it is where the fit ended, and no more.
    pub value: f64,
    /// Standard error: the Gauss-Newton covariance of the context carried through the map, and the map's own variance; NaN where the status
    /// counts as failed.
    pub standard_error: f64,
    /// Ends of the 95 % interval; NaN where the status counts as failed.
    pub lower: f64,
    pub upper: f64,
    /// Least standard error that any unbiased estimator can have on these data (Cramér-Rao), where it is known.
    pub crlb: Option<f64>,
    /// True value where the dataset knows it.
    pub truth: Option<f64>,
}

/// Everything known of one environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub environment: String,
    pub status: Status,
    /// The status in words; of `ok` empty, or what to know of its intervals.
    pub reason: String,
    /// Fitted context `[d_xi]`.
    pub context: Vec<f64>,
    /// In the order of the dataset's parameters `[d_p]`.
    pub parameters: Vec<ParameterEstimate>,
    /// Correlations of the estimates of each pair of parameters `j < k`, row by row: `[d_p (d_p - 1) / 2]`.
    pub correlations: Vec<f64>,
    /// Estimated standard deviation of the noise of each channel, in its unit `[C]`.
    pub noise: Vec<f64>,
    /// Root mean squared error of the fitted trajectories, channels in the dataset's units, over the fitted points.
    pub trajectory_rmse: f64,
    /// Mean absolute percentage error of the fitted trajectories (percent), over the fitted values that are not zero.
    pub trajectory_mape: f64,
    /// Mean squared error on held-out trajectories of the same environment, where the dataset has them.
    pub test_mse: Option<f64>,
    /// Observed values that entered the fit (first samples, which are initial states, do not count).
    pub points: usize,
    /// Degrees of freedom of the intervals: observed values less unknowns.
    pub degrees_of_freedom: f64,
    pub iterations: usize,
    /// Whether the true parameters lie in the convex hull of the training environments'; `None` where unknown.
    pub in_hull: Option<bool>,
}

impl Row {
    /// Mean absolute percentage error (percent) over the parameters whose truth is known and not zero; none if an
    /// estimate is missing.
    pub fn parameter_mape(&self) -> Option<f64> {
        let known = self.parameters.iter().filter_map(|it| Some((it.value, it.truth.filter(|&truth| truth != 0.0)?)));
        let mut mean = Mean::default();
        known.for_each(|(value, truth)| mean.add(100.0 * ((value - truth) / truth).abs()));
        mean.mean().filter(|mape| mape.is_finite())
    }

    /// The Cramér-Rao bounds of the errors `[d_p]`.
    pub(crate) fn set_bounds(&mut self, bounds: Vec<Option<f64>>) {
        self.parameters.iter_mut().zip(bounds).for_each(|(parameter, bound)| parameter.crlb = bound);
    }
}
