//! Errors of datasets on disk.

use std::path::{Path, PathBuf};

use crate::atomic;
use crate::progress::Run;
use crate::schema::{Split, Trajectory};
use crate::seal;

/// An error of reading or writing a dataset.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The manifest is not the JSON of a dataset manifest.
    #[error("{path}:{line}:{column}: {found}; expected the manifest of a dataset")]
    Json {
        /// The file or directory.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was found.
        found: String,
    },
    /// Something in a file or directory is invalid.
    #[error("{path}: {found}; expected {expected}")]
    Invalid {
        /// The file or directory.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Several things are invalid, a sentence each.
    #[error("{path}: {}", problems.join("; "))]
    Problems {
        /// The file or directory.
        path: PathBuf,
        /// A sentence each.
        problems: Vec<String>,
    },
    /// A file was changed or damaged after the dataset was written.
    #[error(
        "{path}: SHA-256 is {found}; expected {expected} as the manifest states: restore the file, or make the dataset again by forcing the stage `generate` or `import`"
    )]
    Digest {
        /// The file or directory.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A trajectory breaks a rule of the format.
    #[error("{path}: split `{split}`, environment `{environment}`, trajectory `{trajectory}`: {}", problems.join("; "))]
    Trajectory {
        /// The file or directory.
        path: PathBuf,
        /// The split.
        split: Split,
        /// Id of the environment.
        environment: String,
        /// Id of the trajectory.
        trajectory: String,
        /// A sentence each.
        problems: Vec<String>,
    },
    /// A signal asked to stop.
    #[error("interrupted by signal {signal}; nothing was written")]
    Interrupted {
        /// Its number (2 for SIGINT, 15 for SIGTERM).
        signal: i32,
    },
    /// The HDF5 library reports an error.
    #[error("{path}: HDF5: {source}")]
    Hdf5 {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: hdf5_metno::Error,
    },
    /// The Parquet library reports an error.
    #[error("{path}: Parquet: {source}")]
    Parquet {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: parquet::errors::ParquetError,
    },
}

impl From<seal::Error> for Error {
    fn from(error: seal::Error) -> Self {
        match error {
            seal::Error::Io { path, source } => Error::Io { path, source },
            seal::Error::Invalid { path, found, expected } => Error::Invalid { path, found, expected },
        }
    }
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io { path: path.to_owned(), source }
    }

    pub(crate) fn hdf5(path: &Path) -> impl FnOnce(hdf5_metno::Error) -> Error {
        move |source| Error::Hdf5 { path: path.to_owned(), source }
    }

    /// An error of a library that cannot write a file.
    pub(crate) fn unwritten<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Error {
        move |error| Error::io(path)(atomic::unwritten(error))
    }

    pub(crate) fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Error {
        move |source| Error::Parquet { path: path.to_owned(), source }
    }

    pub(crate) fn invalid(path: &Path, found: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Invalid { path: path.to_owned(), found: found.into(), expected: expected.into() }
    }

    /// The request to stop as an error, if there is one.
    pub(crate) fn interrupt(run: &Run) -> Result<(), Error> {
        run.interrupt.requested().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }))
    }

    /// The problems as an error, if there are any.
    pub(crate) fn problems(path: &Path, problems: Vec<String>) -> Result<(), Error> {
        if problems.is_empty() { Ok(()) } else { Err(Error::Problems { path: path.to_owned(), problems }) }
    }

    /// The problems of one trajectory as an error, if there are any.
    pub(crate) fn trajectory(
        path: &Path,
        split: Split,
        trajectory: &Trajectory,
        problems: Vec<String>,
    ) -> Result<(), Error> {
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::Trajectory {
            path: path.to_owned(),
            split,
            environment: trajectory.environment.clone(),
            trajectory: trajectory.trajectory.clone(),
            problems,
        })
    }
}
