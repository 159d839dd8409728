//! The coefficients of an explicit Runge-Kutta method.
//!
//! ```text
//! k_i = f(t + c_i dt, y + dt sum_{j<i} a_ij k_j)        i = 1 .. s
//! y'  = y + dt sum_i b_i k_i
//! ```
//!
//! `y [C]` state, `f` vector field (state per time), `dt` step, `k_i [C]` stages, `y'` the state one step on.
//! Source: E. Hairer, S. P. Noersett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., section II.1.

/// An explicit Runge-Kutta method as data.
#[derive(Debug)]
pub struct Tableau {
    /// The name used in settings.
    pub name: &'static str,
    /// Order of `y'`: the error of one step is of order `dt^(order + 1)`.
    pub order: u32,
    /// Nodes `c [s]`.
    pub nodes: &'static [f64],
    /// Row `i` holds the `i` coefficients `a_ij`, `j < i`; the first row is empty.
    pub stages: &'static [&'static [f64]],
    /// Weights `b [s]`.
    pub weights: &'static [f64],
}
