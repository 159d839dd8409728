//! generate (placeholder until the stage lands)

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::Manifest;
use crate::progress::Run;
use crate::schema::Split;

/// `[generate]` of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of the dataset.
    pub dataset: String,
    /// Name of the system.
    pub system: String,
    /// Named set of benchmark values.
    #[serde(default = "default_preset")]
    pub preset: String,
    /// Integrates the system.
    #[serde(default = "default_solver")]
    pub solver: String,
    /// Relative tolerance.
    #[serde(default = "default_tolerance")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rtol: f64,
    /// Absolute tolerance.
    #[serde(default = "default_tolerance")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub atol: f64,
    /// What goes into each split.
    pub splits: BTreeMap<Split, SplitSettings>,
}

/// One split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitSettings {
    /// A named set of the system's environments.
    pub environments: String,
    #[schemars(range(min = 1))]
    pub trajectories: usize,
}

fn default_preset() -> String {
    "paper".to_owned()
}

fn default_solver() -> String {
    "dopri5".to_owned()
}

fn default_tolerance() -> f64 {
    1e-9
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub key: String,
    pub found: String,
    pub expected: String,
    pub remedy: String,
}

impl Settings {
    pub fn validate(&self) -> Vec<Problem> {
        Vec::new()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("interrupted")]
    Interrupted { signal: i32 },
    #[error("generate is not built")]
    NotBuilt,
}

pub fn run(_settings: &Settings, _seed: u64, _directory: &Path, _run: &Run) -> Result<Manifest, Error> {
    Err(Error::NotBuilt)
}
