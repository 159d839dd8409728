//! The data of one environment in figures of trajectories.

use crate::report::axis::range;
use crate::report::canvas::SERIES;
use crate::report::input::{Event, Fit, Input, Portrait};

/// Environments at most.
const MOST: usize = 4;

/// A portrait split by channels; its lengths have been checked.
pub(crate) struct Panel<'a> {
    pub title: &'a str,
    pub times: &'a [f64],
    pub truth: Vec<Vec<f64>>,
    pub prediction: Vec<Vec<f64>>,
    /// One list an input.
    pub inputs: Vec<Vec<f64>>,
    /// The fit between the samples, one list a channel and hidden quantity.
    pub fit: Option<(&'a [f64], Vec<Vec<f64>>)>,
    /// Number of all channels, after which what is hidden stands in the fit.
    pub channels: usize,
    pub events: &'a [Event],
}

impl<'a> Panel<'a> {
    /// The panels of the first environments with data.
    pub(crate) fn all(input: &'a Input) -> Vec<Self> {
        let counts = [input.channels.len(), input.inputs.len(), input.hidden.len()];
        input.portraits.iter().filter_map(|it| Panel::new(it, counts)).take(MOST).collect()
    }

    fn new(portrait: &'a Portrait, [channels, inputs, hidden]: [usize; 3]) -> Option<Self> {
        let length = portrait.times.len() * channels;
        if length == 0 || portrait.truth.len() != length || portrait.prediction.len() != length {
            return None;
        }
        let split = |values: &[f64], all: usize| -> Vec<Vec<f64>> {
            (0..all.min(SERIES)).map(|c| values.iter().skip(c).step_by(all).copied().collect()).collect()
        };
        let beside = |values: &[f64], all: usize| {
            if values.len() == portrait.times.len() * all { split(values, all) } else { Vec::new() }
        };
        let fit = |Fit { times, values, .. }: &'a Fit| {
            let all = channels + hidden;
            let of = |q: usize| values.iter().skip(q).step_by(all).copied().collect();
            (values.len() == times.len() * all && all > 0).then(|| (times.as_slice(), (0..all).map(of).collect()))
        };
        let panel = Panel {
            title: &portrait.title,
            times: &portrait.times,
            truth: split(&portrait.truth, channels),
            prediction: split(&portrait.prediction, channels),
            inputs: beside(&portrait.inputs, inputs),
            fit: portrait.fit.as_ref().and_then(fit),
            channels,
            events: &portrait.events,
        };
        range(panel.truth.iter().flatten().copied()).map(|_| panel)
    }

    /// The times and values of a hidden quantity.
    pub(crate) fn hidden(&self, h: usize) -> Option<(&'a [f64], &[f64])> {
        let (times, values) = self.fit.as_ref()?;
        Some((times, values.get(self.channels + h)?.as_slice()))
    }

    /// The times and values of what was predicted of a channel.
    pub(crate) fn predicted(&self, c: usize) -> (&'a [f64], &[f64]) {
        match &self.fit {
            Some((times, values)) => (times, &values[c]),
            None => (self.times, &self.prediction[c]),
        }
    }

    /// The range of channel `c`: of data and fit; by a trained model of the truth, extended towards the prediction by at most that range on each side.
    pub(crate) fn limits(&self, c: usize) -> Vec<f64> {
        if let Some((_, values)) = &self.fit {
            let both = range(self.truth[c].iter().chain(&values[c]).copied());
            return both.map_or_else(Vec::new, |(low, high)| vec![low, high]);
        }
        let Some((low, high)) = range(self.truth[c].iter().copied()) else { return Vec::new() };
        let reach = (high - low).max(1e-3 * high.abs());
        let near = range(self.prediction[c].iter().map(|value| value.clamp(low - reach, high + reach)));
        let (first, last) = near.unwrap_or((low, high));
        vec![low, high, first, last]
    }
}
