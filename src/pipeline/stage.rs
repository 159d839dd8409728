//! The stages of a pipeline.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Simulates a dataset.
    Generate,
    /// Reads a dataset from an archive.
    Import,
    /// Trains the model.
    Train,
    /// Fits the map from contexts to parameters.
    Map,
    /// Adapts the model to new environments.
    Estimate,
    /// Draws figures and the page.
    Report,
}

impl Stage {
    /// All stages, in the order in which they run.
    pub const ALL: [Stage; 6] =
        [Stage::Generate, Stage::Import, Stage::Train, Stage::Map, Stage::Estimate, Stage::Report];

    /// The name of its section and of its record.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Generate => "generate",
            Stage::Import => "import",
            Stage::Train => "train",
            Stage::Map => "map",
            Stage::Estimate => "estimate",
            Stage::Report => "report",
        }
    }

    /// Whether it makes the dataset.
    pub fn makes_dataset(self) -> bool {
        matches!(self, Stage::Generate | Stage::Import)
    }

    /// Whether its result depends on the pipeline's seed.
    pub fn uses_seed(self) -> bool {
        matches!(self, Stage::Generate | Stage::Train)
    }

    /// Whether its product also states how the stages before it ran (time, device).
    pub fn reads_records(self) -> bool {
        self == Stage::Report
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
