//! The loss after one step of adaptation, and its gradient through that step: the outer objective of MAML.
//!
//! With the mean squared error `L_e(z, xi)` of environment `e` over its `n_e` observed values, `n = sum n_e`, shared values `z [S]`, and the
//! context before adaptation `xi_0 [d]`,
//!
//! ```text
//! xi_e(z) = xi_0 - r dL_e/dxi (z, xi_0),     F(z) = sum_e n_e / n L_e(z, xi_e(z))
//! dF/dz   = sum_e n_e / n (dL_e/dz (z, xi_e) - r d/dz [dL_e/dxi (z, xi_0) . v_e]),     v_e = dL_e/dxi (z, xi_e)
//! ```
//!
//! The last term, which has second derivatives of the rollout, is the derivative of the gradient `dL_e/dz` along `v_e`. It is the difference of
//! two gradients on both sides of `xi_0`, whose error is the square of the step between them: any engine that has a gradient will do, in double
//! precision. Source: Finn, Abbeel, Levine, ICML 2017, section 2.2.

use crate::engine::{Batch, Engine};
use crate::rules::{Rule, decode_all, pull_back_all};

/// Length of the step of differences, relative to the weights.
const DIFFERENCE: f64 = 1e-5;

/// What the objective needs besides the batch.
#[derive(Clone, Copy)]
pub(super) struct ThroughAdaptation<'a> {
    /// Computes in double precision.
    pub engine: &'a dyn Engine,
    pub rule: &'a dyn Rule,
    /// `P`.
    pub weights: usize,
    /// `E`.
    pub environments: usize,
    /// `r`.
    pub rate: f64,
}

