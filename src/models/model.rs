//! What there is to know of a model's weights.

use super::layout::Layout;
use crate::random::Stream;

/// A dynamics model as a function of explicit weights.
pub trait Model: Send + Sync {
    /// Name in settings and manifests.
    fn name(&self) -> &'static str;

    /// Where each named tensor stands in the flat weights.
    fn layout(&self) -> &Layout;

    /// Random weights `[P]` to start training from.
    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64>;
}
