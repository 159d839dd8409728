//! The interface of a dynamics model: the layout of its weights, and random ones to start from.

use super::layout::Layout;
use crate::random::Stream;

/// A dynamics model as a function of explicit weights.
pub trait Model: Send + Sync {
    /// Name in settings and manifests.
    fn name(&self) -> &'static str;

    /// Position of each named tensor in the flat weights.
    fn layout(&self) -> &Layout;

    /// Random weights `[P]` to start training from.
    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64>;
}
