//! Pipelines with `[sweep]`, as a user runs them.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use program::{house, paramill, stderr, stdout};
use serde_json::Value;

const PAIRS: &str = r#"
description = "Pairs"

[generate]
dataset = "pairs"
system = "lotka-volterra"
[generate.splits]
train = { environments = "train", trajectories = 2 }
validation = { environments = "train", trajectories = 1 }
test = { environments = "train", trajectories = 1 }
adapt = { environments = "adapt", trajectories = 1 }
adapt_test = { environments = "adapt", trajectories = 1 }

[train]
contexts = "tied"
steps = 100
learning_rate = 0.01
validate_every = 20
[train.model]
kind = "mlp"
layers = 3
width = 8
[train.gauss_newton]
steps = 15

[map]
[estimate]
"#;

const TWO_BY_TWO: &str = r#"
[sweep]
[[sweep.over]]
name = "network"
[[sweep.over.variants]]
name = "small"
set.train.model.width = 8
set.report.published = [{ figure = "mse_in_domain", value = 1e-5, source = "a paper" }]
[[sweep.over.variants]]
name = "wide"
[sweep.over.variants.set]
"train.model.width" = 10
[[sweep.over]]
key = "seed"
range = { from = 0, to = 1 }
"#;

fn json(root: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&paramill(root, arguments))).unwrap()
}

fn modified(path: &Path) -> std::time::SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_cell_in_whose_way_something_stands_keeps_no_other_from_being_told() {
    let root = house(&format!("{PAIRS}[sweep]\n[[sweep.over]]\nkey = \"seed\"\nvalues = [0, 1]\n"));
    let other = root.path().join("datasets/pairs--seed-0");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("notes.txt"), "not ours").unwrap();
    let dry = paramill(root.path(), &["run", "pairs.toml", "--dry-run"]);
    let (said, told) = (stderr(&dry), stdout(&dry));
    assert_eq!(dry.status.code(), Some(4), "{said}{told}");
    assert!(said.contains("seed-0: ") && said.contains("pairs--seed-0") && !said.contains("seed-1: "), "{said}");
    assert!(
        told.contains("seed-0  nothing, for an error") && told.contains("seed-1  generate, train, map, estimate"),
        "{told}"
    );
    let told: Value =
        serde_json::from_slice(&paramill(root.path(), &["run", "pairs.toml", "--dry-run", "--json"]).stdout).unwrap();
    assert_eq!(told["cells"][0]["error"]["kind"], "not_a_dataset", "{told:#}");
    assert_eq!((&told["cells"][1]["stages"][0]["action"], &told["exit_code"]), (&"run".into(), &4.into()), "{told:#}");
}

