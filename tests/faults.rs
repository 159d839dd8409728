//! Faults at every operation on the disk: a process that dies, a disk that is full or broken, file systems that lack something.
//!
//! The program counts its operations and meets its fate at the one that `PARAMILL_FAILPOINTS` names (`src/disk/failpoints.rs`, behind the feature
//! `failpoints`). A tiny whole pipeline and an export meet it at one operation after the other; a second run, which nothing disturbs, must
//! end with the tree that one undisturbed run leaves. Of the operations, `make test` takes a sample and `make test-faults` all:
//!
//! ```sh
//! PARAMILL_FAULTS=all cargo test --release --no-default-features --features failpoints --test faults
//! PARAMILL_FAULTS=17,18 cargo test --release --no-default-features --features failpoints --test faults kill   # these alone
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use paramill::checkpoint;
use paramill::dataset;
use paramill::digest::sha256;
use serde_json::Value;
use tempfile::TempDir;

/// Three pairs of species, a model of a few steps, and a version of it.
const PIPELINE: &str = r#"seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits]
train = { environments = "train", trajectories = 1, limit = 3 }
validation = { environments = "train", trajectories = 1, limit = 3 }
adapt = { environments = "adapt", trajectories = 1, limit = 1 }

[train]
contexts = "learned"
context_dimension = 1
steps = 4
checkpoint_every = 1
gauss_newton = { steps = 0 }
model = { kind = "mlp", layers = 2, width = 8 }

[map]
kind = "affine"

[estimate]
splits = ["adapt"]
fitted = true

[report]

[run]
models = 2
datasets = 2
"#;

/// Cases of a sample.
const SAMPLE: usize = 24;
/// Cases at a time.
const THREADS: usize = 2;

fn house() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("pairs.toml"), PIPELINE).unwrap();
    root
}

/// Calls the program with this rule for faults; none if empty.
fn paramill(root: &Path, faults: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
    command.current_dir(root).args(arguments).stdin(Stdio::null()).env("PARAMILL_FAILPOINTS", faults);
    command.output().unwrap()
}

const RUN: [&str; 5] = ["run", "pairs.toml", "-q", "--threads", "1"];
const EXPORTS: [[&str; 8]; 2] = [
    ["dataset", "export", "datasets/pairs", "-q", "--format", "csv", "--to", "out/csv"],
    ["dataset", "export", "datasets/pairs", "-q", "--format", "netcdf", "--to", "out/netcdf"],
];

fn said(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// A run that nothing disturbs.
struct Reference {
    /// Its exit code: a model of a few steps may fail on all environments.
    code: i32,
    tree: BTreeMap<String, String>,
    /// Kinds of the operations of the run, and of the exports after it.
    operations: Vec<Vec<String>>,
}

static REFERENCE: LazyLock<Reference> = LazyLock::new(|| {
    let root = house();
    let logged = |arguments: &[&str]| {
        let log = root.path().join("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
        command.current_dir(root.path()).args(arguments).env("PARAMILL_FAILPOINTS_LOG", &log);
        let output = command.output().unwrap();
        let lines = fs::read_to_string(&log).unwrap();
        fs::remove_file(log).unwrap();
        let kinds = lines.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
        (output, kinds)
    };
    let (run, in_run) = logged(&RUN);
    assert!(matches!(run.status.code(), Some(0 | 4 | 5)), "{}", said(&run));
    let in_exports = EXPORTS.iter().map(|arguments| {
        let (export, operations) = logged(arguments);
        assert_eq!(export.status.code(), Some(0), "{}", said(&export));
        operations
    });
    let in_exports: Vec<Vec<String>> = in_exports.collect();
    let kinds: BTreeSet<&str> = in_run.iter().map(String::as_str).collect();
    let known = BTreeSet::from(["create", "exchange", "link", "lock", "remove", "rename", "sync", "write"]);
    assert_eq!(kinds, known, "every kind of operation is met");
    let operations = [vec![in_run], in_exports].concat();
    Reference { code: run.status.code().unwrap(), tree: tree(root.path()), operations }
});

/// Digests of all files below `root` by their paths, but for records of runs, and without what tells of times and processes.
fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    add(root, root, &mut found);
    found
}

fn add(root: &Path, directory: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = timeless(&path.strip_prefix(root).unwrap().to_string_lossy());
        if name.contains("/records") {
            continue;
        }
        if path.is_symlink() {
            found.insert(name, timeless(&fs::read_link(&path).unwrap().to_string_lossy()));
        } else if path.is_dir() {
            found.insert(name, String::new());
            add(root, &path, found);
        } else {
            found.insert(name.clone(), content(&name, &fs::read(&path).unwrap()));
        }
    }
}

