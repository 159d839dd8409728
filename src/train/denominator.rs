//! Which channels are in the denominator of a library, and about how.
//!
//! `D = 1 + sum_j delta_j |delta_j| |x_j|^S` makes rates nonlinear in their weights: from most starts, `delta` and the coefficients over it move
//! along each other, slowly, to poor minima. With the right channel and about the right `delta_j` held, a few steps from nothing fit an
//! environment by orders of magnitude better than without. So each channel is tried with values relative to `1 / sqrt(mean |x_j|^S)`, by
//! a few steps on segments of one interval, some environments alone. The best is taken, all other `delta` being zero; where environments
//! are not explained with it, one channel more joins if it makes the error ten times smaller. A channel that does not join stays out: its
//! `delta` has no slope at zero.

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

/// A denominator, and how well a few steps with it fit.
#[derive(Clone)]
pub(super) struct Denominator {
    /// `delta`, of each channel.
    pub delta: Vec<f64>,
    /// Geometric mean of mean squared errors on one interval.
    pub error: f64,
}

/// Some of the batches, evenly spread.
fn some(batches: &[Batch]) -> Vec<&Batch> {
    let count = ENVIRONMENTS.min(batches.len());
    (0..count).map(|i| &batches[i * (batches.len() - 1) / (count - 1).max(1)]).collect()
}

impl Fit<'_> {
    /// Indices of the weights `delta`, and the power `S`, where there is a denominator.
    pub(super) fn denominator(&self) -> Option<(Range<usize>, usize)> {
        let models::Settings::Library { saturation: power @ 1.., .. } = self.settings.model else { return None };
        self.model.layout().blocks.last().map(|block| (block.range(), power))
    }

    /// The denominator of at most one channel that leaves the smallest error, on `batches` of one environment each, all of segments of one
    /// interval; `None` if a signal comes.
    pub(super) fn first_denominator(&self, power: usize, batches: &[Batch], run: &Run) -> Option<Denominator> {
        let none = Denominator { delta: vec![0.0; self.train.channel_names().len()], error: f64::NAN };
        let none = Denominator { error: self.error_with(&none.delta, &some(batches), run), ..none };
        let (best, without) = (self.with_one_more(power, &none, batches, run)?, none.error);
        let error = best.error;
        run.emit(Event::Note(match &self.formula(&best, power) {
            None => "the denominator is 1: no channel in it lowers the error on one interval".to_owned(),
            Some(formula) => {
                format!("the denominator starts as {formula}: mean squared error on one interval {error:.2e}, {without:.2e} without it")
            }
        }));
        Some(best)
    }

    /// `denominator` with one channel more, if one makes its error much smaller, or as it is; `None` if a signal comes.
    pub(super) fn wider_denominator(
        &self,
        power: usize,
        denominator: &Denominator,
        batches: &[Batch],
        run: &Run,
    ) -> Option<Denominator> {
        let found = self.with_one_more(power, denominator, batches, run)?;
        if found.error >= SHARE * denominator.error {
            return Some(denominator.clone());
        }
        let (error, before) = (found.error, denominator.error);
        if let Some(formula) = self.formula(&found, power) {
            run.emit(Event::Note(format!(
                "the denominator starts as {formula}: mean squared error on one interval {error:.2e}, {before:.2e} with a channel less"
            )));
        }
        Some(found)
    }

    /// The best of `from` and of all that have one channel more.
    fn with_one_more(&self, power: usize, from: &Denominator, batches: &[Batch], run: &Run) -> Option<Denominator> {
        let (chosen, channels) = (some(batches), from.delta.len());
        run.emit(Event::Begin { what: "denominator".to_owned(), total: Some(channels as u64), unit: "channels" });
        let mut found = from.clone();
        for c in (0..channels).filter(|&c| from.delta[c] == 0.0) {
            let unit = unit(&chosen, c, channels, power);
            let tried = VALUES.par_iter().map(|value| {
                let mut delta = from.delta.clone();
                delta[c] = value * unit;
                Denominator { error: self.error_with(&delta, &chosen, run), delta }
            });
            for candidate in tried.collect::<Vec<_>>() {
                if candidate.error < found.error {
                    found = candidate;
                }
            }
            let note = format!("error {:.2e} on one interval", found.error);
            run.emit(Event::Advance { done: c as u64 + 1, note });
            if run.interrupt.requested().is_some() {
                run.emit(Event::End);
                return None;
            }
        }
        run.emit(Event::End);
        Some(found)
    }

    /// In words; `None` of 1.
    fn formula(&self, denominator: &Denominator, power: usize) -> Option<String> {
        let terms = denominator.delta.iter().zip(self.train.channel_names()).filter(|(delta, _)| **delta != 0.0);
        let terms: Vec<String> = terms.map(|(d, name)| format!(" + {:.3} |{name}|^{power}", d * d)).collect();
        (!terms.is_empty()).then(|| format!("1{}", terms.concat()))
    }

    /// Geometric mean over `batches` of the mean squared error after a few steps from nothing with `delta` held.
    fn error_with(&self, delta: &[f64], batches: &[&Batch], run: &Run) -> f64 {
        let Some((places, _)) = &self.denominator() else { return f64::INFINITY };
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
