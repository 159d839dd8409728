//! Errors of generation.

use crate::problems::Problem;

use crate::schema::Split;
use crate::{dataset, solve};

/// Why a dataset was not generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings are invalid.
    #[error("the settings of generate cannot be run: {}", list(.0))]
    Invalid(Vec<Problem>),
    /// A trajectory could not be integrated.
    #[error("{split} {environment} trajectory {trajectory} (parameters {parameters:?}): {source}")]
    Integration {
        /// The split.
        split: Split,
        /// Id of the environment.
        environment: String,
        /// Id of the trajectory.
        trajectory: String,
        /// The environment's parameters `[d_p]`.
        parameters: Vec<f64>,
        /// The cause.
        source: Box<solve::Error>,
    },
    /// The dataset cannot be regenerated from its manifest.
    #[error(
        "dataset `{dataset}`: found {found}; expected a dataset that `generate` of this version made; only such a one can be regenerated"
    )]
    NotGenerated {
        /// Name of the dataset.
        dataset: String,
        /// What was found.
        found: String,
    },
    /// The dataset could not be written.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// A signal asked to stop. Trajectories of finished shards are kept beside the dataset's path.
    #[error("interrupted by signal {signal}; {}", match kept {
        0 => "no dataset was written".to_owned(),
        kept => format!("{kept} trajectories are kept, and the same command goes on from there"),
    })]
    Interrupted {
        /// Its number (2 for SIGINT, 15 for SIGTERM).
        signal: i32,
        /// Number of trajectories kept.
        kept: usize,
    },
}

pub(crate) fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