/// A path in which the name of a version has lost its time.
fn timeless(path: &str) -> String {
    let of_part = |part: &str| match part.rsplit_once("Z-") {
        Some((time, digest)) if time.starts_with("20") => format!("VERSION-{digest}"),
        _ => part.to_owned(),
    };
    path.split('/').map(of_part).collect::<Vec<_>>().join("/")
}

fn content(name: &str, bytes: &[u8]) -> String {
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    if name.contains("/stages/") {
        let mut record = value(bytes);
        record["seconds"] = Value::Null;
        if name.ends_with("report.json") {
            // It tells of the times in the records of the others.
            let parents = record["ingredients"]["parents"].as_array_mut().unwrap();
            parents.iter_mut().for_each(|parent| parent["sha256"] = Value::Null);
            (record["sha256"], record["fingerprint"]) = (Value::Null, Value::Null);
        }
        return record.to_string();
    }
    if name.ends_with("report/summary.json") {
        let mut summary = value(bytes);
        assert!(summary["seconds"].take().is_object(), "{summary}");
        return summary.to_string();
    }
    if name.ends_with("report/index.html") {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut parts = text.split("<dt>time: ");
        let before = parts.next().unwrap().to_owned();
        return parts.fold(before, |all, part| all + part.split_once("</dd>").expect("a time").1);
    }
    if name.ends_with("audit.jsonl") {
        let line = |line: &[u8]| format!("{} {}", value(line)["act"], timeless(value(line)["to"].as_str().unwrap()));
        return bytes.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).map(line).collect::<Vec<_>>().join("\n");
    }
    sha256(bytes)
}

