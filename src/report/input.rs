//! All that a report shows.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::Inferred;
use crate::estimate::physics::Profile;
use crate::estimate::{Evaluation, Frames, Geometry, Row};
use crate::regular;
use crate::schema;
use crate::schema::{Grid, Quantity, Split};

/// `summary.json`: the figures of one run. `null` where a pipeline has no such figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Name of the pipeline.
    pub pipeline: String,
    /// The figures of the estimation.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Wall time by stage, seconds, of the run that last did the stage.
    pub seconds: BTreeMap<String, f64>,
    /// The device that trained the model, such as `cuda:0`; `cpu` where nothing was trained.
    pub device: String,
    /// The engine that trained the model: `native` or `torch`; else `least squares on the equations`.
    pub engine: String,
    /// Worker threads of the estimation.
    pub threads: usize,
    /// The pipeline's seed.
    pub seed: u64,
    /// Tolerance of the data; errors below it mean nothing.
    pub data_tolerance: Option<f64>,
    /// `affine`, `quadratic`, or `power` and the powers it is of, such as `power (ln beta, delta^-2)`.
    pub map: Option<String>,
    /// Environments with known parameters from whose estimates the model's own error was learned, which the intervals contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated_on: Option<usize>,
    /// What known equations give of the state where the system starts, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Steps of the training; zero where nothing was trained.
    pub training_steps: u64,
    /// Mean squared error on the validation split of the chosen model.
    pub mse_validation: Option<f64>,
    /// Errors along trajectories that did not train the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors_over_time: Option<ErrorsOverTime>,
}

/// The mean squared error of a trained model at each time since the start of trajectories that did not train it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorsOverTime {
    /// The split that the trajectories are of: `test`, or `validation` where there is none.
    pub split: Split,
    /// The unit of the times.
    pub time_unit: String,
    /// Times since the start `[L]`.
    pub times: Vec<f64>,
    /// The mean over trajectories and channels, in the units of the data `[L]`.
    pub squared_errors: Vec<f64>,
}

impl ErrorsOverTime {
    /// At the times that have an error.
    pub(crate) fn new(frames: &Frames, time_unit: &str) -> Self {
        let all = frames.times.iter().zip(&frames.mean).filter(|(_, error)| error.is_finite());
        let (times, squared_errors) = all.map(|(t, error)| (*t, *error)).unzip();
        ErrorsOverTime { split: frames.split, time_unit: time_unit.to_owned(), times, squared_errors }
    }

    /// Times and errors.
    pub(crate) fn points(&self) -> Vec<(f64, f64)> {
        self.times.iter().copied().zip(self.squared_errors.iter().copied()).collect()
    }
}

impl Summary {
    /// The summary in the directory of a report; `None` where there is none that can be read.
    pub(crate) fn read(report: &Path) -> Option<Self> {
        serde_json::from_slice(&regular::read(&report.join("summary.json")).ok()?).ok()
    }
}

/// The figures of a summary as JSON: those of its fields that are no counts.
pub(crate) fn figures_of(summary: &Value) -> BTreeMap<String, f64> {
    let fields = summary.as_object().into_iter().flatten().filter(|(_, value)| value.is_f64());
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// A training environment after training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingEnvironment {
    /// Its id in the dataset.
    pub environment: String,
    /// Its context `[d_xi]`.
    pub context: Vec<f64>,
    /// Its known parameters `[d_p]`.
    pub parameters: Vec<Option<f64>>,
    /// What the map makes of its context `[d_p]`.
    pub mapped: Vec<f64>,
}

/// One term of the equations that a model consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The channel whose rate it is part of; `D` for the denominator.
    pub rate: String,
    /// What the coefficient multiplies.
    pub product: String,
    /// Its coefficient in each training environment, in the model's own (scaled) units.
    pub coefficients: Vec<f64>,
}

/// A fit by equations along a fine grid of times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// `[F]`.
    pub times: Vec<f64>,
    /// `[F, C + H]`: channels, then what nobody measures.
    pub values: Vec<f64>,
    /// Half the width of the band in which the trajectory lies with 95 % `[F, C + H]`; NaN where it is unknown.
    pub half_widths: Vec<f64>,
    /// Why, where any is unknown; else empty.
    pub unknown: String,
}

/// An amount that is given at once, or a reset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub time: f64,
    /// Index of the input that says so.
    pub input: usize,
    /// By how much it rises.
    pub amount: f64,
}

/// Truth and prediction of one trajectory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Portrait {
    /// Environment and its parameters in words.
    pub title: String,
    /// `[T]`.
    pub times: Vec<f64>,
    /// `[T, C]`, on a grid `[T, C, n_1, .., n_k]`.
    pub truth: Vec<f64>,
    /// As `truth`.
    pub prediction: Vec<f64>,
    /// What drives both `[T, U]`.
    pub inputs: Vec<f64>,
    /// The fit between the samples; none by a trained model.
    pub fit: Option<Fit>,
    /// Standardised residuals `[T, C]`, NaN where there is none; empty by a trained model.
    pub residuals: Vec<f64>,
    /// Which values `[T, C]` lie below their limit of quantification; empty where none does.
    pub below: Vec<bool>,
    /// Amounts and resets.
    pub events: Vec<Event>,
    /// Its letter, and where it stands, on the map of two parameters.
    pub letter: Option<(char, [f64; 2])>,
}

/// An environment with all its trajectories, beside its fit by equations.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedEnvironment {
    /// Its id.
    pub environment: String,
    /// How its fit ended, in words.
    pub status: String,
    /// Each with its id as title.
    pub trajectories: Vec<Portrait>,
}

