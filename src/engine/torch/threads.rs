//! Keeps libtorch from starting threads of its own.

use std::sync::Once;

/// Makes libtorch compute each operation on the calling thread. Work is already spread over rayon's threads, whose
/// number the user sets; a second pool would take more processors than that, and the order of its sums would depend on
/// the machine.
pub(crate) fn one_thread_each() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| tch::set_num_interop_threads(1)); // once a process, before the first operation
    // OpenMP keeps this number separately for each thread.
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
