//! A model is the same to the byte on any number of threads and of processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paramill::engine::HAS_TORCH;

use super::{house, prepare, stderr};

const PAIRS: &str = r#"
[generate]
dataset = "pairs"
system = "lotka-volterra"
[generate.splits]
train = { environments = "train", trajectories = 3 }
validation = { environments = "train", trajectories = 1 }
"#;

/// One of the processors that this process may use.
fn processor() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    allowed.trim().split([',', '-']).next().unwrap().to_owned()
}

/// The files of the model that a process of its own trains, on so many threads; on one processor alone if `bound`.
fn trained(root: &Path, arguments: &[&str], threads: &str, bound: bool) -> Vec<(PathBuf, Vec<u8>)> {
    let program = assert_cmd::cargo::cargo_bin("paramill");
    let mut command = if bound { Command::new("taskset") } else { Command::new(&program) };
    if bound {
        command.args(["-c", &processor()]).arg(&program);
    }
    let workspace = format!("on-{threads}-{bound}");
    let arguments = [&["run", "pairs.toml", "--device", "cpu", "--workspace", &workspace], arguments].concat();
    prepare(&mut command, root, &arguments);
    let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let directory = root.join(workspace).join("models/pairs");
    let mut files: Vec<PathBuf> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let file = |path: PathBuf| (path.strip_prefix(&directory).unwrap().to_owned(), fs::read(&path).unwrap());
    files.into_iter().map(file).collect()
}

fn is_the_same_on_all(train: &str, arguments: &[&str]) {
    let root = house("pairs.toml", &format!("{PAIRS}{train}"));
    let one = trained(root.path(), arguments, "1", false);
    assert!(one.iter().any(|(name, _)| name.ends_with("weights.safetensors")), "{arguments:?}");
    let bound = Command::new("taskset").arg("--version").output().is_ok();
    for (threads, bound) in [("2", false), ("3", false)].into_iter().chain(bound.then_some(("2", true))) {
        let other = trained(root.path(), arguments, threads, bound);
        assert!(other == one, "{train} {arguments:?}: bytes differ on {threads} threads, on one processor: {bound}");
    }
}

/// By each method, after Adam, and from nothing on segments that grow.
#[test]
fn threads_and_processors_change_no_byte_of_a_perceptron() {
    let of = |method: &str, steps: u64| {
        let newton =
            format!("gauss_newton = {{ steps = 4, method = \"{method}\", locality_penalty = 1e-7, inner_steps = 20 }}");
        format!(
            "[train]\nsteps = {steps}\nvalidate_every = 5\nmodel = {{ kind = \"mlp\", layers = 3, width = 8 }}\n{newton}\n"
        )
    };
    for (method, steps) in [("residuals", 10), ("weights", 0), ("conjugate-gradients", 10)] {
        is_the_same_on_all(&of(method, steps), &["--engine", "native"]);
    }
    if HAS_TORCH {
        is_the_same_on_all(&of("conjugate-gradients", 10), &["--engine", "torch"]);
    }
}

#[test]
fn threads_and_processors_change_no_byte_of_a_library() {
    let train =
        "[train]\nsteps = 0\nsubsteps = 2\nmodel = { kind = \"library\", degree = 2 }\ngauss_newton = { steps = 6 }\n";
    is_the_same_on_all(train, &["--engine", "native"]);
}
