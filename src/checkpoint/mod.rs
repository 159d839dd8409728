//! The model store: weights, contexts, training state and the context-to-parameter map, complete or absent.
//!
//! ```text
//! models/NAME/
//!   manifest.json          what it is, what made it, a SHA-256 per file
//!   weights.safetensors    shared weights by name and the training contexts, F64
//!   training-log.csv       the loss curve
//!   map.json               the context-to-parameter map, once it is fitted
//! models/NAME.training/FINGERPRINT/step-000001000/
//!                          the state of an unfinished training
//! ```

use std::path::{Path, PathBuf};

mod log;
mod manifest;
mod map;
mod model;
mod observed;
mod tensors;
mod training;

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
}

fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |source| Error::Io { path: path.to_owned(), source }
}
