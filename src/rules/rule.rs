//! The interface of an adaptation rule.

use std::ops::Range;

use super::context_fit::ContextFit;
use super::places::Places;
use super::shared_tensor::SharedTensor;
use crate::models::Layout;
use crate::random::Stream;

/// How an environment's weights `theta_e [P]` follow from the shared values `[S]` and its own values, the context
/// `[d]`.
///
/// The context `xi_e` is a few numbers that parameters are read from or, with other rules, the weights of an
/// environment's own last layer or network, or empty (`d = 0`). `theta_e` may be any differentiable function of both.
/// The methods that follow from the derivatives have default implementations; a rule with more structure overrides them
/// with faster ones.
pub trait Rule: Send + Sync {
    /// Number of shared values `S`.
    fn shared_size(&self) -> usize;

    /// Number of values `d` of a context.
    fn context_size(&self) -> usize;

    /// Shared values to start from, given random weights `[P]` of the model, which come first. `std_dev` is the standard deviation of the
    /// others, which a context multiplies.
    fn initial_shared(&self, mut weights: Vec<f64>, std_dev: f64, stream: &mut Stream) -> Vec<f64> {
        weights.resize_with(self.shared_size(), || std_dev * stream.normal());
        weights
    }

    /// Shared values under which the weights are `centre [P] + sum_k xi_k columns[k] [P]`; `None` if the rule has none.
    fn affine_shared(&self, _centre: &[f64], _columns: &[Vec<f64>]) -> Option<Vec<f64>> {
        None
    }

    /// The context `[d]` before training or adaptation.
    fn initial_context(&self) -> Vec<f64> {
        vec![0.0; self.context_size()]
    }

    /// Writes the weights `[P]` of the environment with `context`.
    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]);

    /// Adds to `d_weights [P]` the tangent of the weights along `(d_shared [S], d_context [d])`.
    fn push_forward(&self, shared: &[f64], context: &[f64], d_shared: &[f64], d_context: &[f64], d_weights: &mut [f64]);

    /// Adds to `d_shared [S]` and `d_context [d]` the gradient that follows from the gradient `d_weights [P]` of one
    /// environment: the transpose of [`push_forward`](Rule::push_forward).
    fn pull_back(
        &self,
        shared: &[f64],
        context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    );

    /// Indices of those among the `P = size` weights that any value moves, ascending.
    fn moving_weights(&self, size: usize) -> Vec<usize> {
        (0..size).collect()
    }

    /// Named tensors of the shared values, for files: name, shape, and the index of each value in `[S]`.
    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor>;

    /// The locality penalty `Omega` on the shared values, without its weight `lambda`.
    fn penalty(&self, _shared: &[f64]) -> f64 {
        0.0
    }

    /// `q [S]` of the parabola `sum_j q_j z_j^2` plus a constant that touches the penalty at the shared values `z` and
    /// is nowhere below it. Infinite where the penalty holds a value at zero.
    fn majorizer_weights(&self, _shared: &[f64]) -> Vec<f64> {
        vec![0.0; self.shared_size()]
    }

    /// Adds the gradient of `lambda` times the penalty to `d_shared [S]`, computed from the parabola that touches it.
    /// Where the penalty holds a value at zero, it adds zero, which is a subgradient.
    fn add_penalty_gradient(&self, shared: &[f64], lambda: f64, d_shared: &mut [f64]) {
        for ((d, z), q) in d_shared.iter_mut().zip(shared).zip(self.majorizer_weights(shared)) {
            if q.is_finite() {
                *d += 2.0 * lambda * q * z;
            }
        }
    }

    /// Whether the weights are affine in the context: `theta_e = basis_0 + sum_k xi_k basis_k`, with the basis that
    /// [`linearise`](Rule::linearise) returns at zero. Many environments can then be rolled out from one basis.
    fn is_affine(&self) -> bool {
        false
    }

    /// Where each of the `P = weights` finds its values, if all are sums of them.
    fn places(&self, _weights: usize) -> Option<Places> {
        None
    }

    /// The weights at a context, followed by their tangents with respect to it: `[1 + d, P]`.
    fn linearise(&self, shared: &[f64], context: &[f64], weights: usize) -> Vec<f64> {
        let d = context.len();
        let mut values = vec![0.0; (1 + d) * weights];
        let (theta, tangents) = values.split_at_mut(weights);
        self.decode(shared, context, theta);
        let still = vec![0.0; shared.len()];
        for (k, tangent) in tangents.chunks_exact_mut(weights).enumerate() {
            let mut unit = vec![0.0; d];
            unit[k] = 1.0;
            self.push_forward(shared, context, &still, &unit, tangent);
        }
        values
    }

    /// The parts of `sum_j s_j (dr_i / dz_j) (dr_k / dz_j)` over the shared values `z`, where `s_j` is the share of
    /// each, as products of the Jacobian with respect to the weights; `contexts [E, d]` are those of all environments.
    /// For a rule that returns `None`, the Jacobian with respect to the shared values is computed instead, which takes
    /// `n S` more values.
    fn gram_products(&self, _contexts: &[f64], _shares: &[f64]) -> Option<Vec<GramProduct>> {
        None
    }

    /// How the context of a new environment is found.
    fn context_fit(&self) -> ContextFit {
        ContextFit::GaussNewton
    }
}

/// A term of the kernel for residuals `i` and `k` of the environments `e` and `f`: `(c_e . c_f) sum_p s_p J_ip J_kp`.
pub struct GramProduct {
    /// Range of the weights `p` in the sum.
    pub weights: Range<usize>,
    /// `s`, one for each of these weights.
    pub shares: Vec<f64>,
    /// `c [E, m]`.
    pub factors: Vec<f64>,
}
