//! Euler's method, order 1: `y' = y + dt f(y)`.
//!
//! Source: L. Euler, Institutiones calculi integralis I (1768), section 650.

use super::tableau::Tableau;

/// Euler's method.
pub static EULER: Tableau =
    Tableau { name: "euler", order: 1, nodes: &[0.0], stages: &[&[]], weights: &[1.0], embedded: None };
