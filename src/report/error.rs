//! Errors of a report.

use std::path::PathBuf;

/// An error of drawing or writing a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}; check that the place is writable and has room")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{file} of the report cannot be made: {problem}")]
    Format { file: String, problem: String },
}
