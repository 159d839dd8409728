//! What the engine on libtorch answers in a build without the feature `torch`: that it is not there.

use super::device::Device;
use super::rollouts::Engine;
use super::settings::Precision;
use crate::models;
use crate::schema::StateShape;
use crate::solve::Tableau;

/// Whether libtorch is part of this build.
pub const HAS_TORCH: bool = false;

/// The engine for a model; none in a build without libtorch.
pub(crate) fn engine(
    _: &models::Settings,
    _: (&StateShape, usize),
    _: (Tableau, usize),
    _: Device,
    _: Precision,
) -> Option<Box<dyn Engine>> {
    None
}

/// CUDA devices that can be used.
pub(crate) fn cuda_devices() -> usize {
    0
}

/// Why there is no CUDA device, though there is a driver, where CUDA was looked for.
pub(crate) fn cuda_problem() -> Option<&'static str> {
    None
}

/// There are no threads of libtorch to be kept from computing.
pub(crate) fn one_thread_each() {}
