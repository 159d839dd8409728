//! A dynamical system: quantities, parameters, vector field, presets and sets of environments.

use std::fmt;
use std::sync::Arc;

use crate::expressions::{Dual, Nested};
use crate::progress::Interrupt;
use crate::schema::{Grid, GridAxis, Quantity, StateShape};
use crate::solve;
use crate::solve::Work;

/// A family of equations `dy/dt = f(t, y; p)`, `p [d_p]`: ordinary ones, `y [C]`, or partial ones on a grid,
/// `y [C, n_1, .., n_k]`, flat and row-major.
pub struct System {
    /// The name used in settings.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// Unit of time in UDUNITS spelling.
    pub time_unit: String,
    /// The quantities of the state `[C]`.
    pub channels: Vec<Channel>,
    /// What is measured that is no state `[O]`.
    pub outputs: Outputs,
    /// Known input signals `[U]`; if there are any, the parameters (and covariates) passed to a field are followed by the inputs as a
    /// [`Drive`](crate::signals::Drive) lays them out.
    pub inputs: Vec<Channel>,
    /// Known attributes of environments `[A]`, which follow the parameters passed to a field.
    pub covariates: Vec<Channel>,
    /// The parameters `[d_p]`, which differ between environments.
    pub parameters: Vec<Parameter>,
    /// Horizon `T` of a trajectory unless settings say otherwise; samples lie at `0, dt, .., T - dt`.
    pub horizon: f64,
    /// Sampling interval `dt` unless settings say otherwise.
    pub time_step: f64,
    /// What is known of the initial values by channel `[C]`, empty if nothing is.
    pub initial: Vec<InitialValue>,
    /// The initial values that are expressions: writes them to their places in a state, whatever that is before; `None` without any.
    pub starts: Option<TangentField>,
    /// The inputs `[U]` under which the system comes to rest before it starts, from the initial values; `None` if it starts at these.
    pub preequilibration: Option<Vec<f64>>,
    /// Amounts that are given at once; `None` if there are none.
    pub doses: Option<Doses>,
    /// Whether the equations depend on time explicitly; such a system starts at `t = 0`.
    pub uses_time: bool,
    /// Variants of the benchmark; the first is the default.
    pub presets: Vec<Preset>,
}

/// How a state evolves.
#[derive(Clone)]
pub enum Dynamics {
    /// By a vector field, integrated adaptively to a tolerance.
    Field(VectorField),
    /// By the system's own integrator with fixed steps.
    Stepper(&'static Stepper),
}

/// What is known of the initial value of one entry of the state.
#[derive(Clone, Debug, PartialEq)]
pub enum InitialValue {
    /// What is observed first.
    AsObserved,
    /// The value itself.
    Number(f64),
    /// The expression that [`System::starts`] computes.
    Expression(String),
    /// It is fitted to each trajectory, between these bounds and from the guess, if there is one.
    Free {
        /// Smallest value.
        lower: f64,
        /// Greatest value.
        upper: f64,
        /// Where fits begin.
        guess: Option<f64>,
    },
}

/// Functions of the state that are measured.
#[derive(Clone, Default)]
pub struct Outputs {
    /// Names and units `[O]`.
    pub channels: Vec<Channel>,
    /// The names of the channels that each is compared with `[O]`.
    pub compared: Vec<Vec<String>>,
    /// Writes all of them `[O]` at parameters, time and state; `None` where there are none.
    pub field: Option<TangentField>,
}

/// Amounts that are given at once, and resets.
#[derive(Clone)]
pub struct Doses {
    /// Each way of giving them `[W]`.
    pub ways: Vec<Dose>,
    /// Infusions that may be in their steady state.
    pub infusions: Vec<Infusion>,
    /// Writes bioavailability and lag time of each way `[W, 2]` at parameters, whatever time and state.
    pub field: TangentField,
    /// The index of the input at whose rises all states return to their starts.
    pub reset: Option<usize>,
    /// These starts, as [`System::initial`] and [`System::starts`] say them.
    pub initial: Vec<InitialValue>,
    /// See `initial`.
    pub starts: Option<TangentField>,
}

/// One way in which amounts are given at once.
#[derive(Clone, Copy, Debug)]
pub struct Dose {
    /// The index of the input that is the sum of all amounts so far.
    pub input: usize,
    /// The index of the state that amounts are added to.
    pub state: usize,
    /// The index of the input whose rise is the interval of doses in their steady state.
    pub interval: Option<usize>,
    /// The same where that is added to the states.
    pub superposed: Option<usize>,
}

impl Doses {
    /// The indices of the inputs that are intervals of steady states, and whether these are added to the states.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (usize, bool)> {
        let of_ways = self.ways.iter().map(|it| (it.interval, it.superposed));
        let all = of_ways.chain(self.infusions.iter().map(|it| (it.interval, it.superposed)));
        all.flat_map(|(interval, superposed)| {
            interval.map(|it| (it, false)).into_iter().chain(superposed.map(|it| (it, true)))
        })
    }
}

