//! A user's system, stated by its equations.
//!
//! ```text
//! dy_i/dt = f_i(t, y, u(t); p, a),   y_i(t_0) = s_i(t_0, u(t_0); p, a),   z_j = g_j(t, y, u(t); p, a)
//! ```
//!
//! `y [N]` states, `u [U]` inputs, `p [d_p]` parameters, `a [A]` covariates, `t` time, `t_0` where the system starts; `f_i` and `g_j`
//! expressions in the names of states, inputs, parameters, covariates and constants, `t` and `pi`, and `s_i` in the same names but for those
//! of states. `z_j` are outputs, which are measured where states are not. An initial value is such an expression, a number, free between
//! bounds, or unknown; simulations draw it uniformly between two bounds.

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
    /// The states. One that is no channel of the dataset is hidden, and needs a `start`.
    #[schemars(length(min = 1, max = MOST_NAMES))]
    pub states: Vec<StateEquation>,
    /// What is measured instead of states: channels of the dataset by these names. Channels that are named as states are compared with those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_NAMES))]
    pub outputs: Vec<OutputEquation>,
    /// What differs between environments.
    #[schemars(length(min = 1, max = MOST_NAMES))]
    pub parameters: Vec<ParameterBounds>,
    /// Known signals that act on the system: inputs of the dataset by these names. In a simulation they are those of `generate.doses` and
    /// `generate.signals`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_NAMES))]
    pub inputs: Vec<InputSignal>,
    /// What is known of each environment, such as a weight: parameters of the dataset by these names. In a simulation, lists and grids of
    /// environments have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_NAMES))]
    pub covariates: Vec<Covariate>,
    /// Inputs under which the system comes to rest before it starts, by name, `{}` where there are no inputs: trajectories begin at the steady
    /// state that the starts of the states lead to under these inputs, and every state needs a start. Simulations begin there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub preequilibration: Option<BTreeMap<String, f64>>,
    /// Amounts that are given at once: where an input rises, a state jumps. In a simulation they are those of `generate.doses`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_NAMES))]
    pub doses: Vec<DoseEquation>,
    /// Infusions in their steady state. Others need no entry: their inputs stand in derivatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_NAMES))]
    pub infusions: Vec<InfusionEquation>,
    /// Name of an input: wherever it rises, all states return to their starts, which must be numbers or expressions, and doses that were
    /// given before and have not acted yet are dropped. A dose of the same time comes after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reset: Option<String>,
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
    /// Its derivative by time: an expression in states, inputs, parameters, covariates, constants, `t` and `pi`, with `+ - * / ^`, brackets
    /// and functions such as `sin`.
    pub derivative: String,
    /// Simulated initial values are drawn uniformly between these two; equal ones fix it, in fits too, as `start` does. May be absent where
    /// there is a `start`, and must be where that is a number or an expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[f64; 2]")]
    pub initial: Option<[f64; 2]>,
    /// What fits know of its initial value: a number, an expression of parameters such as `"baseline"`, or bounds between which it is fitted to
    /// each trajectory, `{ lower = 0.0, upper = 5.0, guess = 1.0 }`. It holds at the first sample or event of a trajectory, or at `t = 0`
    /// where time stands in the equations. If absent and `initial` does not fix it, what is observed first is all that is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StartSetting")]
    pub start: Option<StartSetting>,
}

/// What fits know of the initial value of a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StartSetting {
    /// It is this number.
    Number(f64),
    /// It is the value of an expression in inputs, parameters, covariates, constants, `t` and `pi`, where the system starts.
    Expression(String),
    /// It is fitted to each trajectory.
    Free(FreeStart),
}

/// An initial value that is fitted to each trajectory, beside the parameters of its environment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreeStart {
    /// Smallest value. If it is above zero, the logarithm is fitted.
    pub lower: f64,
    /// Greatest value.
    pub upper: f64,
    /// Where fits begin: by default what is observed first, or the middle between the bounds (of their logarithms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub guess: Option<f64>,
}

/// One measured quantity that is no state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputEquation {
    /// The name used in files: that of the channel that it is compared with, unless `channels` names others.
    pub name: String,
    /// The channels that it is compared with, such as those of several sensors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("uniqueItems" = true))]
    pub channels: Vec<String>,
    /// Unit in UDUNITS spelling.
    #[serde(default = "dimensionless")]
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Its value: an expression as that of a derivative, such as `"ocv + R0 * current + v1"`.
    pub expression: String,
}

/// One known attribute of an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Covariate {
    /// The name used in expressions, and of the dataset's parameter.
    pub name: String,
    /// Unit in UDUNITS spelling.
    #[serde(default = "dimensionless")]
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
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

/// One way in which amounts are given at once.
///
/// ```toml
/// [[doses]]
/// input = "dose"            # the sum of all amounts so far, as `shape = "bolus"` of [[import.events]] makes it
/// state = "depot"
/// bioavailability = "f"
/// lag = "t_lag"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoseEquation {
    /// Name of the input whose value is the sum of all amounts so far, held between samples. What it has at the first sample of a trajectory
    /// is given there. Several ways may share an input.
    pub input: String,
    /// Name of the state that each amount is added to.
    pub state: String,
    /// What the amount is multiplied by, and so converted into the unit of the state: an expression in parameters, covariates, constants
    /// and `pi`. By default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub bioavailability: Option<String>,
    /// The time between giving and the jump of the state, at least 0: such an expression. By default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub lag: Option<String>,
    /// Name of an input whose rise says that the dose of the same time is one of many, each the rise (a time) after the one before: the
    /// states become those of the steady state under these doses. The lag must be shorter. Without it no dose is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub interval: Option<String>,
    /// As `interval`, but the steady state is added to the states as they are (`SS = 2`): it is that of these doses alone, for equations that
    /// are linear in the states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub superposed: Option<String>,
}

/// An infusion that is given again and again since ever.
///
/// ```toml
/// [[infusions]]
/// input = "rate"            # a rate, as `shape = "pulse"` of [[import.events]] makes it; derivatives have it
/// interval = "interval"     # made of the column II by `shape = "bolus"` and `rows.SS = 1`
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InfusionEquation {
    /// Name of the input that is its rate, held between samples: it rises where the infusion begins, and falls by as much where it ends.
    pub input: String,
    /// Name of an input whose rise says that the infusion which begins then is one of many, each the rise (a time) after the one before: the
    /// states become those of the steady state under these. An infusion must not be longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub interval: Option<String>,
    /// As `interval`, but the steady state is added to the states as they are (`SS = 2`): it is that of these infusions alone, for equations
    /// that are linear in the states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub superposed: Option<String>,
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
