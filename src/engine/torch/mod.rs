//! The engine on libtorch: autograd through the rollout, on the CPU or on a CUDA device. `no_torch.rs` stands in its place in a build
//! without the feature `torch`.

use std::sync::Once;

mod cuda;
mod rollout;

pub(super) use cuda::{cuda_devices, cuda_problem};
pub use rollout::Torch;

use super::{Device, Engine, Precision};
use crate::models::Model;
use crate::solve::Tableau;

/// Whether libtorch is part of this build.
pub const HAS_TORCH: bool = true;

/// The engine for `model`; none in a build without libtorch.
pub(super) fn engine(
    model: Box<dyn Model>,
    method: (&'static Tableau, usize),
    device: Device,
    precision: Precision,
    fields: bool,
) -> Option<Box<dyn Engine>> {
    Some(Box::new(Torch::new(model, method, device, precision, fields)))
}

/// Has libtorch compute each operation on the thread that asks for it. Work is spread over the threads of rayon, whose number the user
/// gives, outside: a second pool beside it would take processors that nobody gave, and the order of its sums would be the machine's.
pub(crate) fn one_thread_each() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| tch::set_num_interop_threads(1)); // once a process, before the first operation
    // OpenMP keeps the number thread by thread.
    tch::set_num_threads(1);
    rayon::broadcast(|_| tch::set_num_threads(1));
}

#[cfg(test)]
mod tests {
    use super::one_thread_each;

    #[test]
    fn libtorch_takes_no_threads_of_its_own() {
        one_thread_each();
        assert_eq!(tch::get_num_threads(), 1);
        assert!(rayon::broadcast(|_| tch::get_num_threads()).iter().all(|&threads| threads == 1));
    }
}
