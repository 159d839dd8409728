//! A known signal that drives simulated trajectories, as `[[generate.signals]]` says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::Between;
use crate::signals::Signal;

/// A signal that is the same for every trajectory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// The input of the system that it is.
    pub input: String,
    /// Ascending times at which it is known. Before the first and after the last it keeps the nearest value.
    #[schemars(length(min = 1, max = 10_000))]
    pub times: Vec<f64>,
    /// Its value at each of them.
    pub values: Vec<f64>,
    /// What it is between them: `hold`, the value before, or `linear`, on a straight line.
    #[serde(default = "hold")]
    pub between: Between,
}

impl Course {
    /// The signal.
    pub(crate) fn signal(&self) -> Signal {
        Signal { times: self.times.clone(), values: self.values.clone(), between: self.between }
    }
}

fn hold() -> Between {
    Between::Hold
}
