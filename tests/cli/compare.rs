//! Runs side by side.

use std::fs;

use super::live::TRAINED;
use super::*;

/// Runs a pipeline into a workspace of its own.
fn run(root: &Path, pipeline: &str, workspace: &str, settings: &[&str]) {
    let mut arguments = vec!["run", pipeline, "--workspace", workspace, "--threads", "1"];
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let output = paramill(root, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn runs_stand_side_by_side_and_only_seeds_are_averaged() {
    let root = house(&format!("{PIPELINE}{TRAINED}"));
    let root = root.path();
    let equations = "\n[estimate]\nmethod = \"physics\"\nsplits = [\"validation\"]\n";
    fs::write(root.join("equations.toml"), format!("{PIPELINE}{equations}")).unwrap();
    run(root, "pairs.toml", "runs/a", &[]);
    run(root, "pairs.toml", "runs/b", &["seed=4", "generate.dataset=others"]);
    run(root, "pairs.toml", "runs/c", &["train.model.width=4"]);
    run(root, "pairs.toml", "runs/d", &["generate.splits.train.trajectories=1", "generate.dataset=fewer"]);
    run(root, "equations.toml", "runs/e", &[]);
    let all = ["compare", "runs/a", "runs/b", "runs/c", "runs/d", "runs/e"];
    let output = paramill(root, &[&all[..], &["--json", "--to", "side"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let compared = json(&output.stdout);
    assert_eq!(compared, json(&fs::read(root.join("side/comparison.json")).unwrap()));
    let groups = compared["groups"].as_array().unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["runs/a and another", "runs/c", "runs/d", "runs/e"]);
    let data: Vec<u64> = groups.iter().map(|group| group["data"].as_u64().unwrap()).collect();
    assert_eq!(data, [0, 0, 1, 0]);
    let validation = |run: &str| {
        let manifest = json(&fs::read(root.join("runs").join(run).join("models/pairs/manifest.json")).unwrap());
        manifest["training"]["validation"].as_f64().unwrap()
    };
    let (a, b) = (validation("a"), validation("b"));
    let spread = &groups[0]["figures"]["mse_validation"];
    approx::assert_relative_eq!(spread["mean"].as_f64().unwrap(), 0.5 * (a + b), max_relative = 1e-12);
    approx::assert_relative_eq!(spread["std_dev"].as_f64().unwrap(), (a - b).abs() / 2f64.sqrt(), max_relative = 1e-12);
    assert_eq!(groups[1]["figures"]["mse_validation"]["mean"].as_f64().unwrap(), validation("c"));
    let differing: Vec<&str> =
        compared["differing"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(differing.contains(&"train.model.width") && differing.contains(&"generate.splits.train.trajectories"));
    assert!(!differing.iter().any(|key| key.contains("seed") || *key == "generate.dataset"), "{differing:?}");
    assert_eq!(groups[3]["statuses"]["ok"], 2);
    assert!(groups[3]["errors"]["beta"]["mean"].as_f64().unwrap() < 1e-3, "{}", groups[3]);

    let page = fs::read_to_string(root.join("side/index.html")).unwrap();
    for text in
        ["5 runs side by side", "runs/a and another", "<code>train.model.width</code>", "[± ", "class=\"p-curve-2\""]
    {
        assert!(page.contains(text), "{text}");
    }
    // Without its own script and style the page asks for nothing.
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!page.contains(" src=") && !page.contains("http"), "the page asks for something");
    let again = paramill(root, &["compare", "runs/c", "runs/a", "--to", "side"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).contains("train.model.width") && stdout(&again).ends_with("report: side/index.html\n"));
}

#[test]
fn what_is_no_run_is_named_and_nothing_is_overwritten() {
    let root = house(PIPELINE);
    let root = root.path();
    fs::create_dir(root.join("mine")).unwrap();
    let output = paramill(root, &["compare", "mine", "absent", "mine"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    for text in
        ["mine: found no record of a finished training", "absent: found no record", "mine: found the same run as mine"]
    {
        assert!(said.contains(text), "{said}");
    }
    let output = paramill(root, &["compare", "mine", "absent", "--to", "mine"]);
    assert!(stderr(&output).contains("--to mine: found something that is no comparison"), "{}", stderr(&output));
}
