//! The command as a user meets it: messages, exit codes, help.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use paramill::engine::HAS_TORCH;
use paramill::pipeline::{Locations, Plan, Sweep, published};
use serde_json::Value;
use tempfile::TempDir;

#[path = "cli/codes.rs"]
mod codes;
#[path = "cli/compare.rs"]
mod compare;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/live.rs"]
mod live;

const PIPELINE: &str = r#"description = "two pairs"
seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits.train]
environments = "train"
trajectories = 2
limit = 2

[generate.splits.validation]
environments = "train"
trajectories = 1
limit = 2
"#;

/// Equations of one of the pair in minutes, and of something that nobody observed.
const GROWTH: &str = r#"[estimate.physics.system]
name = "growth"
time_unit = "min"
horizon = 4.0
time_step = 0.5
states = [
    { name = "x", unit = "mg", derivative = "-rate * x", initial = [1.0, 2.0] },
    { name = "hidden", derivative = "x", initial = [1.0, 2.0] },
]
parameters = [{ name = "rate", lower = 0.1, upper = 2.0 }]
"#;

const TANKS: &str = r#"[import]
dataset = "tanks"
directory = "archive"
time_unit = "s"
table = { file = "tanks.csv", environment = "tank", time = "t" }

[[import.channels]]
column = "level"
name = "level"
unit = "m"

[import.splits]
adapt = ["c", "z"]
validation = { last = 0.25 }

[train]
contexts = "tied"

[map]

[estimate]
splits = ["adapt", "test"]
bounds = { volume.min = 1 }
"#;

/// A folder of its own, with one pipeline in it.
fn house(pipeline: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("pairs.toml"), pipeline).unwrap();
    root
}

