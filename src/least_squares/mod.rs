//! What fits by least squares share.

pub(crate) mod robust;

pub use robust::*;
