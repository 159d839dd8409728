//! How rollouts are computed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::solve::{self, Tableau};

/// Fixed-step method, one step from sample to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    Euler,
    /// The classical fourth-order method.
    Rk4,
    /// Kutta's 3/8 rule, fourth order.
    Rk38,
    /// Dormand and Prince's fifth-order method with a fixed step, six stages.
    Dopri5,
    Dop853,
}

impl Solver {
    pub fn tableau(self) -> &'static Tableau {
        match self {
            Solver::Euler => &solve::EULER,
            Solver::Rk4 => &solve::RK4,
            Solver::Rk38 => &solve::RK38,
            Solver::Dopri5 => &solve::DOPRI5,
            Solver::Dop853 => &solve::DOP853,
        }
    }
}

/// Arithmetic of rollouts and gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    F32,
    F64,
}
