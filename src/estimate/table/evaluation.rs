//! Errors of trajectories and of parameters.
//!
//! `MAPE(z, y) = mean over j with y_j != 0 of |z_j - y_j| / |y_j|`, in percent; mean squared errors are over all channels,
//! trajectories and samples but the first, which is given, and what is missing. Intervals are judged by how often they hold the truth, standard errors by the
//! Cramér-Rao bound. Source: Kirchmeyer et al., ICML 2022, section 5.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interval::quantile;
use super::row::{ParameterEstimate, Row, Status};
use crate::checkpoint::ChannelScale;
use crate::engine::Batch;
use crate::estimate::learned::support::Support;
use crate::estimate::settings::Loss;
use crate::least_squares::robust;
use crate::schema::Split;

/// Probabilities of the intervals whose coverage is counted.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// How often intervals of one probability hold the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Probability that an interval should hold the truth with (percent).
    pub nominal: f64,
    /// Parameters whose interval does (percent), over all environments without a failure and with known parameters.
    pub overall: f64,
    /// The same over those in the hull of the training environments.
    pub in_hull: Option<f64>,
}

/// The figures of an estimation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// Mean squared error on the test split under the training contexts.
    pub mse_in_domain: Option<f64>,
    /// Mean squared error on the adapt_test split under the contexts fitted to the adapt split; over the environments
    /// that have one.
    pub mse_adaptation: Option<f64>,
    /// The split that the parameter errors are measured on: `grid` if it was estimated, else `adapt`.
    pub parameter_split: Option<Split>,
    /// Mean absolute percentage error of the parameters (percent), environments in the convex hull of training.
    pub param_mape_in_hull: Option<f64>,
    pub param_mape_out_of_hull: Option<f64>,
    pub param_mape_overall: Option<f64>,
    /// Of the 50, 90 and 95 % intervals; none where no parameter is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// Root mean square of error over Cramér-Rao bound, where the bound is known: 1 is the best that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_over_bound_in_hull: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_over_bound_overall: Option<f64>,
    pub environments: usize,
    /// Environments without an estimate to rely on.
    pub environments_failed: usize,
    /// Environments of each status, of those that occur.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<Status, usize>,
    /// Environments of the parameter split in the hull and out of it.
    pub environments_in_hull: Option<usize>,
    pub environments_out_of_hull: Option<usize>,
}

impl Evaluation {
    pub(crate) fn add(&mut self, split: Split, tally: &Tally) {
        for (&status, count) in &tally.statuses {
            self.environments += count;
            self.environments_failed += if status.is_failure() { *count } else { 0 };
            *self.statuses.entry(status).or_default() += count;
        }
        if split == Split::Adapt {
            self.mse_adaptation = tally.test_mse.mean();
        }
        if self.parameter_split != Some(Split::Grid) && tally.overall.count > 0 {
            self.parameter_split = Some(split);
            self.param_mape_in_hull = tally.in_hull.mean();
            self.param_mape_out_of_hull = tally.out_of_hull.mean();
            self.param_mape_overall = tally.overall.mean();
            self.coverage = tally.coverage();
            self.error_over_bound_in_hull = tally.over_bound[0].mean().map(f64::sqrt);
            self.error_over_bound_overall = tally.over_bound[1].mean().map(f64::sqrt);
            self.environments_in_hull = Some(tally.in_hull.count);
            self.environments_out_of_hull = Some(tally.out_of_hull.count);
        }
    }
}

