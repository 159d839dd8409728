//! Checkpoints of a training, weights of a model, and bundles: `cargo +nightly fuzz run checkpoint`.
#![no_main]

#[path = "../../tests/fuzz/bodies.rs"]
mod bodies;
#[path = "../../tests/common/dataset.rs"]
mod common;
#[path = "../../tests/common/model.rs"]
mod model;

use libfuzzer_sys::fuzz_target;

// The first byte says which file the others stand for.
fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        let names = ["state", "arrays", "weights", "bundle"];
        bodies::read(names[usize::from(*first) % names.len()], rest);
    }
});
