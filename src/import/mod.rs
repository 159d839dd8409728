//! import (placeholder until the stage lands)

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::Manifest;
use crate::progress::Run;

/// `[import]` of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of the dataset.
    pub dataset: String,
    /// Where the files are.
    pub directory: String,
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
    #[error("import is not built")]
    NotBuilt,
}

pub fn run(_settings: &Settings, _base: &Path, _directory: &Path, _run: &Run) -> Result<Manifest, Error> {
    Err(Error::NotBuilt)
}
