//! The vocabulary of datasets and models: quantities, grids, splits, trajectories and the format version. No file is opened here.
//!
//! Symbols used throughout: `E` environments, `B` trajectories per environment, `T` samples of a trajectory,
//! `C` channels, `U` inputs, `d_p` parameters, `d_xi` context dimensions, `P` weights of the dynamics model.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `paramill` and its version, as manifests say what wrote them. What a product depends on is [`algorithm`].
pub const TOOL: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// The version of the algorithm behind each stage.
///
/// It is part of the stage's fingerprint: products that another version made are made again, and a new version of the program alone makes
/// nothing again. Raise it when equal settings, seed and inputs give a product that differs by more than rounding. What is new and has to
/// be asked for does not count, nor does another spelling of the same, which the format's version tells.
pub const ALGORITHMS: [(&str, u32); 8] = [
    ("generate", 1),
    ("import", 1),
    ("merge", 1),
    ("split", 1),
    ("train", 3),
    ("map", 3),
    ("estimate", 5),
    ("report", 5),
];

/// The version of the algorithm behind the stage of that name.
///
/// # Panics
/// If there is no such stage.
pub fn algorithm(stage: &str) -> u32 {
    let found = ALGORITHMS.iter().find(|(name, _)| *name == stage);
    found.unwrap_or_else(|| panic!("`{stage}` has a version in schema::ALGORITHMS")).1
}

/// Version of an on-disk format. A reader takes every minor version of the major that this build writes and of the one before, and refuses
/// a newer major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormatVersion {
    /// A change of it breaks older readers.
    pub major: u32,
    /// A change of it adds what older readers ignore.
    pub minor: u32,
}

impl FormatVersion {
    /// The format of datasets that this build writes. Since 2.2 there is a split `calibrate`, and they may say who made them and how they are cited.
    /// Since 2.3 an axis in space may start elsewhere than at 0, and need not be periodic.
    pub const DATASET: FormatVersion = FormatVersion { major: 2, minor: 3 };
    /// The same of models. Since 2.3 they have a card and the licence of their data, and environments may own weights in place of a context.
    /// Since 2.4 the map may know the model's own error, environments may be inferred, and the rule may be `ncf`. Since 2.5
    /// axes in space are as in datasets of 2.3. Since 2.6 the model's own error may be less than what a fit leaves would have it.
    pub const MODEL: FormatVersion = FormatVersion { major: 2, minor: 6 };
    /// The same of estimates. Since 3.0 the Cramér-Rao bound of a parameter `p` stands in `p_crlb`; before, in `p_bound`. Since 3.2 rows have the
    /// likelihood, the parameters of the noise, the autocorrelation of residuals, and what several starts led to. Since 3.4 systems that are compared
    /// say where they are not. Since 3.5 parameters have the model's own error and the degrees of freedom of their interval, and values of trajectories
    /// say where they lie at a bound. Since 3.6 the differences and weights of compared systems stand in `aicc_delta` and `aicc_weight`. Since 3.7
    /// there is `mape_in_domain`.
    pub const ESTIMATES: FormatVersion = FormatVersion { major: 3, minor: 7 };
    /// The first major version that anyone was given.
    const FIRST_MAJOR: u32 = 2;

    /// Why a directory of this format is not read by a build that writes `current`, if it is not: what was found, and what was expected.
    pub fn problem(self, current: FormatVersion) -> Option<(String, String)> {
        let oldest = Self::FIRST_MAJOR.max(current.major - 1);
        let readable = (oldest..=current.major).map(|major| format!("{major}.x")).collect::<Vec<_>>().join(" or ");
        let remedy = match self.major {
            major if major > current.major => "a newer version of paramill wrote it: read it with that one",
            major if major < oldest => {
                "make it again from what it was made from, or read it with the version of paramill that wrote it"
            }
            _ => return None,
        };
        Some((format!("format {self}"), format!("{readable}; {remedy}")))
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A named physical quantity: a channel of a trajectory or a parameter of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Name as it stands in column headers, such as `x` or `beta`.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none).
    #[serde(default = "dimensionless")]
    pub unit: String,
    /// One sentence for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

fn dimensionless() -> String {
    "1".to_owned()
}

impl Quantity {
    /// A quantity of these three texts.
    pub fn new(name: &str, unit: &str, description: &str) -> Self {
        Quantity { name: name.to_owned(), unit: unit.to_owned(), description: description.to_owned() }
    }
}

/// An exogenous signal that is known and acts on the system: a current, the position of a valve, a dose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Name, unit and description.
    #[serde(flatten)]
    pub quantity: Quantity,
    /// How it behaves between two samples.
    #[serde(default)]
    pub between: Between,
}

