//! `[map]`, `[estimate]` and `[estimate.physics]` of a pipeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::measurement::{Limit, Noise, NoiseSettings, Prior, Scale, Scope};
use crate::schema::{Quantity, Split};
use crate::systems::SystemSettings;

/// The map from contexts to parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MapSettings {
    /// Affine, quadratic, affine in a power of each parameter, or whichever is best.
    pub kind: MapChoice,
}

impl Default for MapSettings {
    fn default() -> Self {
        MapSettings { kind: MapChoice::Auto }
    }
}

/// The kind of map that is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MapChoice {
    /// The one with the smallest leave-one-out error; affine where they are equal.
    Auto,
    /// Affine.
    Affine,
    /// Quadratic.
    Quadratic,
    /// Affine in `p^s`, or in `ln p`, of each parameter `p`. `s` is one of -4, -3, -2, -1, -1/2, 0 (the logarithm), 1/2, 1,
    /// 2, 3 and 4, by the leave-one-out error in `p`: 1 unless another halves it, or where a training environment has a `p`
    /// that is not above zero.
    Power,
}

/// The method by which parameters are estimated.
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
    /// Splits whose environments are estimated, as far as the dataset has them.
    #[schemars(extend("uniqueItems" = true))]
    pub splits: Vec<Split>,
    /// Most Gauss-Newton iterations from one start. Work is limited by counts, never by time, so that the same environments are given up on
    /// every machine; the equations of `method = "physics"` are also limited by `max_evaluations`.
    #[schemars(range(min = 1))]
    pub iterations: usize,
    /// Relative decrease of the loss, and relative size of a step, below which an environment has converged.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
    /// Weight of the squared norm of the context, added to the mean squared error.
    #[schemars(range(min = 0))]
    pub context_penalty: f64,
    /// Where the rollouts of trajectories start. By default `observed` for a learned model and for fields, and `estimated` for known equations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "InitialState")]
    pub initial_state: Option<InitialState>,
    /// The kind of measurement noise. With a trained model a word, `constant` or `proportional`: a second fit then weighs every value by its
    /// noise, whose size in each channel the residuals of the first one show; if absent, all values weigh the same in the model's units. By known
    /// equations a word for all channels, or a table by channel: what is unknown of the noise is then estimated with the parameters by maximum
    /// likelihood; if absent, noise is constant in each channel and the fit one of least squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NoiseSettings")]
    pub noise: Option<NoiseSettings>,
    /// Limits of quantification by name of the channel, in its unit: a number, or `{ input = "NAME" }`, an input of the dataset with the limit of
    /// each sample. An observed value at or below its limit counts by the probability of being there, whatever number stands for it. Only for
    /// known equations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Limit>,
    /// How residuals count.
    pub loss: Loss,
    /// How intervals are made: profiles only by known equations.
    pub intervals: Intervals,
    /// Whether residuals that are correlated from sample to sample count as fewer values, which makes the intervals wider. If `false`, they are
    /// taken as independent, and `reason` says where they are not.
    pub serial_correlation: bool,
    /// Whether intervals contain the model's own error, which is learned with the map from the environments of the split `calibrate`: it costs a fit
    /// of each. Without such a split intervals know noise alone.
    pub model_error: bool,
    /// Bounds of parameters by name: an estimate beyond a bound is cut there, and its environment has the status `at_bound`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, Bounds>,
    /// How far a context, an input or an observed value may lie outside its range in the training data, in widths of that range, before the
    /// environment has the status `outside_training_range`.
    #[schemars(range(min = 0))]
    pub extrapolation: f64,
    /// Whether fitted trajectories are written beside the observed ones, to `fitted_SPLIT.parquet`.
    pub fitted: bool,
    /// The equations for `method = "physics"`, or for the Cramér-Rao bounds beside learned estimates.
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
            limits: BTreeMap::new(),
            loss: Loss::Squares,
            intervals: Intervals::Wald,
            serial_correlation: true,
            model_error: true,
            bounds: BTreeMap::new(),
            extrapolation: 2.0,
            fitted: false,
            physics: None,
        }
    }
}

/// How intervals of parameters are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Intervals {
    /// From the standard error, by the covariance of the estimates at the minimum: as if the equations were linear in the parameters.
    #[default]
    Wald,
    /// By profile likelihood: the values at which the others can still be fitted to the data as well as noise allows. Each end takes some
    /// fits. Where no value up to a bound is excluded the interval is open: it has no end there, and `reason` says so.
    Profile,
}

/// How residuals count in a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// By their squares.
    #[default]
    Squares,
    /// By their squares near zero and linearly far from it, so that single wrong values have little influence. The noise of a channel is then
    /// estimated from the median of its residuals.
    Huber,
}

