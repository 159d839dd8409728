//! `[estimate.physics]` of a pipeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::systems::SystemSettings;

/// Which equations are fitted, and how. `method = "physics"` reads it; so does `method = "learned"` where it names a system, for the
/// Cramér-Rao bounds of its estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
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

impl Default for Settings {
    fn default() -> Self {
        Settings { system: None, fixed: BTreeMap::new(), rtol: 1e-8, max_steps: 10_000, max_evaluations: 10_000_000 }
    }
}
