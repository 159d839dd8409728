//! The engine on libtorch: autograd through the rollout, on the CPU or on a CUDA device. A build without the feature
//! `torch` has `no_torch` instead.

mod threads;
mod cuda;
mod graph;
mod integrator;
mod recordings;
mod resident;
mod rollout;
mod build;

pub use build::HAS_TORCH;
pub(crate) use build::engine;
pub(crate) use cuda::{cuda_devices, cuda_problem};
pub use rollout::Torch;
pub(crate) use threads::one_thread_each;
