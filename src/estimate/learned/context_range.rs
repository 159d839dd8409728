//! The range of the training contexts, and whether a context lies outside it.

use crate::checkpoint::StoredModel;

/// How far rounding may move a value out of its range, relative to the ends of the range.
const ROUNDING: f64 = 1e-9;

/// Whether a value lies outside a range by more than `slack` times its width.
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

    /// The dimension, in words, in which a context lies outside the range by more than `slack` times its width; `None`
    /// if there is none.
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

/// The dimension, in words, in which a context `[d]` lies outside the range of the training contexts by more than
/// `slack` times its width; `None` if there is none.
pub fn extrapolates(model: &StoredModel, context: &[f64], slack: f64) -> Option<String> {
    TrainingRange::new(model).left_by(context, slack)
}
