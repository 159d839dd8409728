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
use crate::problems::{Kind, Problem};
use crate::schema::{Boundary, StateShape};

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
    /// Convolutional network on fields on one to three axes, periodic or not.
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
    /// Fourier neural operator on fields on one to three axes; those that are not periodic are continued by an eighth.
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
    /// Products of the state, of its inputs and, of fields on one to three axes, of their derivatives: equations that can be read.
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

/// States of that shape in words.
fn words(state: &StateShape) -> String {
    if state.space.is_empty() {
        return "states without space".to_owned();
    }
    let counts: Vec<String> = state.space.iter().map(usize::to_string).collect();
    let fields = format!("fields on {} points", counts.join(" x "));
    if state.boundaries.iter().all(|boundary| *boundary == Boundary::Periodic) {
        return fields;
    }
    let boundaries: Vec<&str> = state.boundaries.iter().map(|boundary| boundary.name()).collect();
    format!("{fields} with the boundaries {}", boundaries.join(", "))
}

/// The model that [`Settings`] name.
pub(crate) enum Named {
    Mlp(Mlp),
    ConvNet(ConvNet),
    Fno(Fno),
    Library(Library),
}

impl Settings {
    /// The name used in settings.
    pub fn name(&self) -> &'static str {
        match self {
            Settings::Mlp { .. } => "mlp",
            Settings::ConvNet { .. } => "convnet",
            Settings::Fno { .. } => "fno",
            Settings::Library { .. } => "library",
        }
    }

    /// Why this model does not suit such states with that many inputs, if so; its key begins with `model`.
    pub fn problem(&self, state: &StateShape, inputs: usize) -> Option<Problem> {
        const ANOTHER: &str = "choose another of `paramill list models`";
        let space = &state.space;
        let problem = |key: &str, found: String, expected: &str, remedy: &str| {
            Some(Problem::new(Kind::Setting, found, expected, remedy).setting(key))
        };
        let unsuited = |found: &str, expected: &str| {
            problem("model", format!("\"{}\" for {found}", self.name()), expected, ANOTHER)
        };
        if inputs > 0 && !matches!(self, Settings::Mlp { .. } | Settings::Library { .. }) {
            let found = format!("states with {inputs} input{}", if inputs == 1 { "" } else { "s" });
            return unsuited(&found, "fields without inputs, for which it has no place");
        }
        match *self {
            Settings::Mlp { .. } if !space.is_empty() => unsuited(&words(state), "states without space"),
            Settings::ConvNet { .. } | Settings::Fno { .. } if space.is_empty() => {
                unsuited(&words(state), "fields on one to three axes")
            }
            Settings::Mlp { .. } => None,
            Settings::ConvNet { kernel, .. } if kernel % 2 == 0 => {
                let expected = "an odd number, so that a kernel has a middle";
                problem("model.kernel", kernel.to_string(), expected, "set the next smaller or greater number")
            }
            // What is beyond a periodic end is copied from the field itself, which must be at least half a kernel wide.
            Settings::ConvNet { kernel, .. } => {
                let mut axes = space.iter().zip(&state.boundaries);
                axes.any(|(count, boundary)| *boundary == Boundary::Periodic && *count < kernel / 2).then_some(())?;
                let found = format!("{kernel} for {}", words(state));
                problem("model.kernel", found, "at most twice the points of a periodic axis", "set a smaller number")
            }
            Settings::Fno { .. } => {
                space.iter().any(|&count| count < 2).then_some(())?;
                unsuited(&words(state), "at least two points along each axis")
            }
            Settings::Library { degree, operator_degree, ref operators, saturation } => {
                for (key, degree) in [("model.degree", degree), ("model.operator_degree", operator_degree)] {
                    if !(1..=6).contains(&degree) {
                        return problem(key, degree.to_string(), "a number from 1 to 6", "set such a number");
                    }
                }
                if saturation > 6 {
                    let found = format!("{saturation}, a power in the denominator");
                    return problem("model.saturation", found, "6 at most", "set a smaller number");
                }
                let operators = operators_of(operators, state);
                let of_operators = |found, expected, remedy| problem("model.operators", found, expected, remedy);
                if let Some((_, twice)) = operators.iter().enumerate().find(|(at, it)| operators[..*at].contains(it)) {
                    let found = format!("`{}` twice", twice.name());
                    return of_operators(found, "each operator once", "leave one of them out");
                }
                if let (Some(first), true) = (operators.first(), space.is_empty()) {
                    let found = format!("`{}` for {}", first.name(), words(state));
                    return of_operators(found, "no operators: they are of fields", "leave `operators` out");
                }
                let is_square = matches!(space[..], [n, m] if n == m);
                let is_periodic = state.boundaries.iter().all(|boundary| *boundary == Boundary::Periodic);
                if let Some(operator) = operators.iter().find(|it| it.needs_square() && !(is_square && is_periodic)) {
                    let found = format!("`{}` for {}", operator.name(), words(state));
                    let expected = "it on a square grid alone: as many points along either of two periodic axes";
                    let remedy = "leave it out; `laplacian` and `gradient` are made on every grid";
                    return of_operators(found, expected, remedy);
                }
                let count = library::count(state, inputs, [degree, operator_degree], &operators);
                (count > MOST_PRODUCTS as u128).then_some(())?;
                let found = format!("a library of {count} products");
                problem(
                    "model",
                    found,
                    "at most 20000",
                    "set a lower `degree` or `operator_degree`, or leave operators out",
                )
            }
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