/// A visual predictive check of one channel: quantiles of the data beside those of simulations from the fits.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictiveCheck {
    /// Index of the channel.
    pub channel: usize,
    /// How often every trajectory was simulated.
    pub replicates: usize,
    /// For how many draws of its parameters at least, in environments that have any.
    pub draws: usize,
    /// Environments of which some parameter or start, or all, were not drawn, as their errors are unknown.
    pub held: usize,
    /// In the order of time.
    pub bins: Vec<CheckBin>,
}

/// One stretch of time of a check. Quantiles are those of 5, 50 and 95 %.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckBin {
    /// The median time of its values.
    pub time: f64,
    /// Number of observed values.
    pub count: usize,
    /// Quantiles of the observed values.
    pub observed: [f64; 3],
    /// Of the same quantile in each simulation the quantiles of 2.5, 50 and 97.5 %.
    pub simulated: [[f64; 3]; 3],
}

/// A parameter of one trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnEstimate {
    /// Id of the environment.
    pub environment: String,
    /// Id of the trajectory in it.
    pub trajectory: String,
    /// Index of the parameter among those of trajectories.
    pub parameter: usize,
    /// Estimate; NaN where the data do not determine it.
    pub value: f64,
    /// Ends of the 95 % interval; NaN where there is none.
    pub lower: f64,
    /// See `lower`.
    pub upper: f64,
}

/// What lies around the estimate of one environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// The environment in words.
    pub title: String,
    /// `-2 log L` where each start ended, less that of the best, ascending; infinite where a start led nowhere.
    pub costs: Vec<f64>,
    /// The profile of each parameter; empty where none was asked for.
    pub profiles: Vec<Profile>,
}

/// What is drawn of a trained model beside its estimates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// Whether its environments own weights, or nothing, in place of contexts, so that no parameters are read off them.
    pub owns_weights: bool,
    /// Errors along trajectories that it did not see.
    pub frames: Option<Frames>,
    /// The losses of the training environments around it, where they are asked for.
    pub geometry: Option<Geometry>,
    /// Which trajectories its environments have, where training inferred it.
    pub inferred: Option<Inferred>,
}

/// One point of the loss curve. Losses are mean squared errors in the model's own (scaled) units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPoint {
    /// Steps done.
    pub step: u64,
    /// Mean training loss since the previous point.
    pub train: f64,
    /// Mean squared error on the validation split; absent where it was not finite.
    pub validation: Option<f64>,
}

/// One line of the comparison with published numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which of our figures it stands beside: a field name of [`Summary`].
    pub figure: String,
    /// The published value, in the unit of our figure.
    pub value: f64,
    /// Method and publication.
    pub source: String,
}

/// All that a report shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Heading of the report.
    pub title: String,
    /// What the pipeline is about, in the words of its file; may be empty.
    pub description: String,
    /// The figures of the run.
    pub summary: Summary,
    /// Unit of time.
    pub time_unit: String,
    /// The channels of a state `[C]`, with their units.
    pub channels: Vec<Quantity>,
    /// Known signals that drive the system `[U]`; may be empty.
    pub inputs: Vec<schema::Input>,
    /// What the equations compute and nobody measures `[H]`, states and outputs; may be empty.
    pub hidden: Vec<Quantity>,
    /// Where each channel is a field; none where there is no space.
    pub grid: Option<Grid>,
    /// The estimated parameters `[d_p]`, with their units.
    pub parameters: Vec<Quantity>,
    /// Training environments; none where known equations estimate.
    pub training: Vec<TrainingEnvironment>,
    /// What is drawn of the model; nothing where known equations estimate.
    pub learned: Learned,
    /// The equations of a library of products; empty for other models.
    pub terms: Vec<Term>,
    /// These equations as the text of a system file, or why they cannot be written as one; absent for other models.
    pub system: Option<Result<String, String>>,
    /// Estimated environments, in ascending order of their id; of very many only some, and then `summary` counts more.
    pub estimates: Vec<Row>,
    /// Parameters of which each trajectory has a value of its own; may be empty.
    pub own_parameters: Vec<Quantity>,
    /// Their estimates, by environment and trajectory; of very many environments only some.
    pub of_trajectories: Vec<OwnEstimate>,
    /// Trajectories beside their predictions.
    pub portraits: Vec<Portrait>,
    /// Environments that are drawn with all their trajectories; none by a trained model.
    pub fits: Vec<FittedEnvironment>,
    /// A check of each channel by simulations from these fits.
    pub checks: Vec<PredictiveCheck>,
    /// What lies around the estimates of a few environments.
    pub surroundings: Vec<Surroundings>,
    /// Whether the initial states of their predictions were fitted with the parameters.
    pub initial_states_fitted: bool,
    /// The loss curve, in the order of the steps; empty where nothing was trained.
    pub losses: Vec<LossPoint>,
    /// Published numbers to compare with.
    pub published: Vec<Published>,
    /// What could not be gathered for this report and why, such as the trajectories of an environment.
    pub undrawn: Vec<String>,
    /// The effective pipeline, as TOML, for the reader who wants to know exactly.
    pub effective_pipeline: String,
}

impl Input {
    /// The parameters that were estimated: none by a model whose environments have no context.
    pub(crate) fn estimated(&self) -> &[Quantity] {
        if self.learned.owns_weights { &[] } else { &self.parameters }
    }

    /// Whether `estimates` are only some of the environments.
    pub(crate) fn is_thinned(&self) -> bool {
        self.estimates.len() < self.summary.evaluation.environments
    }
}
