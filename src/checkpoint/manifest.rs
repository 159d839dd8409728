//! `manifest.json` of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inferred::Inferred;
use super::observed::ObservedChannel;
use crate::dataset::{FileEntry, Provenance};
use crate::engine::MOST_SUBSTEPS;
use crate::rules::MOST_DIMENSIONS;
use crate::schema::{Between, FormatVersion, Grid, Input, Quantity, StateShape, Trajectory};
use crate::{engine, models, rules};

/// What a model is, how it was made, and what it was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Format version of the model.
    pub format: FormatVersion,
    /// Always `model`.
    pub kind: String,
    /// Name of the model, that of its directory.
    pub name: String,
    /// Licence of the data that it was trained on: an SPDX expression or `unknown`; absent in models before format 2.3.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub license: String,
    /// What made it: tool, settings, seed and parents.
    pub provenance: Provenance,
    /// The network and its size.
    pub model: models::Settings,
    /// How an environment's weights follow from the shared ones and its context.
    pub rule: rules::Kind,
    /// Layers whose weights depend on the context.
    pub adapted_layers: models::AdaptedLayers,
    /// Length of the step of gradient descent that adapts the weights; absent for rules without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub inner_rate: Option<f64>,
    /// Method that integrates the model from sample to sample.
    pub solver: engine::Solver,
    /// Steps of the solver from sample to sample.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MOST_SUBSTEPS))]
    pub substeps: usize,
    /// Arithmetic of rollouts and gradients.
    pub precision: engine::Precision,
    /// `d`, values of a context; 0 where environments own weights in its place, or nothing.
    #[schemars(range(max = MOST_DIMENSIONS))]
    pub context_dimension: usize,
    /// Unit of time of the dataset, which rates are per.
    pub time_unit: String,
    /// The channels of a state `[C]`, with their units.
    pub channels: Vec<Quantity>,
    /// The spatial grid, where channels are fields; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// Known signals that act on the system; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The parameters to estimate `[d_p]`, with their units.
    pub parameters: Vec<Quantity>,
    /// Scaling of each channel `[C]`: the model sees `(value - centre) / scale`.
    pub scales: Vec<ChannelScale>,
    /// Scaling and training range of each input `[U]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_scales: Vec<InputScale>,
    /// Range, motion and error of each channel in training `[C]`; absent in a model of format 2.0, for which new
    /// environments are not compared with the training data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedChannel>,
    /// Weight of each channel in the loss `[C]`, with mean one; absent where all are equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// The training environments, in the order of the contexts.
    pub environments: Vec<Environment>,
    /// Which trajectories these have, where training inferred it; absent where they are those of the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred: Option<Inferred>,
    /// How the training went.
    pub training: TrainingSummary,
    /// Tolerance of the data it was trained on (the solver's `rtol`); absent where it is unknown, as for measurements.
    #[schemars(range(min = 0))]
    pub data_tolerance: Option<f64>,
    /// The other files of the directory but the card, with size and SHA-256.
    pub files: Vec<FileEntry>,
    /// The card, `README.md`; absent in models before format 2.3, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<FileEntry>,
}

fn one() -> usize {
    1
}

impl Manifest {
    /// The shape of one sample's state.
    pub fn state_shape(&self) -> StateShape {
        StateShape::new(self.channels.len(), self.grid.as_ref())
    }

    /// The model's own units.
    pub fn units(&self) -> Units {
        Units::new(&self.scales, &self.state_shape(), &self.input_scales, &self.inputs)
    }
}

/// The scaling between a model's own units and the dataset's, and how its inputs run between samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Scaling of each value of a state: channels times grid points.
    pub state: Vec<ChannelScale>,
    /// `[U]`.
    pub inputs: Vec<ChannelScale>,
    /// `[U]`.
    pub between: Vec<Between>,
}

impl Units {
    /// From the scaling of each channel `[C]` and of each input `[U]`.
    pub fn new(scales: &[ChannelScale], state: &StateShape, of_inputs: &[InputScale], inputs: &[Input]) -> Self {
        Units {
            state: scales.iter().flat_map(|&scale| std::iter::repeat_n(scale, state.points())).collect(),
            inputs: of_inputs.iter().map(|input| input.scale).collect(),
            between: inputs.iter().map(|input| input.between).collect(),
        }
    }

    /// Converts a trajectory from the dataset's units to the model's own.
    ///
    /// # Panics
    /// If its inputs are not as many as these.
    pub fn scale(&self, trajectory: &mut Trajectory) {
        self.convert(trajectory, ChannelScale::scaled);
    }

    /// Converts a trajectory from the model's own units to the dataset's.
    ///
    /// # Panics
    /// If its inputs are not as many as these.
    pub fn unscale(&self, trajectory: &mut Trajectory) {
        self.convert(trajectory, ChannelScale::unscaled);
    }

    fn convert(&self, trajectory: &mut Trajectory, converted: fn(ChannelScale, f64) -> f64) {
        let samples = trajectory.len();
        assert_eq!(trajectory.inputs.len(), samples * self.inputs.len(), "inputs of a trajectory and a model disagree");
        for (values, scales) in [(&mut trajectory.states, &self.state), (&mut trajectory.inputs, &self.inputs)] {
            for sample in values.chunks_exact_mut(scales.len().max(1)) {
                sample.iter_mut().zip(scales).for_each(|(value, scale)| *value = converted(*scale, *value));
            }
        }
    }
}

/// Affine scaling of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelScale {
    /// Value that becomes zero, in the unit of the channel.
    pub centre: f64,
    /// Difference that becomes one, in the unit of the channel; above zero.
    pub scale: f64,
}

/// Affine scaling of an input, and its range over the training split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputScale {
    /// Centre and scale of the input.
    #[serde(flatten)]
    pub scale: ChannelScale,
    /// Least value over the training split, in the unit of the input.
    pub least: f64,
    /// Greatest value over the training split, in the unit of the input.
    pub greatest: f64,
}

impl ChannelScale {
    /// A value in the model's own units.
    pub fn scaled(self, value: f64) -> f64 {
        (value - self.centre) / self.scale
    }

    /// A value of the model's own units in those of the dataset.
    pub fn unscaled(self, value: f64) -> f64 {
        value * self.scale + self.centre
    }
}

/// A training environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Its id in the dataset.
    pub id: String,
    /// Known parameters, in the order of the manifest's.
    pub parameters: Vec<Option<f64>>,
}

/// How the training went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrainingSummary {
    /// Steps done.
    pub steps: u64,
    /// Step at which the kept weights were reached.
    pub best_step: u64,
    /// Their mean squared error on the validation split, in the model's own units.
    pub validation: f64,
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Device it ran on: `cpu`, `cuda:0`.
    pub device: String,
    /// Engine it ran on: `native` or `torch`.
    pub engine: String,
}

/// Why a training stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All steps are done.
    Completed,
    /// No new best on the validation split for as many validations as `patience` allows.
    NoImprovement,
    /// No Gauss-Newton step decreases the training loss any more.
    Stationary,
}
