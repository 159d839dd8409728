//! The figures of an estimation, over all its environments.
//!
//! Errors of trajectories and of parameters as in Kirchmeyer et al., ICML 2022, section 5 (formulas in [`errors`](super::errors));
//! intervals are judged by how often they hold the true value, standard errors by the Cramér-Rao bound.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::errors::Mean;
use super::interval::quantile;
use super::row::{ParameterEstimate, Row, Status};
use crate::schema::Split;

/// Probabilities of the intervals whose coverage is counted.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// How often intervals of one probability hold the true value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// The stated probability (percent).
    pub nominal: f64,
    /// Parameters whose interval holds the true value (percent), over all environments with known parameters and without a failure.
    pub overall: f64,
    /// The same over the environments in the convex hull of the training environments.
    pub in_hull: Option<f64>,
}

/// How one of several models that were compared did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFigures {
    /// Name of the system.
    pub model: String,
    /// Environments in which it has the least AICc.
    pub preferred: usize,
    /// Median over environments that compare it of its AICc less the least.
    pub median_delta: Option<f64>,
    /// Environments in which its fit failed.
    pub failed: usize,
    /// Environments in which it is not compared: its fit failed, or the values are too few for AICc.
    #[serde(default)]
    pub not_compared: usize,
}

/// The figures of an estimation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// Mean squared error on the test split under the training contexts.
    pub mse_in_domain: Option<f64>,
    /// Mean absolute percentage error on the test split under the training contexts, values of zero left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mape_in_domain: Option<f64>,
    /// Mean over environments of the mean squared error on the adapt_test split, under what was fitted to the adapt split.
    pub mse_adaptation: Option<f64>,
    /// The split that the parameter errors are measured on: `grid` if it was estimated, else `adapt`.
    pub parameter_split: Option<Split>,
    /// Mean absolute percentage error of the parameters (percent), environments in the convex hull of the training environments.
    pub param_mape_in_hull: Option<f64>,
    /// The same outside of the hull.
    pub param_mape_out_of_hull: Option<f64>,
    /// The same over all environments with known parameters.
    pub param_mape_overall: Option<f64>,
    /// Coverage of the 50, 90 and 95 % intervals; empty where no parameter is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// Root mean square of error over Cramér-Rao bound, where the bound is known, in the hull: 1 is the best possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_over_bound_in_hull: Option<f64>,
    /// The same over all environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_over_bound_overall: Option<f64>,
    /// Estimated environments, over all splits.
    pub environments: usize,
    /// Environments whose status counts as failed.
    pub environments_failed: usize,
    /// Number of environments of each status that occurs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<Status, usize>,
    /// The models that were compared, over all splits; empty where one was fitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelFigures>,
    /// Environments of the parameter split in the hull.
    pub environments_in_hull: Option<usize>,
    /// Environments of the parameter split outside of the hull.
    pub environments_out_of_hull: Option<usize>,
}

impl Evaluation {
    /// Adds the sums over one split.
    pub(crate) fn add(&mut self, split: Split, tally: &Tally) {
        for (&status, count) in &tally.statuses {
            self.environments += count;
            self.environments_failed += if status.is_failure() { *count } else { 0 };
            *self.statuses.entry(status).or_default() += count;
        }
        if split == Split::Adapt {
            self.mse_adaptation = tally.test_mse.mean();
        }
        if self.parameter_split != Some(Split::Grid) && tally.of_parameters.overall.count > 0 {
            let ParameterErrors { in_hull, out_of_hull, overall } = &tally.of_parameters;
            self.parameter_split = Some(split);
            self.param_mape_in_hull = in_hull.mean();
            self.param_mape_out_of_hull = out_of_hull.mean();
            self.param_mape_overall = overall.mean();
            self.coverage = tally.coverage();
            self.error_over_bound_in_hull = tally.over_bound[0].mean().map(f64::sqrt);
            self.error_over_bound_overall = tally.over_bound[1].mean().map(f64::sqrt);
            self.environments_in_hull = Some(in_hull.count);
            self.environments_out_of_hull = Some(out_of_hull.count);
        }
    }
}

/// Mean errors of the parameters of environments, in percent.
#[derive(Default)]
pub(crate) struct ParameterErrors {
    pub in_hull: Mean,
    pub out_of_hull: Mean,
    pub overall: Mean,
}

impl ParameterErrors {
    /// Adds the error of an environment, which lies in the hull of the training ones or not, where that is known.
    pub(crate) fn add(&mut self, mape: f64, in_hull: Option<bool>) {
        self.overall.add(mape);
        match in_hull {
            Some(true) => self.in_hull.add(mape),
            Some(false) => self.out_of_hull.add(mape),
            None => {}
        }
    }
}

/// Sums over the rows of a split.
#[derive(Default)]
pub(crate) struct Tally {
    statuses: BTreeMap<Status, usize>,
    test_mse: Mean,
    of_parameters: ParameterErrors,
    /// Percentage of parameters whose interval holds the true value, by level: in the hull and overall.
    covered: [[Mean; 2]; LEVELS.len()],
    /// Squared error over bound, in the hull and overall.
    over_bound: [Mean; 2],
}

impl Tally {
    pub(crate) fn add(&mut self, row: &Row) {
        *self.statuses.entry(row.status).or_default() += 1;
        if let Some(mse) = row.test_mse.filter(|mse| mse.is_finite()) {
            self.test_mse.add(mse);
        }
        if let Some(mape) = row.parameter_mape() {
            self.of_parameters.add(mape, row.in_hull);
        }
        if !row.status.is_failure() {
            let quantiles = LEVELS.map(|level| quantile(level, row.degrees_of_freedom));
            for it in &row.parameters {
                let quantiles = match it.degrees_of_freedom == row.degrees_of_freedom {
                    true => quantiles,
                    false => LEVELS.map(|level| quantile(level, it.degrees_of_freedom)),
                };
                self.add_parameter(it, row.in_hull == Some(true), quantiles);
            }
        }
    }

    fn add_parameter(&mut self, estimate: &ParameterEstimate, in_hull: bool, quantiles: [f64; LEVELS.len()]) {
        let Some(truth) = estimate.truth else { return };
        let error = (estimate.value - truth).abs();
        if (error / estimate.standard_error).is_finite() {
            for (covered, quantile) in self.covered.iter_mut().zip(quantiles) {
                let holds = f64::from(u8::from(error <= quantile * estimate.standard_error));
                covered[usize::from(!in_hull)..].iter_mut().for_each(|mean| mean.add(100.0 * holds));
            }
        }
        if let Some(ratio) = estimate.crlb.map(|bound| error / bound).filter(|ratio| ratio.is_finite()) {
            self.over_bound[usize::from(!in_hull)..].iter_mut().for_each(|mean| mean.add(ratio * ratio));
        }
    }

    fn coverage(&self) -> Vec<Coverage> {
        let of_level = |(level, [in_hull, overall]): (f64, &[Mean; 2])| {
            Some(Coverage { nominal: 100.0 * level, overall: overall.mean()?, in_hull: in_hull.mean() })
        };
        LEVELS.into_iter().zip(&self.covered).filter_map(of_level).collect()
    }
}