impl ThroughAdaptation<'_> {
    /// Observed values of each environment, weighed as in the loss: `n_e [E]`.
    fn counts(&self, batch: &Batch) -> Vec<f64> {
        let of_environment = batch.mask.chunks_exact(batch.values_per_environment().max(1));
        let mut counts: Vec<f64> = of_environment.map(|mask| mask.iter().map(|m| m * m).sum()).collect();
        counts.resize(self.environments, 0.0);
        counts
    }

    /// `n` times the loss at the shared values and contexts `trained`, and its gradient by them.
    fn sum_and_gradient(&self, trained: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let weights = decode_all(self.rule, trained, self.environments, self.weights);
        let (loss, d_weights) = self.engine.loss_and_gradient(&weights, batch);
        let mut gradient = pull_back_all(self.rule, trained, &d_weights, self.weights);
        let n = batch.count();
        gradient.iter_mut().for_each(|d| *d *= n);
        (loss * n, gradient)
    }

    /// `z`, and `xi_0` of every environment.
    fn before(&self, shared: &[f64]) -> Vec<f64> {
        [shared, &self.rule.initial_context().repeat(self.environments)].concat()
    }

    /// `z`, and the contexts after the step on all of `batches`, whose environments are the same.
    pub(super) fn adapted(&self, shared: &[f64], mut batches: impl FnMut(&mut dyn FnMut(&Batch))) -> Vec<f64> {
        let mut trained = self.before(shared);
        let (mut gradient, mut counts) = (vec![0.0; trained.len()], vec![0.0; self.environments]);
        batches(&mut |batch| {
            let (_, of_batch) = self.sum_and_gradient(&trained, batch);
            gradient.iter_mut().zip(of_batch).for_each(|(sum, d)| *sum += d);
            counts.iter_mut().zip(self.counts(batch)).for_each(|(sum, n)| *sum += n);
        });
        self.make_step(&mut trained, &gradient[shared.len()..], &counts);
        trained
    }

    /// Moves the contexts behind `z` by `-r / n_e` times `d_contexts [E, d]`.
    fn make_step(&self, trained: &mut [f64], d_contexts: &[f64], counts: &[f64]) {
        let (d, contexts) = (self.rule.context_size(), trained.len() - d_contexts.len());
        let of_environments = trained[contexts..].chunks_exact_mut(d).zip(d_contexts.chunks_exact(d)).zip(counts);
        for ((context, d_context), n) in of_environments.filter(|(_, n)| **n > 0.0) {
            context.iter_mut().zip(d_context).for_each(|(xi, g)| *xi -= self.rate / n * g);
        }
    }

    /// `F` at `z`, and its gradient `[S]`.
    pub(super) fn loss_and_gradient(&self, shared: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let (counts, d) = (self.counts(batch), self.rule.context_size());
        let before = self.before(shared);
        let (_, at_start) = self.sum_and_gradient(&before, batch);
        let mut after = before.clone();
        self.make_step(&mut after, &at_start[shared.len()..], &counts);
        let (sum, gradient) = self.sum_and_gradient(&after, batch);
        let mut d_shared = gradient[..shared.len()].to_vec();

        // v_e, of sums instead of means: the factors n_e of both cancel.
        let mut along = gradient[shared.len()..].to_vec();
        for (v, n) in along.chunks_exact_mut(d).zip(&counts).filter(|(_, n)| **n > 0.0) {
            v.iter_mut().for_each(|v| *v /= n);
        }
        let longest = along.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        if longest > 0.0 && longest.is_finite() {
            let h = DIFFERENCE / longest;
            let moved = |sign: f64| {
                let mut moved = before.clone();
                moved[shared.len()..].iter_mut().zip(&along).for_each(|(xi, v)| *xi += sign * h * v);
                self.sum_and_gradient(&moved, batch).1
            };
            let (up, down) = (moved(1.0), moved(-1.0));
            for (d, (up, down)) in d_shared.iter_mut().zip(up.iter().zip(&down)) {
                *d -= self.rate * (up - down) / (2.0 * h);
            }
        }
        let n = batch.count();
        d_shared.iter_mut().for_each(|d| *d /= n);
        (sum / n, d_shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Native, Segment, Solver};
    use crate::models::{AdaptedLayers, Mlp, Model};
    use crate::random::Stream;
    use crate::rules::{Kind, Shape};

    /// Two environments, one of which has two trajectories.
    fn batch(stream: &mut Stream) -> Batch {
        let times = [0.0, 0.3, 0.7];
        let states: Vec<Vec<f64>> = (0..3).map(|_| (0..6).map(|_| stream.normal()).collect()).collect();
        let segment = |states| Segment { times: &times, states, inputs: &[] };
        let segments = [vec![segment(&states[0]), segment(&states[1])], vec![segment(&states[2])]];
        Batch::new(2, &[], &segments, (0, 0))
    }

    #[test]
    fn the_gradient_through_the_step_agrees_with_differences_of_the_loss_after_it() {
        let model = Mlp::new(2, 0, 3, 4);
        let engine = Native::<f64>::new(&model, Solver::Rk4.tableau(1));
        for kind in [Kind::Maml, Kind::Anil, Kind::MetaSgd] {
            let mut stream = Stream::new(3, "through", &[]);
            let shape = Shape { adapted: AdaptedLayers::All, context_dimension: 0, inner_rate: 0.2 };
            let rule = kind.build(model.layout(), shape);
            let shared = rule.initial_shared(model.initial_weights(&mut stream), 0.1, &mut stream);
            let batch = batch(&mut stream);
            let rate = match rule.context_fit() {
                crate::rules::ContextFit::GradientSteps { rate, .. } => rate,
                crate::rules::ContextFit::GaussNewton => panic!("{kind:?} adapts by a gradient step"),
            };
            let (rule, weights) = (rule.as_ref(), model.layout().size());
            let through = ThroughAdaptation { engine: &engine, rule, weights, environments: 2, rate };
            let (loss, gradient) = through.loss_and_gradient(&shared, &batch);
            let adapted = through.adapted(&shared, |take| take(&batch));
            let after = engine.loss_and_gradient(&decode_all(rule, &adapted, 2, weights), &batch).0;
            approx::assert_relative_eq!(loss, after, max_relative = 1e-12);
            let still = engine.loss_and_gradient(&decode_all(rule, &through.before(&shared), 2, weights), &batch);
            let first_order = pull_back_all(
                rule,
                &adapted,
                &engine.loss_and_gradient(&decode_all(rule, &adapted, 2, weights), &batch).1,
                weights,
            );
            assert!(after < still.0, "{kind:?}: a step of adaptation goes down");
            let (mut missed, mut longest) = (0.0_f64, 0.0_f64);
            for i in (0..shared.len()).step_by(3) {
                let h = 1e-5;
                let moved = |sign: f64| {
                    let mut moved = shared.clone();
                    moved[i] += sign * h;
                    let adapted = through.adapted(&moved, |take| take(&batch));
                    engine.loss_and_gradient(&decode_all(rule, &adapted, 2, weights), &batch).0
                };
                let difference = (moved(1.0) - moved(-1.0)) / (2.0 * h);
                approx::assert_relative_eq!(gradient[i], difference, epsilon = 1e-8, max_relative = 1e-6);
                missed = missed.max((first_order[i] - difference).abs());
                longest = longest.max(difference.abs());
            }
            assert!(missed > 1e-3 * longest, "{kind:?}: second derivatives matter here");
        }
    }
}