#[test]
fn every_combination_is_a_pipeline_of_its_own_and_all_stand_in_one_table() {
    let root = house(&format!("{PAIRS}{TWO_BY_TWO}"));
    let root = root.path();
    let dry = paramill(root, &["run", "pairs.toml", "--dry-run"]);
    assert_eq!(dry.status.code(), Some(8), "{}", stderr(&dry));
    assert!(!root.join("runs").exists());
    let run = json(root, &["run", "pairs.toml", "--json"]);
    assert_eq!(run["exit_code"], 0, "{run:#}");
    let cells: Vec<&str> = run["cells"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(cells, ["small--seed-0", "small--seed-1", "wide--seed-0", "wide--seed-1"]);
    // Seeds make other data, networks do not.
    let mut datasets: Vec<_> =
        fs::read_dir(root.join("datasets")).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    datasets.retain(|name| {
        !name.starts_with('.') && name.starts_with("pairs") && root.join("datasets").join(name).is_dir()
    });
    datasets.sort();
    assert_eq!(datasets, ["pairs--seed-0", "pairs--seed-1"]);

    let file = root.join("runs/pairs/sweep.json");
    let results: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let figure = |at: usize, name: &str| results["cells"][at]["figures"][name].as_f64().unwrap();
    let estimates: Value =
        serde_json::from_slice(&fs::read(root.join("runs/pairs/cells/wide--seed-1/estimates/manifest.json")).unwrap())
            .unwrap();
    assert_eq!(figure(3, "mse_adaptation"), estimates["evaluation"]["mse_adaptation"].as_f64().unwrap());
    assert_eq!(results["cells"][0]["published"][0]["value"], 1e-5);
    let means = [0, 2].map(|at| (figure(at, "mse_validation") + figure(at + 1, "mse_validation")) / 2.0);
    let best = if means[0] < means[1] { "network small" } else { "network wide" };
    assert_eq!(run["best"]["name"], best);

    let page = fs::read_to_string(root.join("runs/pairs/report/index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("wide--seed-1"));
    let markdown = stdout(&paramill(root, &["results", "runs/pairs/sweep.json"]));
    assert!(
        markdown.contains("| small | ")
            && markdown.contains(" | 2 of 2 | ")
            && markdown.contains("all 4 cells were run"),
        "{markdown}"
    );
    // Nothing is made twice, and what one cell lost is made again alone.
    let [kept, lost] =
        ["small--seed-0", "wide--seed-1"].map(|cell| root.join("runs/pairs/cells").join(cell).join("estimates"));
    let before = modified(&kept);
    fs::remove_dir_all(&lost).unwrap();
    let status = stdout(&paramill(root, &["status", "pairs.toml"]));
    assert!(status.contains("3 of 4 cells done"), "{status}");
    let again = paramill(root, &["run", "pairs.toml", "--cell", "wide--seed-1"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(lost.is_dir() && modified(&kept) == before);
    // A budget has results of its own, and what the sweep sets is not set beside it.
    let vain = paramill(root, &["run", "pairs.toml", "--set", "seed=5"]);
    assert!(vain.status.code() == Some(2) && stderr(&vain).contains("the axis \"seed\""), "{}", stderr(&vain));
    let page = paramill(root, &["report", "pairs.toml", "--set", "train.steps=7"]);
    assert_eq!(stdout(&page), "runs/pairs/report/index.html\n");
    let now: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert!(now["cells"].as_array().unwrap().iter().all(|cell| cell["state"] == "not_run"), "{now:#}");
    // The file of a cell says all that it is.
    let alone = json(
        root,
        &["run", "runs/pairs/cells/small--seed-0.toml", "--json", "--workspace", "runs/pairs/cells/small--seed-0"],
    );
    let actions: Vec<&str> =
        alone["stages"].as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert!(actions.iter().all(|action| *action == "keep"), "{alone:#}");
}

#[test]
fn a_cell_that_fails_costs_the_others_nothing() {
    let diverging = r#"
[sweep]
[[sweep.over]]
key = "train.learning_rate"
values = [1e-3, 1e30]
"#;
    let root = house(&format!("{PAIRS}{diverging}"));
    let standing = |more: &[&str]| {
        let status = json(root.path(), &[&["status", "pairs.toml", "--json"], more].concat());
        let of = |cell: &Value| {
            let text = |key: &str| cell[key].as_str().unwrap_or_default().to_owned();
            (text("state"), text("error"), text("reason"))
        };
        status["pipelines"][0]["sweep"]["cells"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let never = ("not_run".to_owned(), String::new(), "never run".to_owned());
    assert_eq!(standing(&[]), [never.clone(), never]);
    let run = json(root.path(), &["run", "pairs.toml", "--json"]);
    assert_eq!(run["exit_code"], 4, "{run:#}");
    let cells = &run["results"]["cells"];
    assert_eq!([&cells[0]["state"], &cells[1]["state"]], ["done", "failed"], "{run:#}");
    assert_eq!(run["cells"][1]["exit_code"], 5);
    assert!(cells[1]["figures"].as_object().unwrap().is_empty() && !cells[1]["error"].as_str().unwrap().is_empty());
    // With one of two there is no best.
    assert_eq!(run["best"], Value::Null);

    // The failure is of these settings. With others a run may go well, and what would run is said.
    let failed = &standing(&[])[1];
    assert_eq!((failed.0.as_str(), &failed.1), ("failed", &cells[1]["error"].as_str().unwrap().to_owned()));
    let due = standing(&["--set", "train.steps=90"]);
    assert!(due.iter().all(|(state, error, _)| state == "not_run" && error.is_empty()), "{due:?}");
    assert!(due[0].2.starts_with("train: steps: 100 -> 90"), "{due:?}");
    assert_eq!(due[1].2, "train: not made yet; settings or inputs have changed since it failed");
    let text = stdout(&paramill(root.path(), &["status", "pairs.toml", "--set", "train.steps=90"]));
    assert!(text.contains("not run  train: steps: 100 -> 90"), "{text}");

    // What stops a run before its first stage is told too: this cell did not make the dataset, and does not replace it.
    fs::write(root.path().join("datasets/pairs/hdf5/train.h5"), "damaged").unwrap();
    let damaged = standing(&[]);
    assert!(damaged[0].0 == "not_run" && damaged[0].2.contains("generate: replaces datasets/pairs"), "{damaged:?}");
    assert!(damaged[1].0 == "failed" && damaged[1].1.contains("hdf5/train.h5 with 7 bytes"), "{damaged:?}");
}

#[test]
fn errors_in_other_units_have_no_best_and_each_cell_has_metrics_of_its_own() {
    let scaled = r#"
[run]
metrics = "pairs.prom"
[sweep]
budget = "short"
budgets.short.train.steps = 3
[[sweep.over]]
key = "train.scaling"
values = ["none", "standard"]
"#;
    let root = house(&format!("{PAIRS}{scaled}"));
    let run = json(root.path(), &["run", "pairs.toml", "--json"]);
    assert_eq!((&run["exit_code"], &run["best"]), (&serde_json::json!(0), &Value::Null), "{run:#}");
    for scaling in ["none", "standard"] {
        assert!(root.path().join(format!("pairs--short--scaling-{scaling}.prom")).is_file());
    }
    assert!(root.path().join("runs/pairs/sweep--short.json").is_file());
    assert!(root.path().join("runs/pairs/report--short/index.html").is_file());
    let vain = paramill(root.path(), &["run", "pairs.toml", "--set", "train.steps=5"]);
    assert!(vain.status.code() == Some(2) && stderr(&vain).contains("the budget \"short\""), "{}", stderr(&vain));
}

#[test]
fn what_is_wrong_with_a_sweep_is_said_where_it_stands() {
    let refused = |sweep: &str| {
        let root = house(&format!("{PAIRS}{sweep}"));
        let output = paramill(root.path(), &["run", "pairs.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(!root.path().join("runs").exists());
        stderr(&output)
    };
    let lines = PAIRS.lines().count() as u64;
    let axis = |rest: &str| format!("\n[sweep]\n[[sweep.over]]\n{rest}\n");
    let place = |line: u64| format!("pairs.toml:{}:", lines + line);
    let all = refused(&axis("key = \"train.steps\"\nvalues = [10, -1, \"many\"]"));
    assert!(all.contains("train.steps") && all.matches(&place(5)).count() == 2, "{all}");
    for (sweep, said) in [
        (axis("key = \"train.stepz\"\nvalues = [10]"), "stepz"),
        (axis("key = \"train.steps\""), "without values"),
        (axis("values = [1]"), "which setting"),
        (axis("key = \"seed\"\nrange = { from = 3, to = 1 }"), "3 to 1"),
        (axis("key = \"seed\"\nvalues = [1, 1]"), "two cells of the name"),
        (axis("key = \"seed\"\nvalues = [1]\n[[sweep.over]]\nkey = \"seed\"\nvalues = [2]"), "second axis"),
        (axis("key = \"seed\"\nrange = { from = 0, to = 20000 }"), "at most 10000"),
        (axis("key = \"seed\"\nrange = { from = 0, to = 999999999 }"), "at most 10000"),
        (axis("key = \"train.context_dimension\"\nvalues = [99]"), "at most 16"),
        (
            format!("{}\n", axis("key = \"seed\"\nvalues = [1]").replace("[sweep]", "[sweep]\nbudget = \"long\"")),
            "budget \"long\"",
        ),
        (axis("key = \"generate.dataset\"\nvalues = [\"a b\"]"), "a b"),
        (
            axis(
                "name = \"it\"\nvariants = [{ name = \"a\", set = { \"generate.dataset\" = \"x\" } }, { name = \"b\", set = { \"generate.dataset\" = \"x\", \"generate.rtol\" = 1e-5 } }]",
            ),
            "which would make it differently",
        ),
    ] {
        let said_all = refused(&sweep);
        assert!(said_all.contains(said), "{sweep}: {said_all}");
    }
    // Commands of one pipeline name what to do with many.
    let root = house(&format!("{PAIRS}{TWO_BY_TWO}"));
    let predict = paramill(root.path(), &["predict", "pairs.toml", "--environment", "adapt-00000"]);
    assert_eq!(predict.status.code(), Some(2));
    assert!(stderr(&predict).contains("paramill status pairs.toml"), "{}", stderr(&predict));
    let unknown = paramill(root.path(), &["run", "pairs.toml", "--cell", "smal--seed-0"]);
    assert!(stderr(&unknown).contains("small--seed-0") && unknown.status.code() == Some(2));
}

#[test]
fn a_fault_of_many_cells_is_told_once_and_odd_ranges_have_messages() {
    let seeds = "[[sweep.over]]\nkey = \"seed\"\nrange = { from = 0, to = 7 }\n";
    let of = |key: &str, values: &str| format!("\n[sweep]\n[[sweep.over]]\nkey = \"{key}\"\n{values}\n{seeds}");
    let rate = |range: &str| of("train.learning_rate", &format!("range = {{ {range} }}"));
    for (sweep, said) in [
        (of("train.stepz", "values = [1, 2, 3]"), "(train.stepz): found an unknown key;"),
        (of("train.steps", "range = { from = 1, to = 2, count = 33 }"), ", and 30 more like it"),
        (of("train.steps", "values = [7, 7]"), "two cells of the name"),
        (rate("from = 0, to = nan, count = 3"), "found nan; expected a finite number"),
        (rate("from = 0, to = 1e300"), "found 0 to 1e+300; expected whole numbers below 1e9"),
        (rate("from = -1e308, to = 1e308, count = 3"), "ends whose distance is a number"),
        (rate("from = 1, to = 1.00000000000001, count = 50"), "that twelve digits tell apart"),
        (rate("from = 1, to = 2, count = 0"), "found 0; expected at least 2"),
        (rate("from = 1, to = 2, count = -3"), "found -3"),
    ] {
        let root = house(&format!("{PAIRS}{sweep}"));
        let output = paramill(root.path(), &["run", "pairs.toml"]);
        let text = stderr(&output);
        assert!(output.status.code() == Some(2) && text.contains(said), "{said}: {text}");
        assert!(text.ends_with("error: 1 problem\n"), "{said}: {text}");
    }
    // So is what all cells meet when they run.
    let import = "[import]\ndataset = \"gone\"\ndirectory = \"gone\"\ntime_unit = \"s\"\n\
                  table = { file = \"a.csv\", environment = \"e\", time = \"t\" }\n\
                  channels = [{ column = \"x\", name = \"x\", unit = \"m\" }]\nsplits = { adapt = [\"b\"], validation = { last = 0.25 } }\n\
                  [train]\ncontext_dimension = 1\n[map]\n[estimate]\n";
    let root = house(&format!("{import}[sweep]\n{}", seeds.replace("[[sweep.over]]", "[[sweep.over]]\nname = \"of\"")));
    let output = paramill(root.path(), &["run", "pairs.toml"]);
    let (text, table) = (stderr(&output), stdout(&output));
    assert_eq!((output.status.code(), text.matches("cannot be read").count()), (Some(3), 1), "{text}");
    assert_eq!(text.matches(", for the reason of of-0").count(), 7, "{text}");
    assert!(table.matches("failed: ").count() == 1 && table.contains("`of-0`, `of-1`"), "{table}");
    let status = stdout(&paramill(root.path(), &["status", "pairs.toml"]));
    assert!(status.matches("cannot be read").count() == 1 && status.matches("  as of-0\n").count() == 7, "{status}");
}

/// The tables of the paper, as far as a moment allows: every rule runs, and those that were not run say so.
#[test]
fn every_rule_of_the_papers_first_table_runs() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/paper/table1-lv.toml");
    let root = tempfile::tempdir().unwrap();
    let rules = ["maml", "anil", "meta-sgd", "leads", "cavia-film", "cavia-concat", "coda-l2", "coda-l1"];
    let cells = rules.map(|rule| format!("--cell=tiny--paper--{rule}--seed-0"));
    let set = [
        "sweep.budget=tiny",
        "generate.splits.test.trajectories=2",
        "generate.splits.adapt_test.trajectories=2",
        "estimate.iterations=3",
    ];
    let mut arguments = vec!["run", file.to_str().unwrap(), "--json"];
    arguments.extend(set.iter().flat_map(|set| ["--set", set]));
    arguments.extend(cells.iter().map(String::as_str));
    // Models of four steps are no good: environments may fail, cells do not.
    let run = json(root.path(), &arguments);
    assert!([0, 4, 5].map(Value::from).contains(&run["exit_code"]), "{run:#}");
    let done = run["results"]["cells"].as_array().unwrap().iter().filter(|cell| cell["state"] == "done").count();
    assert_eq!(done, rules.len());
    let markdown = stdout(&paramill(root.path(), &["results", "runs/table1-lv/sweep--tiny.json"]));
    assert!(markdown.contains("8 of 64 cells were run"), "{markdown}");
}

/// The other tables and figures of the paper, a cell of four steps of each and as few trajectories as show something. Gray-Scott's models are those of
/// Navier-Stokes, and its data take a minute.
#[test]
fn every_other_pipeline_of_the_paper_runs_but_for_those_that_take_minutes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/paper");
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let few =
        ["train", "validation", "test", "adapt_test"].map(|split| format!("generate.splits.{split}.trajectories=2"));
    let of_sines = ["train", "validation"].map(|split| format!("generate.splits.{split}.trajectories=2"));
    let small_grid = [few.as_slice(), &["generate.splits.grid.limit=3".to_owned()]].concat();
    let all: [(&str, &[&str], &[String]); 11] = [
        ("locality-lv", &["full--l2--seed-0"], &few),
        ("locality-go", &["first--none--seed-0"], &few),
        ("samples-lv", &["coda-l1--1--seed-0"], &few),
        ("parameters-lv", &["paper--seed-0"], &small_grid),
        ("dimension-lv2", &["context_dimension-3--seed-0"], &few),
        ("dimension-lv4", &["context_dimension-5--seed-0"], &few),
        ("dimension-go", &["context_dimension-1--seed-0"], &few),
        ("frames-ns", &["cavia-concat--seed-0", "coda-l1--seed-0"], &few),
        ("landscapes-lv", &["coda-l1--seed-0", "erm--seed-0"], &few),
        ("gradients-go", &["seed-0"], &few),
        ("gradients-sin", &["seed-0"], &of_sines),
    ];
    for (name, cells, set) in all {
        let file = directory.join(format!("{name}.toml"));
        let mut arguments =
            vec!["run", file.to_str().unwrap(), "--json", "--set=sweep.budget=tiny", "--set=estimate.iterations=3"];
        let (set, cells) =
            (set.iter().map(|it| format!("--set={it}")), cells.iter().map(|it| format!("--cell=tiny--{it}")));
        let more: Vec<String> = set.chain(cells).collect();
        arguments.extend(more.iter().map(String::as_str));
        // Models of four steps are no good: environments may fail, cells do not.
        let run = json(root, &arguments);
        assert!([0, 4, 5].map(Value::from).contains(&run["exit_code"]), "{name}: {run:#}");
        let of_cell = run["results"]["cells"].as_array().unwrap().iter().filter(|cell| cell["state"] == "done");
        let done: Vec<&Value> = of_cell.collect();
        assert_eq!(done.len(), more.iter().filter(|it| it.starts_with("--cell")).count(), "{name}");
        for cell in done {
            let report = root.join("runs").join(name).join("cells").join(cell["name"].as_str().unwrap()).join("report");
            let has_landscape = report.join("landscape.svg").exists() && report.join("gradients.svg").exists();
            assert_eq!(
                has_landscape,
                name.starts_with("landscapes") || name.starts_with("gradients"),
                "{}",
                report.display()
            );
            assert!(cell["errors_over_time"]["squared_errors"].as_array().unwrap().len() > 2, "{cell:#}");
        }
    }
    // Nothing is said of parameters where none are read.
    let of_erm = root.join("runs/landscapes-lv/cells/tiny--erm--seed-0/report");
    let page = fs::read_to_string(of_erm.join("index.html")).unwrap();
    assert!(
        page.contains("no parameters are read from it")
            && !page.contains("Estimates over the environments")
            && !page.contains("95 % interval."),
        "{page}"
    );
    assert!(!of_erm.join("parameter-error-map.svg").exists());
    let page = fs::read_to_string(root.join("runs/frames-ns/report--tiny/index.html")).unwrap();
    assert!(page.contains("id=\"frames\"") && page.matches("class=\"p-curve-").count() >= 4, "{page}");
}