/// An [`Input`] `u(t)` between the samples at `t_n` and `t_{n+1}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// `u(t) = u_n` until the next sample.
    Hold,
    /// On the straight line from `u_n` to `u_{n+1}`.
    #[default]
    Linear,
}

impl Between {
    /// The name used in files and settings.
    pub fn name(self) -> &'static str {
        match self {
            Between::Hold => "hold",
            Between::Linear => "linear",
        }
    }

    /// `(u, du/dt)` at the start of the step of length `dt` from a sample `from` to a sample `to`.
    pub fn step(self, from: f64, to: f64, dt: f64) -> (f64, f64) {
        match self {
            Between::Linear if dt > 0.0 => (from, (to - from) / dt),
            _ => (from, 0.0),
        }
    }
}

/// A regular grid in space, on which every channel is a field.
///
/// A sample's state is then `[C, n_1, .., n_k]`, row-major, with `n_i` the counts of the axes in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// One to three axes.
    pub axes: Vec<GridAxis>,
}

/// One axis of a [`Grid`]: points at `start, start + spacing, .., start + (count - 1) spacing`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridAxis {
    /// Name as it stands in files, such as `x`.
    pub name: String,
    /// Unit in UDUNITS spelling.
    pub unit: String,
    /// Number of points.
    pub count: usize,
    /// Distance between neighbouring points, in `unit`.
    pub spacing: f64,
    /// Coordinate of the first point, in `unit`. Nothing that is computed depends on it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: f64,
    /// What lies beyond the first and the last point.
    #[serde(default, skip_serializing_if = "is_periodic")]
    pub boundary: Boundary,
}

impl GridAxis {
    /// A periodic axis from 0.
    pub fn periodic(name: impl Into<String>, unit: impl Into<String>, count: usize, spacing: f64) -> Self {
        GridAxis { name: name.into(), unit: unit.into(), count, spacing, start: 0.0, boundary: Boundary::Periodic }
    }

    /// Coordinates of its points, in its unit.
    pub fn points(&self) -> impl Iterator<Item = f64> {
        (0..self.count).map(|at| self.start + at as f64 * self.spacing)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(start: &f64) -> bool {
    *start == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_periodic(boundary: &Boundary) -> bool {
    *boundary == Boundary::Periodic
}

/// What a field is beyond the end of an axis in space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The point after the last is the first.
    #[default]
    Periodic,
    /// Every channel is zero there.
    Zero,
    /// Every channel is what it is at the nearest point of the grid.
    Replicate,
}

impl Boundary {
    /// The name used in files and settings.
    pub fn name(self) -> &'static str {
        match self {
            Boundary::Periodic => "periodic",
            Boundary::Zero => "zero",
            Boundary::Replicate => "replicate",
        }
    }
}

/// The shape of one sample's state: `[C]` of an ordinary differential equation, `[C, n_1, .., n_k]` of fields on a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateShape {
    /// Number of channels `C`.
    pub channels: usize,
    /// Points of each axis in space; empty where there is no space.
    pub space: Vec<usize>,
    /// What lies beyond the ends of each of these axes.
    pub boundaries: Vec<Boundary>,
}

