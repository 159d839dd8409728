//! Compiles a user's equations to a [`System`].

use std::sync::Arc;

use super::equations::{Equations, Range, Values};
use super::system::{Axis, Channel, Differentiable, Dynamics, EnvironmentSet, Parameter, Preset, System};
use crate::expressions::grammar::Fault;
use crate::expressions::program::{Instruction, Program};
use crate::expressions::{Dual, Nested, compile};
use crate::problems::{Problem, Problems};

impl Equations {
    /// Compiles the equations. The system owns its texts and code, and is freed with its last owner.
    ///
    /// # Errors
    /// Everything wrong with the equations; keys begin inside their table, as in `states.0.derivative`.
    pub fn system(&self) -> Result<Arc<System>, Vec<Problem>> {
        let mut problems = Problems::default();
        self.add_problems(&mut problems);
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

    /// Builds the system of valid equations.
    fn build(&self, program: Program) -> System {
        let uses_time = program.uses_time();
        let channels = self.states.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let inputs = self.inputs.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let parameters =
            self.parameters.iter().map(|it| Parameter::new(&it.name, &it.unit, &it.description, [it.lower, it.upper]));
        let environments = self.environments.iter().map(|(name, values)| {
            let axes = self.parameters.iter().filter_map(|it| values.get(&it.name)).map(axis);
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
        let tangent = Compiled { program: of_tangent, reads_time: uses_time || !self.inputs.is_empty() };
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

/// Equations with their derivatives.
struct Compiled {
    program: Arc<Program>,
    reads_time: bool,
}

impl Differentiable for Compiled {
    fn first(&self, parameters: &[Dual], time: Dual, state: &[Dual], derivative: &mut [Dual]) {
        self.program.derivative(parameters, time, state, derivative);
    }

    fn second(&self, parameters: &[Nested], time: Nested, state: &[Nested], derivative: &mut [Nested]) {
        self.program.derivative(parameters, time, state, derivative);
    }

    fn reads_time(&self) -> bool {
        self.reads_time
    }
}

/// The values of a parameter in a set of environments.
fn axis(values: &Values) -> Axis {
    match values {
        Values::List(list) => Axis::values(list.as_slice()),
        Values::Range(Range { from, count: 1, .. }) => Axis::values([*from]),
        Values::Range(Range { from, to, count }) => Axis::Uniform { first: *from, last: *to, count: *count },
    }
}
