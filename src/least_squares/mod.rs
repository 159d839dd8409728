//! What fits by least squares have in common.

pub(crate) mod robust;

pub use robust::*;
