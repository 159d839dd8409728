//! Adaptation rules: how shared weights and a context give the weights of an environment.
//!
//! A rule works on plain vectors. The engine hands it the gradient with respect to each environment's weights, and the
//! rule chains it back to the shared values and the context.

mod coda;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use coda::Coda;

use crate::models::{AdaptedLayers, Layout};
use crate::random::Stream;

/// Values of a context at most.
pub const MOST_DIMENSIONS: usize = 16;

/// How shared values `[S]` and a context `[d]` give the weights `[P]` of an environment.
pub trait Rule: Send + Sync {
    /// Number of shared values `S`.
    fn shared_size(&self) -> usize;

    /// Shared values to start from, given random weights `[P]` of the model. `deviation` is the standard deviation of the
    /// values that a context multiplies.
    fn initial_shared(&self, weights: Vec<f64>, deviation: f64, stream: &mut Stream) -> Vec<f64>;

    /// Writes the weights `[P]` of the environment with `context`.
    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]);

    /// Adds to `d_weights [P]` how the weights of the environment move when the shared values move by `d_shared [S]` and its context by
    /// `d_context [d]`, to first order.
    fn push(&self, shared: &[f64], context: &[f64], d_shared: &[f64], d_context: &[f64], d_weights: &mut [f64]);

    /// Adds to `d_shared [S]` and `d_context [d]` what the gradient `d_weights [P]` of one environment gives them.
    fn chain(&self, shared: &[f64], context: &[f64], d_weights: &[f64], d_shared: &mut [f64], d_context: &mut [f64]);

    /// The penalty on the shared values, per unit of `lambda`: `Omega(W)`.
    fn penalty(&self, shared: &[f64]) -> f64;

    /// Adds the gradient of `lambda` times the penalty to `d_shared [S]`.
    fn add_penalty_gradient(&self, shared: &[f64], lambda: f64, d_shared: &mut [f64]);

    /// How much the penalty holds each weight `[P]`, per unit of `lambda`: `q_i` of the quadratic `sum_i q_i |W_i,:|^2` that touches
    /// the penalty at `shared` and lies above it. Infinite where the penalty holds a weight at zero.
    fn hold(&self, shared: &[f64]) -> Vec<f64>;

    /// The weights that depend on the context, among `[P]`.
    fn adapted(&self) -> Range<usize>;

    /// The basis `[1 + d, P]` of a rule that is linear in the context: `theta = basis_0 + sum_k xi_k basis_k`.
    fn basis(&self, shared: &[f64]) -> Vec<f64>;

    /// Named tensors of the shared values, for files: name, shape, and where each value stands in `[S]`.
    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor>;
}

/// A named tensor of the shared values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedTensor {
    pub name: String,
    pub shape: Vec<usize>,
    /// Index in `[S]` of each value, in row-major order of `shape`.
    pub indices: Vec<usize>,
}

/// Which rule adapts the weights to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// CoDA with the sum of the row norms of `W` as locality penalty.
    CodaL1,
    /// CoDA with the squared norm of `W` as locality penalty.
    CodaL2,
    /// CoDA without a locality penalty.
    Coda,
}

impl Kind {
    /// The rule for a model of that layout and contexts of `context_dimension` values.
    pub fn build(self, layout: &Layout, adapted: AdaptedLayers, context_dimension: usize) -> Box<dyn Rule> {
        let (weights, adapted) = (layout.size(), layout.adapted(adapted));
        Box::new(Coda { kind: self, weights, adapted, context_dimension })
    }
}
