//! The versions of a model: which is in use, who said so, and which stay.

#[path = "common/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use paramill::dataset::Parent;
use paramill::engine::{Compute, DeviceChoice, EngineChoice};
use paramill::pipeline::{self, Built, Done, Executor, Locations, Plan, Product, Stage};
use paramill::progress::Run;
use serde_json::{Value, json};

use program::{house, paramill, stderr};

/// Two pairs of species, and a model that is trained by a step or so.
const PIPELINE: &str = r#"seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits]
train = { environments = "train", trajectories = 1, limit = 3 }
validation = { environments = "train", trajectories = 1, limit = 3 }
test = { environments = "train", trajectories = 2, limit = 3 }
adapt = { environments = "adapt", trajectories = 1, limit = 1 }

[train]
contexts = "learned"
context_dimension = 1
steps = 1
gauss_newton = { steps = 0 }
model = { kind = "mlp", layers = 2, width = 8 }

[map]
kind = "affine"

[estimate]
splits = ["adapt"]

[run]
models = 9
"#;

/// Exit codes of a run whose model may be of no use: it is trained by a step.
const DONE: [i32; 3] = [0, 4, 5];

/// Runs the pipeline and holds it to some exit codes; what it says on stderr.
fn run(root: &Path, arguments: &[&str], codes: &[i32]) -> String {
    let output = paramill(root, &[&["run", "pairs.toml", "-q", "--threads", "1"], arguments].concat());
    let code = output.status.code();
    assert!(code.is_some_and(|code| codes.contains(&code)), "{code:?}: {}", stderr(&output));
    stderr(&output)
}

fn train(root: &Path, steps: u32, seed: u32) {
    let sets = [format!("train.steps={steps}"), format!("seed={seed}")];
    run(
        root,
        &["--set", &sets[0], "--set", &sets[1], "--stage", "generate", "--stage", "train", "--stage", "map"],
        &[0],
    );
}

/// What a command prints as JSON, and its exit code.
fn model(root: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let output = paramill(root, &[&["model"], arguments, &["--json"]].concat());
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (value, output.status.code())
}

