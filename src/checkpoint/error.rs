//! Why a model cannot be read or written.

use std::path::{Path, PathBuf};

use crate::seal;

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
