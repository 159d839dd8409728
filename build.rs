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
    if env::var_os("CARGO_FEATURE_CUDA_GRAPHS").is_some() {
        cuda_graphs(&root, &output);
    }
    // A libtorch of the user's own.
    let given = env::var_os("LIBTORCH").map(PathBuf::from).filter(|given| !given.starts_with(root.join(".tools")));
    if let Some(given) = given.as_deref().map(Path::display) {
        run_path(&format!("{given}/lib"));
    }
}

/// Makes `cuda_graph.so` of `graph.cpp`: its names from libtorch are found when it is opened.
fn cuda_graphs(root: &Path, output: &Path) {
    let source = root.join("src/engine/torch/graph.cpp");
    println!("cargo:rerun-if-changed={}", source.display());
    println!("cargo:rerun-if-env-changed=CUDA_HOME");
    let libtorch = env::var_os("LIBTORCH").map_or_else(|| root.join(".tools/libtorch"), PathBuf::from);
    let of_cuda = env::var_os("CUDA_HOME").map_or_else(|| PathBuf::from("/usr/local/cuda"), PathBuf::from);
    let headers = [
        libtorch.join("include"),
        root.join(".tools/torch/nvidia/cu13/include"),
        root.join(".tools/cuda-headers/nvidia/cu13/include"),
        of_cuda.join("include"),
    ];
    for needed in ["cuda_runtime_api.h", "crt/host_config.h"] {
        assert!(
            headers.iter().any(|folder| folder.join(needed).is_file()),
            "found no {needed} in {headers:?}; run `make setup`, set CUDA_HOME, or build with `--no-default-features --features torch`, \
             which trains on a GPU without CUDA graphs"
        );
    }
    let mut compiler = cc::Build::new().cpp(true).std("c++17").opt_level(2).get_compiler().to_command();
    headers.iter().for_each(|folder| {
        compiler.arg("-isystem").arg(folder);
    });
    compiler.args(["-shared", "-fPIC", "-s", "-o"]).arg(output.join("cuda_graph.so")).arg(&source);
    let status = compiler.status().unwrap_or_else(|error| panic!("{compiler:?}: {error}"));
    assert!(status.success(), "{compiler:?}: {status}");
}

fn run_path(path: &str) {
    println!("cargo:rustc-link-arg=-Wl,-rpath,{path}");
}
