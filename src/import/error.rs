//! Why an import made no dataset.

use crate::dataset;
use crate::problems::Problem;

/// Why an import made no dataset.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings contradict themselves or the data; nothing was written.
    #[error("{}", lines(.0))]
    Settings(Vec<Problem>),
    /// The source files have problems; nothing was written.
    #[error("{}", lines(.0))]
    Data(Vec<Problem>),
    /// A signal asked to stop; nothing was written.
    #[error("interrupted by signal {signal}; nothing was written")]
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// The dataset could not be written.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
