//! Errors of the estimation.

use std::path::PathBuf;

use crate::engine::ComputeError;
use crate::problems::Problem;
use crate::{checkpoint, dataset};

/// Why there are no estimates, or no forecast.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// The model cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    /// The device or the engine cannot compute the model.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// Trajectories in memory are not as the model or the system needs them: a sentence each.
    #[error("{}", .0.join("\n"))]
    Trajectories(Vec<String>),
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Its error.
        source: std::io::Error,
    },
    /// A file or directory is not as it must be.
    #[error("{path}: found {found}; expected {expected}")]
    Invalid {
        /// The file or directory.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected, and what to do about it.
        expected: String,
    },
    /// There are fewer known environments than terms of the map.
    #[error(
        "the {kind} map has {expected} terms, but only {found} training environments have known parameters; \
         add environments, or lower train.context_dimension"
    )]
    TooFewForMap {
        /// Degree of the map: `affine` or `quadratic`.
        kind: &'static str,
        /// Terms of the map, the fewest environments that determine it.
        expected: usize,
        /// Training environments with known parameters whose contexts could be fitted.
        found: usize,
    },
    /// The quantities of the dataset are not those of the model.
    #[error("{}: the dataset has {found}, but the model was trained on {expected}", .dataset.display())]
    OtherQuantities {
        /// The dataset.
        dataset: PathBuf,
        /// What the dataset has.
        found: String,
        /// What the model was trained on.
        expected: String,
    },
    /// The dataset has none of the splits to estimate.
    #[error("{}: found none of the splits that estimate.splits names ({expected}); generate one of them, or name the environments to estimate in import.splits.adapt ([\"*\"] for all)", .dataset.display())]
    NoSplit {
        /// The dataset.
        dataset: PathBuf,
        /// The splits that the settings name.
        expected: String,
    },
    /// Bounds of a parameter that the dataset does not have.
    #[error("estimate.bounds: found the parameter `{found}`; the dataset has {expected}")]
    UnknownParameter {
        /// The parameter that has bounds.
        found: String,
        /// Parameters of the dataset.
        expected: String,
    },
    /// Fitted trajectories of fields are not written.
    #[error("estimate.fitted: the dataset holds fields, whose fitted trajectories are not written; leave it out")]
    FittedFields,
    /// A trained model has no profiles.
    #[error(
        "estimate.intervals = \"profile\": found `method = \"learned\"`; profiles are made with known equations (`method = \"physics\"`) alone; leave it out"
    )]
    LearnedProfiles,
    /// Initial states of fields are not estimated.
    #[error(
        "estimate.initial_state = \"estimated\": the dataset holds fields, whose initial states have too many values; leave it out"
    )]
    EstimatedFields,
    /// A forecast grows beyond all bounds.
    #[error(
        "the forecast is not finite from time {time} on; start nearer to the training data, or look less far ahead"
    )]
    DivergedForecast {
        /// First time at which a value is not finite, in the dataset's unit.
        time: f64,
    },
    /// A lower bound above the upper one.
    #[error("estimate.bounds.{name}: found min {min} above max {max}; expected the smaller one as min")]
    ReversedBounds {
        /// The parameter.
        name: String,
        /// The lower bound.
        min: f64,
        /// The upper bound.
        max: f64,
    },
    /// Two columns of the table would have the same name.
    #[error(
        "found the column `{column}` of the table of estimates twice: {first} and {second} make it; rename one of them"
    )]
    RepeatedColumn {
        /// Name of the column.
        column: String,
        /// What makes it, in words.
        first: String,
        /// What makes it again.
        second: String,
    },
    /// A forecast that was asked for cannot be made.
    #[error("found {found}; expected {expected}")]
    Unpredictable {
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Equations, settings and dataset disagree.
    #[error("{}", .0.iter().map(|problem| format!("estimate.physics.{problem}")).collect::<Vec<_>>().join("\n"))]
    Physics(Vec<Problem>),
    /// What is said of noise, limits or priors disagrees with the dataset, or with itself.
    #[error("{}", .0.iter().map(|problem| format!("estimate.{problem}")).collect::<Vec<_>>().join("\n"))]
    Settings(Vec<Problem>),
    /// A signal asked to stop.
    #[error("interrupted; finished blocks are kept, and the same command goes on behind them")]
    Interrupted {
        /// Number of the signal, such as 2 for SIGINT.
        signal: i32,
    },
}
