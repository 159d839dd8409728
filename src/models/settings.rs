//! The model that a pipeline names, and its size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convnet::ConvNet;
use super::fno::Fno;
use super::mlp::Mlp;
use super::model::Model;
use crate::schema::StateShape;

/// The network that represents the vector field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Settings {
    /// Multilayer perceptron on the state of an ordinary differential equation, and on its inputs.
    Mlp {
        /// Linear layers, the last included.
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
        /// Convolutions, the last included.
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
        /// Constant factor on the output.
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

/// The model that [`Settings`] name.
pub(crate) enum Named {
    Mlp(Mlp),
    ConvNet(ConvNet),
    Fno(Fno),
}

impl Settings {
    /// Why this model does not suit such states with that many inputs, if so: what was found, and what was expected.
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
            // Circular padding is copied from the field itself, which must be at least half a kernel wide.
            Settings::ConvNet { kernel, .. } => (space.len() != 2 || space.iter().any(|&count| count < kernel / 2))
                .then(|| (found(), "fields in two dimensions, no smaller than half a kernel")),
            Settings::Fno { .. } => (space.len() != 2 || space.iter().any(|&count| count < 2))
                .then(|| (found(), "fields in two dimensions, of at least two points each way")),
        }
    }

    pub(crate) fn named(&self, state: &StateShape, inputs: usize) -> Named {
        match *self {
            Settings::Mlp { layers, width } => Named::Mlp(Mlp::new(state.channels, inputs, layers, width)),
            Settings::ConvNet { layers, width, kernel, output_scale } => {
                Named::ConvNet(ConvNet::new(state, layers, width, kernel, output_scale))
            }
            Settings::Fno { layers, modes, width, projection } => {
                Named::Fno(Fno::new(state, layers, modes, width, projection))
            }
        }
    }

    /// The model for states of that shape with that many inputs, for which there is no [`problem`](Settings::problem).
    pub fn build(&self, state: &StateShape, inputs: usize) -> Box<dyn Model> {
        match self.named(state, inputs) {
            Named::Mlp(model) => Box::new(model),
            Named::ConvNet(model) => Box::new(model),
            Named::Fno(model) => Box::new(model),
        }
    }

    /// The same, if it is a perceptron.
    pub fn perceptron(&self, state: &StateShape, inputs: usize) -> Option<Mlp> {
        match self.named(state, inputs) {
            Named::Mlp(model) => Some(model),
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
