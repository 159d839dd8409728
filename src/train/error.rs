//! Why a training ends without a model.

use std::path::{Path, PathBuf};

use crate::engine::ComputeError;
use crate::problems::Problem;
use crate::schema::Split;
use crate::{checkpoint, dataset};

/// Why a training ended without a model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    #[error(transparent)]
    Compute(#[from] ComputeError),
    #[error("{dataset}: found no {split} split; expected one to {purpose}")]
    MissingSplit { dataset: PathBuf, split: Split, purpose: &'static str },
    #[error("{dataset}: {split} split: found environments {found:?}; expected only those of the train split")]
    UnknownEnvironments { dataset: PathBuf, split: Split, found: Vec<String> },
    #[error("{dataset}: found no parameters to take the context dimension from; set train.context_dimension")]
    NoContextDimension { dataset: PathBuf },
    #[error(
        "the loss at step {step} is not finite; {}; lower train.learning_rate or train.gradient_clip",
        last_good(.checkpoint.as_deref())
    )]
    Diverged { step: u64, checkpoint: Option<PathBuf> },
    #[error(
        "after {steps} steps no look at the validation split was finite; train longer, lower train.learning_rate, or \
         raise train.teacher_forcing.start"
    )]
    NothingGood { steps: u64 },
    #[error(
        "Gauss-Newton would have {found} residuals, and train.gauss_newton.residual_limit is {expected}: its cost grows \
         with their cube; set train.gauss_newton.trajectories_per_environment to fit fewer, raise the limit, or set \
         train.gauss_newton.steps = 0"
    )]
    TooManyResiduals { found: usize, expected: usize },
    #[error(
        "{dataset}: contexts are tied to parameters, but {found}; set train.contexts = \"learned\", or give the parameters"
    )]
    NotTied { dataset: PathBuf, found: String },
    #[error(
        "{dataset}: {quantity} has values so large that their standard deviation is not a finite number; \
         correct the data, or give it in a larger unit"
    )]
    TooLarge { dataset: PathBuf, quantity: String },
    #[error(
        "{dataset}: {split} split: environments {found:?} have no trajectory to start in; expected one with a complete \
         sample that another follows; give the missing cells, or leave these environments out"
    )]
    NoStart { dataset: PathBuf, split: Split, found: Vec<String> },
    #[error("{dataset}: train.model is for {expected}; found {found}; choose another of `paramill list models`")]
    UnsuitableModel { dataset: PathBuf, found: String, expected: &'static str },
    #[error(
        "train.adapted_layers: found {found}; expected {expected}; leave it out, or choose another rule of `paramill list rules`"
    )]
    UnsuitableRule { found: String, expected: &'static str },
    #[error("{}", .0.iter().map(|problem| format!("train.{problem}")).collect::<Vec<_>>().join("\n"))]
    Weights(Vec<Problem>),
    #[error("interrupted at step {step}; the state is saved in {}, and the same command goes on from there", .checkpoint.display())]
    Interrupted { signal: i32, step: u64, checkpoint: PathBuf },
}

fn last_good(checkpoint: Option<&Path>) -> String {
    checkpoint.map_or_else(
        || "no checkpoint had been written before".to_owned(),
        |checkpoint| format!("the last good checkpoint is {}", checkpoint.display()),
    )
}
