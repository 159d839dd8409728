//! Compiles a user's equations to a [`System`].

use std::sync::Arc;

use super::equations::{Equations, FreeStart, OutputEquation, Range, StartSetting, StateEquation, Values};
use super::system::{
    Axis, Channel, Differentiable, Dynamics, EnvironmentSet, InitialValue, Outputs, Parameter, Preset, Room, System,
    TangentField,
};
use crate::expressions::grammar::Fault;
use crate::expressions::program::{Code, Instruction, Program};
use crate::expressions::{Dual, Jacobian, compile};
use crate::problems::{Problem, Problems};

impl Equations {
    /// Compiles the equations. The system owns its texts and code, and is freed with its last owner.
    ///
    /// # Errors
    /// Everything wrong with the equations; keys begin inside their table, as in `states.0.derivative`.
    pub fn system(&self) -> Result<Arc<System>, Vec<Problem>> {
        let mut problems = Problems::default();
        self.add_problems(&mut problems);
        let programs = self.compile(&mut problems);
        problems.require(
            self.preequilibration.is_none() || !programs.derivatives.uses_time(),
            "preequilibration",
            "a steady state before the start, and `t` in a derivative",
            "equations that come to rest: without `t`",
            "make what depends on time an input, or remove `preequilibration`",
        );
        problems.require(
            !self.repeats() || !programs.derivatives.uses_time(),
            "doses",
            "doses in their steady state (`interval`, `superposed`), and `t` in a derivative",
            "equations that repeat themselves with the doses: without `t`",
            "make what depends on time an input, or remove `interval`",
        );
        if problems.is_empty() {
            self.check_constant_doses(&programs.doses, &mut problems);
        }
        if !problems.is_empty() {
            return Err(problems.into_vec());
        }
        Ok(Arc::new(self.build(programs)))
    }

    fn compile(&self, problems: &mut Problems) -> Programs {
        let states = self.states.iter().enumerate();
        let parameters = self.parameters.iter().map(|it| it.name.as_str());
        let covariates = self.covariates.iter().map(|it| it.name.as_str());
        let states = states.map(|(index, state)| (state.name.as_str(), Instruction::State(index)));
        let parameters = parameters.chain(covariates).enumerate();
        let parameters = parameters.map(|(index, name)| (name, Instruction::Parameter(index)));
        let behind = self.parameters.len() + self.covariates.len();
        let of_environments: Vec<_> = parameters.clone().collect();
        let inputs = self.inputs.iter().enumerate().map(|(index, it)| {
            let [place, since] = [behind + 2 * index, behind + 2 * self.inputs.len()].map(|at| at as u32);
            (it.name.as_str(), Instruction::Input { place, since })
        });
        let constants = self.constants.iter().map(|(name, value)| (name.as_str(), Instruction::Number(*value)));
        let pi = ("pi", Instruction::Number(std::f64::consts::PI));
        let of_environments: Vec<_> = of_environments.into_iter().chain(constants.clone()).chain([pi]).collect();
        let numbers = [("t", Instruction::Time), pi];
        let at_start: Vec<_> = inputs.chain(parameters).chain(constants).chain(numbers).collect();
        let names: Vec<_> = states.chain(at_start.iter().copied()).collect();
        let mut code = |key: String, text: &str, names: &[(&str, Instruction)]| match compile::compile(text, names) {
            Ok(code) => code,
            Err(faults) => {
                for Fault { character, found, expected, remedy } in faults {
                    let is_state = self.states.iter().any(|state| found == format!("`{}`", state.name));
                    let remedy = match is_state {
                        true if key.starts_with("doses") => "doses depend on no state".to_owned(),
                        true => "states have no values yet where the system starts".to_owned(),
                        false => remedy,
                    };
                    let found = format!("{found} at character {character} of \"{text}\"");
                    problems.add(key.as_str(), found, expected, remedy);
                }
                Code::default()
            }
        };
        let derivatives = self.states.iter().enumerate();
        let derivatives = derivatives.map(|(i, it)| code(format!("states.{i}.derivative"), &it.derivative, &names));
        let derivatives = Program::new(derivatives.collect());
        let outputs = self.outputs.iter().enumerate();
        let outputs = outputs.map(|(i, it)| code(format!("outputs.{i}.expression"), &it.expression, &names));
        let outputs = Program::new(outputs.collect());
        let starts = self.states.iter().enumerate().map(|(i, it)| match &it.start {
            Some(StartSetting::Expression(text)) => code(format!("states.{i}.start"), text, &at_start),
            _ => Code::verbatim(vec![Instruction::Number(f64::NAN)]),
        });
        let starts = Program::new(starts.collect());
        let doses = self.doses.iter().enumerate().flat_map(|(i, it)| {
            [("bioavailability", &it.bioavailability, 1.0), ("lag", &it.lag, 0.0)].map(|part| (i, part))
        });
        let doses = doses.map(|(i, (key, text, otherwise))| match text {
            Some(text) => code(format!("doses.{i}.{key}"), text, &of_environments),
            None => Code::verbatim(vec![Instruction::Number(otherwise)]),
        });
        let doses = Program::new(doses.collect());
        Programs { derivatives, outputs, starts, doses }
    }

