//! Dynamics models: functions of explicit weights, with no hidden state.
//!
//! A model is the right-hand side `dx/dt = g(x, u; theta)` of a system that depends on time through its inputs alone; a state is flat, `C` here
//! being all its values. It never owns `theta`, so every environment of a batch has its own.

mod layout;
mod layered;
mod mlp;
mod convnet;
mod fno;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tch::Tensor;

pub use convnet::ConvNet;
pub use fno::Fno;
pub use layout::{AdaptedLayers, Block, Layout};
pub use mlp::Mlp;

use crate::random::Stream;
use crate::schema::StateShape;

/// The vector field of a batch, ready to be evaluated many times with the same weights.
pub type Field<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;

/// The vector field of a batch with its tangents: `(x, dx) -> (g, dg)`. Inputs stand behind the values of a state.
pub type TangentField<'a> = Box<dyn Fn(&Tensor, &Tensor) -> (Tensor, Tensor) + 'a>;

/// A dynamics model as a function of explicit weights.
pub trait Model: Send + Sync {
    /// Name in settings and manifests.
    fn name(&self) -> &'static str;

    /// Where each named tensor stands in the flat weights.
    fn layout(&self) -> &Layout;

    /// Random weights `[P]` to start training from.
    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64>;

    /// `g` with one set of weights an environment: `weights [E, P]`, states and inputs `[E, B, C + U]` to rates `[E, B, C]`.
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a>;

    /// `g` and its tangents with respect to contexts, with `theta_r = basis_0 + sum_k xi_rk basis_k`,
    /// states and inputs `x [R, C + U]` and tangents `dx [d, R, C + U]` (`dx_k = d x / d xi_k`) give `g [R, C]` and `dg [d, R, C]`.
    ///
    /// `basis` is `[1 + d, P]`, `contexts` `[R, d]`.
    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a>;
}

/// Which model stands for the vector field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Settings {
    /// Multilayer perceptron on the state of an ordinary differential equation, and on its inputs.
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
    /// Convolutional network on periodic fields in two dimensions.
    #[serde(rename = "convnet")]
    ConvNet {
        /// Convolutions, hidden ones and the last.
        #[serde(default = "default_layers")]
        #[schemars(range(min = 1, max = 64))]
        layers: usize,
        /// Channels of a hidden layer.
        #[serde(default = "default_width")]
        #[schemars(range(min = 1, max = 4096))]
        width: usize,
        /// Points across a kernel; odd.
        #[serde(default = "default_kernel")]
        #[schemars(range(min = 1, max = 15))]
        kernel: usize,
        /// What the output is multiplied by.
        #[serde(default = "default_output_scale")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        output_scale: f64,
    },
    /// Fourier neural operator on periodic fields in two dimensions.
    Fno {
        /// Spectral layers.
        #[serde(default = "default_layers")]
        #[schemars(range(min = 1, max = 64))]
        layers: usize,
        /// Wave numbers kept along an axis.
        #[serde(default = "default_modes")]
        #[schemars(range(min = 1, max = 512))]
        modes: usize,
        /// Channels of a spectral layer.
        #[serde(default = "default_spectral_width")]
        #[schemars(range(min = 1, max = 1024))]
        width: usize,
        /// Channels before the last layer.
        #[serde(default = "default_projection")]
        #[schemars(range(min = 1, max = 4096))]
        projection: usize,
    },
}

impl Settings {
    /// Why this model is not for such states under so many inputs, if it is not: what was found, and what was expected.
    pub fn problem(&self, state: &StateShape, inputs: usize) -> Option<(String, &'static str)> {
        let space = &state.space;
        if inputs > 0 && !matches!(self, Settings::Mlp { .. }) {
            let found = format!("{inputs} input{}", if inputs == 1 { "" } else { "s" });
            return Some((found, "fields without inputs, which it has no place for"));
        }
        let found = || match &space[..] {
            [] => "states without space".to_owned(),
            counts => {
                format!("fields on {} points", counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "))
            }
        };
        match *self {
            Settings::Mlp { .. } => {
                (!space.is_empty()).then(|| (found(), "a state of an ordinary differential equation"))
            }
            Settings::ConvNet { kernel, .. } if kernel % 2 == 0 => {
                Some((format!("kernel = {kernel}"), "an odd number, so that a kernel has a middle"))
            }
            // The circular margin of a convolution is taken from the field itself.
            Settings::ConvNet { kernel, .. } => (space.len() != 2 || space.iter().any(|&count| count < kernel / 2))
                .then(|| (found(), "fields in two dimensions, no smaller than half a kernel")),
            Settings::Fno { .. } => (space.len() != 2 || space.iter().any(|&count| count < 2))
                .then(|| (found(), "fields in two dimensions, of at least two points each way")),
        }
    }

    /// The model for states of that shape under so many inputs, with which it has no [`problem`](Settings::problem).
    pub fn build(&self, state: &StateShape, inputs: usize) -> Box<dyn Model> {
        match *self {
            Settings::Mlp { layers, width } => Box::new(Mlp::new(state.channels, inputs, layers, width)),
            Settings::ConvNet { layers, width, kernel, output_scale } => {
                Box::new(ConvNet::new(state, layers, width, kernel, output_scale))
            }
            Settings::Fno { layers, modes, width, projection } => {
                Box::new(Fno::new(state, layers, modes, width, projection))
            }
        }
    }

    /// The same as a perceptron, if it is one.
    pub fn perceptron(&self, state: &StateShape, inputs: usize) -> Option<Mlp> {
        match *self {
            Settings::Mlp { layers, width } => Some(Mlp::new(state.channels, inputs, layers, width)),
            _ => None,
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

fn default_kernel() -> usize {
    3
}

fn default_output_scale() -> f64 {
    1.0
}

fn default_modes() -> usize {
    12
}

fn default_spectral_width() -> usize {
    10
}

fn default_projection() -> usize {
    128
}
