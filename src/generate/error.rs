//! Why nothing was generated.

use crate::problems::Problem;

use crate::schema::Split;
use crate::{dataset, solve};

/// Why a dataset was not generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings cannot be run.
    #[error("the settings of generate cannot be run: {}", list(.0))]
    Invalid(Vec<Problem>),
    /// A trajectory could not be integrated.
    #[error("{split} {environment} trajectory {trajectory} (parameters {parameters:?}): {source}")]
    Integration {
        split: Split,
        environment: String,
        trajectory: String,
        parameters: Vec<f64>,
        source: Box<solve::Error>,
    },
    /// The dataset cannot be made again from its manifest.
    #[error(
        "dataset `{dataset}`: found {found}; expected one that `generate` of this version made, which alone can be made again"
    )]
    NotGenerated { dataset: String, found: String },
    /// The dataset could not be written.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// A signal asked to stop. The trajectories of finished shards are kept beside the place of the dataset, if there are any.
    #[error("interrupted by signal {signal}; {}", match kept {
        0 => "no dataset was written".to_owned(),
        kept => format!("{kept} trajectories are kept, and the same command goes on from there"),
    })]
    Interrupted { signal: i32, kept: usize },
}

pub(crate) fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
