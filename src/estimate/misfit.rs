//! Whether the residuals of a fit are larger than the error of the model and the noise of the data explain: a broken sensor, or a system
//! unlike those that the model was trained on.
//!
//! ```text
//! rms_c > 10 max(validation_c, s_c)   and   rms_c > std_c / 20
//! ```
//!
//! `rms_c` root mean square of the residuals of channel `c`, `validation_c` the model's error on the validation split, `s_c` the
//! [noise](super::noise) of the environment's own data, `std_c` the standard deviation of the observed values. The second condition is for
//! good models: away from the training data their error grows beyond ten times a tiny validation error, though they still explain all but
//! one part in 400 of the variance.

use super::noise;
use super::serial_correlation::SerialCorrelation;
use super::table::errors::FitErrors;
use crate::checkpoint::Manifest;
use crate::schema::Trajectory;

/// Residuals may be this many times as large as expected.
const FACTOR: f64 = 10.0;
/// Residuals below this share of a channel's standard deviation are never a misfit.
const SHARE: f64 = 0.05;

/// The channels whose residuals are too large, with their sizes, as a reason; none where there are none, or their noise cannot be estimated.
/// `trajectories` in the model's units.
pub(crate) fn misfit(model: &Manifest, trajectories: &[Trajectory], errors: &FitErrors) -> Option<String> {
    let of_channels = model.channels.iter().zip(&errors.by_channel).enumerate();
    let found: Vec<String> = of_channels
        .filter_map(|(channel, (quantity, &left))| {
            let (scale, validation) = (model.scales[channel].scale, validation(model, channel));
            // The noise takes longest to compute, so it comes last.
            if left.is_nan() || left <= FACTOR * validation {
                return None;
            }
            let series = series(model, trajectories, channel);
            if left <= SHARE * scale * std_dev(&series) {
                return None;
            }
            let noise = scale * noise::estimate(&series)?;
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

/// The [serial correlation](super::serial_correlation) of the residuals of a fit of `unknowns`, over the channels whose residuals exceed the
/// model's validation error; smaller ones are that error itself, whose size is known. It is counted if `is_counted`.
pub(crate) fn serial_correlation(
    model: &Manifest,
    trajectories: &[Trajectory],
    predictions: &[Vec<f64>],
    errors: &FitErrors,
    (unknowns, is_counted): (f64, bool),
) -> SerialCorrelation {
    let values = model.state_shape().size();
    let of_channels = errors.by_channel.iter().enumerate().map(|(channel, left)| {
        let runs = trajectories.iter().zip(predictions).map(|(trajectory, predicted)| {
            let observed = trajectory.states.iter().skip(values + channel).step_by(values);
            let pairs = observed.zip(predicted.iter().skip(channel).step_by(values));
            pairs.map(|(y, z)| z - y).filter(|residual| !residual.is_nan()).collect::<Vec<f64>>()
        });
        let runs: Vec<Vec<f64>> = runs.collect();
        let is_measured = model.grid.is_none() && *left > validation(model, channel);
        (runs.iter().map(Vec::len).sum(), if is_measured { runs } else { Vec::new() })
    });
    SerialCorrelation::new(of_channels, unknowns, is_counted)
}

/// The model's root mean squared validation error in a channel, in its unit.
fn validation(model: &Manifest, channel: usize) -> f64 {
    match model.observed.get(channel) {
        Some(observed) => observed.validation,
        None => model.training.validation.sqrt() * model.scales[channel].scale,
    }
}

/// The observed values of a channel, in the model's units: a list of `(t, y)` for each trajectory and each point of a field.
fn series(model: &Manifest, trajectories: &[Trajectory], channel: usize) -> Vec<Vec<(f64, f64)>> {
    let shape = model.state_shape();
    let of_trajectories = trajectories.iter().flat_map(|trajectory| {
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
fn std_dev(series: &[Vec<(f64, f64)>]) -> f64 {
    let values = || series.iter().flatten().map(|it| it.1);
    let count = values().count() as f64;
    let mean = values().sum::<f64>() / count;
    (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}
