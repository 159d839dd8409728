//! The model that a pipeline names, and its size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convnet::ConvNet;
use super::fno::Fno;
use super::library;
use super::library::Library;
use super::mlp::Mlp;
use super::model::Model;
use super::operator::Operator;
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
    /// Products of the state, of its inputs and, on periodic fields in two dimensions, of its derivatives: equations that can be read.
    /// Without a denominator it is linear in its weights. Computed in double precision.
    Library {
        /// Highest degree of a product.
        #[serde(default = "default_degree")]
        #[schemars(range(min = 1, max = 6))]
        degree: usize,
        /// Highest degree of a product with what operators make; one, which is nothing but itself, by default.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        #[schemars(range(min = 1, max = 6))]
        operator_degree: usize,
        /// What is made of each channel of a field; the Laplacian by default, nothing without space.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operators: Option<Vec<Operator>>,
        /// Power of the channels in a denominator that saturating terms share, `1 + sum_j delta_j^2 |x_j|^saturation`; zero for none. Without
        /// Adam, training first chooses the channels in it: a few steps are tried with each.
        #[serde(default, skip_serializing_if = "is_zero")]
        #[schemars(range(max = 6))]
        saturation: usize,
    },
}

/// Most products of a library.
const MOST_PRODUCTS: usize = 20_000;

/// The operators of a library on states of that shape.
fn operators_of(given: &Option<Vec<Operator>>, state: &StateShape) -> Vec<Operator> {
    let usual = if state.space.is_empty() { Vec::new() } else { vec![Operator::Laplacian] };
    given.clone().unwrap_or(usual)
}

/// The model that [`Settings`] name.
pub(crate) enum Named {
    Mlp(Mlp),
    ConvNet(ConvNet),
    Fno(Fno),
    Library(Library),
}

impl Settings {
    /// Why this model does not suit such states with that many inputs, if so: what was found, and what was expected.
    pub fn problem(&self, state: &StateShape, inputs: usize) -> Option<(String, &'static str)> {
        let space = &state.space;
        if inputs > 0 && !matches!(self, Settings::Mlp { .. } | Settings::Library { .. }) {
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
            Settings::Library { degree, operator_degree, .. }
                if ![degree, operator_degree].iter().all(|degree| (1..=6).contains(degree)) =>
            {
                Some((format!("products of degree {degree} and {operator_degree}"), "degrees from 1 to 6"))
            }
            Settings::Library { saturation: 7.., .. } => {
                Some(("a power above 6 in the denominator".to_owned(), "saturation = 6 at most"))
            }
            Settings::Library { degree, operator_degree, ref operators, .. } => {
                let operators = operators_of(operators, state);
                if let Some(twice) = operators.iter().enumerate().find(|(at, it)| operators[..*at].contains(it)) {
                    return Some((format!("operators with `{}` twice", twice.1.name()), "each once"));
                }
                let needs_square = |operator: &&Operator| operator.is_spectral() || **operator == Operator::Waves;
                if let (Some(operator), [n, m]) = (operators.iter().find(needs_square), &space[..])
                    && n != m
                {
                    return Some((format!("`{}` on {n} x {m} points", operator.name()), "a square grid"));
                }
                if space.is_empty() && !operators.is_empty() {
                    return Some(("operators of states without space".to_owned(), "no operators"));
                }
                if !matches!(space.len(), 0 | 2) {
                    return Some((found(), "states without space, or fields in two dimensions"));
                }
                let count = library::count(state, inputs, [degree, operator_degree], &operators);
                (count > MOST_PRODUCTS as u128)
                    .then(|| (format!("{count} products"), "at most 20000 products: a lower degree"))
            }
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
            Settings::Library { degree, operator_degree, ref operators, saturation } => {
                let degrees = [degree, operator_degree];
                Named::Library(Library::new(state, inputs, degrees, &operators_of(operators, state), saturation))
            }
        }
    }

    /// The model for states of that shape with that many inputs, for which there is no [`problem`](Settings::problem).
    pub fn build(&self, state: &StateShape, inputs: usize) -> Box<dyn Model> {
        match self.named(state, inputs) {
            Named::Mlp(model) => Box::new(model),
            Named::ConvNet(model) => Box::new(model),
            Named::Fno(model) => Box::new(model),
            Named::Library(model) => Box::new(model),
        }
    }

    /// The same, if it is a library.
    pub fn library(&self, state: &StateShape, inputs: usize) -> Option<Library> {
        match self.named(state, inputs) {
            Named::Library(model) => Some(model),
            _ => None,
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

fn default_degree() -> usize {
    2
}

fn one() -> usize {
    1
}

fn is_one(value: &usize) -> bool {
    *value == 1
}

fn is_zero(value: &usize) -> bool {
    *value == 0
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