impl StateShape {
    /// The shape for `channels` channels on `grid`.
    pub fn new(channels: usize, grid: Option<&Grid>) -> Self {
        let axes = grid.map_or(&[][..], |grid| grid.axes.as_slice());
        let (space, boundaries) = axes.iter().map(|axis| (axis.count, axis.boundary)).unzip();
        StateShape { channels, space, boundaries }
    }

    /// The shape for `channels` channels without space.
    pub fn without_space(channels: usize) -> Self {
        StateShape::new(channels, None)
    }

    /// The shape for `channels` channels on axes of so many points, all periodic.
    pub fn periodic(channels: usize, space: &[usize]) -> Self {
        StateShape { channels, space: space.to_vec(), boundaries: vec![Boundary::Periodic; space.len()] }
    }

    /// Points in space of one channel; 1 where there is no space.
    pub fn points(&self) -> usize {
        self.space.iter().product()
    }

    /// Values of a state.
    pub fn size(&self) -> usize {
        self.channels * self.points()
    }

    /// Repeats one item per channel `[C]` for each value of a state `[C n_1 .. n_k]`.
    pub fn of_values<T: Clone>(&self, of_channels: &[T]) -> Vec<T> {
        of_channels.iter().flat_map(|it| std::iter::repeat_n(it.clone(), self.points())).collect()
    }

    /// The values `[n_1, .., n_k]` of channel `c` in each of `states [T, C, n_1, .., n_k]`.
    pub fn channel<'a>(&self, states: &'a [f64], c: usize) -> impl Iterator<Item = &'a [f64]> + use<'a> {
        states.chunks_exact(self.points().max(1)).skip(c).step_by(self.channels)
    }
}

/// The role of a set of trajectories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Fits the shared weights and the training contexts.
    Train,
    /// Training environments, other trajectories: chooses the model.
    Validation,
    /// Training environments, other trajectories: only ever reported.
    Test,
    /// Support trajectories of new environments: fits their contexts.
    Adapt,
    /// Other trajectories of the `adapt` environments: only ever reported.
    AdaptTest,
    /// Support trajectories of a grid of new environments: parameters are estimated on it.
    Grid,
    /// Support trajectories of environments with known parameters that neither train nor test: how far estimates by the model are off is learned
    /// from them.
    Calibrate,
}

impl Split {
    /// Every split, in order.
    pub const ALL: [Split; 7] =
        [Split::Train, Split::Validation, Split::Test, Split::Adapt, Split::AdaptTest, Split::Grid, Split::Calibrate];

