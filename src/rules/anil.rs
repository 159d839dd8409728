//! ANIL, "almost no inner loop": MAML whose inner step moves the last layer alone, `xi_e = -r dL_e/d(A, b)`; see [`super::maml`].
//!
//! Source: Raghu, Raghu, Bengio, Vinyals, "Rapid Learning or Feature Reuse? Towards Understanding the Effectiveness of MAML", ICLR 2020,
//! section 4; compared in Kirchmeyer, Yin et al., ICML 2022.

use super::context_fit::ContextFit;
use super::own_weights::OwnWeights;
use crate::models::{AdaptedLayers, Layout};

/// The rule for a model of this layout, with steps of length `rate`.
pub(super) fn rule(layout: &Layout, rate: f64) -> OwnWeights {
    OwnWeights::beside_shared(layout, layout.adapted(AdaptedLayers::Last), ContextFit::GradientSteps { steps: 1, rate })
}
