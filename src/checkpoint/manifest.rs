//! `manifest.json` of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::{FileEntry, Provenance};
use crate::schema::{FormatVersion, Grid, Input, Quantity, StateShape};
use crate::{engine, models, rules};

/// What a model says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    pub format: FormatVersion,
    /// Always `model`.
    pub kind: String,
    pub name: String,
    pub provenance: Provenance,
    pub model: models::Settings,
    pub rule: rules::Kind,
    pub adapted_layers: models::AdaptedLayers,
    pub solver: engine::Solver,
    /// Steps of the solver from sample to sample.
    #[serde(default = "one")]
    pub substeps: usize,
    pub precision: engine::Precision,
    pub context_dimension: usize,
    pub time_unit: String,
    pub channels: Vec<Quantity>,
    /// Where each channel is a field; absent where there is no space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// Known signals that act on the system; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    pub parameters: Vec<Quantity>,
    /// One a channel: the model sees `(value - centre) / scale`.
    pub scales: Vec<ChannelScale>,
    /// The weight of each channel in the loss, their mean one; absent where all weigh the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// The training environments, in the order of the contexts.
    pub environments: Vec<Environment>,
    pub training: TrainingSummary,
    /// Tolerance of the data it was trained on.
    pub data_tolerance: Option<f64>,
    pub files: Vec<FileEntry>,
}

fn one() -> usize {
    1
}

impl Manifest {
    /// The shape of one sample's state.
    pub fn state_shape(&self) -> StateShape {
        StateShape::new(self.channels.len(), self.grid.as_ref())
    }

    /// The scale of each value of a state.
    pub fn scales_of_state(&self) -> Vec<ChannelScale> {
        scales_of_state(&self.scales, &self.state_shape())
    }
}

/// The scale of each value of a state `[C, ..]`, given one a channel.
pub fn scales_of_state(scales: &[ChannelScale], state: &StateShape) -> Vec<ChannelScale> {
    scales.iter().flat_map(|&scale| std::iter::repeat_n(scale, state.points())).collect()
}

/// Affine scaling of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelScale {
    pub centre: f64,
    pub scale: f64,
}

/// A training environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    pub id: String,
    /// Known parameters, in the order of the manifest's.
    pub parameters: Vec<Option<f64>>,
}

/// How the training went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrainingSummary {
    /// Steps done.
    pub steps: u64,
    /// Steps after which the kept weights stood.
    pub best_step: u64,
    /// Their mean squared error on the validation split, in the model's own units.
    pub validation: f64,
    pub stop_reason: StopReason,
    pub device: String,
    pub engine: String,
}

/// Why a training stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All steps are done.
    Completed,
    /// No new best on the validation split for as many looks as `patience` allows.
    NoImprovement,
    /// No Gauss-Newton step decreases the training loss any more.
    Stationary,
}
