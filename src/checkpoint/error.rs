//! Why a model cannot be read or written.

use std::path::{Path, PathBuf};

use crate::seal;

/// Why a model on disk cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Its error.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: found {found}; expected {expected}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected, and what to do about it.
        expected: String,
    },
    /// Several things are wrong with a file.
    #[error("{path}: {}", problems.join("; "))]
    Problems {
        /// The file.
        path: PathBuf,
        /// What is wrong, a sentence each.
        problems: Vec<String>,
    },
}

impl Error {
    /// The problems as an error, if there are any.
    pub(crate) fn problems(path: &Path, problems: Vec<String>) -> Result<(), Error> {
        if problems.is_empty() { Ok(()) } else { Err(Error::Problems { path: path.to_owned(), problems }) }
    }

    /// A line for each thing that is wrong.
    pub(crate) fn lines(self) -> Vec<String> {
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

pub(crate) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |source| Error::Io { path: path.to_owned(), source }
}
