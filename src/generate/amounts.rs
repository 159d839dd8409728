//! Amounts that are given at once, as `[[generate.doses]]` says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Amounts that are given to every trajectory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// The input of the system by which they are given: of its `doses`, its `reset`, or an `interval` of a steady state.
    pub input: String,
    /// Time of the first one.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub time: f64,
    /// How much is given each time; 1 of a reset, and of a steady state its interval.
    #[schemars(range(min = 0))]
    pub amount: f64,
    /// How many there are.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10_000))]
    pub count: usize,
    /// Time from each to the next; needed where there is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub interval: Option<f64>,
}

fn once() -> usize {
    1
}