    /// Builds the system of valid equations.
    fn build(&self, programs: Programs) -> System {
        let Programs { derivatives: program, outputs, starts, doses } = programs;
        let has_expressions = self.states.iter().any(|it| matches!(it.start, Some(StartSetting::Expression(_))));
        let uses_time = program.uses_time() || has_expressions && starts.uses_time();
        let channels = self.states.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let inputs = self.inputs.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let covariates = self.covariates.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let of_outputs = self.outputs.iter().map(|it| Channel::new(&it.name, &it.unit, &it.description));
        let compared = self.outputs.iter().map(|it| it.compared().map(str::to_owned).collect());
        let outputs = Outputs {
            channels: of_outputs.collect(),
            compared: compared.collect(),
            field: (!self.outputs.is_empty()).then(|| on_duals(Arc::new(outputs), None)),
        };
        let parameters =
            self.parameters.iter().map(|it| Parameter::new(&it.name, &it.unit, &it.description, [it.lower, it.upper]));
        let environments = self.environments.iter().map(|(name, values)| {
            let axes = self.parameters.iter().filter_map(|it| values.get(&it.name)).map(axis);
            EnvironmentSet::new(name, axes.collect::<Vec<_>>())
        });
        let bounds: Vec<[f64; 2]> = self.states.iter().map(StateEquation::range).collect();
        let initial = move |uniform: &mut dyn FnMut() -> f64, state: &mut [f64]| {
            for (value, [lower, upper]) in state.iter_mut().zip(&bounds) {
                *value = lower + (upper - lower) * uniform();
            }
        };
        let program = Arc::new(program);
        let tangent = on_duals(Arc::clone(&program), Some(self.states.len()));
        let field = move |parameters: &[f64], time: f64, state: &[f64], derivative: &mut [f64]| {
            program.derivative(parameters, time, state, derivative);
        };
        let preset = Preset {
            name: "uniform".to_owned(),
            description: "Initial states uniform between the bounds of each state".to_owned(),
            space: Vec::new(),
            dynamics: Dynamics::Field(Arc::new(field)),
            tangent: Some(tangent),
            initial: Arc::new(initial),
            environments: environments.collect(),
        };
        let equations = self.states.iter().map(|state| format!("d{}/dt = {}", state.name, state.derivative));
        let of_outputs = self.outputs.iter().map(|it| format!("{} = {}", it.name, it.expression));
        let equations = equations.chain(of_outputs).collect::<Vec<_>>().join(", ");
        let description = match self.description.trim_end_matches('.') {
            "" => equations,
            description => format!("{description}, {equations}"),
        };
        let starts = has_expressions.then(|| on_duals(Arc::new(starts), None));
        let initial: Vec<InitialValue> = self.states.iter().map(StateEquation::initial_value).collect();
        let doses = self.doses(on_duals(Arc::new(doses), None), &initial, starts.as_ref());
        System {
            name: self.name.clone(),
            description,
            time_unit: self.time_unit.clone(),
            channels: channels.collect(),
            outputs,
            inputs: inputs.collect(),
            covariates: covariates.collect(),
            parameters: parameters.collect(),
            horizon: self.horizon,
            time_step: self.time_step,
            initial,
            preequilibration: self
                .preequilibration
                .as_ref()
                .map(|rest| self.inputs.iter().filter_map(|input| rest.get(&input.name).copied()).collect()),
            doses,
            starts,
            uses_time,
            presets: vec![preset],
        }
    }
}

impl OutputEquation {
    /// The names of the channels that it is compared with.
    pub(crate) fn compared(&self) -> impl Iterator<Item = &str> {
        let own = self.channels.is_empty().then_some(&self.name);
        own.into_iter().chain(&self.channels).map(String::as_str)
    }
}

impl StateEquation {
    /// The range that simulated initial values are drawn from; those that are expressions are replaced.
    fn range(&self) -> [f64; 2] {
        match (self.initial, &self.start) {
            (Some(range), _) => range,
            (None, Some(StartSetting::Number(value))) => [*value; 2],
            (None, Some(StartSetting::Free(FreeStart { lower, upper, .. }))) => [*lower, *upper],
            (None, _) => [0.0; 2],
        }
    }

    /// What fits know of its initial value.
    fn initial_value(&self) -> InitialValue {
        match (&self.start, self.initial) {
            (Some(StartSetting::Number(value)), _) => InitialValue::Number(*value),
            (Some(StartSetting::Expression(text)), _) => InitialValue::Expression(text.clone()),
            (Some(StartSetting::Free(FreeStart { lower, upper, guess })), _) => {
                InitialValue::Free { lower: *lower, upper: *upper, guess: *guess }
            }
            (None, Some([lower, upper])) if lower == upper => InitialValue::Number(lower),
            (None, _) => InitialValue::AsObserved,
        }
    }
}

/// The code of a system.
struct Programs {
    derivatives: Program,
    outputs: Program,
    /// One expression a state; NaN where its initial value is none.
    starts: Program,
    /// Bioavailability and lag time of each dose.
    doses: Program,
}

/// The program as a function of dual numbers, with its Jacobian by that many states if asked for.
fn on_duals(program: Arc<Program>, states: Option<usize>) -> TangentField {
    let jacobian = states.map(|states| Jacobian::new(&program, states));
    Arc::new(Compiled { program, jacobian })
}

/// Equations with their derivatives.
struct Compiled {
    program: Arc<Program>,
    /// None of what is not integrated.
    jacobian: Option<Jacobian>,
}

impl Differentiable for Compiled {
    fn first(&self, parameters: &[Dual], time: Dual, state: &[Dual], derivative: &mut [Dual]) {
        self.program.derivative(parameters, time, state, derivative);
    }

    fn pattern(&self, _: usize) -> Vec<(usize, usize)> {
        self.jacobian.iter().flat_map(Jacobian::pattern).collect()
    }

    /// The operations of all entries are about as many as those of two evaluations.
    fn linearise(
        &self,
        parameters: &[Dual],
        time: f64,
        state: &[Dual],
        room: &mut Room,
        entries: &mut [Dual],
        by_time: &mut [Dual],
    ) -> u64 {
        if let Some(jacobian) = &self.jacobian {
            jacobian.evaluate((parameters, time, state), &mut room.values, entries, by_time);
        }
        2
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
