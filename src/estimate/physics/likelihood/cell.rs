//! The observed values of an experiment, with what stands beside them.

use super::density::Observed;
use super::measured::{LimitOf, Measured};
use crate::estimate::measurement::ChannelNoise;
use crate::estimate::physics::experiment::Experiment;

/// One observed value.
pub(super) struct Cell {
    pub trajectory: usize,
    pub cell: usize,
    pub channel: usize,
    pub observed: Observed,
    /// Its standard deviation, where it is known by itself.
    pub std_dev: Option<f64>,
}

/// All of them.
///
/// # Errors
/// What is wrong with a value, or with what stands beside it.
pub(super) fn cells(
    experiment: &Experiment,
    measured: &Measured,
    channel_names: &[String],
) -> Result<Vec<Cell>, String> {
    let of_cell = |&(trajectory, cell): &(usize, usize)| {
        let channel = experiment.model.channel(cell);
        let of_channel = &measured.channels[channel];
        let series = &experiment.series[trajectory];
        let sample = cell / experiment.model.size();
        let (value, time) = (series.observed()[cell], series.times()[sample]);
        let beside = |place: usize| series.beside(sample).get(place).copied().unwrap_or(f64::NAN);
        let std_dev = of_channel.std_devs.map(|place| (place, beside(place)));
        if let Some((place, std_dev)) = std_dev
            && !(std_dev > 0.0 && std_dev.is_finite())
        {
            return Err(format!(
                "the standard deviation `{}` of {} is {std_dev} at t = {time}; give a number above zero wherever it is observed",
                measured.beside[place], channel_names[channel]
            ));
        }
        let limit = experiment.limits.get(trajectory).map_or(f64::NEG_INFINITY, |limits| limits[cell]);
        if let Some(LimitOf::Beside(place)) = of_channel.limit
            && !limit.is_finite()
        {
            return Err(format!(
                "the limit `{}` of {} is {limit} at t = {time}; give a number wherever it is observed",
                measured.beside[place], channel_names[channel]
            ));
        }
        let observed = Observed { value, limit };
        if matches!(of_channel.noise, ChannelNoise::LogNormal { .. })
            && value <= 0.0
            && !(observed.is_below() && limit > 0.0)
        {
            return Err(format!(
                "{} is {value} at t = {time}, and log-normal noise leaves values above zero; name another kind, or a limit of quantification",
                channel_names[channel]
            ));
        }
        Ok(Cell { trajectory, cell, channel, observed, std_dev: std_dev.map(|it| it.1) })
    };
    experiment.cells.iter().map(of_cell).collect()
}
