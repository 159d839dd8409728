//! What a system is: quantities, parameters, vector field, presets and environments.

use std::fmt;
use std::sync::Arc;

use crate::expressions::Dual;
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
    /// Known signals `[U]` that act on it; with any, a field's parameters are followed by what a [`Drive`] puts there.
    pub inputs: Vec<Channel>,
    /// What differs between environments `[d_p]`.
    pub parameters: Vec<Parameter>,
    /// Horizon `T` of a trajectory unless settings say otherwise; samples lie at `0, dt, .., T - dt`.
    pub horizon: f64,
    /// Sampling interval `dt` unless settings say otherwise.
    pub time_step: f64,
    /// The entries of the state `[C]` that are known where the system starts; empty where none is.
    pub given: Vec<Option<f64>>,
    /// Whether time itself stands in the equations: such a system starts at `t = 0`.
    pub uses_time: bool,
    /// Variants of the benchmark; the first is the default.
    pub presets: Vec<Preset>,
}

/// How a state moves on.
#[derive(Clone)]
pub enum Dynamics {
    /// By a vector field, which is integrated adaptively to a tolerance.
    Field(VectorField),
    /// By an integrator of its own, whose steps are fixed.
    Stepper(&'static Stepper),
}

/// `field(p, t, y, dy)`: parameters `[d_p]`, time, state, derivative of the same shape to be written.
pub type VectorField = Arc<dyn Fn(&[f64], f64, &[f64], &mut [f64]) + Send + Sync>;

/// As [`VectorField`], with the derivatives of all along [`LANES`] directions.
pub type TangentField = Arc<dyn Fn(&[Dual], f64, &[Dual], &mut [Dual]) + Send + Sync>;

/// An integrator with a fixed step, of one system.
pub struct Stepper {
    /// The method, for people.
    pub name: &'static str,
    /// Longest step unless settings say otherwise; each sampling interval is cut into equal ones.
    pub step: f64,
    /// The error falls as the step to this power.
    pub order: i32,
    /// Relative error of a trajectory's last sample at `step` (root mean squares over the benchmark), measured by halving it.
    pub error: f64,
    /// Integrates one trajectory.
    pub integrate: Integrate,
}

/// `integrate(p, y, times, step, states, interrupt)`: from the state `y` at `times[0]` with parameters `[d_p]` and steps of at most `step`,
/// writes the states at `times [T]`; between steps it looks whether it is asked to stop.
pub type Integrate = fn(&[f64], &[f64], &[f64], f64, &mut [f64], &Interrupt) -> Result<Work, solve::Error>;

/// `initial(uniform, y)`: writes an initial state drawn with `uniform`, which gives independent draws from `[0, 1)`.
pub type InitialLaw = Arc<dyn Fn(&mut dyn FnMut() -> f64, &mut [f64]) + Send + Sync>;

/// One entry of the state, or one input.
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
    /// Smallest value that makes sense.
    pub lower: f64,
    /// Largest value that makes sense.
    pub upper: f64,
}

/// One axis of a regular periodic grid in space; see [`GridAxis`].
#[derive(Clone, Debug)]
pub struct SpaceAxis {
    /// The name used in files.
    pub name: String,
    /// Unit in UDUNITS spelling.
    pub unit: String,
    /// How many points.
    pub count: usize,
    /// Distance of two neighbours.
    pub spacing: f64,
}

/// A variant of a benchmark: where and how trajectories start and move on, and which environments there are.
#[derive(Clone)]
pub struct Preset {
    /// The name used in settings.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// The grid on which channels are fields; empty where there is no space.
    pub space: Vec<SpaceAxis>,
    /// How a state moves on.
    pub dynamics: Dynamics,
    /// The vector field with its derivatives; `None` where nobody has written it so.
    pub tangent: Option<TangentField>,
    /// Draws an initial state.
    pub initial: InitialLaw,
    /// Named sets of environments.
    pub environments: Vec<EnvironmentSet>,
}

/// The environments at all combinations of values of the parameters.
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
        let axis = |axis: &SpaceAxis| GridAxis {
            name: axis.name.clone(),
            unit: axis.unit.clone(),
            count: axis.count,
            spacing: axis.spacing,
        };
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
