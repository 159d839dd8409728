//! A user's system, stated by its equations.
//!
//! ```text
//! dy_i/dt = f_i(t, y, u(t); p),   y_i(0) uniform on [lower_i, upper_i),   i = 1 .. C
//! ```
//!
//! `y [C]` states, `u [U]` inputs, `p [d_p]` parameters, `t` time; `f_i` an expression in the names of states, inputs, parameters and
//! constants, `t` and `pi`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most states, parameters, inputs or constants of a system.
pub(crate) const MOST_NAMES: usize = 1000;

/// A system of ordinary differential equations.
///
/// ```toml
/// name = "decay"
/// horizon = 10.0
/// time_step = 0.5
/// states = [{ name = "x", derivative = "-rate * x", initial = [1.0, 2.0] }]
/// parameters = [{ name = "rate", unit = "s-1", lower = 0.1, upper = 2.0 }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Paramill system")]
pub struct Equations {
    /// Name of the system.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Unit of time in UDUNITS spelling.
    #[serde(default = "dimensionless")]
    pub time_unit: String,
    /// Horizon `T` of a trajectory unless [generate] says otherwise; samples lie at `0, dt, .., T - dt`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub horizon: f64,
    /// Sampling interval `dt` unless [generate] says otherwise.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time_step: f64,
    /// The states in the order of the dataset's channels.
    #[schemars(length(min = 1, max = MOST_NAMES))]
    pub states: Vec<StateEquation>,
    /// What differs between environments.
    #[schemars(length(min = 1, max = MOST_NAMES))]
    pub parameters: Vec<ParameterBounds>,
    /// Known signals that act on the system: inputs of the dataset by these names. Such a system can be fitted, not simulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_NAMES))]
    pub inputs: Vec<InputSignal>,
    /// Numbers that are the same in all environments.
    #[serde(default)]
    pub constants: BTreeMap<String, f64>,
    /// Sets of environments by name: the values of each parameter, of which all combinations are taken.
    #[serde(default)]
    pub environments: BTreeMap<String, BTreeMap<String, Values>>,
}

/// One state and its equation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateEquation {
    /// The name used in expressions and files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    #[serde(default = "dimensionless")]
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Its derivative by time: an expression in states, parameters, constants, `t` and `pi`, with `+ - * / ^`, brackets and
    /// functions such as `sin`.
    pub derivative: String,
    /// Initial values are drawn uniformly between these two; equal ones fix it, in fits too: at the first sample or event of a trajectory, or
    /// at `t = 0` where time stands in the equations.
    pub initial: [f64; 2],
}

/// One known signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSignal {
    /// The name used in expressions and files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    #[serde(default = "dimensionless")]
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
}

/// One parameter and its bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterBounds {
    /// The name used in expressions, settings and files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    #[serde(default = "dimensionless")]
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Smallest value that makes sense.
    pub lower: f64,
    /// Largest value that makes sense.
    pub upper: f64,
}

/// The values of a parameter in a set of environments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Values {
    /// These values.
    List(Vec<f64>),
    /// Equally distant values.
    Range(Range),
}

/// Equally distant values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    /// How many; one is `from` alone.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: usize,
}

impl Range {
    /// The value at `position`, below `count`.
    pub fn value(&self, position: usize) -> f64 {
        self.from + (self.to - self.from) * position as f64 / (self.count - 1).max(1) as f64
    }
}

fn dimensionless() -> String {
    "1".to_owned()
}

impl Values {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Values::List(list) => list.len(),
            Values::Range(range) => range.count,
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