/// What stands in the places of results is whole.
fn assert_whole(root: &Path) {
    let generations = fs::read_dir(root.join("datasets/pairs.versions")).into_iter().flatten();
    let generations =
        generations.map(|entry| entry.unwrap()).filter(|it| !it.file_name().to_string_lossy().starts_with('.'));
    let datasets = generations.map(|entry| entry.path()).chain([root.join("datasets/pairs")]);
    for dataset in datasets.filter(|dataset| dataset.exists()) {
        assert_eq!(dataset::verify(&dataset), Vec::<String>::new());
    }
    let models = root.join("runs/pairs/models");
    let versions = fs::read_dir(models.join("pairs.versions")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let versions =
        versions.filter(|path| path.is_dir() && !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    for model in versions.chain([models.join("pairs")]).filter(|path| path.exists()) {
        assert_eq!(checkpoint::verify(&model), Vec::<String>::new(), "{}", model.display());
    }
    for place in ["runs/pairs/estimates", "runs/pairs/report", "out/csv", "out/netcdf"]
        .iter()
        .filter(|it| root.join(it).exists())
    {
        // Elsewhere there may be halves of what a killed process was writing.
        let mut found = BTreeMap::new();
        add(root, &root.join(place), &mut found);
        let inside = format!("{place}/");
        let expected = REFERENCE.tree.iter().filter(|(name, _)| name.starts_with(&inside));
        let expected: BTreeMap<String, String> = expected.map(|(name, it)| (name.clone(), it.clone())).collect();
        assert_eq!(found, expected);
    }
}

/// The tree is that of one undisturbed run.
fn assert_as_undisturbed(root: &Path) {
    let found = tree(root);
    let other: Vec<&String> = found.keys().chain(REFERENCE.tree.keys()).collect::<BTreeSet<_>>().into_iter().collect();
    let other: Vec<String> = other
        .into_iter()
        .filter(|name| found.get(*name) != REFERENCE.tree.get(*name))
        .map(|name| format!("{name}: {:?}, expected {:?}", found.get(name), REFERENCE.tree.get(name)))
        .collect();
    assert!(other.is_empty(), "{}", other.join("\n"));
}

/// Tries the cases that were asked for among `0..count`, a few at a time, and fails with all that go wrong.
fn for_each_case(count: usize, sample: usize, case: impl Fn(usize) + Sync) {
    let wanted = std::env::var("PARAMILL_FAULTS").unwrap_or_default();
    let cases: Vec<usize> = match wanted.as_str() {
        "" => (0..sample.min(count)).map(|k| k * count / sample.min(count)).collect(),
        "all" => (0..count).collect(),
        some => some.split(',').map(|number| number.parse().unwrap()).collect(),
    };
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(&number) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(number))) {
                        let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().unwrap().push(format!("PARAMILL_FAULTS={number}: {said}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("{} of {count} cases", cases.len());
    assert!(failed.is_empty(), "{} of {} cases\n{}", failed.len(), cases.len(), failed.join("\n"));
}

/// Runs and exports with a rule for the operation of this number, from 0, of one of them; what the disturbed one said.
fn disturbed(root: &Path, rule: impl Fn(usize) -> String, number: usize) -> Output {
    let in_run = REFERENCE.operations[0].len();
    let Some(mut later) = number.checked_sub(in_run) else { return paramill(root, &rule(number + 1), &RUN) };
    assert_eq!(paramill(root, "", &RUN).status.code(), Some(REFERENCE.code));
    for (export, operations) in EXPORTS.iter().zip(&REFERENCE.operations[1..]) {
        match later.checked_sub(operations.len()) {
            None => return paramill(root, &rule(later + 1), export),
            Some(rest) => later = rest,
        }
    }
    panic!("no operation {number}")
}

/// Runs and exports undisturbed.
fn mended(root: &Path) {
    let run = paramill(root, "", &RUN);
    assert_eq!(run.status.code(), Some(REFERENCE.code), "{}", said(&run));
    let is_whole = |export: &[&str; 8]| root.join(export[7]).exists();
    for arguments in EXPORTS.iter().filter(|export| !is_whole(export)) {
        let export = paramill(root, "", arguments);
        assert_eq!(export.status.code(), Some(0), "{}", said(&export));
    }
    assert_as_undisturbed(root);
}

#[test]
fn a_process_killed_at_any_operation_leaves_what_the_next_run_completes() {
    let count = REFERENCE.operations.iter().map(Vec::len).sum();
    for_each_case(count, SAMPLE, |number| {
        let root = house();
        let output = disturbed(root.path(), |nth| format!("kill:{nth}"), number);
        assert_eq!(output.status.signal(), Some(9), "{}", said(&output));
        assert_whole(root.path());
        mended(root.path());
    });
}

/// Every operation fails once, or a disk stays full from one write on.
fn errors(rule: fn(usize) -> String, texts: &[&str], sample: usize) {
    let count = REFERENCE.operations.iter().map(Vec::len).sum();
    for_each_case(count, sample, |number| {
        let root = house();
        let output = disturbed(root.path(), rule, number);
        let told = said(&output);
        // What only tells of the run may fail with a warning, and what is only removed at another time.
        let ended = output.status.code();
        assert!([Some(1), Some(REFERENCE.code), Some(0)].contains(&ended), "{told}");
        if ended == Some(1) {
            assert!(texts.iter().any(|text| told.contains(text)), "{told}");
            let first = told.lines().find(|line| line.contains("error: ")).unwrap_or_default();
            assert!(["datasets", "runs", "out"].iter().any(|place| first.contains(place)), "no path: {told}");
        }
        assert_whole(root.path());
        mended(root.path());
    });
}

#[test]
fn an_error_of_the_disk_at_any_operation_is_told_with_its_path_and_harms_nothing() {
    errors(|nth| format!("EIO:{nth}"), &["Input/output error"], SAMPLE / 2);
}

#[test]
fn a_disk_that_stays_full_is_told_with_its_path_and_harms_nothing() {
    errors(
        |nth| format!("ENOSPC@write:{}+,ENOSPC@create:{}+", nth.div_ceil(4), nth.div_ceil(8)),
        &["No space left on device"],
        SAMPLE / 2,
    );
}

/// A file system that turns read-only under a run, before it computes anything.
#[test]
fn a_file_system_that_is_read_only_is_told_before_anything_is_computed() {
    let root = house();
    let output = paramill(root.path(), "EROFS@create:2+,EROFS@write:2+,EROFS@rename", &RUN);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("Read-only file system"), "{}", said(&output));
    assert!(!root.path().join("runs/pairs/stages").exists(), "no stage has begun");

    // One place of the last stage suffices.
    let root = house();
    fs::create_dir_all(root.path().join("runs/pairs")).unwrap();
    symlink("nowhere/at/all", root.path().join("runs/pairs/report")).unwrap();
    let output = paramill(root.path(), "", &RUN);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("runs/pairs/report: a symbolic link that leads nowhere"), "{}", said(&output));
    assert!(!root.path().join("datasets/pairs").exists(), "nothing was simulated");
}

/// Makes every product anew, which replaces directories, under `faults`.
fn replaced(root: &Path, faults: &str) -> Output {
    let forced = ["generate", "train", "estimate", "report"].iter().flat_map(|stage| ["--force", stage]);
    let arguments: Vec<&str> = RUN.into_iter().chain(forced).collect();
    paramill(root, faults, &arguments)
}

#[test]
fn directories_are_replaced_where_they_cannot_be_exchanged() {
    for faults in ["EINVAL@exchange", "ENOSYS@exchange", "EXDEV@exchange"] {
        let root = house();
        mended(root.path());
        let output = replaced(root.path(), faults);
        assert_eq!(output.status.code(), Some(REFERENCE.code), "{faults}: {}", said(&output));
        assert_as_undisturbed(root.path());
    }
}

/// Between the steps that stand for an exchange, the process dies.
#[test]
fn a_replacement_in_steps_is_finished_by_the_next_run() {
    // The operations of `generate`, which comes first, in the run that replaces: counted at its exchange.
    let root = house();
    mended(root.path());
    let log = root.path().join("log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
    command.current_dir(root.path()).args(RUN).args(["--force", "generate", "--stage", "generate"]);
    command.env("PARAMILL_FAILPOINTS", "EINVAL@exchange").env("PARAMILL_FAILPOINTS_LOG", &log);
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    let lines = fs::read_to_string(&log).unwrap();
    let exchange = lines.lines().position(|line| line.starts_with("exchange")).unwrap() + 1;
    fs::remove_file(log).unwrap();
    for step in 1..=8 {
        let root = house();
        mended(root.path());
        let faults = format!("kill:{},EINVAL@exchange", exchange + step);
        let arguments: Vec<&str> = RUN.into_iter().chain(["--force", "generate", "--stage", "generate"]).collect();
        let output = paramill(root.path(), &faults, &arguments);
        assert_eq!(output.status.signal(), Some(9), "{}", said(&output));
        mended(root.path());
    }
}

#[test]
fn where_there_are_no_locks_links_keep_two_runs_apart() {
    for faults in ["ENOLCK@lock", "EOPNOTSUPP@lock", "EINVAL@lock"] {
        let root = house();
        // Killed while it works, and no system frees its locks.
        let output = paramill(root.path(), &format!("{faults},kill@write:12"), &RUN);
        assert_eq!(output.status.signal(), Some(9), "{}", said(&output));
        let held = |path: &Path| fs::read_link(path.join(".lock.held")).ok();
        let left = held(&root.path().join("runs/pairs")).expect("its lock");
        let output = paramill(root.path(), faults, &RUN);
        assert_eq!(output.status.code(), Some(REFERENCE.code), "{}", said(&output));
        assert_eq!(held(&root.path().join("runs/pairs")), None);

        // A process that lives elsewhere, or nobody knows.
        let elsewhere = format!("{}-of-another-machine", left.to_str().unwrap());
        let lock = root.path().join("runs/pairs/.lock.held");
        symlink(&elsewhere, &lock).unwrap();
        let output = paramill(root.path(), faults, &RUN);
        assert_eq!(output.status.code(), Some(6), "{}", said(&output));
        for text in ["held by another run (process", "-of-another-machine, remove", "runs/pairs/.lock.held"] {
            assert!(said(&output).contains(text), "{}", said(&output));
        }
        fs::remove_file(lock).unwrap();
        mended(root.path());
    }
    let root = house();
    let output = paramill(root.path(), "ENOLCK@lock,EINVAL@link", &RUN);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("neither locks nor symbolic links"), "{}", said(&output));
}

/// One signal asks to stop after the unit of work, which takes a minute here; the second one does not wait for it.
#[test]
fn a_second_signal_stops_at_once_and_the_next_run_completes_what_is_left() {
    for (first, second, code) in [("-TERM", "-TERM", 143), ("-INT", "-TERM", 143), ("-TERM", "-INT", 130)] {
        let root = house();
        let log = root.path().join("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
        command.current_dir(root.path()).args(RUN).stdin(Stdio::null()).stderr(Stdio::null());
        command.env("PARAMILL_FAILPOINTS", "hang@sync:40").env("PARAMILL_FAILPOINTS_LOG", &log);
        let mut child = command.spawn().unwrap();
        let send = |signal: &str| {
            assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        };
        let syncs = || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            text.lines().filter(|line| line.starts_with("sync ")).count()
        };
        let begun = Instant::now();
        while syncs() < 40 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} syncs", syncs());
            thread::sleep(Duration::from_millis(20));
        }
        send(first);
        // `timeout` sends its signal twice, at once: that is one request.
        send(first);
        thread::sleep(Duration::from_millis(700));
        send(second);
        let asked = Instant::now();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{first} {second}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        fs::remove_file(&log).unwrap();
        assert_whole(root.path());
        mended(root.path());
    }
}

