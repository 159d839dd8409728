//! Reports that draw what they can, and say how every environment ended.

use super::*;

/// Two decays by their equations, from a table; each flask was filled twice, and the second time is held out.
const DECAYS: &str = r#"
[import]
dataset = "decays"
directory = "."
time_unit = "1"
table = { file = "decays.csv", environment = "flask", trajectory = "run", time = "time" }
channels = [{ column = "a", name = "a", unit = "1" }, { column = "b", name = "b", unit = "1" }]
splits = { adapt = ["*"], adapt_test = { trajectories = ["2"] } }
[estimate]
method = "physics"
[estimate.physics.system]
name = "decays"
horizon = 10.0
time_step = 1.0
states = [
    { name = "a", derivative = "-fast * a", initial = [0.0, 5.0] },
    { name = "b", derivative = "-slow * b", initial = [0.0, 5.0] },
]
parameters = [{ name = "fast", lower = 0.01, upper = 5.0 }, { name = "slow", lower = 0.01, upper = 5.0 }]
[report]
"#;

/// Flasks of known rates, `a` and `b` of which are sampled in turn.
fn decays(flasks: &[(&str, f64, f64)]) -> TempDir {
    let root = house("decays.toml", DECAYS);
    let mut table = "flask,run,time,a,b\n".to_owned();
    for (name, fast, slow) in flasks {
        for (run, t) in [1.0, 2.0].into_iter().flat_map(|run| (0..24).map(move |t| (run, f64::from(t)))) {
            let (a, b) = (2.0 * run * (-fast * t / 4.0).exp(), 3.0 * run * (-slow * t / 4.0).exp());
            let cells = if t % 2.0 == 0.0 { format!("{a:.6},") } else { format!(",{b:.6}") };
            writeln!(table, "{name},{run},{},{cells}", t / 4.0).unwrap();
        }
    }
    fs::write(root.path().join("decays.csv"), table).unwrap();
    root
}

#[test]
fn channels_that_are_never_sampled_together_are_estimated_and_drawn() {
    let root = decays(&[("p", 0.8, 0.3)]);
    let outcome = run(root.path(), "decays.toml", &[], 0);
    let mse = outcome["summary"]["mse_adaptation"].as_f64().unwrap();
    assert!(mse < 1e-10, "{mse} of trajectories that have no complete sample either");
    let shown: Value =
        serde_json::from_slice(&paramill(root.path(), &["show", "runs/decays/estimates", "--json"]).stdout).unwrap();
    assert_eq!(shown["evaluation"]["statuses"], serde_json::json!({ "ok": 1 }));
    let table = String::from_utf8(paramill(root.path(), &["show", "runs/decays/estimates"]).stdout).unwrap();
    assert!(table.contains("ok      0.8000 [0.8000, 0.8000]  0.3000 [0.3000, 0.3000]"), "{table}");
    let page = fs::read_to_string(root.path().join("runs/decays/report/index.html")).unwrap();
    assert!(page.contains("id=\"trajectories\"") && !page.contains("could not be drawn"), "{page}");
    // Each channel has its twelve samples as dots, and the fit between them.
    let picture = fs::read_to_string(root.path().join("runs/decays/report/trajectories.svg")).unwrap();
    let of = |class: &str| -> Vec<&str> {
        picture.lines().filter(|line| line.starts_with(&format!("<path class=\"{class}\""))).collect()
    };
    let dots: Vec<usize> = of("p-truth-dots").iter().map(|line| line.matches("h.01").count()).collect();
    assert_eq!(dots[dots.len() - 2..], [12, 12], "{picture}");
    let fits: Vec<usize> = of("p-guess").iter().map(|line| line.matches('L').count()).collect();
    assert!(fits[fits.len() - 2..].iter().all(|points| (6..400).contains(points)), "{picture}");
    assert!(page.contains("id=\"residuals\"") && page.contains("href=\"fits.html\""));
    let plotted = paramill(root.path(), &["dataset", "show", "datasets/decays", "--plot", "decays.svg"]);
    assert_eq!(plotted.status.code(), Some(0), "{}", stderr(&plotted));
}

