//! Dynamics models: functions of explicit weights, with no hidden state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
