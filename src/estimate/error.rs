//! Errors of the estimation.

use std::path::PathBuf;

use crate::engine::ComputeError;
use crate::problems::Problem;
use crate::{checkpoint, dataset};

/// Why there are no estimates, or no forecast.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    #[error(transparent)]
    Compute(#[from] ComputeError),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: found {found}; expected {expected}")]
    Invalid { path: PathBuf, found: String, expected: String },
    #[error(
        "the {kind} map has {expected} terms, but only {found} training environments have known parameters; \
         add environments, or lower train.context_dimension"
    )]
    TooFewForMap { kind: &'static str, expected: usize, found: usize },
    #[error("{}: the dataset has {found}, but the model was trained on {expected}", .dataset.display())]
    OtherQuantities { dataset: PathBuf, found: String, expected: String },
    #[error("{}: found none of the splits that estimate.splits names ({expected}); generate one of them, or name the environments to estimate in import.splits.adapt ([\"*\"] for all)", .dataset.display())]
    NoSplit { dataset: PathBuf, expected: String },
    #[error("estimate.bounds: found the parameter `{found}`; the dataset has {expected}")]
    UnknownParameter { found: String, expected: String },
    #[error("estimate.fitted: the dataset holds fields, whose fitted trajectories are not written; leave it out")]
    FittedFields,
    #[error(
        "estimate.initial_state = \"estimated\": the dataset holds fields, whose initial states have too many values; leave it out"
    )]
    EstimatedFields,
    #[error(
        "the forecast is not finite from time {time} on; start nearer to the training data, or look less far ahead"
    )]
    DivergedForecast { time: f64 },
    #[error("estimate.bounds.{name}: found min {min} above max {max}; expected the smaller one as min")]
    ReversedBounds { name: String, min: f64, max: f64 },
    #[error(
        "found the parameter or channel that makes the column `{column}`, which the table of estimates has already; rename it"
    )]
    RepeatedColumn { column: String },
    #[error("found {found}; expected {expected}")]
    Unpredictable { found: String, expected: String },
    #[error("{}", .0.iter().map(|problem| format!("estimate.physics.{problem}")).collect::<Vec<_>>().join("\n"))]
    Physics(Vec<Problem>),
    #[error("interrupted; the estimates are made again from their beginning by the same command")]
    Interrupted { signal: i32 },
}
