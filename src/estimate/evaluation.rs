//! Errors of trajectories and of parameters.
//!
//! `MAPE(z, y) = mean over j with y_j != 0 of |z_j - y_j| / |y_j|`, in percent; mean squared errors are over all channels,
//! trajectories and samples but the first, which is given, and what is missing. Source: Kirchmeyer et al., ICML 2022, section 5.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Row, Status, Support};
use crate::checkpoint::ChannelScale;
use crate::engine::Batch;
use crate::schema::Split;

/// The figures of an estimation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Mean squared error on the test split under the training contexts.
    pub mse_in_domain: Option<f64>,
    /// Mean squared error on the adapt_test split under the contexts fitted to the adapt split; over the environments
    /// that have one.
    pub mse_adaptation: Option<f64>,
    /// The split that the parameter errors are measured on: `grid` if it was estimated, else `adapt`.
    pub parameter_split: Option<Split>,
    pub param_mape_in_hull: Option<f64>,
    pub param_mape_out_of_hull: Option<f64>,
    pub param_mape_overall: Option<f64>,
    pub environments: usize,
    /// Environments whose status is not `ok`.
    pub environments_failed: usize,
    /// Environments of the parameter split in the hull and out of it.
    pub environments_in_hull: Option<usize>,
    pub environments_out_of_hull: Option<usize>,
}

impl Evaluation {
    pub(super) fn add(&mut self, split: Split, tally: &Tally) {
        self.environments += tally.environments;
        self.environments_failed += tally.failed;
        if split == Split::Adapt {
            self.mse_adaptation = tally.test_mse.mean();
        }
        if self.parameter_split != Some(Split::Grid) && tally.overall.count > 0 {
            self.parameter_split = Some(split);
            self.param_mape_in_hull = tally.in_hull.mean();
            self.param_mape_out_of_hull = tally.out_of_hull.mean();
            self.param_mape_overall = tally.overall.mean();
            self.environments_in_hull = Some(tally.in_hull.count);
            self.environments_out_of_hull = Some(tally.out_of_hull.count);
        }
    }
}

/// Running sums over the rows of a split.
#[derive(Default)]
pub(super) struct Tally {
    environments: usize,
    failed: usize,
    test_mse: Mean,
    in_hull: Mean,
    out_of_hull: Mean,
    overall: Mean,
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
        self.environments += 1;
        self.failed += usize::from(row.status != Status::Ok);
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
pub(super) struct FitErrors {
    pub rmse: f64,
    /// Percent.
    pub mape: f64,
}

impl FitErrors {
    /// Of `predictions` (one `[T - 1, C]` a trajectory, scaled) against the scaled `support`.
    pub fn new(support: &Support, predictions: &[Vec<f64>], scales: &[ChannelScale]) -> Self {
        let (mut squares, mut relative) = (Mean::default(), Mean::default());
        let channels = scales.len();
        for (trajectory, prediction) in support.trajectories.iter().zip(predictions) {
            let observed = trajectory.states.get(channels..).unwrap_or_default();
            for (i, (y, z)) in observed.iter().zip(prediction).enumerate().filter(|(_, (y, _))| !y.is_nan()) {
                let ChannelScale { centre, scale } = scales[i % channels];
                let error = (z - y) * scale;
                squares.add(error * error);
                let truth = y * scale + centre;
                if truth != 0.0 {
                    relative.add(100.0 * (error / truth).abs());
                }
            }
        }
        FitErrors { rmse: squares.mean().unwrap_or(f64::NAN).sqrt(), mape: relative.mean().unwrap_or(f64::NAN) }
    }
}

/// Running squared error over batches, in the dataset's units.
#[derive(Default)]
pub(super) struct SquaredError(Mean);

impl SquaredError {
    pub fn add(&mut self, predictions: &[f64], batch: &Batch, scales: &[ChannelScale]) {
        for (i, (z, y)) in predictions.iter().zip(&batch.targets).enumerate() {
            if batch.mask[i] > 0.0 {
                let error = (z - y) * scales[i % scales.len()].scale;
                self.0.add(error * error);
            }
        }
    }

    pub fn mean(&self) -> f64 {
        self.0.mean().unwrap_or(f64::NAN)
    }

    pub fn count(&self) -> usize {
        self.0.count
    }
}
