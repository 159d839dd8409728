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
    fs::create_dir_all(root.join("pipelines/archives")).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines").join(&file), root.join("pipelines").join(&file))
        .unwrap();
    let set = format!("import.directory={}", directory.display());
    Command::cargo_bin("paramill")
        .unwrap()
        .current_dir(root)
        .args(["run", &format!("pipelines/{file}"), "--workspace", "workspace", "--set", &set, "--quiet"])
        .assert()
        .code(vec![0, 4]); // 4: some environments have no estimate
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

/// A voltage that nobody measures stands between the current and the voltage that was: the ohmic resistance falls with temperature. Its values
/// are those of SciPy's least squares on the closed form, in ohm.
#[test]
fn resistances_of_cells_are_found_behind_a_hidden_voltage() {
    let Some(directory) = archive("battery_pulses") else { return };
    let root = tempfile::tempdir().unwrap();
    let (summary, rows) = run(root.path(), "archives/battery", &directory);
    assert_eq!((&summary["environments"], &summary["environments_failed"]), (&24.into(), &0.into()));
    for (cell, expected) in [
        ("T0-SoC5-Cell19", 0.042_744),
        ("T0-SoC5-Cell24", 0.046_245),
        ("T10-SoC5-Cell15", 0.032_598),
        ("T25-SoC5-Cell5", 0.028_208),
        ("T45-SoC5-Cell11", 0.025_271),
    ] {
        let row = rows.iter().find(|row| row.environment == cell).unwrap();
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        approx::assert_relative_eq!(row.parameters[1].value, expected, max_relative = 1e-3);
    }
}

/// The baseline of the effect is a parameter, the amounts in gut and blood are hidden. Values of subjects 10 and 27 by SciPy's least squares on
/// the same equations, weighed as the fit weighs: clearance and volume (of 70 kg), turnover, potency and baseline.
#[test]
fn an_effect_begins_at_its_baseline() {
    let Some(directory) = archive("warfarin") else { return };
    let root = tempfile::tempdir().unwrap();
    let (summary, rows) = run(root.path(), "archives/warfarin", &directory);
    assert_eq!(summary["environments"], 32);
    let good = rows.iter().filter(|row| matches!(row.status, Status::Ok | Status::AtBound)).count();
    assert!(good >= 29, "{good} of 32");
    for (id, weight, expected) in
        [("10", 70.0, [0.1239, 9.363, 0.052_53, 1.245, 90.55]), ("27", 80.0, [0.1309, 8.882, 0.046_68, 1.013, 100.1])]
    {
        let row = rows.iter().find(|row| row.environment == id).unwrap();
        let size: f64 = weight / 70.0;
        let of_body = [row.parameters[1].value * size.powf(0.75), row.parameters[2].value * size];
        let found = of_body.into_iter().chain(row.parameters[3..].iter().map(|it| it.value));
        for (found, expected) in found.zip(expected) {
            approx::assert_relative_eq!(found, expected, max_relative = 5e-3);
        }
    }
}
