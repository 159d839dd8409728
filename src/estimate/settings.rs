//! `[map]`, `[estimate]` and `[estimate.physics]` of a pipeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use crate::schema::Split;
use crate::systems::SystemSettings;

/// The context-to-parameter map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MapSettings {
    pub kind: MapChoice,
}

impl Default for MapSettings {
    fn default() -> Self {
        MapSettings { kind: MapChoice::Auto }
    }
}

/// Which map is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapChoice {
    /// Affine, unless the leave-one-out error of the quadratic map is smaller.
    Auto,
    Affine,
    Quadratic,
}

/// How parameters are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// A context is fitted by the trained model and mapped to parameters.
    Learned,
    /// The parameters of known equations are fitted by least squares: no model, no training.
    Physics,
}

/// How parameters of new environments are estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// By a trained model, or by known equations.
    pub method: Method,
    /// Splits whose environments are estimated, those that the dataset has.
    #[schemars(extend("uniqueItems" = true))]
    pub splits: Vec<Split>,
    /// Gauss-Newton iterations at most, from one start. Work is limited by counts, never by the clock, so that what is given up is the same on
    /// every machine; the equations of `method = "physics"` have `max_evaluations` beside it.
    #[schemars(range(min = 1))]
    pub iterations: usize,
    /// Relative decrease of the loss, and relative size of a step, below which an environment has converged.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
    /// Weight of the squared norm of the context beside the mean squared error.
    #[schemars(range(min = 0))]
    pub context_penalty: f64,
    /// Where the rollouts of trajectories start. Without it `observed` by a learned model and of fields, and `estimated` by known equations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "InitialState")]
    pub initial_state: Option<InitialState>,
    /// What the errors of measurement are like: a second fit then weighs every value by its noise, whose size in each channel the first one
    /// shows. Where absent, all values weigh the same in the model's own units; known equations then take it as constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// What of a residual counts.
    pub loss: Loss,
    /// Bounds of parameters by name: an estimate beyond one is cut there, and its environment has the status `at_bound`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, Bounds>,
    /// How far a context, an input or an observed value may lie outside the range of those of the training, in widths of that range, before its
    /// environment has the status `outside_training_range`.
    #[schemars(range(min = 0))]
    pub extrapolation: f64,
    /// Whether the fitted trajectories are written beside the observed ones, to `fitted_SPLIT.parquet`.
    pub fitted: bool,
    /// The equations of `method = "physics"`, or of the Cramér-Rao bounds beside learned estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PhysicsSettings")]
    pub physics: Option<PhysicsSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            method: Method::Learned,
            splits: vec![Split::Adapt, Split::Grid],
            iterations: 50,
            tolerance: 1e-5,
            context_penalty: 0.0,
            initial_state: None,
            noise: None,
            loss: Loss::Squares,
            bounds: BTreeMap::new(),
            extrapolation: 2.0,
            fitted: false,
            physics: None,
        }
    }
}

/// What the errors of measurement are like. Their size is estimated, a channel at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// As large at every sample.
    Constant,
    /// A share of the value.
    Proportional,
}

/// What of a residual counts in a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Its square.
    #[default]
    Squares,
    /// Its square near zero, its size far from it: single wrong values pull little. The noise of a channel is then told from the median of
    /// its residuals.
    Huber,
}

impl Settings {
    /// Where the rollouts of trajectories start: what was set, or the usual of the method.
    pub fn initial_state(&self) -> InitialState {
        self.initial_state.unwrap_or(match self.method {
            Method::Learned => InitialState::Observed,
            Method::Physics => InitialState::Estimated,
        })
    }
}

/// Where the rollout of a support trajectory starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// At its first complete sample, as it was observed: right where the noise is small. By known equations at its first sample, of which
    /// only what is missing is estimated.
    #[default]
    Observed,
    /// At a state that is estimated with the context, with the observed one as a prior; cells of the first sample may be missing. Not for fields.
    /// By known equations without a prior: the first sample is a measurement like the others.
    Estimated,
}

/// Which equations are fitted, and how. `method = "physics"` reads it; so does `method = "learned"` where it names a system, for the
/// Cramér-Rao bounds of its estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhysicsSettings {
    /// Name of the system (`paramill list systems`), a table of equations, or in a pipeline file the path of a `.toml` file with
    /// them. The one that the dataset was simulated with where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemSettings>,
    /// Parameters of the system that are known, by name: they are not estimated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<String, f64>,
    /// Error of an adaptive step allowed relative to the state, and to the range of the data.
    #[schemars(range(min = 1e-14, max = 0.1))]
    pub rtol: f64,
    /// Steps after which a trajectory is given up.
    #[schemars(range(min = 1))]
    pub max_steps: u64,
    /// Evaluations of the vector field after which an environment is given up, over all its trajectories and starts; of an integrator of its
    /// own, steps. They are counted, not timed: what is given up is the same on every machine.
    #[schemars(range(min = 1))]
    pub max_evaluations: u64,
}

impl Default for PhysicsSettings {
    fn default() -> Self {
        PhysicsSettings {
            system: None,
            fixed: BTreeMap::new(),
            rtol: 1e-8,
            max_steps: 10_000,
            max_evaluations: 10_000_000,
        }
    }
}
