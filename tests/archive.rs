//! Tables of estimates that grow with their archives.

#[path = "common/program.rs"]
mod program;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use paramill::estimate::{Manifest, Row, read_rows};
use paramill::schema::Split;
use serde_json::{Value, json};
use tempfile::TempDir;

use program::{command, paramill, stderr};

/// Cups that cool.
const CUPS: &str = r#"
[import]
dataset = "cups"
directory = "data"
time_unit = "min"
table = { file = "*.csv", environment = "cup", time = "time" }
channels = [{ column = "temperature", name = "temperature", unit = "degC" }]
splits = { adapt = ["*"] }

[estimate]
method = "physics"

[estimate.physics.system]
name = "cooling"
time_unit = "min"
horizon = 60.0
time_step = 5.0
states = [{ name = "temperature", unit = "degC", derivative = "rate * (room - temperature)", initial = [50.0, 100.0] }]
parameters = [{ name = "rate", unit = "min-1", lower = 1e-3, upper = 1.0 }, { name = "room", unit = "degC", lower = 0.0, upper = 40.0 }]
"#;

/// The rows of a cup.
fn cup(id: &str, rate: f64) -> String {
    let sample = |t: u32| {
        let time = f64::from(5 * t);
        // Some noise, the same each time.
        let noise = 0.05 * (f64::from(t) * 2.4).sin();
        format!("{id},{time},{:.4}\n", 20.0 + 65.0 * (-rate * time).exp() + noise)
    };
    (0..13).map(sample).collect()
}

fn write(root: &Path, file: &str, cups: &[(&str, f64)]) {
    let rows: String = cups.iter().map(|&(id, rate)| cup(id, rate)).collect();
    fs::write(root.join("data").join(file), format!("cup,time,temperature\n{rows}")).unwrap();
}

fn house() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("data")).unwrap();
    fs::write(root.path().join("cups.toml"), CUPS).unwrap();
    write(root.path(), "first.csv", &[("a", 0.02), ("b", 0.03)]);
    root
}

