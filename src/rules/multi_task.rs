//! Multi-task learning by hard sharing: all layers but the last are shared, and every environment has a last layer of its own,
//! `A_e = A + dA_e`, `b_e = b + db_e`, `xi_e = (dA_e, db_e)`.
//!
//! Source: Caruana, "Multitask Learning", Machine Learning 28, 1997; as a baseline in Kirchmeyer, Yin et al., ICML 2022. Difference from the
//! source: a last layer is written as what it differs by from a shared one, from which a new environment starts. Without a penalty of the
//! contexts the two are the same family of functions.

use super::context_fit::ContextFit;
use super::own_weights::OwnWeights;
use crate::models::{AdaptedLayers, Layout};

/// The rule for a model of this layout.
pub(super) fn rule(layout: &Layout) -> OwnWeights {
    OwnWeights::beside_shared(layout, layout.adapted(AdaptedLayers::Last), ContextFit::GaussNewton)
}
