//! Where the denominator of a library starts, if Gauss-Newton begins from nothing.
//!
//! `D = 1 + sum_j delta_j^2 |x_j|^S` makes rates nonlinear in their weights: from most starts, `delta` and the coefficients over it move
//! along each other, slowly, to poor minima. With the right channel and about the right `delta_j` held, a few steps from nothing fit an
//! environment by four orders of magnitude better than without. So each channel is tried with values relative to `1 / sqrt(mean |x_j|^S)`, by
//! a few steps on segments of one interval, each environment with weights of its own. The best starts, all other `delta` being zero; then more
//! channels join, as long as one makes the error ten times smaller. A channel that does not join stays out: its `delta` has no slope at zero.

use std::ops::Range;

use rayon::prelude::*;

use super::data::even_restarts;
use super::error::Error;
use super::fit::Fit;
use super::local_model::{LocalModel, Step};
use super::normal_equations::NormalEquations;
use super::settings::Contexts;
use crate::checkpoint::TrainingState;
use crate::engine::{Batch, sum_of_squares};
use crate::least_squares::damping::Damping;
use crate::models;
use crate::models::Layout;
use crate::progress::{Event, Run};
use crate::random::Stream;
use crate::rules::{Restricted, Rule, SharedTensor};

/// Values of `delta_j sqrt(mean |x_j|^S)` that are tried.
const VALUES: [f64; 4] = [0.3, 1.0, 3.0, 10.0];
/// Most environments that are fitted, evenly spread over all.
const ENVIRONMENTS: usize = 3;
/// Most trajectories of each.
const TRAJECTORIES: usize = 8;
/// Steps from nothing.
const STEPS: usize = 6;
/// Most dampings tried in one step.
const TRIALS: usize = 6;
/// One more channel joins where it leaves at most this share of the error.
const SHARE: f64 = 0.1;

