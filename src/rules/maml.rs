//! MAML: weights that one step of gradient descent adapts to an environment,
//!
//! ```text
//! theta_e = theta - r dL_e/dtheta (theta),     theta minimises  sum_e L_e(theta_e)
//! ```
//!
//! with the loss `L_e`, the mean squared error on the trajectories of the environment, and the rate `r`. The context is the step,
//! `xi_e = theta_e - theta [P]`. The outer loss is differentiated through it, with its second derivatives.
//!
//! Source: Finn, Abbeel, Levine, "Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks", ICML 2017, algorithm 1; with one inner
//! step, as compared in Kirchmeyer, Yin et al., ICML 2022. The inner and the outer loss see the same trajectories, of which some systems have
//! only one.

use super::context_fit::ContextFit;
use super::own_weights::OwnWeights;
use crate::models::Layout;

/// The rule for a model of this layout, with steps of length `rate`.
pub(super) fn rule(layout: &Layout, rate: f64) -> OwnWeights {
    OwnWeights::beside_shared(layout, 0..layout.size(), ContextFit::GradientSteps { steps: 1, rate })
}
