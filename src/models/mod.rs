//! Dynamics models: functions of explicit weights, with no hidden state.
//!
//! A model is the right-hand side `dx/dt = g(x; theta)` of an autonomous system. It never owns `theta`, so every
//! environment of a batch has its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tch::Tensor;

mod layout;
mod mlp;

pub use layout::{AdaptedLayers, Block, Layout};
pub use mlp::Mlp;

use crate::random::Stream;

/// The vector field of a batch, ready to be evaluated many times with the same weights.
pub type Field<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;

/// The vector field of a batch with its tangents: `(x, dx) -> (g, dg)`.
pub type TangentField<'a> = Box<dyn Fn(&Tensor, &Tensor) -> (Tensor, Tensor) + 'a>;

/// A dynamics model as a function of explicit weights.
pub trait Model: Send + Sync {
    /// Name in settings and manifests.
    fn name(&self) -> &'static str;

    /// Where each named tensor stands in the flat weights.
    fn layout(&self) -> &Layout;

    /// Random weights `[P]` to start training from.
    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64>;

    /// `g` with one set of weights an environment: `weights [E, P]`, states `[E, B, C]` to rates `[E, B, C]`.
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a>;

    /// `g` and its tangents with respect to contexts, from shared products: with `theta_r = basis_0 + sum_k xi_rk basis_k`,
    /// states `x [R, C]` and tangents `dx [d, R, C]` (`dx_k = d x / d xi_k`) give `g [R, C]` and `dg [d, R, C]`.
    ///
    /// `basis` is `[1 + d, P]`, `contexts` `[R, d]`. No `theta_r` is ever built.
    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a>;
}

/// Which model stands for the vector field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Settings {
    /// Multilayer perceptron on the state of an ordinary differential equation.
    Mlp {
        /// Linear layers, hidden ones and the last.
        #[serde(default = "default_layers")]
        #[schemars(range(min = 1, max = 64))]
        layers: usize,
        /// Units of a hidden layer.
        #[serde(default = "default_width")]
        #[schemars(range(min = 1, max = 4096))]
        width: usize,
    },
}

impl Settings {
    /// The model for states of `channels` values.
    pub fn build(&self, channels: usize) -> Box<dyn Model> {
        match *self {
            Settings::Mlp { layers, width } => Box::new(Mlp::new(channels, layers, width)),
        }
    }

    /// The same as a perceptron, if it is one.
    pub fn perceptron(&self, channels: usize) -> Option<Mlp> {
        match *self {
            Settings::Mlp { layers, width } => Some(Mlp::new(channels, layers, width)),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::Mlp { layers: default_layers(), width: default_width() }
    }
}

fn default_layers() -> usize {
    4
}

fn default_width() -> usize {
    64
}
