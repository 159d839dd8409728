//! What was edited is refused by name, and made again by the pipeline that made it; what does not end is ended.

use super::*;

/// Every command that reads a model looks at its seal, and a run makes it again.
#[test]
fn an_edited_model_is_refused_and_made_again() {
    let root = house("pairs.toml", PAIRS);
    run(root.path(), "pairs.toml", &["--stage", "generate", "--stage", "train", "--stage", "map"], 0);
    let place = "runs/pairs/models/pairs";
    let manifest = root.path().join(place).join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let edited = text.replacen("\"solver\": \"rk4\"", "\"solver\": \"euler\"", 2);
    assert_ne!(text, edited);
    fs::write(&manifest, &edited).unwrap();
    let predict = ["predict", "pairs.toml", "--environment", "environment-00"];
    for arguments in [&["check", place][..], &["show", place], &predict, &["run", "pairs.toml", "--stage", "estimate"]]
    {
        let output = paramill(root.path(), arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("as `SHA256SUMS` states"), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(ran(&run(root.path(), "pairs.toml", &["--stage", "train"], 0)), ["train"]);
    assert!(fs::read_to_string(&manifest).unwrap().contains("\"solver\": \"rk4\""));
    // The same of estimates.
    run(root.path(), "pairs.toml", &[], 0);
    let manifest = root.path().join("runs/pairs/estimates/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"environments\": 13", "\"environments\": 31", 1)).unwrap();
    for arguments in [&["check", "runs/pairs/estimates"][..], &["show", "runs/pairs/estimates"]] {
        let output = paramill(root.path(), arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("as `SHA256SUMS` states"), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(ran(&run(root.path(), "pairs.toml", &[], 0))[0], "estimate");
}

const ENDLESS: &str = r#"
[generate]
dataset = "decays"
max_steps = 1000000000
[generate.system]
name = "decay"
time_unit = "s"
horizon = 1e6
time_step = 1e5
states = [{ name = "x", derivative = "-rate * (x - cos(t))", initial = [1.0, 2.0] }]
parameters = [{ name = "rate", lower = 1e4, upper = 1e5 }]
[generate.splits.train]
environments = [{ rate = 2e4 }, { rate = 3e4 }]
trajectories = 1
"#;

#[test]
fn an_integration_without_an_end_ends_when_it_is_asked_to() {
    let root = house("decays.toml", ENDLESS);
    let mut child = command(root.path(), &["run", "decays.toml"]).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("simulate decays: begins") {
        assert!(std::io::BufRead::read_line(&mut said, &mut lines).unwrap() > 0, "{lines}");
    }
    signal(&child, "-TERM");
    let ended = child.wait().unwrap();
    std::io::Read::read_to_string(&mut said, &mut lines).unwrap();
    assert_eq!(ended.code(), Some(143), "{lines}");
    assert!(lines.contains("SIGTERM") && !root.path().join("datasets/decays").exists(), "{lines}");
}
