//! Which channels are in the denominator of a library, and about how.
//!
//! `D = 1 + sum_j delta_j |delta_j| |x_j|^S` makes rates nonlinear in their weights: from most starts, `delta` and the coefficients over it move
//! along each other, slowly, to poor minima. With the right channel and about the right `delta_j` held, a few steps from nothing fit an
//! environment by orders of magnitude better than without. So each channel is tried with values relative to `1 / sqrt(mean |x_j|^S)`, by
//! a few steps on segments of one interval, some environments alone. The best is taken, all other `delta` being zero; then more
//! channels join, as long as one makes the error ten times smaller. A channel that does not join stays out: its `delta` has no slope at zero.

use std::ops::Range;

use rayon::prelude::*;

use super::alone::Start;
use super::fit::Fit;
use crate::engine::Batch;
use crate::models;
use crate::progress::{Event, Run};

/// Values of `delta_j sqrt(mean |x_j|^S)` that are tried.
const VALUES: [f64; 4] = [0.3, 1.0, 3.0, 10.0];
/// Most environments that are fitted, evenly spread over all.
const ENVIRONMENTS: usize = 3;
/// Steps from nothing.
const STEPS: usize = 6;
/// One more channel joins where it leaves at most this share of the error.
const SHARE: f64 = 0.1;

impl Fit<'_> {
    /// Indices of the weights `delta`, and the power `S`, where there is a denominator.
    pub(super) fn denominator(&self) -> Option<(Range<usize>, usize)> {
        let models::Settings::Library { saturation: power @ 1.., .. } = self.settings.model else { return None };
        self.model.layout().blocks.last().map(|block| (block.range(), power))
    }

    /// `delta` for fits to begin with, from `batches` of one environment each, all of segments of one interval; `None` if a signal comes.
    pub(super) fn choose_denominator(
        &self,
        (places, power): (&Range<usize>, usize),
        batches: &[Batch],
        run: &Run,
    ) -> Option<Vec<f64>> {
        let count = ENVIRONMENTS.min(batches.len());
        let chosen = (0..count).map(|i| &batches[i * (batches.len() - 1) / (count - 1).max(1)]);
        let chosen: Vec<&Batch> = chosen.collect();
        let channels = places.len();
        let units: Vec<f64> = (0..channels).map(|c| unit(&chosen, c, channels, power)).collect();
        let none = vec![0.0; channels];
        let without = self.error_with(places, &none, &chosen, run);
        let mut best = (without, none);
        run.emit(Event::Begin { what: "denominator".to_owned(), total: Some(channels as u64), unit: "channels" });
        loop {
            let mut found = best.clone();
            for c in (0..channels).filter(|&c| best.1[c] == 0.0) {
                let tried = VALUES.par_iter().map(|value| {
                    let mut delta = best.1.clone();
                    delta[c] = value * units[c];
                    (self.error_with(places, &delta, &chosen, run), delta)
                });
                for candidate in tried.collect::<Vec<_>>() {
                    if candidate.0 < found.0 {
                        found = candidate;
                    }
                }
                let note = format!("error {:.2e} on one interval", found.0);
                run.emit(Event::Advance { done: c as u64 + 1, note });
                if run.interrupt.requested().is_some() {
                    run.emit(Event::End);
                    return None;
                }
            }
            let is_first = best.1.iter().all(|delta| *delta == 0.0);
            let joins = found.0 < if is_first { best.0 } else { SHARE * best.0 };
            if !joins {
                break;
            }
            best = found;
        }
        run.emit(Event::End);
        let (error, delta) = best;
        let terms = delta.iter().zip(self.train.channel_names()).filter(|(delta, _)| **delta != 0.0);
        let terms: Vec<String> = terms.map(|(d, name)| format!("{:.3} |{name}|^{power}", d * d)).collect();
        run.emit(Event::Note(match &terms[..] {
            [] => "the denominator is 1: no channel in it lowers the error on one interval".to_owned(),
            _ => format!(
                "the denominator starts as 1 + {}: mean squared error on one interval {error:.2e}, {without:.2e} without it",
                terms.join(" + ")
            ),
        }));
        Some(delta)
    }

    /// Geometric mean over `batches` of the mean squared error after a few steps from nothing with `delta` held.
    fn error_with(&self, places: &Range<usize>, delta: &[f64], batches: &[&Batch], run: &Run) -> f64 {
        let is_dropped = vec![false; self.model.layout().size()];
        let start = Start { places, delta, is_dropped: &is_dropped };
        let of_batch = |batch: &&Batch| (self.fit_alone(&start, batch, [STEPS, 0], run).0 / batch.count()).ln();
        let errors: Vec<f64> = batches.par_iter().map(of_batch).collect();
        (errors.iter().sum::<f64>() / errors.len() as f64).exp()
    }
}

/// `1 / sqrt(mean |x_c|^S)` over the starts of segments, of one of `count` channels.
fn unit(batches: &[&Batch], c: usize, count: usize, power: usize) -> f64 {
    let states = batches.iter().flat_map(|batch| batch.initial.chunks_exact(batch.channels));
    let values = states.flat_map(|state| {
        let points = state.len() / count;
        &state[c * points..(c + 1) * points]
    });
    let add = |(sum, number), x: &f64| (sum + x.abs().powi(power as i32), number + 1.0);
    let (sum, number) = values.fold((0.0, 0.0), add);
    Some((sum / number).sqrt().recip()).filter(|unit: &f64| unit.is_finite()).unwrap_or(1.0)
}
