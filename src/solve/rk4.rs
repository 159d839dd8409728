//! The classical Runge-Kutta method, order 4: `y' = y + dt (k1 + 2 k2 + 2 k3 + k4) / 6`.
//!
//! Source: W. Kutta, Beitrag zur naeherungsweisen Integration totaler Differentialgleichungen, Zeitschrift fuer
//! Mathematik und Physik 46 (1901); Hairer, Noersett, Wanner I, table II.1.2 (left).

use std::sync::LazyLock;

use super::tableau::Tableau;

/// The classical fourth-order method.
pub static RK4: LazyLock<Tableau> = LazyLock::new(|| Tableau {
    name: "rk4",
    order: 4,
    nodes: vec![0.0, 0.5, 0.5, 1.0],
    stages: vec![vec![], vec![0.5], vec![0.0, 0.5], vec![0.0, 0.0, 1.0]],
    weights: vec![1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    embedded: None,
});
