//! Adaptation rules: how shared weights and a context give the weights of an environment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which rule adapts the weights to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// CoDA with the sum of the row norms of `W` as locality penalty.
    CodaL1,
    /// CoDA with the squared norm of `W` as locality penalty.
    CodaL2,
    /// CoDA without a locality penalty.
    Coda,
}
