//! Solver and precision of rollouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::solve;
use crate::solve::Tableau;

/// Most steps of the solver from sample to sample.
pub const MOST_SUBSTEPS: usize = 64;

/// Fixed-step Runge-Kutta method that integrates from sample to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// The explicit Euler method, first order.
    Euler,
    /// The classical fourth-order method.
    Rk4,
    /// Kutta's 3/8 rule, fourth order.
    Rk38,
}

impl Solver {
    /// The tableau of `substeps` equal steps of this method.
    pub fn tableau(self, substeps: usize) -> Tableau {
        let one: &Tableau = match self {
            Solver::Euler => &solve::EULER,
            Solver::Rk4 => &solve::RK4,
            Solver::Rk38 => &solve::RK38,
        };
        one.repeated(substeps)
    }
}

/// Arithmetic of rollouts and gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}
