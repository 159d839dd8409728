//! What fits by least squares have in common.

pub(crate) mod damping;
pub(crate) mod robust;

pub use robust::*;