/// Running sums over the rows of a split.
#[derive(Default)]
pub(crate) struct Tally {
    statuses: BTreeMap<Status, usize>,
    test_mse: Mean,
    in_hull: Mean,
    out_of_hull: Mean,
    overall: Mean,
    /// By level: parameters whose interval holds the truth, in the hull and overall.
    covered: [[Mean; 2]; LEVELS.len()],
    /// Squared error over bound, in the hull and overall.
    over_bound: [Mean; 2],
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Tally {
    pub fn add(&mut self, row: &Row) {
        *self.statuses.entry(row.status).or_default() += 1;
        if let Some(mse) = row.test_mse.filter(|mse| mse.is_finite()) {
            self.test_mse.add(mse);
        }
        if let Some(mape) = row.parameter_mape() {
            self.overall.add(mape);
            match row.in_hull {
                Some(true) => self.in_hull.add(mape),
                Some(false) => self.out_of_hull.add(mape),
                None => {}
            }
        }
        if !row.status.is_failure() {
            let quantiles = LEVELS.map(|level| quantile(level, row.degrees));
            row.parameters.iter().for_each(|it| self.add_parameter(it, row.in_hull == Some(true), quantiles));
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

impl Row {
    /// Mean absolute percentage error (percent) over the parameters whose truth is known and not zero; none if an
    /// estimate is missing.
    pub fn parameter_mape(&self) -> Option<f64> {
        let known = self.parameters.iter().filter_map(|it| Some((it.value, it.truth.filter(|&truth| truth != 0.0)?)));
        let mut mean = Mean::default();
        known.for_each(|(value, truth)| mean.add(100.0 * ((value - truth) / truth).abs()));
        mean.mean().filter(|mape| mape.is_finite())
    }
}

/// Errors of the fitted trajectories of one environment, in the dataset's units.
pub(crate) struct FitErrors {
    pub rmse: f64,
    /// Percent.
    pub mape: f64,
    /// How large the errors of each channel are `[C]`: their root mean square, or under Huber's loss by their median.
    pub by_channel: Vec<f64>,
}

impl FitErrors {
    /// Of `predictions` (one `[T - 1, C]` a trajectory, scaled) against the scaled `support`.
    /// `scales` has one a value of a state, `channels` channels of as many values each.
    pub fn new(
        support: &Support,
        predictions: &[Vec<f64>],
        scales: &[ChannelScale],
        channels: usize,
        loss: Loss,
    ) -> Self {
        let points = scales.len() / channels.max(1);
        let cells = support.trajectories.iter().zip(predictions).flat_map(|(trajectory, prediction)| {
            let observed = trajectory.states.get(scales.len()..).unwrap_or_default();
            observed.iter().zip(prediction).enumerate().filter(|(_, (y, _))| !y.is_nan()).map(|(i, (y, z))| {
                let value = i % scales.len();
                (value / points, scales[value].unscaled(*y), scales[value].unscaled(*z))
            })
        });
        FitErrors::of(channels, loss, cells)
    }

    /// Of cells `(channel, observed, fitted)`.
    pub fn of(channels: usize, loss: Loss, cells: impl Iterator<Item = (usize, f64, f64)>) -> Self {
        let mut sizes = vec![Vec::new(); channels];
        let mut squares: Vec<Mean> = (0..channels).map(|_| Mean::default()).collect();
        let mut relative = Mean::default();
        for (channel, observed, fitted) in cells {
            let error = fitted - observed;
            squares[channel].add(error * error);
            if loss == Loss::Huber {
                sizes[channel].push(error.abs());
            }
            if observed != 0.0 {
                relative.add(100.0 * (error / observed).abs());
            }
        }
        let root = |mean: &Mean| mean.mean().unwrap_or(f64::NAN).sqrt();
        let all =
            squares.iter().fold(Mean::default(), |all, it| Mean { sum: all.sum + it.sum, count: all.count + it.count });
        FitErrors {
            rmse: root(&all),
            mape: relative.mean().unwrap_or(f64::NAN),
            by_channel: match loss {
                Loss::Squares => squares.iter().map(root).collect(),
                Loss::Huber => {
                    sizes.into_iter().map(|sizes| robust::deviation(sizes.into_iter()).unwrap_or(f64::NAN)).collect()
                }
            },
        }
    }
}

/// Running squared error over batches, in the dataset's units.
#[derive(Default)]
pub(crate) struct SquaredError(Mean);

impl SquaredError {
    pub fn add(&mut self, predictions: &[f64], batch: &Batch, scales: &[ChannelScale]) {
        for (i, (z, y)) in predictions.iter().zip(&batch.targets).enumerate() {
            if batch.mask[i] > 0.0 {
                let error = (z - y) * scales[i % scales.len()].scale;
                self.0.add(error * error);
            }
        }
    }

    pub fn add_value(&mut self, error: f64) {
        self.0.add(error * error);
    }

    pub fn mean(&self) -> f64 {
        self.0.mean().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.0.count
    }
}
