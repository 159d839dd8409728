//! The model store: weights, contexts, training state and the context-to-parameter map, each written atomically.
//!
//! ```text
//! models/NAME/
//!   manifest.json          what it is, what made it, a SHA-256 per file
//!   SHA256SUMS             that of the manifest
//!   README.md              the card: the same for people
//!   weights.safetensors    shared weights by name and the training contexts, F64
//!   training-log.csv       the loss curve
//!   map.json               the context-to-parameter map, once it is fitted
//! models/NAME.training/FINGERPRINT/step-000001000/
//!                          the state of an unfinished training, sealed in the same way
//! ```

mod error;
mod files;
mod log;
mod observed;
mod inferred;
mod manifest;
mod power;
mod model_error;
mod map;
mod tensors;
mod validate;
mod card;
mod model;
mod bundle;
mod equations;
mod sampling;
mod inverse;
mod rates;
mod system;
mod training;

pub use bundle::{Opened, is_bundle, name_of_bundle, pack, unpack};
pub use error::Error;
pub use files::{MAP_FILE, WEIGHTS_FILE};
pub use inferred::{Assigned, Inferred};
pub use log::LogRecord;
pub use manifest::{ChannelScale, Environment, InputScale, Manifest, StopReason, TrainingSummary, Units};
pub use map::{LeaveOneOut, MapKind, MapResidual, ParameterMap};
pub use model::{StoredModel, verify};
pub use model_error::{ModelError, ParameterError};
pub use observed::{Motion, ObservedChannel};
pub use power::Power;
pub use sampling::Sampling;
pub use training::{Best, Stage, TrainingState, TrainingStore, newest_step, trainings};