fn names(root: &Path) -> Vec<String> {
    let listed = model(root, &["list", "pairs.toml"]).0;
    listed["versions"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

fn in_use(root: &Path) -> String {
    let alias = root.join("runs/pairs/models/pairs.versions/current");
    fs::read_link(alias).unwrap().into_os_string().into_string().unwrap()
}

fn audit(root: &Path) -> Vec<Value> {
    let text = fs::read_to_string(root.join("runs/pairs/models/pairs.versions/audit.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_user_puts_a_version_in_use_and_goes_back() {
    let root = house(PIPELINE);
    let root = root.path();
    // Nothing is made where nothing ever ran.
    for arguments in [&["promote", "pairs.toml", "1a2b"][..], &["rollback", "pairs.toml"]] {
        assert_eq!(model(root, arguments).1, Some(2));
    }
    assert_eq!(model(root, &["prune", "pairs.toml", "--keep", "1"]).0, json!({ "removed": [], "stayed": [] }));
    assert!(!root.join("runs").exists());
    for steps in [1, 2, 3] {
        train(root, steps, 3);
    }
    let all = names(root);
    assert_eq!((all.len(), in_use(root)), (3, all[2].clone()));
    assert_eq!(model(root, &["promote", "pairs.toml", &all[2]]), (json!({ "to": all[2], "moved": false }), Some(0)));

    let (moved, code) = model(root, &["promote", "pairs.toml", &all[0], "--reason", "tank 7"]);
    assert_eq!(
        (code, &moved["from"], &moved["to"], &moved["act"]),
        (Some(0), &json!(all[2]), &json!(all[0]), &json!("promote"))
    );
    assert_eq!((&moved["why"], &moved["forced"], in_use(root)), (&json!("tank 7"), &json!(false), all[0].clone()));
    // What a user put in use stays there while the stages give what they gave before.
    train(root, 3, 3);
    assert_eq!(in_use(root), all[0]);
    let forced = model(root, &["promote", "pairs.toml", &all[1], "--force", "--reason", "new sensors"]).0;
    assert_eq!((&forced["forced"], in_use(root)), (&json!(true), all[1].clone()));
    let unexplained = paramill(root, &["model", "promote", "pairs.toml", &all[2], "--force"]);
    assert!(unexplained.status.code() == Some(2) && stderr(&unexplained).contains("--reason"));
    let shown = String::from_utf8(paramill(root, &["model", "show", "pairs.toml"]).stdout).unwrap();
    assert!(shown.contains("new sensors, by `paramill model promote --force`"), "{shown}");

    // Back by one, by two, and to the first that was ever in use.
    for expected in [&all[0], &all[2], &all[1], &all[0]] {
        let (moved, code) = model(root, &["rollback", "pairs.toml"]);
        assert_eq!((code, &moved["to"], &moved["act"]), (Some(0), &json!(expected), &json!("rollback")));
        assert_eq!(&in_use(root), expected);
    }
    let (refused, code) = model(root, &["rollback", "pairs.toml"]);
    assert_eq!(code, Some(2));
    assert!(refused["error"].to_string().contains("no version that was in use before"), "{refused}");
    let forced: Vec<bool> = audit(root).iter().map(|line| line["forced"].as_bool().unwrap()).collect();
    assert_eq!(forced.iter().filter(|&&forced| forced).count(), 1);
    // A model of the stages that is new comes into use.
    train(root, 4, 3);
    assert_eq!(in_use(root), names(root)[3]);

    // A damaged version does not, and a run that holds the workspace is waited for by nobody.
    let damaged = root.join("runs/pairs/models/pairs.versions").join(&all[0]).join("weights.safetensors");
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, "nothing").unwrap();
    assert_eq!(model(root, &["promote", "pairs.toml", &all[0], "--force", "--reason", "none"]).1, Some(3));
    assert_eq!(in_use(root), names(root)[3]);
    let lock = fs::File::create(root.join("runs/pairs/.lock")).unwrap();
    lock.lock().unwrap();
    for arguments in [&["promote", "pairs.toml", &all[1]][..], &["rollback", "pairs.toml"]] {
        assert_eq!(model(root, arguments).1, Some(6));
    }
    assert_eq!(model(root, &["prune", "pairs.toml", "--keep", "1"]).1, Some(6));
}

#[test]
fn old_versions_go_but_not_those_that_somebody_needs() {
    let root = house(PIPELINE);
    let root = root.path();
    run(root, &[], &DONE);
    for steps in [2, 3, 4, 5] {
        train(root, steps, 3);
    }
    let all = names(root);
    model(root, &["promote", "pairs.toml", &all[1]]);
    let neither = paramill(root, &["model", "prune", "pairs.toml"]);
    assert_eq!(neither.status.code(), Some(2));
    // None is a day old.
    let young = model(root, &["prune", "pairs.toml", "--keep", "1", "--older-than", "1"]).0;
    assert_eq!((young["removed"].clone(), names(root).len()), (json!([]), 5));
    let (pruned, code) = model(root, &["prune", "pairs.toml", "--keep", "1"]);
    assert_eq!((code, &pruned["removed"]), (Some(0), &json!([all[2], all[3]])));
    let stayed = json!([
        { "version": all[0], "why": "the estimates were made by it" },
        { "version": all[1], "why": "it is in use" },
    ]);
    assert_eq!(pruned["stayed"], stayed);
    assert_eq!(names(root), [all[0].clone(), all[1].clone(), all[4].clone()]);
    // Nothing of them is left under another name.
    let entries = fs::read_dir(root.join("runs/pairs/models/pairs.versions")).unwrap();
    let left = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with('.')).count(), 0);
    // Versions of years ago are old.
    let store = root.join("runs/pairs/models/pairs.versions");
    fs::rename(store.join(&all[4]), store.join("1999-01-01T000000.000Z-aaaaaaaa")).unwrap();
    let old = model(root, &["prune", "pairs.toml", "--older-than", "365"]).0;
    assert_eq!(old["removed"], json!(["1999-01-01T000000.000Z-aaaaaaaa"]));
}

#[test]
fn a_difference_of_versions_names_settings_data_and_weights() {
    let root = house(PIPELINE);
    let root = root.path();
    train(root, 1, 3);
    train(root, 1, 4);
    train(root, 2, 4);
    let all = names(root);
    let (same, code) = model(root, &["diff", "pairs.toml", &all[0], &all[0]]);
    assert_eq!((code, &same["weights_same"], &same["settings"]), (Some(0), &json!(true), &json!([])));
    let keys = |part: &Value| -> Vec<String> {
        part.as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
    };
    let (data, code) = model(root, &["diff", "pairs.toml", &all[0], &all[1]]);
    assert_eq!((code, data["weights_same"].clone()), (Some(3), json!(false)));
    assert_eq!(
        (keys(&data["settings"]), keys(&data["data"])),
        (vec!["seed".to_owned()], vec!["parents.pairs".to_owned()])
    );
    let steps = model(root, &["diff", "pairs.toml", &all[1], "current"]).0;
    assert_eq!((keys(&steps["settings"]), keys(&steps["data"]).len()), (vec!["settings.steps".to_owned()], 0));
    assert_eq!(steps["settings"][0], json!({ "key": "settings.steps", "a": "1", "b": "2" }));
    assert!(keys(&steps["figures"]).contains(&"validation".to_owned()));
    let text = paramill(root, &["model", "diff", "pairs.toml", &all[1], "current"]).stdout;
    assert!(String::from_utf8(text).unwrap().contains("settings.steps"));
}

/// The digest of a version's manifest, by which estimates name the model that they were made by.
fn manifest_of(root: &Path, version: &str) -> String {
    model(root, &["show", "pairs.toml", version]).0["manifest_sha256"].as_str().unwrap().to_owned()
}

fn are_estimates_of(root: &Path, version: &str) -> bool {
    let manifest = fs::read_to_string(root.join("runs/pairs/estimates/manifest.json")).unwrap();
    manifest.contains(&manifest_of(root, version))
}

#[test]
fn a_model_that_is_worse_is_kept_and_not_used() {
    let root = house(&format!("{PIPELINE}\n[promote]\n"));
    let root = root.path();
    let good = ["--set", "train.gauss_newton.steps=15"];
    run(root, &[], &DONE);
    let poor = in_use(root);
    assert!(are_estimates_of(root, &poor));
    run(root, &good, &[0]);
    let better = in_use(root);
    assert_ne!(better, poor);
    let gate = audit(root)[1]["gate"].clone();
    assert_eq!((&gate["trajectories"], &gate["environments"], &gate["reasons"]), (&json!(6), &json!(3), &json!([])));
    assert_eq!(gate["sha256"].as_str().unwrap().len(), 64);

    // The poor one again: rejected, once, and the estimates stay those of the better one.
    for _ in 0..2 {
        let said = run(root, &[], &[7]);
        assert!(said.contains("is not good enough") && said.contains(&format!("{better} stays in use")), "{said}");
        assert_eq!((in_use(root), audit(root).len()), (better.clone(), 3));
    }
    assert!(are_estimates_of(root, &better));
    let rejected = audit(root)[2].clone();
    assert_eq!(
        (&rejected["act"], &rejected["from"], &rejected["to"]),
        (&json!("rejected"), &json!(better), &json!(poor))
    );
    assert_eq!(rejected["gate"]["sha256"], gate["sha256"]);
    let text = String::from_utf8(paramill(root, &["model", "list", "pairs.toml"]).stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with(&poor) && line.contains("rejected")), "{text}");
    let text = String::from_utf8(paramill(root, &["model", "show", "pairs.toml", &poor]).stdout).unwrap();
    assert!(text.contains("judged on") && text.contains("the one in use had"), "{text}");

    // Only a user who insists puts it in use; then it makes the estimates, until the user goes back.
    let (refused, code) = model(root, &["promote", "pairs.toml", &poor]);
    assert_eq!((code, &refused["error"]["kind"]), (Some(7), &json!("rejected")), "{refused}");
    model(root, &["promote", "pairs.toml", &poor, "--force", "--reason", "for a test"]);
    run(root, &[], &DONE);
    assert!(are_estimates_of(root, &poor));
    model(root, &["rollback", "pairs.toml"]);
    run(root, &good, &[0]);
    assert!(are_estimates_of(root, &better));
    assert_eq!(audit(root).len(), 5);

    // Another gate judges anew, and makes no model anew.
    let wide = ["promote.margin=1e12", "promote.parameter_margin=1e12", "promote.most_failed=1"];
    let sets = wide.into_iter().flat_map(|setting| ["--set", setting]).collect::<Vec<_>>();
    let planned = paramill(root, &[&["run", "pairs.toml", "--dry-run"], &good[..], &sets].concat());
    assert_eq!(planned.status.code(), Some(0));
}

