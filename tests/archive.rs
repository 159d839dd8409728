//! Tables of estimates that grow with their archives.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use paramill::estimate::{Manifest, Row, read_rows};
use paramill::schema::Split;
use serde_json::{Value, json};
use tempfile::TempDir;

use program::{paramill, stderr};

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
    refused(&["--table", "other"], 3, "other");
    // What is not of the table would be lost with it.
    fs::write(root.join("table/note.txt"), "mine").unwrap();
    refused(&["--table", "table"], 2, "table/note.txt");
    fs::remove_file(root.join("table/note.txt")).unwrap();
    // Another unit, another column.
    fs::write(root.join("cups.toml"), CUPS.replace("degC", "degF")).unwrap();
    refused(&["--table", "table", "--again", "all"], 3, "a table with other columns or units (room");
    fs::write(root.join("cups.toml"), CUPS).unwrap();
    fs::write(root.join("data/second.csv"), "cup,time,temperature\nc,0,hot\n").unwrap();
    refused(&["--table", "table"], 3, "second.csv:2");
    assert_rates(root, &[("a", 0.02), ("b", 0.03)]);
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
