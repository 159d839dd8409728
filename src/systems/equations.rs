//! A system that a user gives by its equations.
//!
//! ```text
//! dy_i/dt = f_i(t, y, u(t); p),   y_i(0) uniform on [lower_i, upper_i),   i = 1 .. C
//! ```
//!
//! `y [C]` states, `u [U]` inputs, `p [d_p]` parameters, `t` time; `f_i` an expression in the names of states, inputs, parameters and
//! constants, `t` and `pi`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::system::{Axis, Channel, Dynamics, EnvironmentSet, Parameter, Preset, System};
use super::validate::MOST_NAMES;
use crate::expressions::Dual;
use crate::expressions::compile;
use crate::expressions::grammar::Fault;
use crate::expressions::program::{Instruction, Program};
use crate::problems::{Problem, Problems};

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

impl Equations {
    /// The system that these equations describe, compiled anew.
    ///
    /// # Errors
    /// Everything wrong with the equations; keys begin inside their table, as in `states.0.derivative`.
    pub fn system(&self) -> Result<Arc<System>, Vec<Problem>> {
        let mut problems = Problems::default();
        self.check(&mut problems);
        let program = self.compile(&mut problems);
        if !problems.is_empty() {
            return Err(problems.into_vec());
        }
        Ok(Arc::new(self.build(program)))
    }

    fn compile(&self, problems: &mut Problems) -> Program {
        let states = self.states.iter().enumerate();
        let parameters = self.parameters.iter().enumerate();
        let states = states.map(|(index, state)| (state.name.as_str(), Instruction::State(index)));
        let parameters = parameters.map(|(index, it)| (it.name.as_str(), Instruction::Parameter(index)));
        let behind = self.parameters.len();
        let inputs = self.inputs.iter().enumerate().map(|(index, it)| {
            let [place, since] = [behind + 2 * index, behind + 2 * self.inputs.len()].map(|at| at as u32);
            (it.name.as_str(), Instruction::Input { place, since })
        });
        let constants = self.constants.iter().map(|(name, value)| (name.as_str(), Instruction::Number(*value)));
        let numbers = [("t", Instruction::Time), ("pi", Instruction::Number(std::f64::consts::PI))];
        let names: Vec<_> = states.chain(inputs).chain(parameters).chain(constants).chain(numbers).collect();
        let mut code = Vec::new();
        for (index, state) in self.states.iter().enumerate() {
            match compile::compile(&state.derivative, &names) {
                Ok(of_state) => code.push(of_state),
                Err(faults) => {
                    for Fault { character, found, expected, remedy } in faults {
                        let found = format!("{found} at character {character} of \"{}\"", state.derivative);
                        problems.add(format!("states.{index}.derivative"), found, expected, remedy);
                    }
                }
            }
        }
        Program::new(code)
    }

    /// The system, of valid equations.
    fn build(&self, program: Program) -> System {
        let uses_time = program.uses_time();
        let channels = self.states.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let inputs = self.inputs.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let parameters =
            self.parameters.iter().map(|it| Parameter::new(&it.name, &it.unit, &it.description, [it.lower, it.upper]));
        let environments = self.environments.iter().map(|(name, values)| {
            let axes = self.parameters.iter().filter_map(|it| values.get(&it.name)).map(Values::axis);
            EnvironmentSet::new(name, axes.collect::<Vec<_>>())
        });
        let bounds: Vec<[f64; 2]> = self.states.iter().map(|state| state.initial).collect();
        let initial = move |uniform: &mut dyn FnMut() -> f64, state: &mut [f64]| {
            for (value, [lower, upper]) in state.iter_mut().zip(&bounds) {
                *value = lower + (upper - lower) * uniform();
            }
        };
        let given =
            self.states.iter().map(|state| Some(state.initial[0]).filter(|_| state.initial[0] == state.initial[1]));
        let program = Arc::new(program);
        let of_tangent = Arc::clone(&program);
        let field = move |parameters: &[f64], time: f64, state: &[f64], derivative: &mut [f64]| {
            program.derivative(parameters, time, state, derivative);
        };
        let tangent = move |parameters: &[Dual], time: f64, state: &[Dual], derivative: &mut [Dual]| {
            of_tangent.derivative(parameters, time, state, derivative);
        };
        let preset = Preset {
            name: "uniform".to_owned(),
            description: "Initial states uniform between the bounds of each state".to_owned(),
            space: Vec::new(),
            dynamics: Dynamics::Field(Arc::new(field)),
            tangent: Some(Arc::new(tangent)),
            initial: Arc::new(initial),
            environments: environments.collect(),
        };
        let equations = self.states.iter().map(|state| format!("d{}/dt = {}", state.name, state.derivative));
        let equations = equations.collect::<Vec<_>>().join(", ");
        let description = match self.description.trim_end_matches('.') {
            "" => equations,
            description => format!("{description}, {equations}"),
        };
        System {
            name: self.name.clone(),
            description,
            time_unit: self.time_unit.clone(),
            channels: channels.collect(),
            inputs: inputs.collect(),
            parameters: parameters.collect(),
            horizon: self.horizon,
            time_step: self.time_step,
            given: given.collect(),
            uses_time,
            presets: vec![preset],
        }
    }
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

    fn axis(&self) -> Axis {
        match self {
            Values::List(list) => Axis::values(list.as_slice()),
            Values::Range(Range { from, count: 1, .. }) => Axis::values([*from]),
            Values::Range(Range { from, to, count }) => Axis::Uniform { first: *from, last: *to, count: *count },
        }
    }
}
