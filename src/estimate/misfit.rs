//! Whether a fit leaves more of what was observed than the error of the model and the noise of the data account for: a broken sensor, or a
//! system that is none of the model's.
//!
//! ```text
//! rms_c > 10 max(validation_c, s_c)   and   rms_c > deviation_c / 20
//! ```
//!
//! `rms_c` what the fit leaves of channel `c`, `validation_c` the model's own error on the validation split, `s_c` the
//! [noise](super::noise) of the environment's own data, `deviation_c` that of what was observed. Away from its training a good model's error
//! grows beyond ten times the tiny one that it has there, and still follows the trajectories: that is not said of what it explains all but a
//! four-hundredth of.

use super::learned::support::Support;
use super::table::evaluation::FitErrors;
use super::{noise, residuals};
use crate::checkpoint::Manifest;

/// How many times what is expected may be left.
const FACTOR: f64 = 10.0;
/// Share of the deviation of a channel that may always be left.
const SHARE: f64 = 0.05;

/// Of which channels too much is left, and how much; none where all are explained, or too few samples tell of their noise.
pub(crate) fn misfit(model: &Manifest, support: &Support, errors: &FitErrors) -> Option<String> {
    let of_channels = model.channels.iter().zip(&errors.by_channel).enumerate();
    let found: Vec<String> = of_channels
        .filter_map(|(channel, (quantity, &left))| {
            let (scale, validation) = (model.scales[channel].scale, validation(model, channel));
            // The noise is looked at where it decides.
            if left.is_nan() || left <= FACTOR * validation {
                return None;
            }
            let series = series(model, support, channel);
            if left <= SHARE * scale * deviation(&series) {
                return None;
            }
            let noise = scale * noise::of_neighbours(&series)?;
            (left > FACTOR * noise).then(|| {
                format!(
                    "{left:.3e} of {} is left (root mean square), where the model's validation error is {validation:.3e} and the noise of \
                     neighbouring samples {noise:.3e}",
                    quantity.name
                )
            })
        })
        .collect();
    let remedy = "look for a broken sensor, other units, or a system unlike those of the training";
    (!found.is_empty()).then(|| format!("{}; {remedy}", found.join("; ")))
}

/// What makes the intervals of a fit that converged too narrow: residuals that go with those of the sample before, over the channels of which
/// more is left than the model's validation error. What is below is that error itself, whose size is known.
pub(crate) fn serial_correlation(
    model: &Manifest,
    support: &Support,
    predictions: &[Vec<f64>],
    errors: &FitErrors,
) -> Option<String> {
    let values = model.state_shape().size();
    let left = errors.by_channel.iter().enumerate();
    let shown = left.filter(|(channel, left)| model.grid.is_none() && **left > validation(model, *channel));
    let runs: Vec<Vec<f64>> = shown
        .flat_map(|(channel, left)| {
            // In units of their size, so that channels count alike.
            let size = left / model.scales[channel].scale;
            support.trajectories.iter().zip(predictions).map(move |(trajectory, predicted)| {
                let observed = trajectory.states.iter().skip(values + channel).step_by(values);
                let pairs = observed.zip(predicted.iter().skip(channel).step_by(values));
                pairs.map(|(y, z)| (z - y) / size).filter(|residual| !residual.is_nan()).collect()
            })
        })
        .collect();
    residuals::serial_correlation(residuals::lag_one(&runs), runs.iter().map(Vec::len).sum())
}

/// The model's own error in a channel, in its unit.
fn validation(model: &Manifest, channel: usize) -> f64 {
    match model.observed.get(channel) {
        Some(observed) => observed.validation,
        None => model.training.validation.sqrt() * model.scales[channel].scale,
    }
}

/// What was observed of a channel, in the model's own units: a list of times and values for each trajectory and each point of a field.
fn series(model: &Manifest, support: &Support, channel: usize) -> Vec<Vec<(f64, f64)>> {
    let shape = model.state_shape();
    let of_trajectories = support.trajectories.iter().flat_map(|trajectory| {
        let fields: Vec<&[f64]> = shape.channel(&trajectory.states, channel).collect();
        let of_point = |point: usize| {
            let values = trajectory.times.iter().zip(&fields).map(|(time, field)| (*time, field[point]));
            values.filter(|(_, value)| !value.is_nan()).collect()
        };
        (0..shape.points()).map(of_point).collect::<Vec<_>>()
    });
    of_trajectories.collect()
}

/// Standard deviation of all values.
fn deviation(series: &[Vec<(f64, f64)>]) -> f64 {
    let values = || series.iter().flatten().map(|it| it.1);
    let count = values().count() as f64;
    let mean = values().sum::<f64>() / count;
    (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}
