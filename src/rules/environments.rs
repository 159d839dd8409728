//! The weights of all environments from what is trained, `z = (shared [S], contexts [E, d])`, and the way back of gradients.

use super::rule::Rule;

/// The weights `[E, P]`, `P = width`, of the environments under `rule`.
pub fn decode_all(rule: &dyn Rule, trained: &[f64], environments: usize, width: usize) -> Vec<f64> {
    let (shared, contexts) = trained.split_at(rule.shared_size());
    let (d, mut weights) = (rule.context_size(), vec![0.0; environments * width]);
    for (e, weights) in weights.chunks_exact_mut(width).enumerate() {
        rule.decode(shared, &contexts[e * d..(e + 1) * d], weights);
    }
    weights
}

/// The gradient by `z` that follows from `d_weights [E, P]`, `P = width`: the transpose of the derivative of [`decode_all`].
pub fn pull_back_all(rule: &dyn Rule, trained: &[f64], d_weights: &[f64], width: usize) -> Vec<f64> {
    let (shared, contexts) = trained.split_at(rule.shared_size());
    let (d, mut gradient) = (rule.context_size(), vec![0.0; trained.len()]);
    let (d_shared, d_contexts) = gradient.split_at_mut(shared.len());
    for (e, d_weights) in d_weights.chunks_exact(width).enumerate() {
        let own = e * d..(e + 1) * d;
        rule.pull_back(shared, &contexts[own.clone()], d_weights, d_shared, &mut d_contexts[own]);
    }
    gradient
}