#[test]
fn nothing_is_judged_on_what_either_model_was_trained_on() {
    let pipeline = r#"[import]
dataset = "tanks"
directory = "archive"
time_unit = "s"
table = { file = "tanks.csv", environment = "tank", trajectory = "fill", time = "t" }
channels = [{ column = "level", name = "level", unit = "m" }]

[import.splits]
adapt = ["c"]
validation = { trajectories = ["2"] }
test = { trajectories = ["3"] }

[train]
context_dimension = 1
steps = 1
gauss_newton = { steps = 0 }
model = { kind = "mlp", layers = 2, width = 8 }

[map]

[estimate]

[promote]

[run]
models = 4
"#;
    let root = house(pipeline);
    let root = root.path();
    let mut table = "tank,fill,t,level\n".to_owned();
    for (tank, rate) in [("a", 0.5), ("b", 0.7), ("c", 0.6)] {
        for fill in 1..=4 {
            let level = |t: i32| f64::from(fill) * (-rate * f64::from(t) / 4.0_f64).exp();
            (0..8).for_each(|t| table += &format!("{tank},{fill},{t},{}\n", level(t)));
        }
    }
    fs::create_dir(root.join("archive")).unwrap();
    fs::write(root.join("archive/tanks.csv"), table).unwrap();
    run(root, &[], &DONE);
    let first = in_use(root);
    // The same trajectories under other roles: what trained the model in use is to judge it.
    let said = run(root, &["--set", "import.splits.test.trajectories=[\"1\"]"], &[7]);
    let expected = "the model in use was trained on held-out trajectories: `a/1`, `b/1`; ";
    assert!(said.contains(expected), "{said}");
    assert_eq!(in_use(root), first);
    // New ones may join the set.
    run(root, &["--set", "import.splits.test.trajectories=[\"3\"]", "--set", "train.steps=2"], &[0, 4, 5, 7]);
    assert_eq!(audit(root)[2]["gate"]["trajectories"], json!(2));
    assert!(!audit(root)[2]["why"].to_string().contains("was trained on"));
    // What nobody knows of is not let through either.
    fs::remove_file(root.join("runs/pairs/models/pairs.versions/current/trained-on.txt")).unwrap();
    let said = run(root, &["--set", "train.steps=3"], &[7]);
    assert!(said.contains("it is not known what the model in use was trained on"), "{said}");
}

