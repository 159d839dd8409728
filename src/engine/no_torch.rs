//! Stands in for the engine on libtorch in a build without the feature `torch`, and reports that it is absent.

use super::device::Device;
use super::rollouts::Engine;
use super::settings::Precision;
use crate::models;
use crate::schema::StateShape;
use crate::solve::Tableau;

/// Whether libtorch is part of this build.
pub const HAS_TORCH: bool = false;

/// Always `None`: this build has no engine on libtorch.
pub(crate) fn engine(
    _: &models::Settings,
    _: (&StateShape, usize),
    _: (Tableau, usize),
    _: Device,
    _: Precision,
) -> Option<Box<dyn Engine>> {
    None
}

/// Number of usable CUDA devices: none.
pub(crate) fn cuda_devices() -> usize {
    0
}

/// Why CUDA is unusable although there is a driver: never reported, since only libtorch looks for it.
pub(crate) fn cuda_problem() -> Option<&'static str> {
    None
}

/// Does nothing: there are no libtorch threads to restrict.
pub(crate) fn one_thread_each() {}
