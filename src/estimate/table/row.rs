//! One row of the table of estimates: the estimates of one environment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::errors::Mean;
use crate::blocks::{Exact, exact_fields};

exact_fields!(ParameterEstimate: value, standard_error, degrees_of_freedom, lower, upper, model_error, crlb, truth);
exact_fields!(LogLikelihood: minus_two_log, aic, bic);
exact_fields!(Minima: starts, at_best, second);
exact_fields!(
    Row: environment, model, status, reason, context, parameters, correlations, noise, noise_terms, likelihood, autocorrelation,
    trajectory_rmse, trajectory_mape, test_mse, points, degrees_of_freedom, minima, iterations, in_hull
);

/// How the estimation of one environment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Converged to a minimum.
    Ok,
    /// Stopped at a limit of iterations or evaluations, or at no minimum.
    NotConverged,
    /// No rollout, or no squared error, was finite.
    Diverged,
    /// Fewer observed values than unknowns.
    TooFewPoints,
    /// No observed value after the start of a rollout.
    NoData,
    /// The observed values do not determine the parameters.
    Unidentifiable,
    /// Converged, but an estimate lies at or beyond a bound of its parameter; the row gives the bound.
    AtBound,
    /// Converged, but far from all training environments: the model extrapolates.
    OutsideTrainingRange,
    /// Converged, but other parameters explain the data as well; the row gives both.
    Ambiguous,
    /// Converged, but with residuals far larger than the noise of the data, or than the model's error.
    Misfit,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 10] = [
        Status::Ok,
        Status::NotConverged,
        Status::Diverged,
        Status::TooFewPoints,
        Status::NoData,
        Status::Unidentifiable,
        Status::AtBound,
        Status::OutsideTrainingRange,
        Status::Ambiguous,
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
            Status::Ambiguous => "ambiguous",
            Status::Misfit => "misfit",
        }
    }

    /// What it means, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Status::Ok => "converged to a minimum",
            Status::NotConverged => "no minimum within the limits of iterations and evaluations",
            Status::Diverged => "no finite rollout",
            Status::TooFewPoints => "no more observed values than unknowns",
            Status::NoData => "no observed value",
            Status::Unidentifiable => "the observed values do not determine the parameters",
            Status::AtBound => "converged, with an estimate at or beyond its bound",
            Status::OutsideTrainingRange => "converged, but far from all training environments",
            Status::Ambiguous => "converged, but other parameters explain the data as well",
            Status::Misfit => "converged, with residuals far larger than the noise",
        }
    }

    /// Whether the environment has no reliable estimate. `at_bound`, `outside_training_range`, `ambiguous` and `misfit` are cautions: the
    /// fit converged.
    pub fn is_failure(self) -> bool {
        !matches!(
            self,
            Status::Ok | Status::AtBound | Status::OutsideTrainingRange | Status::Ambiguous | Status::Misfit
        )
    }
}

impl Exact for Status {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.name().to_owned().write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let name = String::read(bytes)?;
        Status::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// The number of environments of each status, in words: `8 ok, 24 at_bound`.
pub fn statuses_in_words(statuses: &BTreeMap<Status, usize>) -> String {
    let counts: Vec<String> = statuses.iter().map(|(status, count)| format!("{count} {}", status.name())).collect();
    counts.join(", ")
}

/// The estimate of one parameter of one environment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterEstimate {
    /// Estimate; NaN where there is none. If the status counts as failed it is only where the fit ended.
    pub value: f64,
    /// Standard error by the Gauss-Newton covariance; for a learned model, that of the context carried through the map plus the model's own error or,
    /// where it is not known, the map's own variance. NaN if the status counts as failed.
    pub standard_error: f64,
    /// Degrees of freedom of its interval: those of the row, and of the model's own error, by their parts of the variance. Infinite, and in the table
    /// null, where the noise is known.
    pub degrees_of_freedom: f64,
    /// Lower end of the 95 % interval; NaN if the status counts as failed.
    pub lower: f64,
    /// Upper end of the 95 % interval; NaN if the status counts as failed.
    pub upper: f64,
    /// The part of the standard error that is the model's own, where it is known: the rest of its square is that of noise.
    pub model_error: Option<f64>,
    /// Smallest standard error that an unbiased estimator can have on these data (Cramér-Rao), where it is known.
    pub crlb: Option<f64>,
    /// True value where the dataset knows it.
    pub truth: Option<f64>,
}

