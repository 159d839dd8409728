//! The model store: weights, contexts, training state and the context-to-parameter map, complete or absent.
//!
//! ```text
//! models/NAME/
//!   manifest.json          what it is, what made it, a SHA-256 per file
//!   SHA256SUMS             that of the manifest
//!   weights.safetensors    shared weights by name and the training contexts, F64
//!   training-log.csv       the loss curve
//!   map.json               the context-to-parameter map, once it is fitted
//! models/NAME.training/FINGERPRINT/step-000001000/
//!                          the state of an unfinished training, sealed in the same way
//! ```

mod log;
mod observed;
mod manifest;
mod map;
mod tensors;
mod model;
mod validate;
mod training;

use std::path::{Path, PathBuf};

use crate::seal;

pub use log::LogRecord;
pub use manifest::{ChannelScale, Environment, InputScale, Manifest, StopReason, TrainingSummary, Units};
pub use map::{LeaveOneOut, MapKind, MapResidual, ParameterMap};
pub use model::{MAP_FILE, StoredModel, verify};
pub use observed::{Motion, ObservedChannel};
pub use training::{Best, TrainingState, TrainingStore};

/// What goes wrong with a model on disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: found {found}; expected {expected}")]
    Invalid { path: PathBuf, found: String, expected: String },
    /// Several things are not as they must be: a sentence each.
    #[error("{path}: {}", problems.join("; "))]
    Problems { path: PathBuf, problems: Vec<String> },
}

impl Error {
    /// The problems as an error, if there are any.
    fn problems(path: &Path, problems: Vec<String>) -> Result<(), Error> {
        if problems.is_empty() { Ok(()) } else { Err(Error::Problems { path: path.to_owned(), problems }) }
    }

    /// A line for each thing that is wrong.
    fn lines(self) -> Vec<String> {
        match self {
            Error::Problems { path, problems } => {
                problems.into_iter().map(|problem| format!("{}: {problem}", path.display())).collect()
            }
            error => vec![error.to_string()],
        }
    }
}

impl From<seal::Error> for Error {
    fn from(error: seal::Error) -> Self {
        match error {
            seal::Error::Io { path, source } => Error::Io { path, source },
            seal::Error::Invalid { path, found, expected } => Error::Invalid { path, found, expected },
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |source| Error::Io { path: path.to_owned(), source }
}
