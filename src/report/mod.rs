//! Plain results in, tables and pictures out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Row;
use crate::schema::Quantity;

/// `summary.json`: the figures of one run. `null` where a pipeline has no such figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub pipeline: String,
    /// Mean squared error on test trajectories of the training environments.
    pub mse_in_domain: Option<f64>,
    /// Mean squared error on test trajectories of adapted environments.
    pub mse_adaptation: Option<f64>,
    /// Mean absolute percentage error of the parameters (percent), environments in the convex hull of training.
    pub param_mape_in_hull: Option<f64>,
    pub param_mape_out_of_hull: Option<f64>,
    pub param_mape_overall: Option<f64>,
    /// Environments estimated.
    pub environments: usize,
    /// Environments in the hull and out of it, where that is known.
    pub environments_in_hull: Option<usize>,
    pub environments_out_of_hull: Option<usize>,
    /// Environments whose status is not `ok`.
    pub environments_failed: usize,
    /// Wall time by stage, seconds, of the run that last did the stage.
    pub seconds: BTreeMap<String, f64>,
    pub device: String,
    pub engine: String,
    pub threads: usize,
    pub seed: u64,
    /// Tolerance of the data; errors below it mean nothing.
    pub data_tolerance: Option<f64>,
    /// `affine` or `quadratic`.
    pub map: Option<String>,
    pub training_steps: u64,
    /// Mean squared error on the validation split of the chosen model.
    pub mse_validation: Option<f64>,
}

/// A training environment after training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingEnvironment {
    pub environment: String,
    /// Its context `[d_xi]`.
    pub context: Vec<f64>,
    /// Its known parameters `[d_p]`.
    pub parameters: Vec<Option<f64>>,
    /// What the map makes of its context `[d_p]`.
    pub mapped: Vec<f64>,
}

/// Truth and prediction of one trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Portrait {
    /// Environment and its parameters in words.
    pub title: String,
    /// `[T]`.
    pub times: Vec<f64>,
    /// `[T, C]`.
    pub truth: Vec<f64>,
    /// `[T, C]`.
    pub prediction: Vec<f64>,
}

/// One point of the loss curve. Losses are mean squared errors in the model's own (scaled) units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPoint {
    pub step: u64,
    pub train: f64,
    pub validation: Option<f64>,
}

/// One line of the comparison with published numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which of our figures it stands beside: a field name of [`Summary`].
    pub figure: String,
    pub value: f64,
    /// Method and publication.
    pub source: String,
}

/// All that a report shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub title: String,
    pub description: String,
    pub summary: Summary,
    pub time_unit: String,
    pub channels: Vec<Quantity>,
    pub parameters: Vec<Quantity>,
    pub training: Vec<TrainingEnvironment>,
    /// Estimated environments, in ascending order of their id.
    pub estimates: Vec<Row>,
    pub portraits: Vec<Portrait>,
    pub losses: Vec<LossPoint>,
    pub published: Vec<Published>,
    /// The effective pipeline, as TOML, for the reader who wants to know exactly.
    pub effective_pipeline: String,
}
