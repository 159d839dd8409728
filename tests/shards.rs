//! A stage on several machines, and one that goes on behind its finished blocks: the result is that of one machine, byte for byte.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use program::{command, house, stderr};

/// Pairs of species: a small model, and a grid of 25 new environments.
const LEARNED: &str = r#"seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits.train]
environments = "train"
trajectories = 2

[generate.splits.validation]
environments = "train"
trajectories = 1

[generate.splits.adapt]
environments = "adapt"
trajectories = 1

[generate.splits.adapt_test]
environments = "adapt"
trajectories = 2

[generate.splits.grid]
environments = "grid"
trajectories = 1
limit = 25

[train]
steps = 40
gauss_newton = { steps = 0 }

[map]

[estimate]
splits = ["adapt", "grid"]
fitted = true

[report]
"#;

/// The same by equations.
fn by_equations() -> String {
    let (data, _) = LEARNED.split_once("[train]").unwrap();
    format!("{data}[estimate]\nmethod = \"physics\"\nsplits = [\"adapt\", \"grid\"]\nfitted = true\n\n[report]\n")
}

/// Runs a command, holds it to an exit code, and gives what it printed.
fn paramill(root: &Path, arguments: &[&str], code: i32) -> String {
    let output = command(root, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The files below `folder`, with their bytes, but for those that hold times.
fn tree(root: &Path, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

fn assert_same(one: &Path, other: &Path, folder: &str) {
    let (one, other) = (tree(one, folder), tree(other, folder));
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for ((path, one), (_, other)) in one.iter().zip(&other) {
        assert!(one == other, "{} differs", path.display());
    }
}

/// Makes a stage from shards: not in order, with different threads, one of them twice.
fn sharded(root: &Path, stage: &str, count: usize) {
    let plan = format!("runs/pairs/shards/{stage}.json");
    let count_text = count.to_string();
    let said = paramill(root, &["shard", "plan", "pairs.toml", "--stage", stage, "--shards", &count_text], 0);
    assert!(said.contains(&format!("paramill shard merge {plan}")), "{said}");
    let (middle, last) = (count / 2, count - 1);
    for (index, threads) in [(format!("{middle}-{last}"), "1"), (format!("0-{middle}"), "3")] {
        paramill(root, &["shard", "run", &plan, &index, "-q", "--threads", threads], 0);
    }
    paramill(root, &["shard", "merge", &plan, "-q", "--threads", "2"], 0);
}

#[test]
fn any_number_of_shards_gives_what_one_machine_gives() {
    for (pipeline, counts) in [(LEARNED.to_owned(), [3, 8]), (by_equations(), [1, 40])] {
        let alone = house(&pipeline);
        paramill(alone.path(), &["run", "pairs.toml", "-q", "--threads", "2"], 0);
        assert!(!alone.path().join("runs/pairs/blocks").exists(), "nothing is left of finished blocks");
        for count in counts {
            let root = house(&pipeline);
            sharded(root.path(), "generate", count);
            assert_same(alone.path(), root.path(), "datasets/pairs");
            if pipeline.contains("[train]") {
                paramill(root.path(), &["run", "pairs.toml", "-q", "--stage", "train", "--stage", "map"], 0);
            }
            sharded(root.path(), "estimate", count);
            assert_same(alone.path(), root.path(), "runs/pairs/estimates");
            assert!(!root.path().join("runs/pairs/blocks").exists());
            let next = paramill(root.path(), &["run", "pairs.toml", "--dry-run", "--json"], 8);
            let next: Value = serde_json::from_str(&next).unwrap();
            let to_run = next["stages"].as_array().unwrap().iter().filter(|it| it["action"] == "run");
            assert_eq!(to_run.map(|it| it["stage"].clone()).collect::<Vec<_>>(), [json!("report")]);
        }
    }
}

#[test]
fn merging_says_what_is_missing_and_a_plan_of_something_else_is_refused() {
    let root = house(&by_equations());
    let root = root.path();
    paramill(root, &["shard", "plan", "pairs.toml", "--environments", "7", "--json"], 0);
    let plan = "runs/pairs/shards/generate.json";
    for index in ["1", "3-4"] {
        paramill(root, &["shard", "run", plan, index, "-q"], 0);
    }
    let merge = |code: i32| {
        let output = command(root, &["shard", "merge", plan, "-q", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let refused = merge(2);
    assert_eq!(refused["error"]["kind"], "missing_shards");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("(0,2,5-") && message.contains("`paramill shard run runs/pairs/shards/generate.json missing`"),
        "{message}"
    );

    // A block that is not as it was written is made again.
    let blocks = fs::read_dir(root.join("runs/pairs/blocks")).unwrap().next().unwrap().unwrap().path();
    let block = fs::read_dir(&blocks).unwrap().map(|it| it.unwrap().path()).min().unwrap();
    let whole = fs::read(&block).unwrap();
    fs::write(&block, &whole[..whole.len() / 2]).unwrap();
    paramill(root, &["shard", "run", plan, "0-9", "-q"], 2);
    paramill(root, &["shard", "run", plan, "missing", "-q"], 0);
    paramill(root, &["shard", "run", plan, "1,3-4", "-q"], 0);
    assert_eq!(fs::read(&block).unwrap(), whole);
    assert_eq!(merge(0)["stages"][0]["action"], "run");
    assert_eq!(merge(0)["stages"][0]["action"], "keep", "merging twice does no harm");

    let text = fs::read_to_string(root.join("pairs.toml")).unwrap();
    fs::write(root.join("pairs.toml"), text.replace("seed = 3", "seed = 4")).unwrap();
    let output = command(root, &["shard", "run", plan, "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("(seed 3 -> 4)"), "{}", stderr(&output));
    for (arguments, said) in [
        (["shard", "run", plan, "0,99,101"], "shard 99,101 asked for; expected numbers from 0 to"),
        (["shard", "run", "nowhere.json", "0"], "expected a plan that `paramill shard plan` of this version wrote"),
        (["shard", "run", "runs", "0"], "expected a plan that"),
    ] {
        let output = command(root, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn estimates_go_on_behind_finished_blocks_and_those_of_other_settings_stay_out() {
    let pipeline = by_equations().replace("limit = 25", "limit = 400");
    let alone = house(&pipeline);
    paramill(alone.path(), &["run", "pairs.toml", "-q"], 0);
    let root = house(&pipeline);
    let root = root.path();
    paramill(root, &["run", "pairs.toml", "-q", "--stage", "generate"], 0);
    let finished = || -> usize {
        let folders = fs::read_dir(root.join("runs/pairs/blocks")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).into_iter().flatten());
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|it| it == "block")).count()
    };
    // Killed twice, once after other settings.
    for set in ["seed=3", "estimate.initial_state=observed", "seed=3"] {
        let before = finished();
        let mut child = command(root, &["run", "pairs.toml", "-q", "--threads", "1", "--set", set]).spawn().unwrap();
        let begun = Instant::now();
        while finished() <= before && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(120));
            thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "killed before its end");
    }
    let status: Value = serde_json::from_str(&paramill(root, &["status", "pairs.toml", "--json"], 0)).unwrap();
    let estimate = &status["pipelines"][0]["stages"][1];
    assert_eq!((&estimate["state"], &estimate["kept"]["part"]), (&json!("interrupted"), &json!("finished blocks")));
    paramill(root, &["run", "pairs.toml", "-q"], 0);
    assert_same(alone.path(), root, "runs/pairs/estimates");
    assert_eq!(finished(), 0);
}
