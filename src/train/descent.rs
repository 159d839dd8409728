//! One step of Adam on the penalised loss of a batch.
//!
//! Minimises `1/n sum |x(theta_e) - y|^2 + lambda_xi sum_e |xi_e|^2 + lambda Omega` over `z = (shared, xi)`, where the
//! rule gives `theta_e [P]` from the shared values `[S]` and the contexts `xi_e [d]`, `e = 1..E`. Under a rule that is trained through its
//! adaptation, the contexts follow from the shared values by a step of gradient descent, and are not trained. Under one that is trained through
//! expansions, the loss is that of [`expansion`].

use super::adam;
use super::expansion;
use super::settings::{Contexts, Settings};
use super::through_adaptation::ThroughAdaptation;
use crate::engine::{Batch, Engine};
use crate::rules::{ContextFit, Rule, decode_all, pull_back_all};

/// What a step of Adam needs besides the batch.
#[derive(Clone, Copy)]
pub struct Descent<'a> {
    /// The rule, penalties and the gradient clip.
    pub settings: &'a Settings,
    /// Draws the pools of a rule that is trained through expansions.
    pub seed: u64,
    /// Computes the loss and its gradient.
    pub engine: &'a dyn Engine,
    /// Gives an environment's weights from shared values and its context.
    pub rule: &'a dyn Rule,
    /// `P`, weights of an environment.
    pub weights: usize,
    /// `E`.
    pub environments: usize,
}

/// What a step changes: `z` and Adam's running means, each `[S + E d]`.
pub struct Moving<'a> {
    /// `z`: shared values `[S]`, then contexts `[E, d]`.
    pub trained: &'a mut [f64],
    /// Running mean of the gradient.
    pub first_moment: &'a mut [f64],
    /// Running mean of the squared gradient.
    pub second_moment: &'a mut [f64],
}

impl Descent<'_> {
    /// Makes step `t` (from 1) on `batch`: decodes the weights, computes the loss, its gradient and that of the penalties,
    /// clips, and updates. Returns the mean squared error before the step; `None`, with nothing changed, if it or a
    /// gradient is not finite.
    pub fn step(&self, batch: &Batch, rate: f64, t: u64, moving: Moving) -> Option<f64> {
        let Moving { trained, first_moment, second_moment } = moving;
        let (loss, mut gradient) = self.loss_and_gradient(trained, t, batch);
        self.add_penalties(trained, &mut gradient);
        if !loss.is_finite() || !gradient.iter().all(|g| g.is_finite()) {
            return None;
        }
        adam::clip(&mut gradient, self.settings.gradient_clip);
        adam::step(trained, first_moment, second_moment, &gradient, rate, t);
        Some(loss)
    }

    /// The weights `[E, P]` of every environment.
    pub(crate) fn decode(&self, trained: &[f64]) -> Vec<f64> {
        decode_all(self.rule, trained, self.environments, self.weights)
    }

    /// The loss at step `t`, and its gradient by everything trained.
    fn loss_and_gradient(&self, trained: &[f64], t: u64, batch: &Batch) -> (f64, Vec<f64>) {
        if let Some(through) = self.through_adaptation() {
            let shared = self.rule.shared_size();
            let (loss, mut gradient) = through.loss_and_gradient(&trained[..shared], batch);
            gradient.resize(trained.len(), 0.0);
            return (loss, gradient);
        }
        let weights = self.decode(trained);
        let (loss, d_weights) = match self.settings.rule.trains_through_expansion() {
            true => {
                let contexts = &trained[self.rule.shared_size()..];
                let others = self.settings.pool.others(contexts, self.environments, (self.seed, t));
                expansion::loss_and_gradient(self.engine, &weights, &others, batch)
            }
            false => self.engine.loss_and_gradient(&weights, batch),
        };
        (loss, pull_back_all(self.rule, trained, &d_weights, self.weights))
    }

    /// The objective of rules whose contexts follow from the shared values.
    pub(super) fn through_adaptation(&self) -> Option<ThroughAdaptation<'_>> {
        let ContextFit::GradientSteps { rate, .. } = self.rule.context_fit() else { return None };
        let Descent { engine, rule, weights, environments, .. } = *self;
        Some(ThroughAdaptation { engine, rule, weights, environments, rate })
    }

    /// Adds the gradient of the penalties to that of the loss; contexts that are not learned get none at all.
    fn add_penalties(&self, trained: &[f64], gradient: &mut [f64]) {
        let (shared, contexts) = trained.split_at(self.rule.shared_size());
        let (d_shared, d_contexts) = gradient.split_at_mut(shared.len());
        let learned = self.settings.contexts == Contexts::Learned && self.through_adaptation().is_none();
        for (d, xi) in d_contexts.iter_mut().zip(contexts) {
            *d = if learned { *d + 2.0 * self.settings.context_penalty * xi } else { 0.0 };
        }
        self.rule.add_penalty_gradient(shared, self.settings.locality_penalty, d_shared);
    }
}
