//! What a hostile or a careless archive holds: special files, texts that a terminal obeys, links, very many keys, and what a killed
//! command left.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

/// Two vials, one of a single sample, by known equations.
const VIALS: &str = r#"[import]
dataset = "vials"
directory = "archive"
time_unit = "1"
table = { file = "vials.csv", environment = "vial", time = "t" }
channels = [{ column = "a", name = "a", unit = "1" }]
splits = { adapt = ["*"] }

[estimate]
method = "physics"

[estimate.physics.system]
name = "decay"
horizon = 3.0
time_step = 1.0
states = [{ name = "a", derivative = "-k * a", initial = [0.0, 5.0] }]
parameters = [{ name = "k", lower = 0.001, upper = 10.0 }]

[report]
"#;

fn vials(pipeline: &str) -> TempDir {
    let root = house(pipeline);
    fs::create_dir(root.path().join("archive")).unwrap();
    let rows: String = (0..6).map(|t| format!("x,{t},{}\n", 2.0 * (-0.5 * f64::from(t)).exp())).collect();
    fs::write(root.path().join("archive/vials.csv"), format!("vial,t,a\n{rows}y,0,1.5\n")).unwrap();
    root
}

fn pipe(path: PathBuf) {
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

/// Says what the command does within a time that no pipe outlives.
fn ended(root: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("paramill").unwrap();
    command.current_dir(root).args(arguments).timeout(std::time::Duration::from_secs(60));
    let output = command.output().unwrap();
    (output.status.code().expect("no signal ends it"), stderr(&output))
}

#[test]
fn one_sample_is_a_row_beside_the_others() {
    let root = vials(VIALS);
    let output = paramill(root.path(), &["run", "pairs.toml", "--quiet"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let shown = stdout(&paramill(root.path(), &["show", "runs/pairs/estimates"]));
    let row = |id: &str| shown.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
    assert!(row("x").contains(" ok ") && row("x").contains(" 0.5000 ["), "{shown}");
    assert!(row("y").contains(" too_few_points "), "{shown}");
    for command in ["check", "show"] {
        assert_eq!(paramill(root.path(), &[command, "datasets/vials"]).status.code(), Some(0));
    }
}

#[test]
fn special_files_are_refused_by_name_wherever_they_stand() {
    let side = format!("{VIALS}\n[import.side_table]\nfile = \"side.csv\"\nkey = \"vial\"\n");
    for (kind, named) in [("a named pipe", None), ("a device", Some("/dev/zero"))] {
        let make = |path: PathBuf| match named {
            None => pipe(path),
            Some(device) => symlink(device, path).unwrap(),
        };
        for (pipeline, file, arguments) in [
            (VIALS, "archive/vials.csv", &["check", "run"][..]),
            (&side, "archive/side.csv", &["check", "run"]),
            (VIALS, "pairs.toml", &["check", "run", "show"]),
            (
                &VIALS.replace("[estimate.physics.system]", "[estimate.physics]\nsystem = \"sys.toml\"\n[ignored]"),
                "sys.toml",
                &["check"],
            ),
        ] {
            let root = vials(pipeline);
            let _ = fs::remove_file(root.path().join(file));
            make(root.path().join(file));
            for command in arguments {
                let (code, said) = ended(root.path(), &[command, "pairs.toml"]);
                let name = file.rsplit('/').next().unwrap();
                assert!(
                    [2, 3].contains(&code) && said.contains(kind) && said.contains(name),
                    "{command} {file}: {said}"
                );
            }
        }
        let root = house("");
        for inside in ["manifest.json", "SHA256SUMS"] {
            let directory = root.path().join(inside.replace('.', "-"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("manifest.json"), "{ \"kind\": \"dataset\" }").unwrap();
            let _ = fs::remove_file(directory.join(inside));
            make(directory.join(inside));
            let (code, said) = ended(root.path(), &["check", directory.to_str().unwrap()]);
            assert!([2, 3].contains(&code) && said.contains(kind), "{inside}: {said}");
        }
        make(root.path().join("table.csv"));
        let (code, said) = ended(root.path(), &["import", "--guess", "table.csv"]);
        assert!([2, 3].contains(&code) && said.contains(kind), "{said}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_written_out() {
    let bad = "\u{1b}[31m\u{202e}\u{9b}";
    let root = vials(&VIALS.replace("vials.csv", "bad.csv"));
    let table = fs::read_to_string(root.path().join("archive/vials.csv")).unwrap();
    fs::write(root.path().join("archive/bad.csv"), table.replace("\ny,0", "\ny\u{202e}z,0")).unwrap();
    fs::write(root.path().join("archive/head.csv"), format!("vial,t,\"a{bad}\nerror: forged\"\nx,0,1\n")).unwrap();
    let is_clean = |output: &Output| {
        let both = format!("{}{}", stdout(output), stderr(output));
        assert!(!both.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{both:?}");
        both
    };
    is_clean(&paramill(root.path(), &["run", "pairs.toml"]));
    let shown = is_clean(&paramill(root.path(), &["show", "runs/pairs/estimates"]));
    assert!(shown.contains("y\\u{202e}z"), "{shown}");
    let said = is_clean(&paramill(root.path(), &["check", "pairs.toml", "--set", "import.table.file=head.csv"]));
    assert!(said.contains("\\u{1b}[31m\\u{202e}") && !said.contains("\nerror: forged"), "{said}");
    is_clean(&paramill(root.path(), &["import", "--guess", "archive/head.csv"]));
    for argument in [format!("x{bad}={bad}"), format!("--{bad}")] {
        is_clean(&paramill(root.path(), &["check", "pairs.toml", "--set", &argument]));
        is_clean(&paramill(root.path(), &["show", &argument]));
    }
    let json = is_clean(&paramill(root.path(), &["show", "datasets/vials", "--json"]));
    serde_json::from_str::<Value>(&json).unwrap();
}

#[test]
fn links_to_products_are_followed() {
    let root = vials(VIALS);
    for (link, target) in
        [("datasets/vials", "far/data"), ("runs/pairs/estimates", "far/estimates"), ("runs/pairs/report", "far/report")]
    {
        let link = root.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir_all(root.path().join(target)).unwrap();
        symlink(root.path().join(target), &link).unwrap();
    }
    fs::create_dir(root.path().join("far/.paramill-left")).unwrap();
    // An empty folder is no dataset to replace; one that was made here is.
    fs::remove_dir(root.path().join("far/data")).unwrap();
    let refused = paramill(root.path(), &["run", "pairs.toml"]);
    assert!(
        stderr(&refused).contains("leads nowhere") && !root.path().join("far/data").exists(),
        "{}",
        stderr(&refused)
    );
    fs::remove_file(root.path().join("datasets/vials")).unwrap();
    assert_eq!(paramill(root.path(), &["run", "pairs.toml"]).status.code(), Some(4));
    fs::rename(root.path().join("datasets/vials"), root.path().join("far/data")).unwrap();
    symlink("../far/data", root.path().join("datasets/vials")).unwrap();
    let again =
        paramill(root.path(), &["run", "pairs.toml", "--force", "import", "--force", "estimate", "--force", "report"]);
    assert_eq!(again.status.code(), Some(4), "{}", stderr(&again));
    for link in ["datasets/vials", "runs/pairs/estimates", "runs/pairs/report"] {
        assert!(root.path().join(link).is_symlink(), "{link}");
    }
    assert!(
        root.path().join("far/estimates/adapt.parquet").exists() && root.path().join("far/report/index.html").exists()
    );
    assert!(!root.path().join("far/.paramill-left").exists());
}

#[test]
fn a_split_that_was_killed_between_its_outputs_goes_on() {
    let root = vials(VIALS);
    paramill(root.path(), &["run", "pairs.toml", "--stage", "import"]);
    let split = |ids: &str| {
        paramill(
            root.path(),
            &["dataset", "split", "datasets/vials", "--environments", ids, "--to", "one", "--rest", "rest"],
        )
    };
    assert_eq!(split("x").status.code(), Some(0));
    assert_eq!(split("x").status.code(), Some(2), "what is there already is not replaced");
    let whole = fs::read(root.path().join("rest/manifest.json")).unwrap();
    fs::remove_dir_all(root.path().join("rest")).unwrap();
    assert_eq!(split("y").status.code(), Some(2), "another split");
    fs::create_dir(root.path().join(".paramill-left")).unwrap();
    let again = split("x");
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).contains("one: is there already, made the same way"), "{}", stdout(&again));
    assert!(
        stderr(&again).contains(".paramill-left, left by a run that died")
            && !root.path().join(".paramill-left").exists()
    );
    assert_eq!(fs::read(root.path().join("rest/manifest.json")).unwrap(), whole);
}

#[test]
fn every_one_of_very_many_keys_has_its_place() {
    let keys: String = (0..3000).map(|i| format!("[section{i}]\nkey = \"é\"\n")).collect();
    let said = complaints(&format!("one = {{ \"é\" = 1, two = 2 }}\n{keys}"), &[]);
    assert_eq!(said.matches("found an unknown key").count(), 3001);
    assert!(said.contains("pairs.toml:1:1 (one): found an unknown key"), "{}", &said[..300]);
    assert!(said.contains("pairs.toml:6000:2 (section2999): found an unknown key"));
}

#[test]
fn paths_that_lead_to_nothing_of_the_kind_are_told_by_what_is_there() {
    let root = vials(VIALS);
    paramill(root.path(), &["run", "pairs.toml", "--quiet"]);
    fs::remove_dir_all(root.path().join("runs/pairs/estimates")).unwrap();
    for command in ["show", "check"] {
        for (path, found) in [
            ("runs/pairs/estimates", "found nothing there (runs/pairs holds `records`, `report`, `stages`)"),
            ("runs/none/estimates", "found nothing there (runs holds `pairs`)"),
            ("datasets/vials/data/adapt-00000-of-00001.parquet", "found a Parquet file"),
            ("datasets/vials/hdf5/adapt.h5", "found an HDF5 file"),
            ("datasets/vials/manifest.json", "found a manifest, of which the directory is wanted"),
            ("archive/vials.csv", "found a table"),
        ] {
            let (code, said) = ended(root.path(), &[command, path]);
            let expected = "expected a pipeline or system file (TOML), the directory of a dataset, a model or estimates, or a bundle of a model";
            assert!(code == 2 && said.contains(&format!("{path}: {found}; {expected}")), "{command} {path}: {said}");
        }
    }
}
