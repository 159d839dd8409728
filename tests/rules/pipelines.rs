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

/// Parameters of new pairs, within 5 % in the mean.
#[test]
fn every_rule_leads_from_a_pipeline_to_parameters_and_a_report() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("pairs.toml"), NINE_PAIRS).unwrap();
    for kind in Kind::ALL {
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