/// What a run did; it is held to an exit code.
fn estimate(root: &Path, more: &[&str], code: i32) -> Value {
    let arguments = ["estimate", "--data", "cups.toml", "--table", "table", "--settle", "0", "--json"];
    let output = paramill(root, &[&arguments, more].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["update"].take()
}

fn rows(root: &Path) -> Vec<Row> {
    let directory = root.join("table");
    let (manifest, _) = Manifest::read(&directory).unwrap();
    read_rows(&directory, &manifest, Split::Adapt).unwrap()
}

fn assert_rates(root: &Path, expected: &[(&str, f64)]) {
    let rows = rows(root);
    let found: Vec<(&str, f64)> = rows.iter().map(|it| (it.environment.as_str(), it.parameters[0].value)).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((id, rate), (wanted, expected)) in found.iter().zip(expected) {
        assert!(id == wanted && (rate - expected).abs() < 5e-4, "{id} {rate}, {wanted} {expected}");
    }
}

#[test]
fn new_and_changed_environments_alone_are_estimated() {
    let root = house();
    let root = root.path();
    assert_eq!(estimate(root, &["--dry-run"], 8)["new"], json!(["a", "b"]));
    assert!(!root.join("table").exists());
    assert_eq!(estimate(root, &[], 0)["statuses"], json!({ "ok": 2 }));
    assert_rates(root, &[("a", 0.02), ("b", 0.03)]);
    let manifest = || fs::read(root.join("table/manifest.json")).unwrap();
    let before = manifest();
    assert_eq!(estimate(root, &[], 0)["kept"], json!(2));
    assert!(before == manifest(), "nothing was due");

    // A new file has a cup of its own and more of an older one, which is fitted to all of it.
    write(root, "second.csv", &[("c", 0.05)]);
    let second = root.join("data/second.csv");
    let more = "b,70,27.96\nb,80,25.90\n";
    fs::write(&second, fs::read_to_string(&second).unwrap() + more).unwrap();
    let grown = estimate(root, &[], 0);
    assert_eq!((&grown["new"], &grown["changed"]), (&json!(["c"]), &json!(["b"])));
    assert_eq!((&grown["kept"], &grown["new_files"]), (&json!(1), &json!(["second.csv"])));
    assert_rates(root, &[("a", 0.02), ("b", 0.03), ("c", 0.05)]);
    assert_eq!(rows(root)[1].points, 15, "all samples of b");

    // A renamed file makes no work, and its rows say where they are now.
    fs::rename(root.join("data/first.csv"), root.join("data/one.csv")).unwrap();
    assert_eq!(estimate(root, &[], 0)["kept"], json!(3));
    let taken_off = fs::read_to_string(&second).unwrap().replace("b,80,25.90\n", "");
    fs::write(&second, taken_off).unwrap();
    assert_eq!(estimate(root, &[], 0)["changed"], json!(["b"]));
    assert_eq!(rows(root)[1].points, 14, "from both files");
    // All rows of b are taken out of one of its files: what is left counts.
    let without: String = fs::read_to_string(&second)
        .unwrap()
        .lines()
        .filter(|it| !it.starts_with("b,"))
        .map(|it| format!("{it}\n"))
        .collect();
    fs::write(&second, without).unwrap();
    assert_eq!(estimate(root, &[], 0)["changed"], json!(["b"]));
    assert_eq!(rows(root)[1].points, 13);

    // Rows of a file that is gone stay; it is named once.
    fs::remove_file(root.join("data/one.csv")).unwrap();
    assert_eq!(estimate(root, &[], 0)["vanished_files"], json!(["one.csv"]));
    assert_eq!(estimate(root, &[], 0)["vanished_files"], json!([]));
    assert_rates(root, &[("a", 0.02), ("b", 0.03), ("c", 0.05)]);
    assert_eq!(paramill(root, &["check", "table"]).status.code(), Some(0));
}

#[test]
fn rows_are_estimated_again_on_request() {
    let root = house();
    let root = root.path();
    // Fewer samples than unknowns.
    fs::write(root.join("data/short.csv"), "cup,time,temperature\nz,0,80\nz,5,70\n").unwrap();
    assert_eq!(estimate(root, &[], 4)["environments_failed"], json!(1));
    assert_eq!(estimate(root, &["--again", "failed"], 5)["again"], json!(["z"]));
    assert_eq!(estimate(root, &["--again", "ok"], 0)["again"], json!(["a", "b"]));
    let others = ["--set", "estimate.tolerance=1e-7"];
    assert_eq!(estimate(root, &others, 0)["by_others"], json!(3));
    let again = [&others[..], &["--again", "other-model"]].concat();
    assert_eq!(estimate(root, &again, 4)["again"], json!(["a", "b", "z"]));
    assert_eq!(estimate(root, &others, 0)["by_others"], json!(0));
}

#[test]
fn interrupted_work_goes_on_behind_its_finished_blocks() {
    let root = house();
    let root = root.path();
    let ids: Vec<String> = (0..400).map(|i| format!("cup-{i:03}")).collect();
    let cups: Vec<(&str, f64)> = ids.iter().enumerate().map(|(i, id)| (id.as_str(), 0.02 + 1e-4 * i as f64)).collect();
    write(root, "first.csv", &cups);
    estimate(root, &[], 0);
    let values = |root: &Path| -> Vec<f64> {
        rows(root).iter().flat_map(|row| row.parameters.iter().map(|it| it.value)).collect()
    };
    let undisturbed = values(root);
    fs::remove_dir_all(root.join("table")).unwrap();

    let blocks = || -> Vec<PathBuf> {
        let folders = fs::read_dir(root.join(".table.blocks")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).into_iter().flatten());
        files.map(|it| it.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "block")).collect()
    };
    let arguments = ["estimate", "--data", "cups.toml", "--table", "table", "--settle", "0", "--threads", "1"];
    let mut child = command(root, &arguments).stderr(Stdio::piped()).spawn().unwrap();
    while blocks().is_empty() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(143), "{}", stderr(&stopped));
    assert!(stderr(&stopped).contains("finished blocks are kept"), "{}", stderr(&stopped));
    assert!(!root.join("table").exists() && !blocks().is_empty());
    // One that is damaged is noticed, so the others are taken too.
    fs::write(&blocks()[0], "damaged").unwrap();
    let resumed = paramill(root, &arguments);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("not as it was written"), "{}", stderr(&resumed));
    assert_eq!(values(root), undisturbed);
    assert!(!root.join(".table.blocks").exists());
}

