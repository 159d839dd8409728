//! `manifest.json` of a dataset.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{FormatVersion, Quantity, Split};

/// What a dataset says of itself. Holds no date and no absolute path: the same inputs give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    pub format: FormatVersion,
    /// Always `dataset`.
    pub kind: String,
    pub name: String,
    /// One sentence for the card.
    pub description: String,
    /// SPDX expression or `unknown`.
    pub license: String,
    pub provenance: Provenance,
    /// Unit of all times.
    pub time_unit: String,
    pub channels: Vec<Quantity>,
    pub parameters: Vec<Quantity>,
    /// Tolerance of the data themselves (the solver's `rtol`); absent where it is unknown, as for measurements.
    pub data_tolerance: Option<f64>,
    pub splits: BTreeMap<Split, SplitSummary>,
    pub files: Vec<FileEntry>,
}

/// What made a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// `paramill` and its version.
    pub tool: String,
    /// `generate`, `import`, `train` or `estimate`.
    pub stage: String,
    /// The effective settings of the stage, every default filled in.
    pub configuration: serde_json::Value,
    pub seed: Option<u64>,
    /// What it was made from, by content.
    pub parents: Vec<Parent>,
}

/// An input of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parent {
    /// Name of the dataset, model or source file.
    pub name: String,
    /// SHA-256, hex: of the manifest for a directory, of the bytes for a file.
    pub sha256: String,
}

/// Counts of one split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SplitSummary {
    pub environments: usize,
    pub trajectories: usize,
    /// Samples over all trajectories.
    pub samples: usize,
    /// Fewest and most samples of a trajectory.
    pub shortest: usize,
    pub longest: usize,
}

/// One file of the directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Relative, with `/`, inside the directory.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}
