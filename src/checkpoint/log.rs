//! The loss curve, as CSV.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::Error;

/// A line of the training log, written at each validation. Losses are mean squared errors in the model's own units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// Steps done.
    pub step: u64,
    /// Mean training loss (data term only) over the steps since the last record.
    pub train: f64,
    /// Loss on whole trajectories of the validation split; absent where it was not finite.
    pub validation: Option<f64>,
    /// Adam's learning rate at this step, by its schedule; Gauss-Newton steps do not use it.
    pub learning_rate: f64,
    /// Probability that a sample restarted the rollout.
    pub teacher_forcing: f64,
}

/// The bytes of a log file.
pub(super) fn to_bytes(records: &[LogRecord]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record).expect("numbers always serialise");
    }
    writer.into_inner().expect("writing to memory")
}

/// Reads a log file.
///
/// # Errors
/// If a line is not a record.
pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Vec<LogRecord>, Error> {
    csv::Reader::from_reader(bytes).deserialize().collect::<Result<_, _>>().map_err(|error| Error::Invalid {
        path: path.to_owned(),
        found: error.to_string(),
        expected: "a line a record: step, train, validation, learning_rate, teacher_forcing".to_owned(),
    })
}
