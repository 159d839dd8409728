//! `[map]` and `[estimate]` of a pipeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Bounds;
use crate::schema::Split;

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

/// How contexts are fitted to new environments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Splits whose environments are estimated, those that the dataset has.
    #[schemars(extend("uniqueItems" = true))]
    pub splits: Vec<Split>,
    /// Gauss-Newton iterations at most.
    #[schemars(range(min = 1))]
    pub iterations: usize,
    /// Relative decrease of the loss, and relative size of a step, below which an environment has converged.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
    /// Weight of the squared norm of the context beside the mean squared error.
    #[schemars(range(min = 0))]
    pub context_penalty: f64,
    /// Bounds of parameters by name: an estimate beyond one is cut there, and its environment has the status `at_bound`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, Bounds>,
    /// How far a context may lie outside the range of the training contexts, in widths of that range, before its environment has the
    /// status `outside_training_range`.
    #[schemars(range(min = 0))]
    pub extrapolation: f64,
    /// Whether the fitted trajectories are written beside the observed ones, to `fitted_SPLIT.parquet`.
    pub fitted: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            splits: vec![Split::Adapt, Split::Grid],
            iterations: 50,
            tolerance: 1e-5,
            context_penalty: 0.0,
            bounds: BTreeMap::new(),
            extrapolation: 1.0,
            fitted: false,
        }
    }
}
