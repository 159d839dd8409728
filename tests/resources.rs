//! What a run takes of the disk and of memory, what it refuses for their sake, and which datasets it keeps.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use program::{command, house, paramill, stderr};

/// Four pairs of species, estimated by their equations.
const PIPELINE: &str = r#"seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits.adapt]
environments = "adapt"
trajectories = 1

[estimate]
method = "physics"
splits = ["adapt"]

[estimate.physics]
starts = 1
"#;

fn run(root: &Path, arguments: &[&str], code: i32) -> Value {
    let output = paramill(root, &[&["run", "pairs.toml", "-q", "--json", "--threads", "2"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The generations of the dataset, the oldest first.
fn generations(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("datasets/pairs.versions")).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn generations_of_a_dataset_stay_by_count_age_and_what_was_made_of_them() {
    let root = house(PIPELINE);
    let root = root.path();
    let manifest = |directory: &Path| fs::read(directory.join("manifest.json")).unwrap();
    let kept = |count: &str, seed: u32, more: &[&str]| {
        let sets = [format!("run.datasets={count}"), format!("seed={seed}")];
        run(root, &[&["--set", &sets[0], "--set", &sets[1]], more].concat(), 0)
    };
    kept("1", 3, &[]);
    kept("1", 3, &[]);
    let first = generations(root);
    assert_eq!(first.len(), 1, "the same dataset is one generation");
    let of_first = manifest(&first[0]);
    assert!(of_first == manifest(&root.join("datasets/pairs")));

    // The estimates were made from the first one.
    kept("1", 4, &["--stage", "generate"]);
    let both = generations(root);
    assert!(both.len() == 2 && both[0] == first[0], "{both:?}");
    assert!(manifest(&both[0]) == of_first && manifest(&both[1]) == manifest(&root.join("datasets/pairs")));
    let verified = paramill(root, &["dataset", "verify", both[0].to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", stderr(&verified));
    kept("1", 4, &[]);
    assert_eq!(generations(root), both[1..], "nothing is of the first one any more");

    kept("3", 5, &[]);
    kept("3", 6, &[]);
    assert_eq!(generations(root).len(), 3);
    kept("1", 6, &["--set", "run.dataset_days=1"]);
    assert_eq!(generations(root).len(), 3, "all of today");
    kept("2", 6, &[]);
    assert_eq!(generations(root).len(), 2);
    let refused = run(root, &["--set", "run.dataset_days=1"], 2);
    assert!(refused["error"]["message"].as_str().unwrap().contains("run.dataset_days"), "{refused}");
}

#[test]
fn a_stage_that_has_no_room_on_the_disk_is_refused_before_it_computes() {
    let root = house(PIPELINE);
    let root = root.path();
    let full = ["--set", "run.free_mib=4000000000"];
    let refused = run(root, &full, 1);
    assert_eq!(refused["error"]["kind"], "no_room");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("stage `generate` writes about 1 MiB, and run.free_mib leaves 4000000000; found "),
        "{message}"
    );
    assert!(message.contains(" MiB free at "), "{message}");
    assert!(!root.join("datasets/pairs").exists());
    let status = paramill(root, &["status", "pairs.toml"]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("generate  failed"), "{status:?}");

    // What `[run]` does not keep goes first.
    for seed in ["3", "4", "5"] {
        run(root, &["--set", "run.datasets=3", "--set", &format!("seed={seed}")], 0);
    }
    assert_eq!(generations(root).len(), 3);
    let few = ["--set", "run.datasets=1", "--set", "seed=6"];
    let refused = run(root, &[&full[..], &few].concat(), 1);
    assert_eq!(refused["error"]["kind"], "no_room");
    assert_eq!(generations(root).len(), 1);
    run(root, &few, 0);
}

/// The greatest memory that a command took, in MiB, as the kernel says while it lives.
fn peak(root: &Path, arguments: &[&str]) -> f64 {
    let mut child = command(root, arguments).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0.0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
        peak = kib.map_or(peak, |kib| kib / 1024.0);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{arguments:?}");
            return peak;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// What libtorch alone takes of a process that loads it, in MiB, generously.
const LIBRARIES: f64 = if cfg!(feature = "torch") { 200.0 } else { 0.0 };

/// What a stage is said to take at least, it takes; and it does not take many times that.
#[test]
fn a_stage_that_takes_more_memory_than_it_may_is_refused_by_a_bound_that_holds() {
    let grid = "[generate.splits.grid]\nenvironments = \"grid\"\ntrajectories = 1\nlimit = 200\n";
    let long = PIPELINE.replace("[estimate]", &format!("{grid}\n[estimate]")).replace("adapt\"]", "grid\"]");
    let root = house(&long.replace("system = \"lotka-volterra\"", "system = \"lotka-volterra\"\ntime_step = 0.005"));
    let root = root.path();
    for (stage, most) in [("generate", 6.0), ("estimate", 20.0)] {
        let refused = run(root, &["--stage", stage, "--set", "run.memory_mib=1"], 2);
        assert_eq!(refused["error"]["kind"], "memory");
        let message = refused["error"]["message"].as_str().unwrap();
        let least = message.strip_prefix(&format!("stage `{stage}` takes at least ")).unwrap();
        let least: f64 = least.split(' ').next().unwrap().parse().unwrap();
        let peak = peak(root, &["run", "pairs.toml", "-q", "--threads", "2", "--stage", stage]);
        assert!(
            least >= 4.0 && least <= peak && peak < most * least + LIBRARIES,
            "{stage}: at least {least}, took {peak}"
        );
    }
}
