//! What fits by least squares share.

pub(crate) mod damping;
pub(crate) mod robust;
