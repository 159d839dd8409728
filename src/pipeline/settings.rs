//! The settings of a pipeline file, section by section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{estimate, generate, import, report, train};

/// A pipeline: where the data come from, how a model is trained on them, and what is read off it.
///
/// Each section is one stage. A pipeline has exactly one of `[generate]` and `[import]`; the others may be left out
/// from the end (`[report]`, then `[estimate]`, and so on).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Paramill pipeline")]
pub struct Settings {
    /// One sentence for people; it stands in the report.
    #[serde(default)]
    pub description: String,
    /// Seed of every random draw: initial states, weights, batches.
    #[serde(default)]
    pub seed: u64,
    /// Simulates the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "generate::Settings")]
    pub generate: Option<generate::Settings>,
    /// Reads the dataset from an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "import::Settings")]
    pub import: Option<import::Settings>,
    /// Trains the model on the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "train::Settings")]
    pub train: Option<train::Settings>,
    /// Fits the map from contexts to parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "estimate::MapSettings")]
    pub map: Option<estimate::MapSettings>,
    /// Adapts the model to new environments and reads their parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "estimate::Settings")]
    pub estimate: Option<estimate::Settings>,
    /// Draws the figures and the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ReportSettings")]
    pub report: Option<ReportSettings>,
}

/// `[report]` of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// Title of the page; the pipeline's name if empty.
    pub title: String,
    /// Published figures to show beside ours.
    pub published: Vec<report::Published>,
}