    /// The name used in files and settings (`train`, `adapt_test`, ...).
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
            Split::Adapt => "adapt",
            Split::AdaptTest => "adapt_test",
            Split::Grid => "grid",
            Split::Calibrate => "calibrate",
        }
    }

    /// Least number of samples of a trajectory. Zero for splits that are only estimated: the estimator reports what has too few.
    pub fn fewest_samples(self) -> usize {
        match self {
            Split::Adapt | Split::Grid | Split::Calibrate => 0,
            Split::Train | Split::Validation | Split::Test | Split::AdaptTest => 2,
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One trajectory of one environment, on its own time grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Environment id, unique within the dataset's training or adaptation environments.
    pub environment: String,
    /// Trajectory id, unique within (split, environment).
    pub trajectory: String,
    /// The environment's known parameters `[d_p]`, in the order of the manifest; `None` where unknown.
    pub parameters: Vec<Option<f64>>,
    /// Strictly increasing sample times `[T]`.
    pub times: Vec<f64>,
    /// Observed states `[T, C]` (`[T, C, n_1, .., n_k]` on a grid), row-major. A cell is finite, or NaN where it is missing;
    /// every sample has at least one cell that is not, unless there are inputs.
    pub states: Vec<f64>,
    /// Inputs `[T, U]`, row-major and finite; empty where the dataset has none.
    pub inputs: Vec<f64>,
}

/// Where a rollout starts: the first complete sample of `states [samples, ..]` that is not the last; `None` if there is none.
pub(crate) fn start_of(states: &[f64], samples: usize) -> Option<usize> {
    let channels = states.len() / samples.max(1);
    let is_complete = |t: usize| !states[t * channels..(t + 1) * channels].iter().any(|value| value.is_nan());
    (0..samples.saturating_sub(1)).find(|&t| is_complete(t))
}

/// Number of observed values after the start of a rollout in `states [samples, ..]`: those that it is compared with.
pub(crate) fn compared(states: &[f64], samples: usize) -> usize {
    let behind = |start: usize| &states[(start + 1) * (states.len() / samples)..];
    start_of(states, samples).map_or(0, |start| behind(start).iter().filter(|value| !value.is_nan()).count())
}

impl Trajectory {
    /// Number of samples `T`.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Number of channels `C`; zero for an empty trajectory.
    pub fn channels(&self) -> usize {
        self.states.len().checked_div(self.times.len()).unwrap_or(0)
    }

    /// Number of inputs `U`; zero for an empty trajectory.
    pub fn inputs_per_sample(&self) -> usize {
        self.inputs.len().checked_div(self.times.len()).unwrap_or(0)
    }

    /// The inputs `[U]` at sample `t`.
    pub fn input(&self, t: usize) -> &[f64] {
        let u = self.inputs_per_sample();
        &self.inputs[t * u..(t + 1) * u]
    }

    /// The state `[C]` at sample `t`.
    pub fn state(&self, t: usize) -> &[f64] {
        let c = self.channels();
        &self.states[t * c..(t + 1) * c]
    }

    /// Whether sample `t` has no missing cell, so that a rollout can start there.
    pub fn is_complete(&self, t: usize) -> bool {
        !self.state(t).iter().any(|value| value.is_nan())
    }

    /// The first complete sample that is not the last, if there is one.
    pub fn start(&self) -> Option<usize> {
        start_of(&self.states, self.len())
    }

    /// The trajectory without the samples before its first observed state. At those only inputs are known: equations with a given initial state
    /// can use them, a model cannot.
    pub fn from_observed(mut self) -> Self {
        let is_observed = |&t: &usize| self.state(t).iter().any(|value| !value.is_nan());
        self.start_at((0..self.len()).find(is_observed).unwrap_or(0));
        self
    }

    /// The trajectory without the samples before its [`Trajectory::start`], if it has one.
    pub fn from_start(mut self) -> Option<Self> {
        self.start_at(self.start()?);
        Some(self)
    }

    /// Removes the samples before `t`.
    pub fn start_at(&mut self, t: usize) {
        let (values, inputs) = (t * self.channels(), t * self.inputs_per_sample());
        self.times.drain(..t);
        self.states.drain(..values);
        self.inputs.drain(..inputs);
    }

    /// Cells of the states that are missing.
    pub fn missing(&self) -> usize {
        self.states.iter().filter(|value| value.is_nan()).count()
    }

    /// Sort key of trajectories: (environment, trajectory).
    pub fn key(&self) -> (&str, &str) {
        (&self.environment, &self.trajectory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_this_major_and_the_one_before_are_read() {
        let problem = |major: u32, current: u32| {
            let of = |major: u32| FormatVersion { major, minor: 9 };
            of(major).problem(of(current)).map(|(found, expected)| format!("found {found}; expected {expected}"))
        };
        assert_eq!([problem(2, 2), problem(2, 3), problem(3, 3), problem(4, 5)], [const { None }; 4]);
        for (major, current, parts) in [
            (1, 2, ["found format 1.9; expected 2.x;", "make it again"]),
            (3, 2, ["found format 3.9; expected 2.x;", "newer"]),
            (1, 3, ["expected 2.x or 3.x;", "make it again"]),
            (2, 4, ["expected 3.x or 4.x;", "make it again"]),
            (5, 4, ["expected 3.x or 4.x;", "newer"]),
        ] {
            let said = problem(major, current).unwrap_or_default();
            assert!(parts.iter().all(|part| said.contains(part)), "{major} beside {current}: {said}");
        }
    }
}
