//! With libtorch: writes its place into the binaries, so that they run with no environment variable; first relative to their own place, so
//! that they still do where the tree is moved.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    if env::var_os("CARGO_FEATURE_TORCH").is_none() {
        return;
    }
    let folder = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}")));
    let root = folder("CARGO_MANIFEST_DIR");
    let output = folder("OUT_DIR");
    // target/release of target/release/build/paramill-0123/out
    let profile = output.ancestors().nth(3).expect("cargo gives each package a folder of its own");
    if let Ok(inside) = profile.strip_prefix(&root) {
        let up = "/..".repeat(inside.components().count());
        // Programs stand in the folder of the profile, tests and examples in one below it.
        for below in ["", "/.."] {
            run_path(&format!("$ORIGIN{below}{up}/.tools/torch/torch/lib"));
        }
    }
    // For a program that was copied out of the tree.
    run_path(&root.join(".tools/torch/torch/lib").display().to_string());
    // A libtorch of the user's own.
    let given = env::var_os("LIBTORCH").map(PathBuf::from).filter(|given| !given.starts_with(root.join(".tools")));
    if let Some(given) = given.as_deref().map(Path::display) {
        run_path(&format!("{given}/lib"));
    }
}

fn run_path(path: &str) {
    println!("cargo:rustc-link-arg=-Wl,-rpath,{path}");
}
