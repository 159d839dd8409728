//! The samples of one trajectory.

use std::ops::Range;

use crate::import::rows::source_lines::SourceLines;

/// The samples of one record, in the units of the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    /// Increasing times `[T]`.
    pub times: Vec<f64>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// Inputs `[T, U]`, row-major.
    pub inputs: Vec<f64>,
    /// Where the row of each sample stands `[T]`.
    pub lines: SourceLines,
}

impl Samples {
    /// Times, states and inputs of some of the samples.
    pub(crate) fn slices<'a>(&'a self, samples: Range<usize>) -> [&'a [f64]; 3] {
        let of = |values: &'a [f64]| -> &'a [f64] {
            let width = values.len().checked_div(self.times.len()).unwrap_or(0);
            &values[samples.start * width..samples.end * width]
        };
        [of(&self.times), of(&self.states), of(&self.inputs)]
    }

    /// Some of the samples, without their lines.
    pub(crate) fn part(&self, samples: Range<usize>) -> Samples {
        let [times, states, inputs] = self.slices(samples).map(<[f64]>::to_vec);
        Samples { times, states, inputs, lines: SourceLines::default() }
    }

    /// The positions of the samples with an observed state; `None` without inputs, when all have one, or if they are fewer than two.
    pub(crate) fn observed(&self) -> Option<Vec<usize>> {
        let channels = self.states.len() / self.times.len().max(1);
        let is_observed = |&t: &usize| self.states[t * channels..][..channels].iter().any(|value| !value.is_nan());
        let observed: Vec<usize> =
            if self.inputs.is_empty() { Vec::new() } else { (0..self.times.len()).filter(is_observed).collect() };
        Some(observed).filter(|observed| observed.len() >= 2)
    }
}
