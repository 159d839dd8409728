//! A batch in parts, which are computed side by side and between which a signal is seen.
//!
//! Where a batch is cut depends on its sizes alone, and what comes of the parts is in their order, so that results are the same on any
//! number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::engine::{Batch, Engine, sum_of_squares};
use crate::progress::Run;

/// Most products of a weight and a value in a rollout of one part, where a row is not more: a rollout forward and backward takes a
/// processor a second or two.
const PRODUCTS: f64 = 5e8;

/// Some rows of some environments.
pub(super) struct Part {
    pub environments: Range<usize>,
    pub batch: Batch,
}

/// What a rollout costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// `P`.
    pub weights: usize,
    /// Evaluations of the vector field, at a point of the grid where there is one, for each predicted value.
    pub evaluations: f64,
}

/// A batch, cut.
pub(super) struct Parts {
    parts: Vec<Part>,
    /// `P`.
    weights: usize,
}

impl Parts {
    /// Cuts `batch`: rows first, because one pass of an engine does well with many environments.
    pub(super) fn new(batch: &Batch, cost: Cost) -> Self {
        Parts { parts: cut(batch, cost, PRODUCTS), weights: cost.weights }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    /// What `work` makes of the index of each part and of the part, in their order; `None` if a signal came.
    pub(super) fn map<R: Send>(&self, run: &Run, work: impl Fn(usize, &Part) -> R + Sync) -> Option<Vec<R>> {
        let of_part = |(i, part): (usize, &Part)| run.interrupt.requested().is_none().then(|| work(i, part));
        self.parts.par_iter().with_max_len(1).enumerate().map(of_part).collect()
    }

    /// The weights of the environments of `part` among `weights [E, P]`.
    pub(super) fn weights<'w>(&self, weights: &'w [f64], part: &Part) -> &'w [f64] {
        &weights[part.environments.start * self.weights..part.environments.end * self.weights]
    }

    /// The weighted sum of squared residuals under `weights [E, P]`; `None` if a signal came.
    pub(super) fn squares(&self, engine: &dyn Engine, weights: &[f64], run: &Run) -> Option<f64> {
        let of_parts = self
            .map(run, |_, part| sum_of_squares(&engine.predict(self.weights(weights, part), &part.batch), &part.batch));
        Some(of_parts?.iter().sum())
    }
}

/// The parts of `batch` of at most `most` products each.
fn cut(batch: &Batch, cost: Cost, most: f64) -> Vec<Part> {
    let of_row = (batch.steps * batch.channels * cost.weights) as f64 * cost.evaluations;
    let together = |what: f64, count: usize| ((most / what.max(1.0)) as usize).clamp(1, count.max(1));
    let rows = together(of_row * batch.environments as f64, batch.rows);
    let environments = together(of_row * rows as f64, batch.environments);
    let mut parts = Vec::new();
    for row in (0..batch.rows).step_by(rows) {
        for e in (0..batch.environments).step_by(environments) {
            let environments = e..(e + environments).min(batch.environments);
            let batch = batch.part(environments.clone(), row..(row + rows).min(batch.rows));
            parts.push(Part { environments, batch });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Segment;

    fn batch() -> Batch {
        let (times, states) = ([0.0, 1.0, 2.0], [1.0; 6]);
        let row = Segment { times: &times, states: &states, inputs: &[] };
        Batch::new(2, &[], &[vec![row; 5], vec![row; 4], vec![row; 5]], (0, 0))
    }

    /// A row is 4 values, 10 weights and half an evaluation a value: 20 products.
    #[test]
    fn parts_have_few_products_but_a_row_at_least_and_hold_every_row_once() {
        let cost = Cost { weights: 10, evaluations: 0.5 };
        for (most, count) in [(1e9, 1), (120.0, 3), (60.0, 5), (45.0, 10), (19.0, 15)] {
            let parts = cut(&batch(), cost, most);
            assert_eq!(parts.len(), count, "{most}");
            let rows: usize = parts.iter().map(|part| part.batch.rows * part.environments.len()).sum();
            let values: usize = parts.iter().map(|part| part.batch.values()).sum();
            assert_eq!((rows, values), (15, batch().values()), "{most}");
        }
    }

    #[test]
    fn no_part_begins_after_a_signal() {
        let parts = Parts { parts: cut(&batch(), Cost { weights: 10, evaluations: 0.5 }, 20.0), weights: 10 };
        let interrupt = crate::progress::Interrupt::new();
        let run = Run { observer: &crate::progress::Silent, interrupt: &interrupt };
        assert_eq!(parts.map(&run, |i, _| i), Some((0..15).collect()));
        interrupt.request(2);
        assert_eq!(parts.map(&run, |i, _| i), None);
    }
}