/// A dataset belongs to the workspace whose run made it, even if that died before it wrote so.
#[test]
fn a_dataset_whose_maker_died_before_its_record_is_replaced_without_force() {
    let record = |root: &Path| root.join("runs/pairs/stages/generate.json");
    let position = |root: &Path| {
        let log = root.join("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
        command.current_dir(root).args(RUN).env("PARAMILL_FAILPOINTS_LOG", &log).output().unwrap();
        let lines = fs::read_to_string(log).unwrap();
        lines.lines().position(|line| line == "rename runs/pairs/stages/generate.json").expect("the record") + 1
    };
    let at = position(house().path());
    for sets in [["--set", "seed=3"], ["--set", "seed=4"]] {
        let root = house();
        let output = paramill(root.path(), &format!("kill:{at}"), &RUN);
        assert_eq!(output.status.signal(), Some(9), "{}", said(&output));
        assert!(root.path().join("datasets/pairs").exists() && !record(root.path()).exists());
        let arguments: Vec<&str> = RUN.into_iter().chain(["--stage", "generate"]).chain(sets).collect();
        let output = paramill(root.path(), "", &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let kept: Value = serde_json::from_slice(&fs::read(record(root.path())).unwrap()).unwrap();
        assert_eq!((&kept["made_here"], &kept["device"]), (&Value::Bool(true), &Value::from("cpu")));
        let mut left: Vec<PathBuf> =
            fs::read_dir(root.path().join("datasets")).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.retain(|path| !path.ends_with("pairs.versions"));
        assert_eq!(left, [root.path().join("datasets/pairs")], "no lock, no copy");
    }
}

/// What cannot end well does not begin.
#[test]
fn a_training_that_takes_more_memory_than_it_may_is_refused_before_it_starts() {
    let newton = ["train.gauss_newton.steps=1", "train.gauss_newton.method=weights"];
    let cases: [(&[&str], &str); 2] = [
        (&["train.model.layers=4"], "train a smaller model"),
        (&newton, "train.gauss_newton.method = \"conjugate-gradients\""),
    ];
    for (sets, remedy) in cases {
        let root = house();
        let sets = [&["run.memory_mib=1", "train.model.width=256"], sets].concat();
        let arguments: Vec<&str> = RUN.into_iter().chain(sets.into_iter().flat_map(|set| ["--set", set])).collect();
        let output = paramill(root.path(), "", &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        for text in ["stage `train` takes at least ", "expected at most 1 MiB, as run.memory_mib says", remedy] {
            assert!(said(&output).contains(text), "{}", said(&output));
        }
        assert!(!root.path().join("runs/pairs/models").exists(), "no step was computed");
        // The tiny model takes less than one.
        let output = paramill(root.path(), "", &[&RUN[..], &["--set", "run.memory_mib=1"]].concat());
        assert_eq!(output.status.code(), Some(REFERENCE.code), "{}", said(&output));
    }
}
