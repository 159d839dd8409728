//! The exit codes of paths: one that leads to nothing is a mistake in the arguments (2), what is there and is damaged is bad data (3), whatever
//! the command.

use std::collections::BTreeSet;

use super::*;

/// Every command that takes a path, with `PATH` in its place.
const COMMANDS: [&str; 32] = [
    "run PATH",
    "estimate --data PATH --table table",
    "status PATH",
    "shard plan PATH",
    "shard run PATH 0",
    "shard merge PATH",
    "shard failed PATH",
    "model list PATH",
    "model show PATH",
    "model diff PATH a b",
    "model promote PATH a",
    "model rollback PATH",
    "model prune PATH --keep 2",
    "model drift PATH",
    "model pack PATH --to new",
    "model unpack PATH",
    "import --guess PATH",
    "predict PATH --environment a",
    "score PATH predictions",
    "check PATH",
    "show PATH",
    "report PATH",
    "results PATH",
    "compare PATH runs/pairs",
    "dataset show PATH",
    "dataset verify PATH",
    "dataset merge PATH datasets/pairs --to new",
    "dataset split PATH --environments a --to new",
    "dataset export PATH --to new",
    "dataset seal PATH",
    "dataset diff PATH datasets/pairs",
    "dataset regenerate PATH --to new",
];

/// Of them, those that take the directory of a dataset.
const OF_DATASETS: [&str; 11] = [
    "score PATH predictions",
    "check PATH",
    "show PATH",
    "dataset show PATH",
    "dataset verify PATH",
    "dataset merge PATH datasets/pairs --to new",
    "dataset split PATH --environments a --to new",
    "dataset export PATH --to new",
    "dataset diff PATH datasets/pairs",
    "dataset regenerate PATH --to new",
    "dataset publish --check PATH",
];

/// Commands that take the path of nothing that is there already.
const WITHOUT: [&str; 5] = ["schema", "list", "reference", "completions", "man"];

/// Ends with this code, and says something that begins with the path, or with `error:` and the path.
fn ends(root: &Path, command: &str, path: &str, code: i32) {
    let arguments: Vec<&str> = command.split(' ').map(|word| if word == "PATH" { path } else { word }).collect();
    let output = paramill(root, &arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(path) && said.contains("expected"), "{arguments:?}: {said}");
    assert!(!root.join("new").exists(), "{arguments:?}");
}

#[test]
fn a_path_that_leads_to_nothing_exits_with_2_and_a_damaged_one_with_3() {
    let root = house(PIPELINE);
    let root = root.path();
    let made = paramill(root, &["run", "pairs.toml", "--threads", "1"]);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    fs::create_dir(root.join("predictions")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join("import.toml"), TANKS.split("[train]").next().unwrap()).unwrap();
    let more = ["dataset publish --check PATH", "estimate --data import.toml --table t --model PATH"];
    for command in COMMANDS.into_iter().chain(more) {
        ends(root, command, "nowhere", 2);
    }
    ends(root, "score datasets/pairs PATH", "nowhere", 2);
    ends(root, "dataset diff datasets/pairs PATH", "nowhere", 2);
    // All at once.
    let both = stderr(&paramill(root, &["score", "nowhere", "neither"]));
    assert!(both.contains("nowhere: found nothing there") && both.contains("neither: found nothing there"), "{both}");

    let manifest = fs::read_to_string(root.join("datasets/pairs/manifest.json")).unwrap();
    fs::create_dir(root.join("damaged")).unwrap();
    fs::write(root.join("damaged/manifest.json"), &manifest[..manifest.len() / 2]).unwrap();
    for command in OF_DATASETS {
        ends(root, command, "empty", 2);
        ends(root, command, "damaged", 3);
    }
    for (command, name) in
        [("results PATH", "sweep.json"), ("shard run PATH 0", "plan.json"), ("model unpack PATH", "model.tar")]
    {
        fs::write(root.join(name), "{ \"kind\": ").unwrap();
        ends(root, command, name, 3);
        ends(root, command, "empty", 2);
    }

    // No command is forgotten here.
    let known: BTreeSet<String> = COMMANDS
        .into_iter()
        .chain(["dataset publish"])
        .map(|command| {
            command
                .split(' ')
                .take_while(|word| *word != "PATH" && !word.starts_with("--"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let mut all = BTreeSet::new();
    for of in paramill::cli::command().get_subcommands() {
        let inner: Vec<String> =
            of.get_subcommands().map(|it| format!("{} {}", of.get_name(), it.get_name())).collect();
        all.extend(if inner.is_empty() { vec![of.get_name().to_owned()] } else { inner });
    }
    all.retain(|name| !WITHOUT.contains(&name.as_str()));
    assert_eq!(known, all);
}