/// An infusion that may be one of many.
#[derive(Clone, Copy, Debug)]
pub struct Infusion {
    /// The index of the input that is its rate.
    pub input: usize,
    /// The index of the input whose rise is the interval of infusions in their steady state.
    pub interval: Option<usize>,
    /// The same where that is added to the states.
    pub superposed: Option<usize>,
}

/// `field(p, t, y, dy)`: parameters `[d_p]`, time, state, derivative of the same shape to be written.
pub type VectorField = Arc<dyn Fn(&[f64], f64, &[f64], &mut [f64]) + Send + Sync>;

/// As [`VectorField`], with derivatives.
pub type TangentField = Arc<dyn Differentiable>;

/// A vector field that is evaluated on numbers which carry derivatives along [`LANES`](crate::expressions::LANES) directions: parameters
/// `[d_p]`, time, state `[C]`, and its derivative `[C]` to be written.
pub trait Differentiable: Send + Sync {
    /// With first derivatives.
    fn first(&self, parameters: &[Dual], time: Dual, state: &[Dual], derivative: &mut [Dual]);

    /// Row and column of the entries of its Jacobian by `channels` values of a state, but for those that are always zero.
    fn pattern(&self, channels: usize) -> Vec<(usize, usize)>;

    /// Writes the entries of the Jacobian in the order of the pattern, and what of the derivative `[C]` by time is not always zero to `by_time [C]`;
    /// returns how many evaluations of the field that took.
    fn linearise(
        &self,
        parameters: &[Dual],
        time: f64,
        state: &[Dual],
        room: &mut Room,
        entries: &mut [Dual],
        by_time: &mut [Dual],
    ) -> u64;
}

/// Memory for what is computed on the way to derivatives.
#[derive(Default)]
pub struct Room {
    pub(crate) values: Vec<Dual>,
    nested: [Vec<Nested>; 3],
}

/// An autonomous field, written once for both kinds of numbers.
impl<F, G> Differentiable for (F, G)
where
    F: Fn(&[Dual], f64, &[Dual], &mut [Dual]) + Send + Sync,
    G: Fn(&[Nested], f64, &[Nested], &mut [Nested]) + Send + Sync,
{
    fn first(&self, parameters: &[Dual], time: Dual, state: &[Dual], derivative: &mut [Dual]) {
        (self.0)(parameters, time.value, state, derivative);
    }

    fn pattern(&self, channels: usize) -> Vec<(usize, usize)> {
        (0..channels * channels).map(|cell| (cell % channels, cell / channels)).collect()
    }

    /// Column by column; an evaluation with second derivatives counts as two.
    fn linearise(
        &self,
        parameters: &[Dual],
        time: f64,
        state: &[Dual],
        room: &mut Room,
        entries: &mut [Dual],
        _: &mut [Dual],
    ) -> u64 {
        let [of_parameters, of_state, derivative] = &mut room.nested;
        let still = |it: &Dual| Nested { value: *it, slope: Dual::default() };
        for (values, to) in [(parameters, &mut *of_parameters), (state, &mut *of_state)] {
            to.clear();
            to.extend(values.iter().map(still));
        }
        derivative.resize(state.len(), Nested::default());
        for (column, entries) in entries.chunks_exact_mut(state.len()).enumerate() {
            of_state[column].slope = Dual::from(1.0);
            (self.1)(of_parameters, time, of_state, derivative);
            of_state[column].slope = Dual::default();
            entries.iter_mut().zip(derivative.iter()).for_each(|(entry, it)| *entry = it.slope);
        }
        2 * state.len() as u64
    }
}