#[test]
fn a_gate_without_models_or_a_held_out_set_is_refused() {
    let check = |pipeline: &str| {
        let root = house(pipeline);
        stderr(&paramill(root.path(), &["check", "pairs.toml"]))
    };
    let without = |line: &str| -> String {
        PIPELINE.lines().filter(|it| !it.starts_with(line)).map(|it| format!("{it}\n")).collect()
    };
    let said = check(&format!("{}\n[promote]\n", without("test")));
    assert!(said.contains("(promote): found no split `test`; expected it: both models are judged on it"), "{said}");
    let said = check(&format!("{}\n[promote]\n", PIPELINE.replace("models = 9", "models = 1")));
    assert!(said.contains("(run.models): found 1; expected 2 or more"), "{said}");
    let said = check(&format!("{PIPELINE}\n[promote]\nmargin = -1\nmost_failed = 2\n"));
    assert!(said.contains("(promote.margin)") && said.contains("(promote.most_failed)"), "{said}");
    let said = check(&format!("{}\n[promote]\n", PIPELINE.replace("splits = [\"adapt\"]", "method = \"physics\"")));
    assert!(said.contains("(promote): found [promote], and no model that is trained"), "{said}");
}

#[test]
fn a_gate_asks_how_often_intervals_hold() {
    let root = house(&format!("{PIPELINE}\n[promote]\nmargin = 1e12\nparameter_margin = 1e12\nmost_failed = 1.0\n"));
    let root = root.path();
    run(root, &[], &DONE);
    let first = in_use(root);
    let good = ["--set", "train.gauss_newton.steps=15"];
    // Intervals that hold nothing are asked for.
    let none = ["--set", "promote.coverage=[0.0, 0.0]", "--set", "promote.forecast_coverage=[0.0, 0.0]"];
    let said = run(root, &[&good[..], &none].concat(), &[7]);
    assert!(
        said.contains("of the values of held-out trajectories, and between 0.00 and 0.00 % is asked for"),
        "{said}"
    );
    assert_eq!(in_use(root), first);
    let rejected = audit(root)[1]["gate"].clone();
    let shares = ["coverage", "forecast_coverage"].map(|name| rejected["candidate"][name].as_f64().unwrap());
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)) && shares[1] > 0.0, "{shares:?}");
    // Six known parameters: two of each of three environments.
    assert!((6.0 * shares[0] - (6.0 * shares[0]).round()).abs() < 1e-9, "{shares:?}");
    let text = String::from_utf8(paramill(root, &["model", "show", "pairs.toml", &names(root)[1]]).stdout).unwrap();
    assert!(text.contains("95 % intervals hold"), "{text}");
    // The same model is judged anew by other limits, and comes into use.
    let about = |share: f64| format!("[{}, {}]", (share - 0.01).max(0.0), (share + 0.01).min(1.0));
    let sets =
        [format!("promote.coverage={}", about(shares[0])), format!("promote.forecast_coverage={}", about(shares[1]))];
    run(root, &[&good[..], &["--set", &sets[0], "--set", &sets[1]]].concat(), &[0]);
    assert_ne!(in_use(root), first);
    let reversed = paramill(root, &["run", "pairs.toml", "--set", "promote.coverage=[0.9, 0.1]"]);
    assert!(reversed.status.code() == Some(2) && stderr(&reversed).contains("0.9 above 0.1"), "{}", stderr(&reversed));
}

