//! The engine for the model that settings name.

use super::rollout::Torch;
use crate::engine::device::Device;
use crate::engine::rollouts::Engine;
use crate::engine::settings::Precision;
use crate::models;
use crate::schema::StateShape;
use crate::solve::Tableau;

/// Whether libtorch is part of this build.
pub const HAS_TORCH: bool = true;

/// The engine for `model` of states of that shape with that many inputs; always `Some`, unlike in a build without
/// libtorch.
pub(crate) fn engine(
    model: &models::Settings,
    (state, inputs): (&StateShape, usize),
    method: (Tableau, usize),
    device: Device,
    precision: Precision,
) -> Option<Box<dyn Engine>> {
    let model = models::tensors::build(model, state, inputs);
    let engine = Torch::new(model, method, device, precision, !state.space.is_empty());
    Some(Box::new(engine.for_states(state.size())))
}
