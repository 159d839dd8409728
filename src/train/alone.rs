//! Fits of environments alone, each with weights of its own, on segments of one interval.

use std::ops::Range;

use super::curvature::Curvature;
use super::fit::Fit;
use super::local_model::{LocalModel, Step};
use super::normal_equations::NormalEquations;
use super::settings::Contexts;
use crate::engine::{Batch, sum_of_squares};
use crate::least_squares::damping::Damping;
use crate::models::Layout;
use crate::progress::Run;
use crate::rules::{Restricted, Rule, SharedTensor};

/// Most dampings tried in one step.
const TRIALS: usize = 8;

/// A library with a denominator that starts somewhere.
pub(super) struct Start<'a> {
    /// Indices of `delta`.
    pub places: &'a Range<usize>,
    /// Its values.
    pub delta: &'a [f64],
    /// Which weights `[P]` stay zero.
    pub is_dropped: &'a [bool],
}

impl Fit<'_> {
    /// Fits the weights of an environment from nothing: so many steps with `delta` held, then so many with all free. Returns them with their
    /// sum of squares on `batch`; after a signal, before the last step.
    pub(super) fn fit_alone(
        &self,
        start: &Start,
        batch: &Batch,
        [held, free]: [usize; 2],
        run: &Run,
    ) -> (f64, Vec<f64>) {
        let Start { places, delta, is_dropped } = *start;
        let alone = Alone(is_dropped.len());
        let dropped = Restricted::dropped(&alone, is_dropped.to_vec());
        let is_held = (0..is_dropped.len()).map(|p| places.contains(&p)).collect();
        let mut weights = vec![0.0; is_dropped.len()];
        weights[places.clone()].copy_from_slice(delta);
        let (_, weights) = self.steps_alone(&Restricted::held(&dropped, is_held), weights, batch, (held, false), run);
        self.steps_alone(&dropped, weights, batch, (free, true), run)
    }

    fn steps_alone(
        &self,
        rule: &dyn Rule,
        mut weights: Vec<f64>,
        batch: &Batch,
        (steps, bends): (usize, bool),
        run: &Run,
    ) -> (f64, Vec<f64>) {
        let settings = &self.settings.gauss_newton;
        let squares = |weights: &[f64]| sum_of_squares(&self.reference.predict(weights, batch), batch);
        let moving = rule.moving_weights(weights.len());
        let mut before = squares(&weights);
        let mut damping: Option<Damping> = None;
        for _ in 0..steps {
            if run.interrupt.requested().is_some() {
                break;
            }
            let part = std::iter::once((0, self.reference.jacobian_of(&moving, &weights, batch)));
            let better = {
                let sizes = (batch.values(), weights.len());
                let model = NormalEquations::new(rule, settings, Contexts::Tied, &weights, sizes, part, run.interrupt);
                let curvature = bends.then(|| Curvature::new(rule, self.reference, batch, &weights, &weights));
                let damping = damping.get_or_insert_with(|| Damping::new(settings.damping * model.mean_diagonal()));
                (0..TRIALS).find_map(|_| {
                    let step = model.step(damping.value, curvature.as_ref());
                    let moved = step.map(|Step { trained, decrease }| (squares(&trained), trained, decrease));
                    let better = moved.filter(|(now, ..)| *now < before);
                    match &better {
                        Some((now, _, decrease)) => damping.accept(before - now, *decrease),
                        None => damping.reject(),
                    }
                    better
                })
            };
            let Some((now, trained, _)) = better else { break };
            (before, weights) = (now, trained);
        }
        (before, weights)
    }
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