fn paramill(root: &Path, arguments: &[&str]) -> Output {
    Command::cargo_bin("paramill")
        .unwrap()
        .current_dir(root)
        .args(arguments)
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What `check` says of a pipeline, after its exit code has been held to 2 and its stdout to nothing.
fn complaints(pipeline: &str, arguments: &[&str]) -> String {
    let root = house(pipeline);
    let output = paramill(root.path(), &[&["check", "pairs.toml"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    stderr(&output)
}

/// A setting without effect leaves a pipeline sound, but not unmentioned.
#[test]
fn check_warns_of_a_setting_that_has_no_effect_any_more() {
    let root = house(&format!("{PIPELINE}\n[train.gauss_newton]\nsteps = 3\nresidual_limit = 100\n"));
    let output = paramill(root.path(), &["check", "pairs.toml"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "pairs.toml: no problems\n"));
    let said = stderr(&output);
    assert!(said.starts_with("warning: pairs.toml:20:"), "{said}");
    assert!(said.contains("(train.gauss_newton.residual_limit): found 100, which has no effect any more"), "{said}");
}

#[test]
fn a_setting_that_the_rule_has_no_use_for_is_warned_of_where_it_stands_and_once() {
    let train = "\n[train]\nsteps = 100\ncontext_penalty = 0.5\ninner_rate = 0.02\npool.neighbours = 5\n";
    let warned = |pipeline: &str, arguments: &[&str]| {
        let root = house(pipeline);
        let output = paramill(root.path(), &[&["check", "pairs.toml"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let dry = paramill(root.path(), &[&["run", "pairs.toml", "--dry-run"], arguments].concat());
        assert_eq!((dry.status.code(), stderr(&dry)), (Some(8), stderr(&output)));
        stderr(&output)
    };
    let alone = format!("{PIPELINE}{train}");
    let said = warned(&alone, &[]);
    assert_eq!(said.matches("warning: pairs.toml:").count(), 2, "{said}");
    let line = alone.lines().position(|line| line.starts_with("inner_rate")).unwrap() + 1;
    let expected = "(train.inner_rate): found 0.02, and the rule \"coda-l1\", which has no use for it; expected it with one of \
                    maml, anil or meta-sgd alone; leave it out";
    assert!(said.contains(&format!("pairs.toml:{line}:")) && said.contains(expected), "{said}");
    assert!(said.contains("(train.pool): found ") && said.contains("expected it with ncf alone"), "{said}");
    // What the rule uses, and what stands in a file that has every default, is not told of.
    let said = warned(&alone, &["--set", "train.rule=ncf", "--set", "train.inner_rate=0.1"]);
    assert_eq!(said, "");
    // Nor has the rest of what other settings leave idle an effect.
    let idle = "\n[train]\nsteps = 100\ntied_deviation = 0.5\ninference = { environments = 3, every = 2 }\ngauss_newton = { patience = 7 }\n";
    let said = warned(&format!("{PIPELINE}{idle}"), &[]);
    assert_eq!(said.matches("warning: pairs.toml:").count(), 4, "{said}");
    assert!(
        said.contains("(train.tied_deviation): found 0.5, and contexts are learned; expected it with `train.contexts = \"tied\"` alone")
            && said.contains("(train.gauss_newton.patience): found 7, and Gauss-Newton makes no steps"),
        "{said}"
    );
    let all = ["train.contexts=tied", "train.gauss_newton.steps=3", "train.environments=infer"].map(|it| ["--set", it]);
    assert!(!warned(&format!("{PIPELINE}{idle}"), &all.as_flattened()[..4]).contains("tied_deviation"));
    let by_gauss_newton =
        "\n[train]\nsteps = 0\nlearning_rate = 0.01\nteacher_forcing.start = 0.5\ngauss_newton.steps = 5\n";
    let said = warned(&format!("{PIPELINE}{by_gauss_newton}"), &[]);
    assert!(
        said.lines().count() == 2 && said.contains("(train.learning_rate): found 0.01, and Adam makes no steps"),
        "{said}"
    );
    let of_networks = "\n[train]\nsteps = 0\nlocality_penalty = 0.3\ncontexts = \"tied\"\ncontext_penalty = 0.2\n\
                       gauss_newton = { steps = 5, method = \"weights\", inner_steps = 9, drop_terms = false }\n";
    let said = warned(&format!("{PIPELINE}{of_networks}"), &[]);
    assert_eq!(said.lines().count(), 4, "{said}");
    assert!(said.contains("(train.context_penalty): found 0.2, and contexts are tied"), "{said}");
    assert!(said.contains("(train.gauss_newton.drop_terms): found false, and the model is a network"), "{said}");
    // A sweep may give a table in which such a setting stands.
    let table = "[train]\nsteps = 0\ngauss_newton.steps = 3\n[sweep]\nover = [{ name = \"a\", variants = [{ name = \"b\", set.\"train.teacher_forcing\" = { start = 0.4 } }] }]\n";
    assert!(warned(&format!("{PIPELINE}{table}"), &[]).contains("(train.teacher_forcing.start): found 0.4"));
    // In a sweep over rules a setting may be of one of them.
    let rules = "[sweep]\nover = [{ key = \"train.rule\", values = [\"coda-l2\", \"coda\", \"maml\"] }]\n";
    let said = warned(&format!("{alone}{rules}"), &[]);
    assert!(
        said.lines().count() == 1 && said.contains("(train.pool): found ") && said.contains("rules none of"),
        "{said}"
    );
}

macro_rules! bad_pipelines {
    ($($name:ident: $pipeline:expr, $arguments:expr;)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(complaints(&$pipeline, &$arguments));
            }
        )*
    };
}

bad_pipelines! {
    unknown_key: format!("{PIPELINE}\n[train]\nlearning_rat = 1e-3\n\n[trian]\n"), [];
    wrong_type: format!("{PIPELINE}\n[train]\nsteps = \"100\"\nlearning_rate = true\nmodel = 3\n").replace("seed = 3", "seed = 1.5"), [];
    missing_stage: "[train]\n\n[report]\n", [];
    two_sources: format!("{PIPELINE}\n[import]\n"), [];
    missing_key: PIPELINE.replace("system = \"lotka-volterra\"\n", ""), [];
    impossible_value: format!("{PIPELINE}\n[train]\nsteps = -1\ngradient_clip = 0\nlearning_rate = inf\ncontext_dimension = 99\nteacher_forcing = {{ start = 1.5 }}\n"), [];
    unknown_choice: format!("{PIPELINE}\n[train]\nrule = \"coda-l3\"\nsolver = \"rk5\"\nmodel = {{ kind = \"mpl\" }}\n"), [];
    unknown_key_of_a_choice: format!("{PIPELINE}\n[train.model]\nkind = \"mlp\"\nwidht = 64\nlayers = 0\n"), [];
    unknown_system_and_figure: format!("{PIPELINE}\n[train]\n[map]\n[estimate]\nsplits = [\"grid\"]\n[report]\npublished = [{{ figure = \"mse_in_domian\", value = 1, source = \"x\" }}]\n").replace("lotka-volterra", "lotka-voltera"), [];
    stages_that_contradict_one_another: format!("{PIPELINE}\n[train]\ncontexts = \"tied\"\ncontext_dimension = 3\nsteps = 100\n[map]\n[estimate]\nsplits = [\"train\", \"test\"]\nbounds = {{ betta.min = 0, beta = {{ min = 2, max = 1 }} }}\n"), [];
    equations_and_data_that_differ: format!("{PIPELINE}\n[estimate]\nmethod = \"physics\"\nsplits = [\"train\"]\n[estimate.physics]\n{GROWTH}"), [];
    noise_of_an_unknown_kind: format!("{PIPELINE}\n[estimate]\nmethod = \"physics\"\nsplits = [\"train\"]\nnoise = {{ prey = {{ kind = \"gauss\" }}, predators = \"constant\" }}\nlimits = {{ prey = \"low\" }}\n"), [];
    unknown_split: PIPELINE.replace("splits.validation", "splits.validate"), [];
    dataset_name_that_leaves_its_folder: PIPELINE.replace("\"pairs\"", "\"../pairs\""), [];
    syntax_error: format!("{PIPELINE}\n[train\nsteps = \n"), [];
    duplicate_key: format!("{PIPELINE}\n[train]\nsteps = 1\nsteps = 2\n"), [];
    several_at_once: format!("sed = 1\n{PIPELINE}\n[train]\nsteps = -5\nrule = \"coda-l3\"\n\n[estimate]\niterations = 1.5\n"), ["--set", "train.solver=rk9"];
    bad_set: format!("{PIPELINE}\n[train]\n"), ["--set", "train.steps", "--set", "train.setps=5", "--set", "seed.x=1", "--set", "train..steps=1", "--set", "train.steps=[1", "--set", "train.learning_rate=fast", "--set", "train.gradient_clip=nan"];
    empty_file: "# nothing yet\n", [];
    date_and_huge_number: format!("{PIPELINE}\n[train]\nsteps = 99999999999999999999\nlearning_rate = 2026-01-01\n"), [];
}

#[test]
fn missing_files_directories_and_bytes_that_are_not_text() {
    let root = house(PIPELINE);
    fs::create_dir(root.path().join("pipelines")).unwrap();
    fs::write(root.path().join("pipelines/a.toml"), PIPELINE).unwrap();
    fs::write(root.path().join("latin.toml"), b"description = \"ok\"\nseed = 1 # \xe9t\xe9\n").unwrap();
    fs::write(root.path().join("two words.toml"), PIPELINE).unwrap();
    let mut said = String::new();
    for path in ["pars.toml", "nowhere/at/all.toml", "latin.toml", "two words.toml"] {
        for command in ["check", "show"] {
            let output = paramill(root.path(), &[command, path]);
            assert_eq!(output.status.code(), Some(2));
            said.push_str(&stderr(&output));
        }
    }
    for command in ["run", "show", "check"] {
        let output = paramill(root.path(), &[command, "pipelines"]);
        assert_eq!(output.status.code(), Some(2));
        said.push_str(&stderr(&output));
    }
    insta::assert_snapshot!(said);
}

/// The settings, the stages, and every cell of the archive, in one go and each at its place.
#[test]
fn an_archive_and_its_mapping_are_checked_together() {
    let root = house(TANKS);
    fs::create_dir(root.path().join("archive")).unwrap();
    let rows: String =
        ["a", "b", "c"].iter().flat_map(|tank| (0..8).map(move |t| format!("{tank},{t},{t}.5\n"))).collect();
    let table = format!("tank,t,level\n{rows}").replace("a,3,3.5", "a,3,high").replace("b,5,5.5", "b,4,5.5");
    fs::write(root.path().join("archive/tanks.csv"), table).unwrap();
    let output = paramill(root.path(), &["check", "pairs.toml"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    insta::assert_snapshot!(stderr(&output));
    // What only the archive tells stops a run too, at the same places.
    let good = TANKS
        .replace(", \"test\"", "")
        .replace("bounds = { volume.min = 1 }", "")
        .replace("contexts = \"tied\"", "context_dimension = 1");
    fs::write(root.path().join("pairs.toml"), good).unwrap();
    let (checked, ran) =
        (paramill(root.path(), &["check", "pairs.toml"]), paramill(root.path(), &["run", "pairs.toml", "-q"]));
    assert_eq!(ran.status.code(), Some(3));
    for line in ["pairs.toml:13", "archive/tanks.csv:5", "archive/tanks.csv:15"] {
        assert!(
            stderr(&checked).contains(line) && stderr(&ran).contains(line),
            "{line}\n{}\n{}",
            stderr(&checked),
            stderr(&ran)
        );
    }
    fs::rename(root.path().join("archive"), root.path().join("away")).unwrap();
    let absent = paramill(root.path(), &["check", "pairs.toml"]);
    assert_eq!(stdout(&absent), "pairs.toml: no problems (the archive archive is not there and was not checked)\n");
}

/// What training would leave out is warned of, and what it would refuse is refused, by the same rule.
#[test]
fn trajectories_without_a_start_are_foreseen() {
    let channels = "column = \"level\"\nname = \"level\"\nunit = \"m\"\n\n[[import.channels]]\ncolumn = \"flow\"\nname = \"flow\"\nunit = \"1\"";
    let pipeline = TANKS
        .replace("column = \"level\"\nname = \"level\"\nunit = \"m\"", channels)
        .replace("time = \"t\" }", "trajectory = \"run\", time = \"t\" }")
        .replace("[\"c\", \"z\"]", "[\"c\"]")
        .replace("contexts = \"tied\"", "context_dimension = 1\nsteps = 2")
        .replace(", \"test\"", "")
        .replace("bounds = { volume.min = 1 }", "");
    let root = house(&pipeline);
    fs::create_dir(root.path().join("archive")).unwrap();
    // In some trajectories level and flow are never seen together.
    let table = |alternates: &dyn Fn(usize, usize) -> bool| {
        let mut table = String::from("tank,run,t,level,flow\n");
        for (i, tank) in "abcdefghijklm".chars().enumerate() {
            for (run, t) in (1..=2).flat_map(|run| (0..8).map(move |t| (run, t))) {
                let values = match (alternates(i, run), t % 2) {
                    (false, _) => format!("{t}.5,{run}"),
                    (true, 0) => format!("{t}.5,"),
                    (true, _) => format!(",{run}{i}"),
                };
                table += &format!("{tank},{run},{t},{values}\n");
            }
        }
        fs::write(root.path().join("archive/tanks.csv"), table).unwrap();
    };
    let train = |code: i32| {
        let trained = paramill(root.path(), &["run", "pairs.toml", "-q", "--stage", "import", "--stage", "train"]);
        assert_eq!(trained.status.code(), Some(code), "{}", stderr(&trained));
        stderr(&trained)
    };

    table(&|tank, run| tank < 3 && run == 1);
    let warned = paramill(root.path(), &["check", "pairs.toml"]);
    assert_eq!((warned.status.code(), stdout(&warned).as_str()), (Some(0), "pairs.toml: no problems\n"));
    insta::assert_snapshot!("some_trajectories_without_a_start", stderr(&warned));
    assert!(train(0).contains("train split: 2 trajectories are left out"));

    table(&|tank, _| tank != 3);
    let refused = paramill(root.path(), &["check", "pairs.toml"]);
    assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(2), ""));
    insta::assert_snapshot!("environments_without_a_start", stderr(&refused));
    assert!(train(3).contains("have no trajectory to start in"));
    let by_equations = "estimate.method=\"physics\"";
    let physics = paramill(root.path(), &["check", "pairs.toml", "--set", by_equations]);
    assert!(!stderr(&physics).contains("to start from"), "{}", stderr(&physics));

    // Whole in the training part, and seen apart in the last quarter, which chooses the model.
    let rows: String = ('a'..='d')
        .flat_map(|tank| [1, 2].map(|run| (tank, run)))
        .flat_map(|(tank, run)| {
            (0..8).map(move |t| format!("{tank},{run},{t},{t}.5,{}\n", if t < 6 { "1" } else { "" }))
        })
        .collect();
    fs::write(
        root.path().join("archive/tanks.csv"),
        format!("tank,run,t,level,flow\n{rows}").replace("1,0,0.5,1", "1,0,0.5,2"),
    )
    .unwrap();
    insta::assert_snapshot!("validation_without_a_start", stderr(&paramill(root.path(), &["check", "pairs.toml"])));
}

#[test]
fn problems_as_json_have_the_fields_of_the_lines() {
    let root = house(&format!("{PIPELINE}\n[train]\nsteps = -1\n"));
    for command in ["run", "check", "show"] {
        let output = paramill(root.path(), &[command, "pairs.toml", "--json", "--set", "train.solver=rk9"]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stderr(&output), "");
        let said: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let problems = match command {
            "check" => said["paths"][0]["problems"].clone(),
            _ => said["error"]["problems"].clone(),
        };
        assert_eq!(problems[0]["file"], "pairs.toml");
        assert_eq!(problems[0]["key"], "train.steps");
        assert_eq!((problems[0]["line"].as_u64(), problems[0]["column"].as_u64()), (Some(19), Some(9)));
        assert_eq!(problems[1]["argument"], "--set train.solver");
        assert_eq!(problems[1]["file"], Value::Null);
        for field in ["found", "expected", "remedy"] {
            assert!(problems[0][field].is_string(), "{field}");
        }
    }
}

#[test]
fn help_texts() {
    let root = house(PIPELINE);
    for name in [
        "",
        "run",
        "estimate",
        "status",
        "shard",
        "model",
        "check",
        "show",
        "import",
        "predict",
        "score",
        "schema",
        "list",
        "dataset",
        "reference",
        "completions",
        "man",
    ] {
        let arguments: Vec<&str> = [name, "--help"].into_iter().filter(|argument| !argument.is_empty()).collect();
        let output = paramill(root.path(), &arguments);
        assert_eq!(output.status.code(), Some(0));
        insta::assert_snapshot!(format!("help_{}", if name.is_empty() { "paramill" } else { name }), stdout(&output));
    }
    let version = stdout(&paramill(root.path(), &["--version"]));
    let with = if HAS_TORCH { "with" } else { "without" };
    assert_eq!(version, format!("paramill {} ({with} libtorch)\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_name_every_command_in_every_shell() {
    let root = house(PIPELINE);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = paramill(root.path(), &["completions", shell]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{shell}");
        let script = stdout(&output);
        let commands = paramill::cli::command();
        for command in commands.get_subcommands() {
            assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
        }
        assert!(script.contains("workspace") && script.contains("regenerate"), "{shell}");
    }
    let script = stdout(&paramill(root.path(), &["completions", "bash"]));
    fs::write(root.path().join("paramill.bash"), script).unwrap();
    // As an interactive bash asks: the words so far, the index of the last of them.
    let asked = "source paramill.bash; COMP_WORDS=(paramill dataset reg); COMP_CWORD=2; _paramill paramill reg dataset; echo ${COMPREPLY[@]}";
    let bash = std::process::Command::new("bash").args(["-c", asked]).current_dir(root.path()).output().unwrap();
    assert_eq!((stdout(&bash), stderr(&bash)), ("regenerate\n".to_owned(), String::new()));
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let root = house(PIPELINE);
    let output = paramill(root.path(), &["man", "--write", "man1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["paramill", "paramill-run", "paramill-dataset", "paramill-dataset-verify", "paramill-man"] {
        let page = fs::read_to_string(root.path().join(format!("man1/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")) && page.contains("paramill"), "{name}: {page}");
    }
    assert_eq!(fs::read_dir(root.path().join("man1")).unwrap().count(), stdout(&output).lines().count());
    let page = stdout(&paramill(root.path(), &["man"]));
    assert_eq!(page, fs::read_to_string(root.path().join("man1/paramill.1")).unwrap());
}

#[test]
fn wrong_arguments_exit_with_2() {
    let root = house(PIPELINE);
    for arguments in [
        vec!["run"],
        vec!["run", "pairs.toml", "--stage", "tarin"],
        vec!["run", "pairs.toml", "--device", "gpu"],
        vec!["run", "pairs.toml", "--threads", "0"],
        vec!["run", "pairs.toml", "--stage", "report"],
        vec!["list", "planets"],
        vec!["schema", "pipelin"],
        vec!["reference"],
        vec!["reference", "setting"],
        vec!["completions", "tcsh"],
        vec!["grind"],
    ] {
        let output = paramill(root.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(!stderr(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_dataset_is_made_once_shown_and_checked() {
    let root = house(PIPELINE);
    let planned = paramill(root.path(), &["run", "pairs.toml", "--dry-run"]);
    assert_eq!(stdout(&planned), "generate  would run  not made yet\n");
    assert_eq!(planned.status.code(), Some(8));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);

    let first = paramill(root.path(), &["run", "pairs.toml", "--json", "--threads", "1"]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let result: Value = serde_json::from_str(&stdout(&first)).unwrap();
    assert_eq!(result["stages"][0]["action"], "run");
    assert_eq!(result["exit_code"], 0);

    let second = paramill(root.path(), &["run", "pairs.toml"]);
    assert_eq!(second.status.code(), Some(0));
    assert_eq!(stderr(&second), "generate: up to date\n");
    assert_eq!(stdout(&second), "workspace: runs/pairs\n");
    let planned = paramill(root.path(), &["run", "pairs.toml", "--dry-run"]);
    assert_eq!((planned.status.code(), stdout(&planned).as_str()), (Some(0), "generate  up to date\n"));
    let quiet = paramill(root.path(), &["run", "pairs.toml", "-q"]);
    assert_eq!(stderr(&quiet), "");
    let elsewhere = paramill(root.path(), &["run", "pairs.toml", "--workspace", "other", "--json"]);
    let result: Value = serde_json::from_str(&stdout(&elsewhere)).unwrap();
    assert_eq!(result["stages"][0]["action"], "adopt");

    let checked = paramill(root.path(), &["check", "pairs.toml", "datasets/pairs"]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let shown = paramill(root.path(), &["show", "datasets/pairs"]);
    let text = stdout(&shown);
    assert!(text.contains("lotka") && text.contains("validation") && text.contains("beta"), "{text}");

    let refused = paramill(root.path(), &["run", "pairs.toml", "--workspace", "other", "--set", "generate.rtol=1e-6"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--force generate"), "{}", stderr(&refused));

    fs::write(root.path().join("datasets/pairs/README.md"), "edited").unwrap();
    let damaged = paramill(root.path(), &["check", "datasets/pairs"]);
    assert_eq!(damaged.status.code(), Some(3), "{}", stderr(&damaged));
    assert!(stderr(&damaged).contains("README.md"), "{}", stderr(&damaged));
    let sealed = paramill(root.path(), &["dataset", "seal", "datasets/pairs"]);
    assert_eq!(stdout(&sealed), "datasets/pairs: README.md is recorded\n");
    let verified = paramill(root.path(), &["dataset", "verify", "datasets/pairs"]);
    assert_eq!(stdout(&verified), "datasets/pairs: no problems\n");
    let missing = paramill(root.path(), &["dataset", "diff", "datasets/pairs", "datasets/nothing"]);
    assert_eq!(missing.status.code(), Some(2), "{}", stderr(&missing));
}

/// Parameters of environments that training inferred are known to nobody.
#[test]
fn a_map_that_there_is_none_of_is_not_told_as_made() {
    let train =
        "[train]\nsteps = 4\nenvironments = \"infer\"\nmodel = { kind = \"mlp\", layers = 2, width = 4 }\n[map]\n";
    let root = house(&format!("{}\n{train}", PIPELINE.replace("limit = 2\n", "")));
    let output = paramill(root.path(), &["run", "pairs.toml", "--threads", "1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(
        said.contains("training inferred the environments, whose parameters nobody knows: there is no map"),
        "{said}"
    );
    assert!(said.contains("map: came to its end without ") && !said.contains("map: made"), "{said}");
    let stages: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let products = stages["stages"].as_array().unwrap().iter().map(|it| it["product"].is_null()).collect::<Vec<_>>();
    assert_eq!(products, [false, false, true]);
}

#[test]
fn a_held_lock_exits_with_6() {
    let root = house(PIPELINE);
    fs::create_dir_all(root.path().join("runs/pairs")).unwrap();
    let lock = fs::File::create(root.path().join("runs/pairs/.lock")).unwrap();
    lock.lock().unwrap();
    let output = paramill(root.path(), &["run", "pairs.toml"]);
    assert_eq!(output.status.code(), Some(6));
    assert!(stderr(&output).contains("runs/pairs/.lock"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let root = house(PIPELINE);
    let binary = env!("CARGO_BIN_EXE_paramill");
    let piped = std::process::Command::new("sh")
        .args(["-c", &format!("{binary} schema pipeline | head -c 1; {binary} list systems >&-")])
        .current_dir(root.path())
        .output()
        .unwrap();
    assert!(!stderr(&piped).contains("panicked"), "{}", stderr(&piped));
}

#[test]
fn what_is_shown_is_a_pipeline_with_the_same_settings() {
    let root = house(PIPELINE);
    let arguments = ["show", "pairs.toml", "--set", "seed=7", "--set", "generate.rtol=1e-7"];
    let shown = paramill(root.path(), &arguments);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let text = stdout(&shown);
    assert!(text.contains("seed = 7\n") && text.contains("rtol = 1e-7\n"), "{text}");
    fs::write(root.path().join("shown.toml"), &text).unwrap();
    assert_eq!(stdout(&paramill(root.path(), &["show", "shown.toml"])), text);
}

#[test]
fn lists() {
    let root = house(PIPELINE);
    let mut said = String::new();
    for what in ["systems", "models", "rules"] {
        said.push_str(&format!("{what}\n{}", stdout(&paramill(root.path(), &["list", what]))));
        let json: Value = serde_json::from_str(&stdout(&paramill(root.path(), &["list", what, "--json"]))).unwrap();
        assert!(json.as_array().is_some_and(|items| !items.is_empty()));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn engines_are_listed_with_those_that_the_build_is_without() {
    let root = house(PIPELINE);
    let said = stdout(&paramill(root.path(), &["list", "engines"]));
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("native") && lines[1].starts_with("torch"), "{said}");
    assert_eq!(
        (said.matches("not in this build").count(), lines[1].ends_with("not in this build")),
        (usize::from(!HAS_TORCH), !HAS_TORCH)
    );
}

#[test]
fn a_model_of_fields_is_not_for_states_without_space() {
    let said = complaints(&format!("{PIPELINE}\n[train]\nmodel = {{ kind = \"fno\" }}\n"), &[]);
    let expected = "pairs.toml:19:9 (train.model): found \"fno\" for states without space; expected fields on one to three axes; choose another \
                    of `paramill list models`\n";
    assert!(said.contains(expected), "{said}");
}

/// Before anything runs, with the key and the place of a setting.
#[test]
#[cfg_attr(feature = "torch", ignore = "this build has libtorch")]
fn what_needs_libtorch_says_so_in_a_build_without() {
    let root = house(PIPELINE);
    let fields = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/gs.toml");
    let fields = fields.to_str().unwrap();
    let line = fs::read_to_string(fields).unwrap().lines().position(|line| line.starts_with("[train]")).unwrap();
    for arguments in [
        &["check", fields][..],
        &["run", fields],
        &["run", fields, "--dry-run"],
        &["run", fields, "--stage", "estimate"],
    ] {
        let output = paramill(root.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let (place, problem) = said.split_once(" (train.model.kind): ").unwrap_or_else(|| panic!("{said}"));
        let place = place.strip_prefix(fields).unwrap().trim_start_matches(':');
        assert!(place.split(':').next().unwrap().parse::<usize>().unwrap() > line, "{said}");
        assert!(problem.contains("without libtorch") && problem.contains("`make build`"), "{said}");
    }
    // What needs no model is done.
    let simulated = paramill(root.path(), &["run", fields, "--stage", "generate", "--dry-run"]);
    assert_eq!(simulated.status.code(), Some(8), "{}", stderr(&simulated));
    for asked in [["--engine", "torch"], ["--device", "cuda"]] {
        let output = paramill(root.path(), &[&["run", "pairs.toml"], &asked[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(said.contains("was asked for, but this paramill was built without libtorch"), "{said}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "only the pipeline file");
}

/// Where the tree is moved, the program finds the libtorch of the place that it was moved to.
#[test]
#[cfg_attr(not(feature = "torch"), ignore = "needs libtorch")]
fn libtorch_is_found_where_the_tree_is_moved() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = assert_cmd::cargo::cargo_bin("paramill");
    let inside = program.strip_prefix(tree).expect("the target folder stands in the tree");
    let root = tempfile::tempdir().unwrap();
    let moved = root.path().join(inside);
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    fs::copy(&program, &moved).unwrap();
    std::os::unix::fs::symlink(tree.join(".tools"), root.path().join(".tools")).unwrap();
    let said = stdout(&Command::new("ldd").arg(&moved).output().unwrap());
    let line = said.lines().find(|line| line.contains("libtorch_cpu.so")).unwrap_or_else(|| panic!("{said}"));
    let place = line.split("=> ").nth(1).unwrap();
    assert!(place.starts_with(root.path().to_str().unwrap()), "{line}");
}

/// No library that a machine might lack.
#[test]
#[cfg_attr(feature = "torch", ignore = "this build has libtorch")]
fn a_program_without_libtorch_needs_the_c_library_alone() {
    let output = Command::new("ldd").arg(assert_cmd::cargo::cargo_bin("paramill")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    let of_c = ["linux-vdso.", "ld-linux", "libc.", "libm.", "libgcc_s.", "libdl.", "libpthread.", "librt."];
    let mut names = said.lines().filter_map(|line| line.split_whitespace().next()?.rsplit('/').next());
    assert!(said.contains("libc.so"), "{said}");
    assert!(names.all(|name| of_c.iter().any(|library| name.starts_with(library))), "{said}");
}

#[test]
fn the_schemas_in_the_repository_are_those_of_the_types() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    for schema in published() {
        let path = directory.join(format!("{}.json", schema.name));
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == schema.text(), "{} is out of date: run `make schemas`", path.display());
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), published().len());
}

#[test]
fn every_pipeline_in_the_repository_is_sound() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines");
    let mut count = 0;
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            count += 1;
            let plan = Plan::load(&path, &[], &Locations::default());
            let problems = plan.as_ref().map_or_else(Clone::clone, Plan::warnings);
            if !problems.is_empty() {
                let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
                panic!("{}", lines.join("\n"));
            }
        }
    }
    assert!(count > 0);
    let mut sweeps = 0;
    for entry in fs::read_dir(directory.join("paper")).unwrap() {
        for budget in ["tiny", "quick", "full"] {
            let path = entry.as_ref().unwrap().path();
            match Sweep::load(&path, &[format!("sweep.budget={budget}")], &Locations::default()) {
                Ok(sweep) => sweeps += usize::from(sweep.is_some()),
                Err(problems) => panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
            }
        }
    }
    assert!(sweeps >= 39, "{sweeps} sweeps were found");
}

const DECAY: &str = r#"name = "decay"
horizon = 4.0
time_step = 0.5
states = [{ name = "x", unit = "m", derivative = "-rate * x", initial = [1.0, 2.0] }]
parameters = [{ name = "rate", lower = 0.1, upper = 2.0 }]
environments = { train = { rate = [0.5, 1.0] } }
"#;

#[test]
fn a_system_file_is_shown_checked_and_used_by_its_content() {
    let root = house(&PIPELINE.replace("lotka-volterra", "systems/decay.toml"));
    fs::create_dir(root.path().join("systems")).unwrap();
    let file = root.path().join("systems/decay.toml");
    fs::write(&file, DECAY).unwrap();
    insta::assert_snapshot!(stdout(&paramill(root.path(), &["show", "systems/decay.toml"])));
    assert_eq!(paramill(root.path(), &["check", "systems/decay.toml", "pairs.toml"]).status.code(), Some(0));

    // Beside the file from another folder, and with the table in the pipeline file itself.
    let settings = |pipeline: &Path| {
        let plan = Plan::load(pipeline, &[], &Locations::default()).unwrap();
        plan.settings(paramill::pipeline::Stage::Generate)
    };
    let by_path = settings(&root.path().join("pairs.toml"));
    let table = DECAY.trim().replace('\n', ", ");
    let inside = root.path().join("inside.toml");
    fs::write(&inside, PIPELINE.replace("\"lotka-volterra\"", &format!("{{ {table} }}"))).unwrap();
    assert_eq!(by_path, settings(&inside));
    let set = ["generate.system.horizon=8".to_owned()];
    let longer = Plan::load(&root.path().join("pairs.toml"), &set, &Locations::default()).unwrap();
    assert_eq!(longer.settings(paramill::pipeline::Stage::Generate)["system"]["horizon"], 8.0);
    fs::write(&file, DECAY.replace("-rate * x", "-rate * x^2")).unwrap();
    assert_ne!(by_path, settings(&root.path().join("pairs.toml")));

    fs::write(&file, DECAY.replace("-rate * x", "-rat * x").replace("[1.0, 2.0]", "[3.0, 2.0]")).unwrap();
    let output = paramill(root.path(), &["check", "systems/decay.toml", "pairs.toml"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("a_system_file_with_errors", stderr(&output));
    fs::write(&file, DECAY.replace("derivative", "derivativ")).unwrap();
    insta::assert_snapshot!(
        "a_system_file_without_a_derivative",
        stderr(&paramill(root.path(), &["check", "pairs.toml"]))
    );
    fs::remove_file(&file).unwrap();
    insta::assert_snapshot!("a_system_file_that_is_missing", stderr(&paramill(root.path(), &["check", "pairs.toml"])));
}

/// `check` tells of a parameter named like a column of the table of estimates, which `run` refuses.
#[test]
fn a_parameter_named_like_a_column_of_the_estimates_is_foreseen() {
    let estimate = "[estimate]\nmethod = \"physics\"\nsplits = [\"train\"]\n";
    let root = house(&format!("{}\n{estimate}", PIPELINE.replace("lotka-volterra", "decay.toml")));
    let codes = |parameter: &str| {
        fs::write(root.path().join("decay.toml"), DECAY.replace("rate", parameter)).unwrap();
        ["check", "run"].map(|command| {
            let output = paramill(root.path(), &[command, "pairs.toml"]);
            let is_named = stderr(&output).contains(&format!("the column `{parameter}` of the table of estimates"));
            (output.status.code(), is_named)
        })
    };
    assert_eq!(codes("status"), [(Some(2), true); 2]);
    assert_eq!(codes("rate")[0], (Some(0), false));
    // Which columns there are depends on the kind of noise.
    assert_eq!(codes("noise_x_scale")[0], (Some(0), false));
    fs::write(root.path().join("decay.toml"), DECAY.replace("rate", "noise_x_scale")).unwrap();
    let check = paramill(root.path(), &["check", "pairs.toml", "--set", "estimate.noise=\"student\""]);
    let expected = "twice: the parameter `noise_x_scale` and the noise of a channel make it";
    assert!(check.status.code() == Some(2) && stderr(&check).contains(expected), "{}", stderr(&check));
}

#[test]
fn a_dataset_is_made_again_from_its_manifest_and_compared() {
    let root = house(PIPELINE);
    let at = |arguments: &[&str]| paramill(root.path(), arguments);
    assert_eq!(at(&["run", "pairs.toml"]).status.code(), Some(0));
    for threads in ["1", "2"] {
        let again = at(&["dataset", "regenerate", "datasets/pairs", "--to", threads, "--threads", threads]);
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        assert_eq!(stdout(&again), format!("{threads}: byte for byte the same as datasets/pairs\n"));
        let same = at(&["dataset", "diff", "datasets/pairs", threads]);
        assert_eq!((same.status.code(), stderr(&same)), (Some(0), String::new()));
        assert_eq!(stdout(&same), "the same: what they hold, and what they say of themselves\n");
    }
    let taken = at(&["dataset", "regenerate", "datasets/pairs", "--to", "1"]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(stderr(&taken).contains("1: is there already; name a new place with --to"), "{}", stderr(&taken));
}

#[test]
fn a_diff_names_settings_trajectories_and_the_greatest_difference() {
    let root = house(PIPELINE);
    let at = |arguments: &[&str]| paramill(root.path(), arguments);
    for (name, set) in [("one", "seed=3"), ("two", "seed=4"), ("three", "generate.splits.train.trajectories=3")] {
        let name = format!("generate.dataset={name}");
        assert_eq!(at(&["run", "pairs.toml", "--set", &name, "--set", set]).status.code(), Some(0));
    }
    let seeds = at(&["dataset", "diff", "datasets/one", "datasets/two"]);
    assert_eq!(seeds.status.code(), Some(3));
    let text = stdout(&seeds);
    assert!(text.contains("provenance.seed: 3 -> 4\n"), "{text}");
    assert!(text.contains("train: 4 trajectories with other states: train-00001/00000, "), "{text}");
    assert!(text.contains("train: `x` differs by at most "), "{text}");
    assert!(!text.contains("other times") && !text.contains("other parameters"), "{text}");
    let more = at(&["dataset", "diff", "datasets/one", "datasets/three", "--json"]);
    assert_eq!(more.status.code(), Some(3));
    let found: Value = serde_json::from_str(&stdout(&more)).unwrap();
    let train = &found["difference"]["splits"]["train"];
    assert_eq!(train["only_in_b"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!((&train["states"], &found["same"]), (&serde_json::json!([]), &serde_json::json!(false)));
    assert!(found["difference"]["splits"].get("validation").is_none(), "{found}");
}

#[test]
fn only_simulated_datasets_are_made_again() {
    let root = house(PIPELINE);
    assert_eq!(paramill(root.path(), &["run", "pairs.toml"]).status.code(), Some(0));
    let manifest = root.path().join("datasets/pairs/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"stage\": \"generate\"", "\"stage\": \"import\"")).unwrap();
    let sums = root.path().join("datasets/pairs/SHA256SUMS");
    let of_manifest = format!("{}  manifest.json", paramill::digest::sha256_of_file(&manifest).unwrap());
    let sealed = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, sealed.replace(sealed.lines().next().unwrap(), &of_manifest)).unwrap();
    let refused = paramill(root.path(), &["dataset", "regenerate", "datasets/pairs", "--to", "again"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("dataset `pairs`: found one that the stage `import` made"),
        "{}",
        stderr(&refused)
    );
    assert!(!root.path().join("again").exists());
}

#[test]
fn a_dataset_is_shown_drawn_split_merged_and_exported() {
    let root = house(PIPELINE);
    let at = |arguments: &[&str]| paramill(root.path(), &[&["dataset"], arguments].concat());
    assert_eq!(paramill(root.path(), &["run", "pairs.toml", "--stage", "generate"]).status.code(), Some(0));
    let shown = at(&["show", "datasets/pairs", "--plot", "picture.svg", "--json"]);
    assert_eq!((shown.status.code(), stderr(&shown)), (Some(0), String::new()));
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    let first = &shown["splits"]["train"]["parameters"][0];
    assert!(first["distinct"].as_u64() > Some(0) && first["least"].as_f64() <= first["greatest"].as_f64(), "{first}");
    let picture = fs::read_to_string(root.path().join("picture.svg")).unwrap();
    assert!(picture.contains("train-00001 / 00000") && picture.contains("p-line-0"));
    assert_eq!(at(&["show", "datasets/pairs", "--plot", "picture.pdf"]).status.code(), Some(2));

    let split = ["split", "datasets/pairs", "--environments", "train-00001", "--to", "a"];
    let split = |rest: &str| at(&[&split[..], &["--rest", rest]].concat());
    assert_eq!(split("a").status.code(), Some(2));
    assert_eq!(split("b").status.code(), Some(0));
    assert_eq!(at(&["merge", "b", "a", "--to", "all"]).status.code(), Some(0));
    assert_eq!(at(&["verify", "a", "b", "all"]).status.code(), Some(0));
    let difference: Value = serde_json::from_str(&stdout(&at(&["diff", "datasets/pairs", "all", "--json"]))).unwrap();
    assert_eq!(difference["difference"]["splits"], serde_json::json!({}));
    assert_eq!(
        (&difference["same"], &difference["difference"]["manifest"]),
        (&serde_json::json!(true), &serde_json::json!([]))
    );
    let told = at(&["diff", "datasets/pairs", "all"]);
    assert_eq!(told.status.code(), Some(0));
    assert!(stdout(&told).contains("provenance.stage"), "{}", stdout(&told));
    assert_eq!(at(&["diff", "datasets/pairs", "all", "--provenance"]).status.code(), Some(3));
    assert_eq!(at(&["merge", "a", "a", "--to", "twice"]).status.code(), Some(3));
    assert_eq!(at(&["merge", "a", "b", "--to", "all"]).status.code(), Some(2));
    let nothing_left = at(&["split", "a", "--environments", "train-00001", "--to", "c", "--rest", "d"]);
    assert_eq!(nothing_left.status.code(), Some(2));
    assert!(stderr(&nothing_left).contains("no environment is left") && !root.path().join("c").exists());
    assert_eq!(at(&["export", "nowhere", "--to", "csv"]).status.code(), Some(2));
    assert_eq!(at(&["export", "all", "--to", "csv"]).status.code(), Some(0));
    let exported = at(&["export", "all", "--format", "pdebench", "--to", "pde"]);
    assert_eq!((exported.status.code(), stdout(&exported)), (Some(0), "pde: train.hdf5, validation.hdf5\n".to_owned()));
    assert_eq!(at(&["export", "all", "--format", "zarr", "--to", "zarr"]).status.code(), Some(2));
    assert!(root.path().join("csv/train.csv").is_file() && !root.path().join("twice").exists());
    let manifest: Value = serde_json::from_str(&stdout(&paramill(root.path(), &["show", "all", "--json"]))).unwrap();
    let mut files = manifest["files"].as_array().unwrap().iter().filter_map(|file| file["path"].as_str());
    let file = root.path().join("all").join(files.find(|path| path.ends_with(".parquet")).unwrap());
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let damaged = at(&["show", "all"]);
    assert_eq!(damaged.status.code(), Some(3));
    assert!(stderr(&damaged).contains(".parquet: is not as it was recorded"), "{}", stderr(&damaged));
}
