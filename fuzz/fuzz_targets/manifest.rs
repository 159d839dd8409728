//! Manifests of datasets and models, and maps: `cargo +nightly fuzz run manifest`.
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
        let names = ["dataset", "model", "map"];
        bodies::read(names[usize::from(*first) % names.len()], rest);
    }
});
