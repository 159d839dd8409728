//! Where the contexts of the training environments lie, and what it is to lie beyond.

use crate::checkpoint::StoredModel;

/// How far rounding may take a value out of the range that it is in, relative to its size.
const ROUNDING: f64 = 1e-9;

/// Whether a value lies further outside a range than `slack` widths of it.
pub(crate) fn is_beyond(value: f64, least: f64, greatest: f64, slack: f64) -> bool {
    let slack = slack * (greatest - least) + ROUNDING * least.abs().max(greatest.abs());
    !(least - slack..=greatest + slack).contains(&value)
}

/// The least and the greatest value of each dimension of the training contexts.
pub(crate) struct TrainingRange(Vec<(f64, f64)>);

impl TrainingRange {
    pub(crate) fn new(model: &StoredModel) -> Self {
        let d = model.manifest.context_dimension;
        let of_dimension = |k: usize| {
            let values = model.contexts.iter().skip(k).step_by(d);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &xi| (low.min(xi), high.max(xi)))
        };
        TrainingRange((0..d).map(of_dimension).collect())
    }

    /// In which dimension, if any, a context lies further outside than `slack` widths of it.
    pub(crate) fn left_by(&self, context: &[f64], slack: f64) -> Option<String> {
        self.0.iter().zip(context).enumerate().find_map(|(k, (&(least, greatest), &xi))| {
            let slack = slack * (greatest - least);
            let is_far = greatest > least && !(least - slack..=greatest + slack).contains(&xi);
            is_far.then(|| {
                format!(
                    "context {k} is {xi:.3}; those of the training environments go from {least:.3} to {greatest:.3}"
                )
            })
        })
    }
}

/// In which dimension, if any, a context lies further outside the range of the training contexts than `slack` widths of it.
pub fn extrapolates(model: &StoredModel, context: &[f64], slack: f64) -> Option<String> {
    TrainingRange::new(model).left_by(context, slack)
}
