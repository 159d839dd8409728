//! `[import.splits]` of a pipeline: which data are trained on, estimated and held out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which environments are trained on and which are estimated, and which trajectories are held out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Splits {
    /// Environments to estimate; all others but those of `calibrate` are trained on. `["*"]` estimates all and trains on none, for known equations.
    pub adapt: Vec<String>,
    /// Environments with known parameters that are neither trained on nor estimated: from how far estimates of them are off, the model's own error
    /// is learned, which intervals then contain. They should be like those to estimate, with as much data each; the more the better, 20 at least.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calibrate: Vec<String>,
    /// Trajectories of training environments by which the model is selected. Required if there are training environments: a model selected
    /// by the data that it was fitted to is overfitted.
    pub validation: Selection,
    /// Trajectories of training environments that are used for reports only.
    pub test: Selection,
    /// Trajectories of environments to estimate that are used for reports only, not for the estimate.
    pub adapt_test: Selection,
    /// Seed of the random draws; required if a `fraction` is set.
    pub seed: Option<u64>,
}

impl Splits {
    /// Whether every environment is estimated and none is trained on.
    pub fn estimates_all(&self) -> bool {
        self.adapt == ["*"]
    }
}

/// A selection of trajectories: by id, at random, or the ends of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Trajectory ids, `TRAJECTORY` for that of every environment or `ENVIRONMENT/TRAJECTORY` for one.
    pub trajectories: Vec<String>,
    /// Instead of ids, the fraction of each environment's trajectories to draw at random: at least one if there are several, never all.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub fraction: Option<f64>,
    /// Instead of whole trajectories, the fraction of each one's samples to cut off at its end: at least two samples, and at least two
    /// remain. The part that is cut off becomes a trajectory `ID.last`. For environments with a single trajectory.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub last: Option<f64>,
}

impl Selection {
    /// Whether it selects nothing.
    pub fn is_empty(&self) -> bool {
        self.ways() == 0
    }

    /// The number of ways in which it selects; more than one contradict each other.
    pub(crate) fn ways(&self) -> usize {
        [!self.trajectories.is_empty(), self.fraction.is_some(), self.last.is_some()]
            .into_iter()
            .filter(|&way| way)
            .count()
    }
}