impl Settings {
    /// Whether known equations are fitted by maximum likelihood: where noise, limits or priors are named. Huber's loss is no likelihood.
    pub(crate) fn has_likelihood(&self, physics: &PhysicsSettings) -> bool {
        self.loss == Loss::Squares && (self.noise.is_some() || !self.limits.is_empty() || !physics.priors.is_empty())
    }

    /// The columns for the parameters of the noise in the table of estimates by known equations, where some are estimated with the rest.
    pub(crate) fn noise_columns(&self, physics: &PhysicsSettings, channels: &[Quantity]) -> Vec<Quantity> {
        let of_channel = |channel: &Quantity| {
            let noise = self.noise.as_ref().map(|noise| noise.of(&channel.name)).unwrap_or_default();
            noise.columns(channel)
        };
        if self.has_likelihood(physics) { channels.iter().flat_map(of_channel).collect() } else { Vec::new() }
    }

    /// The kind of noise by which a trained model weighs values.
    pub(crate) fn weighting(&self) -> Option<Noise> {
        match self.noise {
            Some(NoiseSettings::Every(noise)) => Some(noise),
            _ => None,
        }
    }

    /// Where the rollouts of trajectories start: as set, or the default of the method.
    pub fn initial_state(&self) -> InitialState {
        self.initial_state.unwrap_or(match self.method {
            Method::Learned => InitialState::Observed,
            Method::Physics => InitialState::Estimated,
        })
    }
}

/// Where the rollout of a trajectory starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// At its first complete sample as it was observed, which suits small noise. By known equations at its first sample, of which only missing
    /// values are estimated.
    #[default]
    Observed,
    /// At a state that is estimated with the context, with the observed state as a prior; values of the first sample may be missing. Not for
    /// fields. By known equations there is no prior: the first sample is a measurement like the others.
    Estimated,
}

/// The equations that are fitted by `method = "physics"`, and how. With `method = "learned"` a system named here gives the Cramér-Rao bounds
/// beside the estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhysicsSettings {
    /// Name of the system (`paramill list systems`), a table of equations, or in a pipeline file the path of a `.toml` file with them. If
    /// absent, the system that the dataset was simulated with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemSettings>,
    /// Systems that are compared, in place of `system`: names, tables of equations, or in a pipeline file paths of `.toml` files with them. Every
    /// environment is fitted by each of them. The table has the estimates by the one with the least AICc (Akaike's criterion for few samples),
    /// and a column `model`; `models_SPLIT.parquet` has all, with their criteria and weights. Other settings hold for each system that has
    /// parameters of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub systems: Vec<SystemSettings>,
    /// Values of parameters that are known, by name, and not estimated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<String, f64>,
    /// What is known of parameters before the data, by name: normal distributions, which enter the likelihood. Standard errors and intervals
    /// are then those of the posterior mode.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub priors: BTreeMap<String, Prior>,
    /// The scale in which parameters are searched for, by name. If absent, by the logarithm where the lower bound is above zero.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scales: BTreeMap<String, Scale>,
    /// What has one value of a parameter, by name: a `trajectory`, an `environment`, the default, or `all` environments of a split, whose
    /// common value is fitted together with what each has of its own. Values of trajectories stand in `trajectories_SPLIT.parquet`, not in the
    /// table of environments. `noise_CHANNEL_TERM`, as the table names the parameters of the noise, may be of `all` too.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<String, Scope>,
    /// How many starts are tried at least: known parameters of training environments, then parameters spread evenly over the orders of magnitude
    /// inside the bounds, those with the smallest error first. If absent, one where parameters are known, else eight, or fewer where two agree
    /// and each takes much work. More follow where no minimum explains the data, up to three fifths of `max_evaluations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize", range(min = 1, max = 10000))]
    pub starts: Option<usize>,
    /// Allowed error of an integration step, relative to the state and to the range of the data. Stiff systems need no other: a method for them
    /// (`rodas5p`) is taken by itself where an explicit one is left with steps that are shorter than this asks for.
    #[schemars(range(min = 1e-14, max = 0.1))]
    pub rtol: f64,
    /// Integration steps after which a trajectory is given up.
    #[schemars(range(min = 1))]
    pub max_steps: u64,
    /// Evaluations of the vector field after which an environment is given up, over all its trajectories and starts, those with second
    /// derivatives twice; steps, for a system with an integrator of its own. Counts, unlike times, are the same on every machine.
    #[schemars(range(min = 1))]
    pub max_evaluations: u64,
}

impl Default for PhysicsSettings {
    fn default() -> Self {
        PhysicsSettings {
            system: None,
            systems: Vec::new(),
            fixed: BTreeMap::new(),
            priors: BTreeMap::new(),
            scales: BTreeMap::new(),
            scopes: BTreeMap::new(),
            starts: None,
            rtol: 1e-8,
            max_steps: 10_000,
            max_evaluations: 10_000_000,
        }
    }
}
