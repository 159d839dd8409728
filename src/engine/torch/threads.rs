//! The threads of libtorch: none.

use std::sync::Once;

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