impl Fit<'_> {
    /// Indices of the weights `delta`, where there are any.
    pub(super) fn denominator(&self) -> Option<Range<usize>> {
        let has_one = matches!(self.settings.model, models::Settings::Library { saturation: 1.., .. });
        self.model.layout().blocks.last().filter(|_| has_one).map(|block| block.range())
    }

    /// Sets `delta` of a fresh `state`.
    ///
    /// # Errors
    /// [`Error::Interrupted`] with a checkpoint of `state` as it was; errors of reading.
    pub(super) fn start_denominator(&self, state: &mut TrainingState, run: &Run) -> Result<(), Error> {
        let (Some(places), models::Settings::Library { saturation, .. }) = (self.denominator(), &self.settings.model)
        else {
            return Ok(());
        };
        let batch = self.train.batch(0, TRAJECTORIES, |_, trajectory| even_restarts(trajectory, 1))?;
        let count = ENVIRONMENTS.min(self.environments);
        let chosen = (0..count).map(|i| i * (self.environments - 1) / (count - 1).max(1));
        let batches: Vec<Batch> = chosen.map(|e| batch.environment(e)).collect();
        let units: Vec<f64> = (0..places.len()).map(|c| unit(&batch, c, places.len(), *saturation)).collect();
        let names = self.train.channel_names();
        let mut best = (self.error_of(&places, &vec![0.0; places.len()], &batches), vec![0.0; places.len()]);
        let without = best.0;
        run.emit(Event::Begin { what: "denominator".to_owned(), total: Some(places.len() as u64), unit: "channels" });
        loop {
            let mut found = best.clone();
            for c in (0..places.len()).filter(|&c| best.1[c] == 0.0) {
                if let Some(signal) = run.interrupt.requested() {
                    let checkpoint = self.store.save(state)?;
                    run.emit(Event::End);
                    return Err(Error::Interrupted { signal, step: state.step, checkpoint });
                }
                let tried = VALUES.par_iter().map(|value| {
                    let mut delta = best.1.clone();
                    delta[c] = value * units[c];
                    (self.error_of(&places, &delta, &batches), delta)
                });
                for candidate in tried.collect::<Vec<_>>() {
                    if candidate.0 < found.0 {
                        found = candidate;
                    }
                }
                let note = format!("error {:.2e} on one interval", found.0);
                run.emit(Event::Advance { done: c as u64 + 1, note });
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
        let terms = delta.iter().zip(names).filter(|(delta, _)| **delta != 0.0);
        let terms: Vec<String> = terms.map(|(d, name)| format!("{:.3} |{name}|^{saturation}", d * d)).collect();
        run.emit(Event::Note(match &terms[..] {
            [] => "the denominator starts as 1: no channel in it lowers the error on one interval".to_owned(),
            _ => format!(
                "the denominator starts as 1 + {}: mean squared error on one interval {error:.2e}, {without:.2e} without it",
                terms.join(" + ")
            ),
        }));
        let mut weights = vec![0.0; self.model.layout().size()];
        let is_delta = (0..weights.len()).map(|p| places.contains(&p)).collect();
        weights[places].copy_from_slice(&delta);
        let shared = &mut state.trained[..self.rule.shared_size()];
        Restricted::dropped(self.rule, is_delta).clear(shared);
        let start = self.rule.initial_shared(weights, 0.0, &mut Stream::new(self.seed, "initial-shared", &[]));
        shared.iter_mut().zip(start).for_each(|(value, start)| *value += start);
        Ok(())
    }

    /// Geometric mean over `batches`, one environment each, of the mean squared error after a few steps from nothing with `delta` held.
    fn error_of(&self, places: &Range<usize>, delta: &[f64], batches: &[Batch]) -> f64 {
        let of_batch = |batch: &Batch| {
            let mut weights = vec![0.0; self.model.layout().size()];
            weights[places.clone()].copy_from_slice(delta);
            let is_held = (0..weights.len()).map(|p| places.contains(&p)).collect();
            let squares = self.fit_alone(&Restricted::held(&Alone(weights.len()), is_held), weights, batch);
            (squares / batch.count()).ln()
        };
        let errors: Vec<f64> = batches.par_iter().map(of_batch).collect();
        (errors.iter().sum::<f64>() / errors.len() as f64).exp()
    }

    /// The sum of squares after a few steps from `weights` on `batch`.
    fn fit_alone(&self, rule: &dyn Rule, mut weights: Vec<f64>, batch: &Batch) -> f64 {
        let settings = &self.settings.gauss_newton;
        let squares = |weights: &[f64]| sum_of_squares(&self.reference.predict(weights, batch), batch);
        let mut before = squares(&weights);
        let mut damping: Option<Damping> = None;
        for _ in 0..STEPS {
            let part = std::iter::once((0, self.reference.jacobian(&weights, batch)));
            let next = {
                let model = NormalEquations::new(rule, settings, Contexts::Tied, &weights, batch.values(), part);
                let damping = damping.get_or_insert_with(|| Damping::new(settings.damping * model.mean_diagonal()));
                (0..TRIALS).find_map(|_| {
                    let better = model
                        .step(damping.value, None)
                        .map(|Step { trained, decrease }| (squares(&trained), trained, decrease));
                    match better.filter(|(now, ..)| *now < before) {
                        Some((now, trained, decrease)) => {
                            damping.accept(before - now, decrease);
                            Some((now, trained))
                        }
                        None => {
                            damping.reject();
                            None
                        }
                    }
                })
            };
            let Some((now, trained)) = next else { break };
            (before, weights) = (now, trained);
        }
        before
    }
}

/// `1 / sqrt(mean |x_c|^S)` over the starts of segments, of one of `count` channels.
fn unit(batch: &Batch, c: usize, count: usize, saturation: usize) -> f64 {
    let points = batch.channels / count;
    let states = batch.initial.chunks_exact(batch.channels);
    let values = states.flat_map(|state| &state[c * points..(c + 1) * points]);
    let (sum, number) =
        values.fold((0.0, 0.0), |(sum, number), x| (sum + x.abs().powi(saturation as i32), number + 1.0));
    Some((sum / number).sqrt().recip()).filter(|unit: &f64| unit.is_finite()).unwrap_or(1.0)
}

/// The rule of an environment that shares nothing: its `P` weights are the shared values.
struct Alone(usize);

impl Rule for Alone {
    fn shared_size(&self) -> usize {
        self.0
    }

    fn context_size(&self) -> usize {
        0
    }

    fn decode(&self, shared: &[f64], _: &[f64], weights: &mut [f64]) {
        weights.copy_from_slice(shared);
    }

    fn push_forward(&self, _: &[f64], _: &[f64], d_shared: &[f64], _: &[f64], d_weights: &mut [f64]) {
        d_weights.iter_mut().zip(d_shared).for_each(|(weight, d)| *weight += d);
    }

    fn pull_back(&self, _: &[f64], _: &[f64], d_weights: &[f64], d_shared: &mut [f64], _: &mut [f64]) {
        d_shared.iter_mut().zip(d_weights).for_each(|(d, weight)| *d += weight);
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        SharedTensor::of_network("theta", layout)
    }
}
