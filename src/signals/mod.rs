//! Known signals that act on a system, between the samples at which they are given.

pub(crate) mod piecewise;
pub(crate) mod signal;

pub use piecewise::Drive;
pub(crate) use signal::Signal;