/// An integrator with a fixed step, of one system.
pub struct Stepper {
    /// Name of the method in reports.
    pub name: &'static str,
    /// Default of the longest step; each sampling interval is divided into equal steps.
    pub step: f64,
    /// Order: the error falls with this power of the step.
    pub order: i32,
    /// Relative error (root mean square over the benchmark) of the last sample at `step`, measured by halving the step.
    pub error: f64,
    /// Integrates one trajectory.
    pub integrate: Integrate,
}

/// `integrate(p, y, times, step, states, interrupt)`: from the state `y` at `times[0]` with parameters `[d_p]` and steps of at most `step`,
/// writes the states at `times [T]`; checks the interrupt between steps.
pub type Integrate = fn(&[f64], &[f64], &[f64], f64, &mut [f64], &Interrupt) -> Result<Work, solve::Error>;

/// `initial(uniform, y)`: writes an initial state drawn with `uniform`, which gives independent draws from `[0, 1)`.
pub type InitialDistribution = Arc<dyn Fn(&mut dyn FnMut() -> f64, &mut [f64]) + Send + Sync>;

/// One channel of the state, or one input.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The name used in files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    pub unit: String,
    /// One sentence for people.
    pub description: String,
}

/// One entry of the parameters.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name used in settings and files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    pub unit: String,
    /// One sentence for people.
    pub description: String,
    /// Least plausible value.
    pub lower: f64,
    /// Greatest plausible value.
    pub upper: f64,
}

/// One axis of a regular periodic grid in space; see [`GridAxis`].
#[derive(Clone, Debug)]
pub struct SpaceAxis {
    /// The name used in files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    pub unit: String,
    /// Number of points.
    pub count: usize,
    /// Distance between neighbouring points.
    pub spacing: f64,
}

/// A variant of a benchmark: distribution of initial states, dynamics, and sets of environments.
#[derive(Clone)]
pub struct Preset {
    /// The name used in settings.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// The axes of the grid on which channels are fields; empty without space.
    pub space: Vec<SpaceAxis>,
    /// How a state evolves.
    pub dynamics: Dynamics,
    /// The vector field with its derivatives; `None` if they are not implemented.
    pub tangent: Option<TangentField>,
    /// Draws an initial state.
    pub initial: InitialDistribution,
    /// Named sets of environments.
    pub environments: Vec<EnvironmentSet>,
}

/// The environments of all combinations of parameter values.
#[derive(Clone, Debug)]
pub struct EnvironmentSet {
    /// The name used in settings, such as `train`.
    pub name: String,
    /// The values of each parameter `[d_p]`; environments are numbered with the last parameter running fastest.
    pub axes: Vec<Axis>,
}

/// The values of one parameter in a set of environments.
#[derive(Clone, Debug)]
pub enum Axis {
    /// These values.
    Values(Vec<f64>),
    /// `count` values from `first` to `last` in equal steps.
    Uniform {
        /// The first value.
        first: f64,
        /// The last value.
        last: f64,
        /// How many; at least two.
        count: usize,
    },
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Channel {
    /// A channel of these three texts.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, description: impl Into<String>) -> Self {
        Channel { name: name.into(), unit: unit.into(), description: description.into() }
    }
}

impl Parameter {
    /// A parameter of these three texts, from `lower` to `upper`.
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<String>,
        description: impl Into<String>,
        [lower, upper]: [f64; 2],
    ) -> Self {
        Parameter { name: name.into(), unit: unit.into(), description: description.into(), lower, upper }
    }
}

impl System {
    /// The preset of that name.
    pub fn preset(&self, name: &str) -> Option<&Preset> {
        self.presets.iter().find(|preset| preset.name == name)
    }

