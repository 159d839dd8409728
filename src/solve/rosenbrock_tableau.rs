//! The coefficients of a Rosenbrock method, for stiff systems.
//!
//! ```text
//! (I / (gamma dt) - J) u_i = f(t + c_i dt, y + sum_{j<i} a_ij u_j) + sum_{j<i} (C_ij / dt) u_j + d_i dt df/dt      i = 1 .. s
//! y' = y + sum_{j<s} a_sj u_j + u_s,        error = u_s
//! y(t + theta dt) = y + theta (y' - y) + theta (1 - theta) sum_i (h_1i + theta h_2i + theta^2 h_3i) u_i
//! ```
//!
//! `y [C]` state, `f` vector field (state per time), `J = df/dy [C, C]` and `df/dt [C]` at the start of the step, `dt` step, `u_i [C]` stages
//! in the unit of the state, `y'` the state one step on. The last stage is what the step adds to the argument of its own field: the method is
//! stiffly accurate, and that last addition is the error estimate. One matrix serves all stages.
//! Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., section IV.7.

/// A Rosenbrock method as data.
#[derive(Clone, Debug)]
pub struct RosenbrockTableau {
    /// The name used in settings.
    pub name: &'static str,
    /// Order of `y'`: the error of one step is of order `dt^(order + 1)`.
    pub order: u32,
    /// The estimate is of order `dt^(error_order + 1)`.
    pub error_order: u32,
    /// Order of the extension: its error within a step is of order `dt^(extension_order + 1)`.
    pub extension_order: u32,
    /// `gamma`.
    pub gamma: f64,
    /// Nodes `c [s]`.
    pub nodes: &'static [f64],
    /// Weights `d [s]` of the derivative by time.
    pub by_time: &'static [f64],
    /// Row `i` holds the `i` coefficients `a_ij`, `j < i`.
    pub arguments: &'static [&'static [f64]],
    /// Row `i` holds the `i` coefficients `C_ij`, `j < i`.
    pub couplings: &'static [&'static [f64]],
    /// `h [3, s]`.
    pub extension: &'static [&'static [f64]],
}

impl RosenbrockTableau {
    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.nodes.len()
    }

    /// The weights `[s]` of the stages in `y(t + theta dt) - y`, written to `weights`.
    pub(crate) fn extend(&self, theta: f64, weights: &mut [f64]) {
        let last = self.arguments[self.stages() - 1];
        for (stage, weight) in weights.iter_mut().enumerate() {
            let bend = self.extension.iter().rev().fold(0.0, |sum, row| sum * theta + row[stage]);
            let of_step = last.get(stage).copied().unwrap_or(1.0);
            *weight = theta * (of_step + (1.0 - theta) * bend);
        }
    }
}
