//! Errors of a report.

use std::path::PathBuf;

/// An error of drawing or writing a report.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields say in their names what the messages show")]
pub enum Error {
    /// The report cannot be written.
    #[error("{path}: {source}; check that the place is writable and has room")]
    Io { path: PathBuf, source: std::io::Error },
    /// A file of the report cannot be made.
    #[error("{file} of the report cannot be made: {problem}")]
    Format { file: String, problem: String },
}