/// How likely the data of an environment are under its fit by known equations, and what that says in comparison with another model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLikelihood {
    /// `-2 log L`, without the priors of parameters.
    pub minus_two_log: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// The Bayesian criterion.
    pub bic: f64,
}

/// What several starts of a fit led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minima {
    /// Starts that were tried.
    pub starts: usize,
    /// How many of them ended as low as the best, in its minimum or in others that explain the data alike.
    pub at_best: usize,
    /// `-2 log L` of the second best minimum less that of the best, where a start led to another one: the difference of the squared residuals in
    /// units of the variance that the best shows. Below 6 the data prefer neither.
    pub second: Option<f64>,
}

/// The estimates of one environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Id of the environment.
    pub environment: String,
    /// How the estimation ended.
    pub status: Status,
    /// The reason of the status in words; for `ok` empty, or a note on the intervals.
    pub reason: String,
    /// Fitted context `[d_xi]`; empty by known equations.
    pub context: Vec<f64>,
    /// The system whose fit this is, where several were compared.
    pub model: Option<String>,
    /// In the order of the dataset's parameters `[d_p]`.
    pub parameters: Vec<ParameterEstimate>,
    /// Correlations of the estimates of each pair of parameters `j < k`, row by row: `[d_p (d_p - 1) / 2]`.
    pub correlations: Vec<f64>,
    /// Estimated standard deviation of the noise of each channel, in its unit `[C]`.
    pub noise: Vec<f64>,
    /// The parameters of the noise by its kind, in the order of [`Manifest::noise_terms`](crate::estimate::Manifest::noise_terms); empty where no
    /// kind is named.
    pub noise_terms: Vec<f64>,
    /// The likelihood of a fit by known equations.
    pub likelihood: Option<LogLikelihood>,
    /// Correlation of the residuals of each channel with those of the sample before `[C]`; none where it was not measured, as of fields.
    pub autocorrelation: Vec<Option<f64>>,
    /// Root mean squared error of the fitted trajectories, channels in the dataset's units, over the fitted points.
    pub trajectory_rmse: f64,
    /// Mean absolute percentage error of the fitted trajectories (percent), over the fitted values that are not zero.
    pub trajectory_mape: f64,
    /// Mean squared error on held-out trajectories of the same environment, where the dataset has them.
    pub test_mse: Option<f64>,
    /// Number of observed values that entered the fit (without first samples that are initial states).
    pub points: usize,
    /// Degrees of freedom of the intervals: observed values, without those below a limit of quantification, less unknowns; of residuals that are
    /// correlated from sample to sample only as many values count as independent ones would say as much. Infinite, and in the table null, where
    /// the noise is known.
    pub degrees_of_freedom: f64,
    /// What several starts of the fit led to; none by a trained model, and where no fit was tried.
    pub minima: Option<Minima>,
    /// Iterations of all fits of the environment.
    pub iterations: usize,
    /// Whether the true parameters lie in the convex hull of those of the training environments; none where unknown.
    pub in_hull: Option<bool>,
}

/// Mean absolute percentage error (percent) of estimates over those whose true value is known and not zero; none if one is missing, or none is known.
pub(crate) fn parameter_mape(estimates: impl Iterator<Item = (f64, Option<f64>)>) -> Option<f64> {
    let mut mean = Mean::default();
    let known = estimates.filter_map(|(value, truth)| Some((value, truth.filter(|&truth| truth != 0.0)?)));
    known.for_each(|(value, truth)| mean.add(100.0 * ((value - truth) / truth).abs()));
    mean.mean().filter(|mape| mape.is_finite())
}

impl Row {
    /// Mean absolute percentage error (percent) over the parameters whose true value is known and not zero; none if an estimate is missing.
    pub fn parameter_mape(&self) -> Option<f64> {
        parameter_mape(self.parameters.iter().map(|it| (it.value, it.truth)))
    }

    /// Sets the Cramér-Rao bounds `[d_p]`.
    pub(crate) fn set_bounds(&mut self, bounds: Vec<Option<f64>>) {
        self.parameters.iter_mut().zip(bounds).for_each(|(parameter, bound)| parameter.crlb = bound);
    }
}
