//! Why a training ends without a model.

use std::path::{Path, PathBuf};

use crate::engine::ComputeError;
use crate::problems::Problem;
use crate::schema::Split;
use crate::{checkpoint, dataset};

/// Why a training ended without a model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// The model or a checkpoint cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    /// A training has checkpoints, and none can be read.
    #[error(
        "{directory}: found {count} checkpoints and none that is as it was written; expected one to go on from; restore one, or remove \
         the directory, and training starts again"
    )]
    NoSoundCheckpoint {
        /// The checkpoints of the training.
        directory: PathBuf,
        /// How many they are.
        count: usize,
    },
    /// The device or the engine cannot compute the model.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// A split that training needs has no environments.
    #[error("{dataset}: found no {split} split; expected one to {purpose}")]
    MissingSplit {
        /// The dataset.
        dataset: PathBuf,
        /// The split.
        split: Split,
        /// What it is needed for.
        purpose: &'static str,
    },
    /// A split has environments that the train split lacks.
    #[error("{dataset}: {split} split: found environments {found:?}; expected only those of the train split")]
    UnknownEnvironments {
        /// The dataset.
        dataset: PathBuf,
        /// The split.
        split: Split,
        /// Their ids.
        found: Vec<String>,
    },
    /// No dimension is set, and the dataset has no parameters to count.
    #[error("{dataset}: found no parameters to take the context dimension from; set train.context_dimension")]
    NoContextDimension {
        /// The dataset.
        dataset: PathBuf,
    },
    /// The training loss is not finite.
    #[error(
        "the loss at step {step} is not finite; {}; lower train.learning_rate, train.gradient_clip, or of a rule that adapts by gradient steps train.inner_rate",
        last_good(.checkpoint.as_deref())
    )]
    Diverged {
        /// Step at which it was found.
        step: u64,
        /// The last good checkpoint; none where none was written.
        checkpoint: Option<PathBuf>,
    },
    /// No validation loss was ever finite.
    #[error(
        "after {steps} steps no look at the validation split was finite; train longer, lower train.learning_rate, or \
         raise train.teacher_forcing.start; without Adam, fit shorter segments at first: train.gauss_newton.first_segment = 1"
    )]
    NothingGood {
        /// Steps done.
        steps: u64,
    },
    /// Neither Adam nor Gauss-Newton is asked for.
    #[error("train.steps and train.gauss_newton.steps are both 0: nothing is trained; set one of them to 1 or more")]
    NoSteps,
    /// Contexts cannot be tied to parameters.
    #[error(
        "{dataset}: contexts are tied to parameters, but {found}; set train.contexts = \"learned\", or give the parameters"
    )]
    NotTied {
        /// The dataset.
        dataset: PathBuf,
        /// What is in the way.
        found: String,
    },
    /// The model to start from has other weights.
    #[error(
        "train.warm_start: found the model {model}, made by others ({}); expected the same; set them back, or leave warm_start out and train from nothing",
        differences.join("; ")
    )]
    OtherStart {
        /// The model.
        model: String,
        /// What differs, a phrase each: then and now.
        differences: Vec<String>,
    },
    /// A channel or an input cannot be scaled.
    #[error(
        "{dataset}: {quantity} has values so large that their standard deviation is not a finite number; \
         correct the data, or give it in a larger unit"
    )]
    TooLarge {
        /// The dataset.
        dataset: PathBuf,
        /// The channel or input.
        quantity: String,
    },
    /// Environments without a complete sample that another follows.
    #[error(
        "{dataset}: {split} split: environments {found:?} have no trajectory to start in; expected one with a complete \
         sample that another follows; give the missing cells, or leave these environments out"
    )]
    NoStart {
        /// The dataset.
        dataset: PathBuf,
        /// The split.
        split: Split,
        /// Their ids.
        found: Vec<String>,
    },
    /// The model does not suit the dataset's states or inputs.
    #[error("{dataset}: train.{problem}")]
    UnsuitableModel {
        /// The dataset.
        dataset: PathBuf,
        /// What is wrong with it.
        problem: Box<Problem>,
    },
    /// The rule cannot adapt that model, or the layers asked for.
    #[error(
        "train.{setting}: found {found}; expected {expected}; leave it out, or choose another rule of `paramill list rules`"
    )]
    UnsuitableRule {
        /// Key of `[train]`.
        setting: &'static str,
        /// What was found.
        found: String,
        /// What was expected, and why.
        expected: &'static str,
    },
    /// Everything wrong with settings that the data or other settings contradict.
    #[error("{}", .0.iter().map(|problem| format!("train.{problem}")).collect::<Vec<_>>().join("\n"))]
    Settings(Vec<Problem>),
    /// A signal asked to stop.
    #[error("interrupted at step {step}; the state is saved in {}, and the same command goes on from there", .checkpoint.display())]
    Interrupted {
        /// Number of the signal, such as 2 for SIGINT.
        signal: i32,
        /// Steps done.
        step: u64,
        /// Checkpoint that training resumes from.
        checkpoint: PathBuf,
    },
}

fn last_good(checkpoint: Option<&Path>) -> String {
    checkpoint.map_or_else(
        || "no checkpoint had been written before".to_owned(),
        |checkpoint| format!("the last good checkpoint is {}", checkpoint.display()),
    )
}
