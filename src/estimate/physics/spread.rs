//! How much the observed values of a channel vary: the unit of residuals until their noise is known.

use super::model::Model;
use super::series::Series;
use crate::estimate::settings::Loss;

/// Distance of the quantiles of 5 and 95 % of a Gaussian, in standard deviations.
const GAUSSIAN_WIDTH: f64 = 3.29;

/// Standard deviation of all observed values of a channel, under Huber's loss from their quantiles of 5 and 95 %; their size where they are
/// constant, and 1 where they are zero.
pub(crate) fn spread(model: &Model, series: &[Series], channel: usize, loss: Loss) -> f64 {
    let values = || values(model, series, channel);
    let count = values().count() as f64;
    let greatest = values().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    if greatest == 0.0 {
        return 1.0;
    }
    if loss == Loss::Huber {
        let mut sorted: Vec<f64> = values().collect();
        sorted.sort_by(f64::total_cmp);
        // Only the outermost values are left out: short peaks determine the parameters.
        let wing = (sorted.len() / 20).max(1).min((sorted.len() - 1) / 2);
        let (low, high) = (sorted[wing], sorted[sorted.len() - 1 - wing]);
        if high - low > 1e-9 * low.abs().max(high.abs()) {
            return (high - low) / GAUSSIAN_WIDTH;
        }
    }
    // In units of the greatest value, so that squares neither overflow nor vanish.
    let mean = values().map(|value| value / greatest).sum::<f64>() / count;
    let variance = values().map(|value| (value / greatest - mean).powi(2)).sum::<f64>() / count;
    let std_dev = variance.sqrt();
    greatest * if std_dev > 1e-9 { std_dev } else { 1.0 }
}

/// The observed values of a channel over all trajectories.
pub(crate) fn values(model: &Model, series: &[Series], channel: usize) -> impl Iterator<Item = f64> {
    let fields = series.iter().flat_map(|series| series.observed().chunks_exact(model.points));
    fields.skip(channel).step_by(model.channels).flatten().copied().filter(|value| !value.is_nan())
}
