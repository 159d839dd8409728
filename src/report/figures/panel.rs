//! The data of one environment in figures of trajectories.

use crate::report::axis::range;
use crate::report::canvas::SERIES;
use crate::report::input::{Input, Portrait};

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
    /// One list a hidden state.
    pub hidden: Vec<Vec<f64>>,
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
        let panel = Panel {
            title: &portrait.title,
            times: &portrait.times,
            truth: split(&portrait.truth, channels),
            prediction: split(&portrait.prediction, channels),
            inputs: beside(&portrait.inputs, inputs),
            hidden: beside(&portrait.hidden, hidden),
        };
        range(panel.truth.iter().flatten().copied()).map(|_| panel)
    }

    /// The range of channel `c`: of the truth, extended towards the prediction by at most that range on each side.
    pub(crate) fn limits(&self, c: usize) -> Vec<f64> {
        let Some((low, high)) = range(self.truth[c].iter().copied()) else { return Vec::new() };
        let reach = (high - low).max(1e-3 * high.abs());
        let near = range(self.prediction[c].iter().map(|value| value.clamp(low - reach, high + reach)));
        let (first, last) = near.unwrap_or((low, high));
        vec![low, high, first, last]
    }
}
