//! One step of Adam on the penalised loss of a batch.
//!
//! Minimises `1/n sum |x(theta_e) - y|^2 + lambda_xi sum_e |xi_e|^2 + lambda Omega` over `z = (shared, xi)`, where the
//! rule gives `theta_e [P]` from the shared values `[S]` and the contexts `xi_e [d]`, `e = 1..E`.

use super::adam;
use super::settings::{Contexts, Settings};
use crate::engine::{Batch, Engine};
use crate::rules::{Rule, decode_all, pull_back_all};

/// What a step of Adam needs besides the batch.
#[derive(Clone, Copy)]
pub struct Descent<'a> {
    /// Penalties and the gradient clip.
    pub settings: &'a Settings,
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
        let (loss, d_weights) = self.engine.loss_and_gradient(&self.decode(trained), batch);
        let mut gradient = self.chain(trained, &d_weights);
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

    /// The gradient of the penalised loss with respect to everything trained, from the gradient `d_weights [E, P]` of
    /// the loss.
    fn chain(&self, trained: &[f64], d_weights: &[f64]) -> Vec<f64> {
        let (shared, contexts) = trained.split_at(self.rule.shared_size());
        let mut gradient = pull_back_all(self.rule, trained, d_weights, self.weights);
        let (d_shared, d_contexts) = gradient.split_at_mut(shared.len());
        let learned = self.settings.contexts == Contexts::Learned;
        for (d, xi) in d_contexts.iter_mut().zip(contexts) {
            *d = if learned { *d + 2.0 * self.settings.context_penalty * xi } else { 0.0 };
        }
        self.rule.add_penalty_gradient(shared, self.settings.locality_penalty, d_shared);
        gradient
    }
}
