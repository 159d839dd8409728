//! Known signals that act on a system: their values between samples, and the straight pieces that integrators follow.

mod signal;
mod piecewise;

pub use piecewise::Drive;
pub(crate) use signal::Signal;
