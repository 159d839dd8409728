//! Bakes the place of libtorch into the binaries, so that they run with no environment variable.

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{root}/.tools/torch/torch/lib");
    println!("cargo:rerun-if-changed=build.rs");
}
