//! Whatever stands in a file, each reader ends in time with a result or an error: no panic, no abort, no endless loop, little memory.
//!
//! A case damages one of a few small sound files, and is told by its kind and number. Cases run in a process of their own, which is watched:
//! libhdf5 may walk a damaged file for ever. `PARAMILL_FUZZ_SECONDS` sets how long each kind runs, and
//!
//! ```sh
//! PARAMILL_FUZZ_SECONDS=600 cargo test --release --test fuzz
//! PARAMILL_FUZZ_CASES='hdf5 1234 1' cargo test --release --test fuzz -- --exact cases --nocapture   # one again
//! ```

#[path = "fuzz/bodies.rs"]
mod bodies;
#[path = "common/dataset.rs"]
mod common;
#[path = "common/model.rs"]
mod model;
#[path = "fuzz/mutation.rs"]
mod mutation;
#[path = "fuzz/readers.rs"]
mod readers;
#[path = "fuzz/watch.rs"]
mod watch;

use watch::watch;

/// Runs in the watched process: the cases of a kind from a first one on.
#[test]
fn cases() {
    let Ok(cases) = std::env::var(watch::CASES) else { return };
    let parts: Vec<&str> = cases.split(' ').collect();
    let [kind, first, count] = parts[..] else { panic!("expected `KIND FIRST COUNT`, found {cases:?}") };
    let mut reader = readers::reader(kind);
    let first: u64 = first.parse().unwrap();
    for case in first..first + count.parse::<u64>().unwrap() {
        watch::begin(case);
        reader(&mut mutation::Random::new(kind, case));
        watch::assert_little_memory();
    }
    watch::begin(first + count.parse::<u64>().unwrap());
}

#[test]
fn csv() {
    watch("csv", &[]);
}

#[test]
fn toml() {
    watch("toml", &[]);
}

#[test]
fn parquet() {
    watch("parquet", &[693, 1033]);
}

#[test]
fn hdf5() {
    watch("hdf5", &[111, 3888]);
}

#[test]
fn fields() {
    watch("fields", &[]);
}

#[test]
fn stored_parquet() {
    watch("stored-parquet", &[5429, 9112]);
}

#[test]
fn manifests() {
    watch("manifests", &[]);
}

#[test]
fn bundles() {
    watch("bundles", &[]);
}

#[test]
fn checkpoints() {
    watch("checkpoints", &[]);
}

#[test]
fn stored_hdf5() {
    watch("stored-hdf5", &[1218, 2437]);
}
