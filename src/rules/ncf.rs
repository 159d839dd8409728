//! NCF, neural context flow: one network `f(x, xi)` with the context among its inputs, which training sees through its expansions about the
//! contexts of other environments,
//!
//! ```text
//! f(x, xi_e) ~ f(x, xi_j) + df/dxi (x, xi_j) (xi_e - xi_j),     j in the pool of e
//! ```
//!
//! with `e` itself in its pool, so that a context also says something of those near it. The weights of an environment are those of [`super::cavia_concat`]: the first layer
//! has the bias `b_1 + A xi_e`. What differs is the loss of training, which `train::expansion` has; a new environment fits its context alone,
//! with no expansion.
//!
//! Source: Nzoyem, Barton, Deakin, "Neural Context Flows for Meta-Learning of Dynamical Systems", ICLR 2025, section 3; its code at
//! ddrous/ncflow. Differences:
//!
//! - The trajectory is expanded and not the vector field: `x(t; xi_j) + dx/dxi (xi_e - xi_j)`, whose derivative is exact. Both agree to the
//!   first order in `xi_e - xi_j`, where both end.
//! - The state and the context are joined at once, and do not go through networks of their own first; a context has a few values, which parameters are
//!   read from, where the code takes 1024 on Lotka-Volterra.
//! - Weights and contexts move together, where the source alternates; the penalty of contexts is their squared norm, where the code takes
//!   absolute values.
//! - Contexts of new environments are fitted by Gauss-Newton, as with the other rules.

use super::cavia_concat::CaviaConcat;
use crate::models::Layout;

/// The rule for a network of this layout and contexts of `d` values.
pub(super) fn rule(layout: &Layout, d: usize) -> CaviaConcat {
    CaviaConcat::new(layout, d)
}