    /// The channels as a manifest states them.
    pub fn channel_quantities(&self) -> Vec<Quantity> {
        self.channels.iter().map(|channel| Quantity::new(&channel.name, &channel.unit, &channel.description)).collect()
    }

    /// The channels that are compared with outputs, as a manifest states them.
    pub fn output_quantities(&self) -> Vec<Quantity> {
        let outputs = self.outputs.channels.iter().zip(&self.outputs.compared);
        let of_output =
            outputs.flat_map(|(it, names)| names.iter().map(|name| Quantity::new(name, &it.unit, &it.description)));
        of_output.collect()
    }

    /// What is measured of the system: its outputs, or its states where it has none.
    pub fn measured_quantities(&self) -> Vec<Quantity> {
        if self.outputs.channels.is_empty() { self.channel_quantities() } else { self.output_quantities() }
    }

    /// Replaces the values of `state [C]` that are expressions of `parameters [d_p]` by these, at the time `t = 0`; for systems without inputs.
    pub fn set_starts(&self, parameters: &[f64], state: &mut [f64]) {
        let Some(starts) = &self.starts else { return };
        let parameters: Vec<Dual> = parameters.iter().map(|&value| Dual::from(value)).collect();
        let mut values = vec![Dual::default(); state.len()];
        starts.first(&parameters, Dual::from(0.0), &[], &mut values);
        for ((state, value), initial) in state.iter_mut().zip(&values).zip(&self.initial) {
            if matches!(initial, InitialValue::Expression(_)) {
                *state = value.value;
            }
        }
    }

    /// The shape of a state under `preset`.
    pub fn state_shape(&self, preset: &Preset) -> StateShape {
        StateShape::new(self.channels.len(), preset.grid().as_ref())
    }

    /// The parameters as a manifest states them.
    pub fn parameter_quantities(&self) -> Vec<Quantity> {
        self.parameters
            .iter()
            .map(|parameter| Quantity::new(&parameter.name, &parameter.unit, &parameter.description))
            .collect()
    }
}

impl Stepper {
    /// The relative error expected of trajectories at `step`.
    pub fn error_at(&self, step: f64) -> f64 {
        self.error * (step / self.step).powi(self.order)
    }
}

impl Preset {
    /// The grid as a manifest states it; `None` where there is no space.
    pub fn grid(&self) -> Option<Grid> {
        let axis = |it: &SpaceAxis| GridAxis::periodic(&it.name, &it.unit, it.count, it.spacing);
        (!self.space.is_empty()).then(|| Grid { axes: self.space.iter().map(axis).collect() })
    }

    /// The set of environments of that name.
    pub fn environment_set(&self, name: &str) -> Option<&EnvironmentSet> {
        self.environments.iter().find(|set| set.name == name)
    }
}

impl EnvironmentSet {
    /// The set called `name` with the values `axes [d_p]` of each parameter.
    pub fn new(name: impl Into<String>, axes: impl Into<Vec<Axis>>) -> Self {
        EnvironmentSet { name: name.into(), axes: axes.into() }
    }

    /// How many values each parameter has.
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::len).collect()
    }

    /// How many environments there are.
    pub fn len(&self) -> usize {
        self.axes.iter().map(Axis::len).product()
    }

    /// Whether there is no environment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parameters `[d_p]` of the environment with this number.
    pub fn parameters(&self, index: usize) -> Vec<f64> {
        let mut rest = index;
        let mut parameters: Vec<f64> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let position = rest % axis.len();
                rest /= axis.len();
                axis.value(position)
            })
            .collect();
        parameters.reverse();
        parameters
    }
}

impl Axis {
    /// These values.
    pub fn values(values: impl Into<Vec<f64>>) -> Self {
        Axis::Values(values.into())
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Axis::Values(values) => values.len(),
            Axis::Uniform { count, .. } => *count,
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `position`.
    pub fn value(&self, position: usize) -> f64 {
        match self {
            Axis::Values(values) => values[position],
            Axis::Uniform { first, last, count } => first + (last - first) * position as f64 / (count - 1) as f64,
        }
    }
}
