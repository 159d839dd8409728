//! ERM, empirical risk minimisation: `theta_e = theta`, one model of all environments, which owns nothing of any and adapts to none.
//!
//! Source: Vapnik, "Principles of Risk Minimization for Learning Theory", NeurIPS 1991; as a baseline in Kirchmeyer, Yin et al., ICML 2022.

use super::context_fit::ContextFit;
use super::own_weights::OwnWeights;
use crate::models::Layout;

/// The rule for a model of this layout.
pub(super) fn rule(layout: &Layout) -> OwnWeights {
    OwnWeights::beside_shared(layout, 0..0, ContextFit::GaussNewton)
}
