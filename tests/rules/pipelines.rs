//! Every rule by its name in a pipeline: from nothing to a report.

use std::fs;
use std::process::Command;

use paramill::rules::Kind;
use serde_json::Value;

const NINE_PAIRS: &str = r#"
seed = 1

[generate]
dataset = "pairs-set"
system = "lotka-volterra"
[generate.splits]
train = { environments = "train", trajectories = 2 }
validation = { environments = "train", trajectories = 1 }
adapt = { environments = "adapt", trajectories = 1 }

[train]
model = { kind = "mlp", layers = 3, width = 16 }
steps = 200
learning_rate = 0.01
validate_every = 50
gauss_newton = { steps = 15 }

[map]
[estimate]
splits = ["adapt"]
[report]
"#;

/// Errors of trajectories where environments own weights, which no parameters are read from; a map is refused, and so is a forecast.
#[test]
fn a_rule_whose_environments_own_weights_leads_to_errors_of_trajectories() {
    let root = tempfile::tempdir().unwrap();
    let paramill = |more: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("paramill"));
        command.current_dir(root.path()).args(more).output().unwrap()
    };
    let with_map = NINE_PAIRS.replace("gauss_newton = { steps = 15 }", "");
    let held_out = "test = { environments = \"train\", trajectories = 4 }\nadapt_test = { environments = \"adapt\", trajectories = 4 }\n[train]";
    let without = with_map.replace("[map]", "").replace("[train]", held_out);
    fs::write(root.path().join("mapped.toml"), with_map).unwrap();
    fs::write(root.path().join("pairs.toml"), without).unwrap();
    let mut errors = Vec::new();
    for name in ["erm", "multi-task", "leads", "maml"] {
        let set = format!("train.rule=\"{name}\"");
        let more = ["--set", &set, "--set", "train.inner_rate=0.01"];
        let refused = paramill(&["check", "mapped.toml", "--set", &set]);
        let problems = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{problems}");
        assert!(problems.contains("[map]") && problems.contains(name), "{problems}");

        let iterations = ["--set", "estimate.iterations=2000"];
        let run = ["run", "pairs.toml", "--device", "cpu", "--workspace", name];
        let output = paramill(&[&run[..], &more, &iterations].concat());
        // A fit of many weights to few values may not have ended; it is told with the error that it has.
        assert!(matches!(output.status.code(), Some(0 | 4 | 5)), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let manifest = fs::read(root.path().join(name).join("estimates/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["context_dimension"], 0, "{name}");
        assert!(root.path().join(name).join("report/index.html").is_file(), "{name}");
        let error = |of: &str| manifest["evaluation"][of].as_f64().unwrap();
        errors.push([error("mse_in_domain"), error("mse_adaptation")]);
        let predicted = paramill(
            &[&["predict", "pairs.toml", "--workspace", name, "--environment", "adapt-00000"][..], &more].concat(),
        );
        let refusal = String::from_utf8_lossy(&predicted.stderr).into_owned();
        assert!(refusal.contains("own weights"), "{refusal}");
        assert!(!predicted.status.success(), "{name}");
    }
    // One model of all environments is as bad on each as they differ; adapted ones are better, those that fit most so.
    let [erm, multi_task, leads, maml] = errors[..] else { panic!("four rules") };
    assert!(multi_task[0] < 0.3 * erm[0] && leads[0] < 0.3 * erm[0] && maml[0] < erm[0], "{errors:?}");
    // A last layer that is fitted to one trajectory knows too little of others.
    assert!(leads[1] < 0.5 * erm[1] && maml[1] < erm[1], "{errors:?}");
}

/// Parameters of new pairs, within 5 % in the mean.
#[test]
fn every_rule_leads_from_a_pipeline_to_parameters_and_a_report() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("pairs.toml"), NINE_PAIRS).unwrap();
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.owns_weights()) {
        let name = serde_json::to_value(kind).unwrap();
        let workspace = root.path().join(name.as_str().unwrap());
        let output = Command::new(assert_cmd::cargo::cargo_bin("paramill"))
            .current_dir(root.path())
            .args(["run", "pairs.toml", "--device", "cpu", "--workspace"])
            .arg(&workspace)
            .args(["--set", &format!("train.rule={name}")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let json = |path: &str| -> Value { serde_json::from_slice(&fs::read(workspace.join(path)).unwrap()).unwrap() };
        assert_eq!(json("models/pairs/manifest.json")["rule"], name);
        let figures = &json("estimates/manifest.json")["evaluation"];
        assert_eq!(figures["statuses"]["ok"], 4, "{name}: {figures}");
        let error = figures["param_mape_overall"].as_f64().unwrap();
        assert!(error < 5.0, "{name}: {figures}");
        assert!(workspace.join("report/index.html").is_file(), "{name}");
    }
}
