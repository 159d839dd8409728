//! Pipelines on published measurements, where they are at hand: `PARAMILL_SHARED`, or `../shared`.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use paramill::estimate::{self, Row, Status};
use paramill::schema::Split;
use serde_json::Value;

/// The folder of an archive, if it is there.
fn archive(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("PARAMILL_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    Some(shared.join("data").join(name)).filter(|directory| directory.is_dir())
}

/// Runs a pipeline of the repository on the archive in `directory`, all under `root`: its summary and its estimates.
fn run(root: &Path, pipeline: &str, directory: &Path) -> (Value, Vec<Row>) {
    let file = format!("{pipeline}.toml");
    fs::create_dir_all(root.join("pipelines")).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines").join(&file), root.join("pipelines").join(&file))
        .unwrap();
    let set = format!("import.directory={}", directory.display());
    Command::cargo_bin("paramill")
        .unwrap()
        .current_dir(root)
        .args(["run", &format!("pipelines/{file}"), "--workspace", "workspace", "--set", &set, "--quiet"])
        .assert()
        .success();
    let workspace = root.join("workspace");
    let summary = serde_json::from_slice(&fs::read(workspace.join("report/summary.json")).unwrap()).unwrap();
    let estimates = workspace.join("estimates");
    let (manifest, _) = estimate::Manifest::read(&estimates).unwrap();
    (summary, estimate::read_rows(&estimates, &manifest, Split::Adapt).unwrap())
}

/// A light ball with holes is told from a heavy smooth one by its fall alone, and the order of the archive's rows means
/// nothing: not one bit of an estimate depends on it.
#[test]
fn balls_are_told_apart_by_their_fall() {
    let Some(directory) = archive("ball_drops") else { return };
    let root = tempfile::tempdir().unwrap();
    let (summary, rows) = run(root.path(), "ball-drops", &directory);
    assert_eq!((&summary["environments"], &summary["environments_failed"]), (&3.into(), &0.into()));
    let ball = |name: &str| rows.iter().find(|row| row.environment == name).unwrap();
    let (golf, whiffle) = (ball("Golf Ball"), ball("Whiffle Ball 2"));
    for row in [golf, whiffle] {
        let estimate = row.parameters[0];
        assert_eq!(row.status, Status::Ok);
        assert!(estimate.standard_error > 0.0 && row.test_mse.is_some(), "{row:?}");
        // The calibration on seven balls leaves about 0.02 m2 kg-1.
        approx::assert_abs_diff_eq!(estimate.value, estimate.truth.unwrap(), epsilon = 0.04);
    }
    assert!(whiffle.parameters[0].value > 2.0 * golf.parameters[0].value);

    let other = root.path().join("other");
    let reversed = root.path().join("reversed");
    fs::create_dir(&reversed).unwrap();
    fs::copy(directory.join("balls.txt"), reversed.join("balls.txt")).unwrap();
    let text = fs::read_to_string(directory.join("ball_drops.csv")).unwrap();
    let (header, body) = text.trim_end().split_once('\n').unwrap();
    let body: Vec<&str> = body.lines().rev().collect();
    fs::write(reversed.join("ball_drops.csv"), format!("{header}\n{}\n", body.join("\n"))).unwrap();
    let (_, again) = run(&other, "ball-drops", &reversed);
    assert_eq!(again, rows);
}