#[test]
fn what_cannot_be_drawn_is_said_and_costs_no_estimate() {
    let root = decays(&[("p", 0.8, 0.3)]);
    run(root.path(), "decays.toml", &[], 0);
    let place = root.path().join("datasets/decays/data/adapt-00000-of-00001.parquet");
    let mut bytes = fs::read(&place).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&place, bytes).unwrap();
    let hdf5 = root.path().join("datasets/decays/hdf5/adapt.h5");
    let mut bytes = fs::read(&hdf5).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&hdf5, bytes).unwrap();
    let output = paramill(root.path(), &["run", "decays.toml", "--stage", "report", "--force", "report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: not in the report: the trajectories of p ("), "{}", stderr(&output));
    let page = fs::read_to_string(root.path().join("runs/decays/report/index.html")).unwrap();
    assert!(page.contains("could not be drawn") && page.contains("<li>the trajectories of p ("), "{page}");
    assert!(!page.contains("id=\"trajectories\"") && page.contains("0.800 <span"), "{page}");
}

#[test]
fn every_status_that_occurs_is_counted() {
    let root = decays(&[("p", 0.8, 0.3), ("q", 1.6, 0.3), ("r", 1.9, 0.3)]);
    let bound = ["--set", "estimate.bounds.fast.max=1.0"];
    let outcome = run(root.path(), "decays.toml", &bound, 0);
    let counts = serde_json::json!({ "ok": 1, "at_bound": 2 });
    assert_eq!((&outcome["statuses"], &outcome["summary"]["statuses"]), (&counts, &counts));
    assert_eq!((&outcome["environments"], &outcome["environments_failed"]), (&3.into(), &0.into()));
    let printed = |arguments: &[&str]| String::from_utf8(paramill(root.path(), arguments).stdout).unwrap();
    let figures = printed(&[&["run", "decays.toml"], &bound[..]].concat());
    for line in ["environments_failed  0\n", "status ok            1\n", "status at_bound      2\n"] {
        assert!(figures.contains(line), "{figures}");
    }
    assert!(printed(&["show", "runs/decays/estimates"]).contains("adapt: 3 environments (1 ok, 2 at_bound)"));
    let page = fs::read_to_string(root.path().join("runs/decays/report/index.html")).unwrap();
    assert!(page.contains("1 ok, 2 at_bound"), "{page}");
    // Where there is no report to print figures of, the counts are printed all the same.
    let pipeline = DECAYS.replace("[report]\n", "");
    fs::write(root.path().join("bare.toml"), pipeline).unwrap();
    let bare = printed(&[&["run", "bare.toml"], &bound[..]].concat());
    assert!(bare.contains("status ok        1\nstatus at_bound  2\n"), "{bare}");
}

/// The place of the page is printed, and the page given to a browser.
#[test]
#[cfg(unix)]
fn a_report_is_found_and_shown() {
    use std::os::unix::fs::PermissionsExt;

    let root = decays(&[("p", 0.8, 0.3)]);
    let ask = |arguments: &[&str], browser: &str| {
        let mut command = super::command(root.path(), &[&["report", "decays.toml"], arguments].concat());
        command.env("BROWSER", browser).output().unwrap()
    };
    let early = ask(&[], "");
    assert_eq!(early.status.code(), Some(2));
    assert!(stderr(&early).contains("found no report; run `paramill run decays.toml` first"), "{}", stderr(&early));
    run(root.path(), "decays.toml", &[], 0);
    let found = ask(&[], "");
    let page = String::from_utf8(found.stdout).unwrap();
    assert!(page.ends_with("runs/decays/report/index.html\n") && root.path().join(page.trim()).is_file(), "{page}");
    let browser = root.path().join("browser");
    fs::write(&browser, "#!/bin/sh\nprintf %s \"$1\" > shown\n").unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ask(&["--open"], browser.to_str().unwrap()).status.code(), Some(0));
    assert_eq!(fs::read_to_string(root.path().join("shown")).unwrap(), page.trim());
    let failed = ask(&["--open"], "/nothing/here");
    assert_eq!(failed.status.code(), Some(2));
    assert!(stderr(&failed).contains("/nothing/here did not show the page"), "{}", stderr(&failed));
}