#[test]
fn a_training_starts_from_the_version_in_use_and_not_again_for_its_sake() {
    let root = house(&PIPELINE.replace("[train]", "[train]\nwarm_start = \"current\""));
    let root = root.path();
    let sets = |steps: &'static str| ["--stage", "generate", "--stage", "train", "--stage", "map", "--set", steps];
    let is_up_to_date = |steps: &'static str| {
        let planned = paramill(root, &[&["run", "pairs.toml", "--dry-run"], &sets(steps)[..]].concat());
        planned.status.code() == Some(0)
    };
    run(root, &sets("train.steps=1"), &[0]);
    let first = manifest_of(root, "current");
    assert!(is_up_to_date("train.steps=1"), "that a model is in use now is no reason to train");
    run(root, &sets("train.steps=2"), &[0]);
    assert!(is_up_to_date("train.steps=2"), "nor that another one is");
    let manifest = |version: &str| -> Value {
        let store = root.join("runs/pairs/models/pairs.versions");
        serde_json::from_slice(&fs::read(store.join(version).join("manifest.json")).unwrap()).unwrap()
    };
    let of_first = names(root)[0].clone();
    assert_eq!(
        manifest(&of_first)["provenance"]["parents"].as_array().unwrap().len(),
        1,
        "the first starts from nothing"
    );
    let parents = manifest("current")["provenance"]["parents"].clone();
    assert_eq!(parents[1], json!({ "name": "model pairs", "sha256": first }));
    let record: Value = serde_json::from_slice(&fs::read(root.join("runs/pairs/stages/train.json")).unwrap()).unwrap();
    assert_eq!(record["ingredients"]["parents"][1], json!({ "name": "the model in use", "sha256": first }));
    // By a path it is an input like others.
    let path = format!("train.warm_start=runs/pairs/models/pairs.versions/{of_first}");
    run(root, &[&sets("train.steps=2")[..], &["--set", &path]].concat(), &[0]);
    let packed = paramill(root, &["model", "pack", "pairs.toml", &of_first, "-o", "first.tar"]);
    assert_eq!(packed.status.code(), Some(0), "{}", stderr(&packed));
    let bundle = [&sets("train.steps=2")[..], &["--set", "train.warm_start=first.tar"]].concat();
    run(root, &bundle, &[0]);
    let by_bundle = manifest("current")["provenance"]["parents"].clone();
    assert_eq!(by_bundle, parents);

    // Another network, a path to nothing, and no versions are told before anything runs, or is trained.
    let said = run(root, &[&sets("train.steps=2")[..], &["--set", "train.model.width=9"]].concat(), &[2]);
    assert!(said.contains("train.model.width: 8 -> 9"), "{said}");
    let check = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        stderr(&paramill(root, &["check", "pairs.toml"].into_iter().chain(sets).collect::<Vec<_>>()))
    };
    assert!(check(&["train.warm_start=nowhere"]).contains("nothing at \"nowhere\""));
    assert!(check(&["run.models=0"]).contains("\"current\", and no versions"));
}