#[test]
fn a_file_that_is_still_being_written_waits() {
    let root = house();
    let output = paramill(root.path(), &["estimate", "--data", "cups.toml", "--table", "table", "--settle", "3600"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("first.csv is still being written"), "{}", stderr(&output));
    assert!(!root.path().join("table").exists());
}

#[test]
fn what_cannot_be_is_refused_and_the_table_stays() {
    let root = house();
    let root = root.path();
    estimate(root, &[], 0);
    let refused = |more: &[&str], code: i32, expected: &str| {
        let output = paramill(root, &[&["estimate", "--data", "cups.toml", "--settle", "0"], more].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    refused(&["--table", "table", "--model", "nowhere"], 2, "--model: found with `method = \"physics\"`");
    refused(&["--table", "table", "--set", "estimate.method=learned"], 2, "--model: expected with");
    refused(&["--table", "table", "--again", "wrong"], 2, "found `wrong`; expected all, failed");
    refused(&["--table", "table", "--set", "estimate.physics.scopes.room=all"], 2, "\"all\" of room; expected");
    fs::create_dir(root.join("other")).unwrap();
    refused(&["--table", "other"], 2, "other");
    // What is not of the table would be lost with it.
    fs::write(root.join("table/note.txt"), "mine").unwrap();
    refused(&["--table", "table"], 2, "table/note.txt");
    fs::remove_file(root.join("table/note.txt")).unwrap();
    // Another unit, another column.
    fs::write(root.join("cups.toml"), CUPS.replace("degC", "degF")).unwrap();
    refused(&["--table", "table", "--again", "all"], 3, "a table with other columns or units (room");
    fs::write(root.join("cups.toml"), CUPS).unwrap();
    assert_rates(root, &[("a", 0.02), ("b", 0.03)]);
    // Where no file can be read, all are named, as by an import.
    fs::write(root.join("data/second.csv"), "cup,time,temperature\nc,0,hot\n").unwrap();
    fs::write(root.join("data/first.csv"), "").unwrap();
    refused(&["--table", "table"], 3, "second.csv:2");
    refused(&["--table", "table"], 3, "first.csv");
    assert_rates(root, &[("a", 0.02), ("b", 0.03)]);
}

#[test]
fn files_that_are_left_out_for_their_names_are_warned_of_by_every_import() {
    let root = house();
    let root = root.path();
    fs::write(root.join("data").join(OsStr::from_bytes(b"odd\xff.csv")), cup("c", 0.02)).unwrap();
    for (arguments, place) in [(["run", "cups.toml"], "/warnings"), (["check", "cups.toml"], "/paths/0/warnings")] {
        let output = paramill(root, &[&arguments[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warning = said.pointer(place).unwrap()[0].as_str().unwrap();
        assert!(warning.contains("found a name that is not UTF-8"), "{warning}");
    }
}

/// No stage makes such a table, so none is named; what an import complains of is in the JSON one by one.
#[test]
fn a_damaged_table_is_bad_data_and_problems_are_listed() {
    let root = house();
    let root = root.path();
    estimate(root, &[], 0);
    let refused = |more: &[&str], code: i32| {
        let arguments = ["estimate", "--data", "cups.toml", "--table", "table", "--settle", "0", "--json", "-q"];
        let output = paramill(root, &[&arguments, more].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["error"].take()
    };
    for file in ["manifest.json", "adapt.parquet", "sources.json", "SHA256SUMS"] {
        let path = root.join("table").join(file);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let missing = refused(&["--again", "all"], 3);
        fs::write(&path, &whole[1..]).unwrap();
        for error in [missing, refused(&["--again", "all"], 3)] {
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("move its directory away") && !message.contains("stage"), "{file}: {message}");
        }
        fs::write(&path, whole).unwrap();
    }
    fs::write(root.join("data/first.csv"), "cup,time,temperature\nc,0,hot\nc,5,cold\n").unwrap();
    let problems = refused(&[], 3)["problems"].take();
    let lines: Vec<u64> = problems.as_array().unwrap().iter().map(|it| it["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2, 3], "{problems}");
    assert_eq!(problems[0]["file"], "data/first.csv");
}

/// Damage of several kinds, and names that nothing can be done with, cost their own files alone.
#[test]
fn files_that_cannot_be_read_are_named_and_the_rest_is_estimated() {
    let root = house();
    let root = root.path();
    estimate(root, &[], 0);
    let put = |name: &[u8], bytes: &[u8]| fs::write(root.join("data").join(OsStr::from_bytes(name)), bytes).unwrap();
    put(b"empty.csv", b"");
    put(b"hot.csv", b"cup,time,temperature\nd,0,80\nd,5,hot\nd,10,60\n");
    put(b"twice.csv", b"cup,time,temperature\ne,0,80\ne,5,70\ne,5,60\n");
    put(b"zipped.csv", &[&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[7; 40]].concat());
    put(b"odd\xff.csv", cup("f", 0.02).as_bytes());
    put(b"bell\x07.csv", cup("g", 0.02).as_bytes());
    symlink("nowhere.csv", root.join("data/link.csv")).unwrap();
    write(root, "third.csv", &[("c", 0.05)]);
    // A file that was read before is damaged too: its rows stay.
    put(b"first.csv", b"cup;time\n1;2\n");

    let arguments = ["estimate", "--data", "cups.toml", "--table", "table", "--settle", "0", "--json", "-q"];
    let output = paramill(root, &arguments);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let update = &said["update"];
    assert_eq!((&update["new"], &update["kept"], &update["rows"]), (&json!(["c"]), &json!(2), &json!(3)));
    assert_eq!((&update["changed_files"], &update["vanished_files"]), (&json!([]), &json!([])));
    let unreadable = update["unreadable_files"].as_object().unwrap();
    let expected = [
        ("empty.csv", "an empty file"),
        ("first.csv", "data/first.csv:1"),
        ("hot.csv", "data/hot.csv:3, column 3 `temperature`: found \"hot\""),
        ("link.csv", "a link to \"nowhere.csv\", which is not there"),
        ("twice.csv", "data/twice.csv:4"),
        ("zipped.csv", "data/zipped.csv"),
    ];
    assert_eq!(unreadable.keys().map(String::as_str).collect::<Vec<_>>(), expected.map(|it| it.0));
    for (file, why) in expected {
        assert!(unreadable[file].as_str().unwrap().contains(why), "{file}: {}", unreadable[file]);
    }
    let warnings = said["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    let warnings: Vec<&str> = warnings.collect();
    assert_eq!(warnings.len(), expected.len() + 2, "{warnings:?}");
    for odd in ["a name that is not UTF-8", "a name with control characters"] {
        assert_eq!(warnings.iter().filter(|it| it.contains(odd)).count(), 1, "{warnings:?}");
    }
    assert_rates(root, &[("a", 0.02), ("b", 0.03), ("c", 0.05)]);

    // They are tried again each time, and nothing else is.
    let manifest = || fs::read(root.join("table/manifest.json")).unwrap();
    let before = manifest();
    assert_eq!(estimate(root, &[], 4)["unreadable_files"].as_object().unwrap().len(), expected.len());
    assert!(before == manifest(), "nothing was due");
    for file in ["empty.csv", "twice.csv", "zipped.csv", "link.csv"] {
        fs::remove_file(root.join("data").join(file)).unwrap();
    }
    write(root, "hot.csv", &[("d", 0.04)]);
    write(root, "first.csv", &[("a", 0.02), ("b", 0.06)]);
    let mended = estimate(root, &[], 0);
    assert_eq!((&mended["new"], &mended["changed"]), (&json!(["d"]), &json!(["b"])));
    assert_rates(root, &[("a", 0.02), ("b", 0.06), ("c", 0.05), ("d", 0.04)]);
}

/// Pairs of species, and a small model of them.
const PAIRS: &str = r#"seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits]
train = { environments = "train", trajectories = 2, limit = 4 }
validation = { environments = "train", trajectories = 1, limit = 4 }
adapt = { environments = "adapt", trajectories = 1, limit = 2 }

[train]
contexts = "learned"
steps = 0
substeps = 8
model = { kind = "library", degree = 2 }

[train.gauss_newton]
steps = 8

[map]
kind = "affine"
"#;

/// What an export of these pairs is.
const TODAY: &str = r#"
[import]
dataset = "today"
directory = "data"
time_unit = "1"
table = { file = "*.csv", environment = "environment", trajectory = "trajectory", time = "time" }
channels = [{ column = "x", name = "x", unit = "1" }, { column = "y", name = "y", unit = "1" }]
splits = { adapt = ["*"] }
"#;

/// A model is all that is needed: its training data and its pipeline are gone, and nothing is known of the new environments.
#[test]
fn a_model_estimates_archives_that_it_never_saw() {
    let home = house();
    let root = home.path();
    fs::write(root.join("pairs.toml"), PAIRS).unwrap();
    let run = paramill(root, &["run", "pairs.toml", "-q"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let export = paramill(root, &["dataset", "export", "datasets/pairs", "--to", "tables"]);
    assert_eq!(export.status.code(), Some(0), "{}", stderr(&export));
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path();
    fs::rename(root.join("runs/pairs/models/pairs"), to.join("model")).unwrap();
    fs::create_dir(to.join("data")).unwrap();
    fs::rename(root.join("tables/adapt.csv"), to.join("data/pairs.csv")).unwrap();
    fs::write(to.join("cups.toml"), TODAY).unwrap();
    drop(home);
    assert_eq!(estimate(to, &["--model", "model"], 0)["statuses"], json!({ "ok": 2 }));
    // The table of the export says the truth.
    let table = fs::read_to_string(to.join("data/pairs.csv")).unwrap();
    for row in rows(to) {
        let line = table.lines().find(|line| line.starts_with(&row.environment)).unwrap();
        let truth = line.split(',').skip(2).take(2).map(|it| it.parse::<f64>().unwrap());
        for (estimate, truth) in row.parameters.iter().zip(truth) {
            assert!(estimate.truth.is_none() && (estimate.value - truth).abs() < 0.02, "{truth} {estimate:?}");
        }
    }
}
