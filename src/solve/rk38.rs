//! Kutta's 3/8 rule, order 4: `y' = y + dt (k1 + 3 k2 + 3 k3 + k4) / 8`.
//!
//! Source: W. Kutta (1901), as for the classical method; Hairer, Noersett, Wanner I, table II.1.2 (right).

use std::sync::LazyLock;

use super::tableau::Tableau;

/// The 3/8 rule.
pub static RK38: LazyLock<Tableau> = LazyLock::new(|| Tableau {
    name: "rk38",
    order: 4,
    nodes: vec![0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0],
    stages: vec![vec![], vec![1.0 / 3.0], vec![-1.0 / 3.0, 1.0], vec![1.0, -1.0, 1.0]],
    weights: vec![0.125, 0.375, 0.375, 0.125],
    embedded: None,
});