/// What a model has learned from is also what the one that it started from has.
#[test]
fn a_gate_knows_what_the_start_of_a_model_was_trained_on() {
    let root = house(&PIPELINE.replace("[train]", "[train]\nwarm_start = \"current\""));
    let root = root.path();
    train(root, 1, 3);
    // Another seed simulates other trajectories.
    train(root, 2, 4);
    let all = names(root);
    let trained_on = |version: &str| -> BTreeSet<String> {
        let path = root.join("runs/pairs/models/pairs.versions").join(version).join("trained-on.txt");
        fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
    };
    let [first, second] = [trained_on(&all[0]), trained_on(&all[1])];
    assert!(first.len() == 6 && second.len() == 12 && first.is_subset(&second), "{first:?} {second:?}");
}

/// Names, audit and records that tell of a time to come: what stands in a workspace after the clock has gone back.
#[test]
fn nothing_is_lost_where_the_clock_goes_back() {
    let root = house(&PIPELINE.replace("models = 9", "models = 2\nrecords = 2"));
    let root = root.path();
    train(root, 1, 3);
    let (store, before) = (root.join("runs/pairs/models/pairs.versions"), in_use(root));
    let later = format!("2999{}", &before[4..]);
    fs::rename(store.join(&before), store.join(&later)).unwrap();
    fs::remove_file(store.join("current")).unwrap();
    std::os::unix::fs::symlink(&later, store.join("current")).unwrap();
    let year = &before[..5];
    let text = fs::read_to_string(store.join("audit.jsonl")).unwrap().replace(&before, &later);
    fs::write(store.join("audit.jsonl"), text.replace(&format!("\"time\":\"{year}"), "\"time\":\"2999-")).unwrap();
    let records = root.join("runs/pairs/records");
    for entry in fs::read_dir(&records).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap().replace(&format!("\"{year}"), "\"2999-");
        fs::remove_file(&path).unwrap();
        let name = format!("2999{}", &path.file_name().unwrap().to_str().unwrap()[4..]);
        fs::write(records.join(name), text).unwrap();
    }
    let stage = fs::File::options().append(true).open(root.join("runs/pairs/stages/train.json")).unwrap();
    stage.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(40_000_000)).unwrap();

    // No age is below zero, and what is of a time to come is not old.
    let output = paramill(root, &["status", "pairs.toml", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let status = &status["pipelines"][0];
    let stages = status["stages"].as_array().unwrap().iter();
    let ages: Vec<f64> =
        stages.filter_map(|it| it["age_seconds"].as_f64()).chain(status["last_run_age_seconds"].as_f64()).collect();
    assert!(ages.len() > 2 && ages.iter().all(|age| *age >= 0.0), "{ages:?}");
    assert_eq!(model(root, &["prune", "pairs.toml", "--older-than", "1"]).0["removed"], json!([]));

    // What comes is newer, whatever its name says; of three the one that was first goes, and never the one in use.
    train(root, 2, 3);
    let second = in_use(root);
    assert_eq!(names(root), [later.clone(), second.clone()]);
    train(root, 3, 3);
    let third = in_use(root);
    assert_eq!(names(root), [second.clone(), third.clone()]);
    assert!(third.starts_with(year) && store.join("current/manifest.json").exists());
    assert_eq!(model(root, &["rollback", "pairs.toml"]).0["to"], json!(second));
    assert_eq!(fs::read_dir(&records).unwrap().count(), 2);
    assert_eq!(model(root, &["prune", "pairs.toml", "--keep", "1"]).0["removed"], json!([]), "it is in use");
}

#[test]
fn drift_is_told_and_drawn_from_run_to_run() {
    let root = house(&format!("{PIPELINE}\n[promote]\nmargin = 1e12\nparameter_margin = 1e12\nmost_failed = 1.0\n"));
    let root = root.path();
    let before = model(root, &["drift", "pairs.toml"]).0;
    assert_eq!((&before["runs"], &before["place"]["environments"]), (&json!([]), &json!(0)));
    for steps in ["train.gauss_newton.steps=8", "train.gauss_newton.steps=15"] {
        run(root, &["--set", steps], &DONE);
    }
    let all = names(root);
    let drift = model(root, &["drift", "pairs.toml", "--plot", "drift.svg"]).0;
    let runs = drift["runs"].as_array().unwrap();
    let versions: Vec<&Value> = runs.iter().map(|run| &run["version"]).collect();
    assert_eq!((versions, &drift["version"]), (vec![&json!(all[0]), &json!(all[1])], &json!(all[1])));
    for (run, version) in runs.iter().zip(&all) {
        let shown = model(root, &["show", "pairs.toml", version]).0;
        assert_eq!(run["validation"], shown["training"]["validation"]);
        assert!(run["noise"]["x"].as_f64().unwrap() > 0.0 && run["trajectory_rmse"].as_f64().unwrap() > 0.0, "{run}");
        assert_eq!(run["statuses"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(), 1);
    }
    let gate = &audit(root)[1]["gate"];
    assert_eq!(runs[1]["held_out"], gate["candidate"]["squared_error"]);
    // One dimension: the hull is an interval.
    let place = &drift["place"];
    let training: Vec<f64> = place["training"].as_array().unwrap().iter().map(|it| it[0].as_f64().unwrap()).collect();
    let [least, greatest] =
        [training.iter().copied().fold(f64::MAX, f64::min), training.iter().copied().fold(f64::MIN, f64::max)];
    let contexts = place["contexts"].as_array().unwrap();
    let outside = contexts.iter().filter(|it| !(least..=greatest).contains(&it[0][0].as_f64().unwrap())).count();
    assert_eq!((training.len(), contexts.len(), &place["outside"]), (3, 1, &json!(outside)));
    let picture = fs::read_to_string(root.join("drift.svg")).unwrap();
    for text in ["contexts beside the training hull", ">errors<", ">noise<", ">statuses<", "held out"] {
        assert!(picture.contains(text), "{text}");
    }
    let table = String::from_utf8(paramill(root, &["model", "drift", "pairs.toml"]).stdout).unwrap();
    assert!(table.contains("of 1 estimated environments lie outside") && table.contains(&all[1]), "{table}");
    let other = paramill(root, &["model", "drift", "pairs.toml", "--plot", "drift.pdf"]);
    assert_eq!(other.status.code(), Some(2));
}

/// Dies after a stage has published its product, before that is recorded.
struct Dying(std::sync::atomic::AtomicUsize);

impl Executor for Dying {
    fn execute(&self, plan: &Plan, stage: Stage, context: &pipeline::Context<'_>) -> Result<Done, pipeline::Error> {
        let done = Built.execute(plan, stage, context)?;
        if stage != Stage::Train {
            return Ok(done);
        }
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Err(pipeline::Error::between_stages(9))
    }

    fn adopt(&self, plan: &Plan, stage: Stage) -> Result<Done, pipeline::Error> {
        Built.adopt(plan, stage)
    }

    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, pipeline::Error> {
        Built.product(plan, stage)
    }

    fn sources(&self, plan: &Plan) -> Result<Vec<Parent>, pipeline::Error> {
        Built.sources(plan)
    }

    fn configuration(&self, plan: &Plan) -> Value {
        Built.configuration(plan)
    }
}

#[test]
fn a_model_whose_maker_died_before_its_record_is_not_trained_again() {
    let root = house(PIPELINE);
    let root = root.path();
    let locations = Locations { datasets: root.join("datasets"), workspace: Some(root.join("runs/pairs")) };
    let plan = |sets: &[String]| Plan::load(&root.join("pairs.toml"), sets, &locations).unwrap();
    let compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Native };
    let stages = vec![Stage::Generate, Stage::Train];
    let options = pipeline::Options { stages, force: Vec::new(), compute, threads: 1 };
    let dying = Dying(Default::default());
    let run = |plan: &Plan| pipeline::run(plan, &options, &dying, &Run::silent());
    let trainings = || dying.0.load(std::sync::atomic::Ordering::SeqCst);
    let model = root.join("runs/pairs/models/pairs");
    let record = root.join("runs/pairs/stages/train.json");
    run(&plan(&[])).unwrap_err();
    assert!(model.exists() && !record.exists() && trainings() == 1);
    // As if the process had died before it could remove its checkpoints.
    let left = root.join("runs/pairs/models/pairs.training/0123");
    fs::create_dir_all(&left).unwrap();
    run(&plan(&[])).unwrap();
    let kept: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert_eq!((trainings(), &kept["made_here"], &kept["engine"]), (1, &json!(true), &json!("native")));
    assert!(!left.exists() && !root.join("runs/pairs/stages/train.unfinished.json").exists());
    run(&plan(&[])).unwrap();
    assert_eq!(trainings(), 1);
    // One that was made from something else is.
    let other = plan(&["train.steps=2".to_owned()]);
    run(&other).unwrap_err();
    run(&plan(&[])).unwrap_err();
    assert_eq!(trainings(), 3);
    run(&plan(&[])).unwrap();
    // Nor is one taken for its own that was put in its place.
    run(&other).unwrap_err();
    let copy = root.join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&model).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    fs::remove_dir_all(&model).unwrap();
    fs::rename(&copy, &model).unwrap();
    run(&other).unwrap_err();
    assert_eq!(trainings(), 5);
}
