//! Euler's method, order 1: `y' = y + dt f(y)`.
//!
//! Source: L. Euler, Institutiones calculi integralis I (1768), section 650.

use std::sync::LazyLock;

use super::tableau::Tableau;

/// Euler's method.
pub static EULER: LazyLock<Tableau> = LazyLock::new(|| Tableau {
    name: "euler",
    order: 1,
    nodes: vec![0.0],
    stages: vec![vec![]],
    weights: vec![1.0],
    embedded: None,
});
