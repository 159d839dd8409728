//! Whole pipelines through the command, as a user runs them.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use paramill::random::Stream;
use serde_json::Value;
use tempfile::TempDir;

#[path = "end_to_end/drawn.rs"]
mod drawn;
#[path = "end_to_end/equations.rs"]
mod equations;
#[path = "end_to_end/forecast.rs"]
mod forecast;
#[path = "end_to_end/invariance.rs"]
mod invariance;
#[path = "end_to_end/predicted.rs"]
mod predicted;
#[path = "end_to_end/processors.rs"]
mod processors;
#[path = "end_to_end/published.rs"]
mod published;
#[path = "end_to_end/score.rs"]
mod score;
#[path = "end_to_end/sealed.rs"]
mod sealed;

const PAIRS: &str = r#"
seed = 1

[generate]
dataset = "pairs-set"
system = "lotka-volterra"
[generate.splits]
train = { environments = "train", trajectories = 2 }
validation = { environments = "train", trajectories = 1 }
test = { environments = "train", trajectories = 1 }
adapt = { environments = "adapt", trajectories = 1 }
adapt_test = { environments = "adapt", trajectories = 1 }
grid = { environments = "grid", limit = 9, trajectories = 1 }

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
[report]
"#;

fn house(name: &str, pipeline: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join(name), pipeline).unwrap();
    root
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("paramill"));
    prepare(&mut command, root, arguments);
    command
}

fn prepare(command: &mut Command, root: &Path, arguments: &[&str]) {
    command.current_dir(root).args(arguments).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

fn paramill(root: &Path, arguments: &[&str]) -> Output {
    command(root, arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the pipeline `file` with these arguments more, and returns its JSON after its exit code has been held to `code`.
fn run(root: &Path, file: &str, arguments: &[&str], code: i32) -> Value {
    let output = paramill(root, &[&["run", file, "--json", "--device", "cpu"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The stages that ran.
fn ran(outcome: &Value) -> Vec<&str> {
    let stages = outcome["stages"].as_array().unwrap().iter();
    stages.filter(|stage| stage["action"] == "run").map(|stage| stage["stage"].as_str().unwrap()).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_pipeline_runs_from_nothing_to_a_report_and_then_only_what_changed() {
    let root = house("pairs.toml", PAIRS);
    let first = run(root.path(), "pairs.toml", &[], 0);
    assert_eq!(ran(&first), ["generate", "train", "map", "estimate", "report"]);
    let workspace = root.path().join("runs/pairs");
    for path in ["models/pairs/manifest.json", "models/pairs/weights.safetensors", "models/pairs/map.json"] {
        assert!(workspace.join(path).is_file(), "{path}");
    }
    for path in ["estimates/adapt.parquet", "estimates/grid.parquet", "report/index.html", "report/summary.json"] {
        assert!(workspace.join(path).is_file(), "{path}");
    }
    assert!(root.path().join("datasets/pairs-set/manifest.json").is_file());
    assert_eq!(names(root.path()), ["datasets", "pairs.toml", "runs"]);
    assert_eq!(names(&workspace), ["estimates", "models", "records", "report", "stages"]);

    let summary = json(&workspace.join("report/summary.json"));
    assert_eq!(first["summary"], summary);
    let figures =
        ["mse_in_domain", "mse_adaptation", "param_mape_in_hull", "param_mape_out_of_hull", "param_mape_overall"];
    for figure in figures {
        assert!(summary[figure].as_f64().unwrap() > 0.0, "{figure}: {summary}");
    }
    assert_eq!((&summary["environments"], &summary["environments_failed"]), (&13.into(), &0.into()));
    for stage in ["generate", "train", "map", "estimate"] {
        assert!(summary["seconds"][stage].is_f64(), "{stage}: {summary}");
    }
    assert_eq!((&summary["device"], &summary["engine"]), (&"cpu".into(), &"native".into()));
    assert!(summary["threads"].as_u64().unwrap() > 0);
    assert_eq!((&summary["seed"], &summary["data_tolerance"]), (&1.into(), &1e-9.into()));

    assert_eq!(ran(&run(root.path(), "pairs.toml", &[], 0)), [""; 0], "a second run does nothing");
    assert_eq!(json(&workspace.join("report/summary.json")), summary);
    let iterations = ["--set", "estimate.iterations=49"];
    assert_eq!(ran(&run(root.path(), "pairs.toml", &iterations, 0)), ["map", "estimate", "report"]);
    let title = [&iterations[..], &["--set", "report.title=again"]].concat();
    assert_eq!(ran(&run(root.path(), "pairs.toml", &title, 0)), ["report"]);

    let made = ["datasets/pairs-set", "runs/pairs/models/pairs"];
    let checked = paramill(root.path(), &[&["check"], &made[..]].concat());
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let weights = workspace.join("models/pairs/weights.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    let checked = paramill(root.path(), &[&["check"], &made[..]].concat());
    assert_eq!(checked.status.code(), Some(3));
    assert!(stderr(&checked).contains("weights.safetensors"), "{}", stderr(&checked));
}

/// The pipeline as it is shipped, with less of everything.
#[test]
fn the_glycolytic_oscillator_runs_at_a_tiny_budget() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/go.toml");
    let root = house("go.toml", &fs::read_to_string(shipped).unwrap());
    let less = [
        "generate.splits.train.trajectories=4",
        "generate.splits.validation.trajectories=1",
        "generate.splits.test.trajectories=1",
        "generate.splits.adapt_test.trajectories=1",
        "train.model.width=8",
        "train.steps=200",
        "train.learning_rate=0.01",
        "train.validate_every=20",
    ];
    let arguments: Vec<&str> = less.iter().flat_map(|setting| ["--set", setting]).collect();
    let outcome = run(root.path(), "go.toml", &arguments, 0);
    assert_eq!(ran(&outcome), ["generate", "train", "map", "estimate", "report"]);
    let summary = &outcome["summary"];
    assert_eq!((&summary["environments"], &summary["environments_in_hull"]), (&4.into(), &4.into()));
    for figure in ["mse_in_domain", "mse_adaptation", "param_mape_in_hull"] {
        assert!(summary[figure].as_f64().is_some_and(|value| value > 0.0 && value.is_finite()), "{figure}: {summary}");
    }
    // The mean of all data would leave their variance, 0.18 as a mean over the channels.
    assert!(summary["mse_in_domain"].as_f64().unwrap() < 0.12, "{summary}");
}

/// Four parameters vary: as many dimensions are chosen, and no training environment whose fit ends in another minimum than training found spoils the map.
#[test]
fn of_four_parameters_as_many_dimensions_are_chosen_and_all_are_estimated() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/lv-library.toml");
    let root = house("lv-library.toml", &fs::read_to_string(shipped).unwrap());
    let set = [
        "generate.system=lotka-volterra-4",
        "generate.splits.grid.environments=adapt",
        "generate.splits.test.trajectories=1",
        "generate.splits.adapt_test.trajectories=4",
        "train.context_dimension=auto",
        "train.gauss_newton.steps=30",
    ];
    let arguments: Vec<&str> = set.iter().flat_map(|setting| ["--set", setting]).collect();
    let summary = run(root.path(), "lv-library.toml", &arguments, 0)["summary"].clone();
    assert_eq!((&summary["environments"], &summary["statuses"]["ok"]), (&32.into(), &32.into()), "{summary}");
    assert!(summary["param_mape_overall"].as_f64().unwrap() < 0.001, "{summary}");
    let context = fs::read_to_string(root.path().join("runs/lv-library/models/lv-library/map.json")).unwrap();
    let map: serde_json::Value = serde_json::from_str(&context).unwrap();
    assert_eq!(map["centre"].as_array().unwrap().len(), 4);
}

/// The pipeline as it is shipped, on a smaller grid: the equations come out, the report prints them, and another pipeline estimates by them.
#[test]
fn a_library_of_products_finds_the_equations_of_lotka_volterra() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/lv-library.toml");
    let pipeline = fs::read_to_string(shipped).unwrap();
    let root = house("lv-library.toml", &pipeline);
    let less = ["generate.splits.grid.limit=16", "generate.splits.test.trajectories=2", "train.gauss_newton.steps=30"];
    let arguments: Vec<&str> = less.iter().flat_map(|setting| ["--set", setting]).collect();
    let outcome = run(root.path(), "lv-library.toml", &arguments, 0);
    let summary = &outcome["summary"];
    assert_eq!(summary["engine"], "native");
    for (figure, most) in [("mse_in_domain", 1e-9), ("mse_adaptation", 1e-9), ("param_mape_overall", 0.01)] {
        assert!(summary[figure].as_f64().unwrap() < most, "{figure}: {summary}");
    }
    let report = root.path().join("runs/lv-library/report");
    let mut terms = csv::Reader::from_path(report.join("equations.csv")).unwrap();
    let names: Vec<String> = terms.headers().unwrap().iter().skip(5).map(str::to_owned).collect();
    assert_eq!(names, ["per_beta", "per_delta"]);
    // dx/dt = 0.5 x - beta x y, dy/dt = delta x y - 0.5 y.
    let expected = [
        ("x", "x", 0.5, [0.0, 0.0]),
        ("x", "x y", f64::NAN, [-1.0, 0.0]),
        ("y", "x y", f64::NAN, [0.0, 1.0]),
        ("y", "y", -0.5, [0.0, 0.0]),
    ];
    // All others are dropped.
    let mut found = 0;
    for term in terms.records().map(Result::unwrap) {
        let number = |at: usize| term[at].parse::<f64>().unwrap();
        let known = expected.iter().find(|it| it.0 == &term[0] && it.1 == &term[1]);
        let (mean, slopes) = known.map_or((0.0, [0.0; 2]), |it| (it.2, it.3));
        assert!(mean.is_nan() || (number(2) - mean).abs() < 1e-5, "{term:?}");
        assert!(known.is_some() || number(2) == 0.0, "{term:?}");
        assert!((number(5) - slopes[0]).abs() < 1e-5 && (number(6) - slopes[1]).abs() < 1e-5, "{term:?}");
        found += usize::from(known.is_some());
    }
    assert_eq!(found, expected.len());
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(page.contains("The equations it found") && page.contains("per beta"), "{page}");
    assert!(page.contains("<code>system.toml</code>"), "{page}");
    equations::the_file_has_the_rates_of_the_model(root.path());
    equations::a_pipeline_estimates_by_the_file(root.path(), &pipeline, &arguments);
}

/// A limit on the size of files is an error of writing that names the file, and leaves nothing behind.
#[test]
fn a_file_that_may_not_grow_is_named_and_the_run_can_be_made_again() {
    let root = house("pairs.toml", PAIRS);
    let limited = |blocks: &str, arguments: &str| {
        let script = format!("ulimit -f {blocks}; exec \"$0\" {arguments}");
        let mut shell = Command::new("sh");
        shell.current_dir(root.path()).args(["-c", &script]).arg(assert_cmd::cargo::cargo_bin("paramill"));
        let output = shell.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    for blocks in ["0", "1", "8"] {
        let (code, said) = limited(blocks, "run pairs.toml --device cpu");
        assert_eq!(code, Some(1), "{blocks}: {said}");
        assert!(said.contains("File too large") && said.contains("error: "), "{blocks}: {said}");
        assert!(!root.path().join("datasets/pairs-set").exists());
    }
    run(root.path(), "pairs.toml", &["--stage", "generate"], 0);
    let (code, said) = limited("0", "dataset export datasets/pairs-set --to csv");
    assert!(code == Some(1) && said.contains("File too large") && said.contains("csv"), "{said}");
    for (format, name) in [("netcdf", "train.nc"), ("pdebench", "train.hdf5")] {
        for blocks in ["0", "8"] {
            let (code, said) =
                limited(blocks, &format!("dataset export datasets/pairs-set --format {format} --to {format}"));
            let is_told = said.contains(name) && said.contains("cannot be written") && said.contains("ulimit -f");
            assert!(code == Some(1) && is_told, "{format}, {blocks}: {said}");
        }
    }
    let (code, said) = limited("0", "dataset show datasets/pairs-set --plot plot.svg");
    assert!(code == Some(1) && said.contains("plot.svg") && said.contains("File too large"), "{said}");
    assert_eq!(names(root.path()), ["datasets", "pairs.toml", "runs"]);
    run(root.path(), "pairs.toml", &["--set", "estimate.fitted=true"], 0);
    let (code, said) = limited("4", "run pairs.toml --device cpu --force estimate --set estimate.fitted=true");
    // The first file that is too large: a finished block, or the table.
    let names_file = said.contains("runs/pairs/blocks/estimate-")
        || (said.contains(".parquet") && said.contains("cannot be written"));
    assert!(code == Some(1) && said.contains("File too large") && names_file, "{said}");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

/// Starts a training that would take a day, with SIGHUP as `hangup` says to `env`, waits for a checkpoint past `step`, and sends it
/// `signals` one after the other; it ends with `code`. Returns what it said.
fn interrupted(root: &Path, step: u64, hangup: &str, signals: &[&str], code: i32) -> String {
    let arguments = ["run", "pairs.toml", "--device", "cpu", "--set", "train.steps=1000000000"];
    let kept = ["--set", "train.checkpoint_every=50", "--set", "train.patience=1000000000"];
    let mut command = Command::new("env");
    command.arg(hangup).arg(assert_cmd::cargo::cargo_bin("paramill"));
    prepare(&mut command, root, &[&arguments[..], &kept].concat());
    let mut child = command.spawn().unwrap();
    while newest_checkpoint(&root.join("runs/pairs/models/pairs.training")).is_none_or(|newest| newest <= step) {
        assert!(child.try_wait().unwrap().is_none(), "{}", stderr(&child.wait_with_output().unwrap()));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for name in signals {
        signal(&child, name);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    stderr(&output)
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The step of the newest checkpoint below `directory`.
fn newest_checkpoint(directory: &Path) -> Option<u64> {
    let trainings = fs::read_dir(directory).ok()?.flatten();
    let checkpoints = trainings.filter_map(|training| fs::read_dir(training.path()).ok()).flatten().flatten();
    checkpoints.filter_map(|it| it.file_name().to_str()?.strip_prefix("step-")?.parse().ok()).max()
}

#[test]
fn an_interrupted_run_ends_with_the_code_of_its_signal_and_goes_on_from_its_checkpoint() {
    let root = house("pairs.toml", PAIRS);
    let said = interrupted(root.path(), 0, "--default-signal=HUP", &["-HUP"], 129);
    assert!(said.contains("SIGHUP"), "{said}");
    assert!(said.contains("the same command goes on from there"), "{said}");
    assert!(!root.path().join("runs/pairs/models/pairs").exists());
    let checkpoint = newest_checkpoint(&root.path().join("runs/pairs/models/pairs.training")).unwrap();
    // Started by `nohup`, it outlives the terminal.
    let said = interrupted(root.path(), checkpoint, "--ignore-signal=HUP", &["-HUP", "-INT"], 130);
    assert!(said.contains("generate: up to date"), "{said}");
    assert!(said.contains(&format!("going on from the checkpoint at step {checkpoint}\n")), "{said}");
    // The lock is free, and a shorter training is another one: it runs to its end.
    assert_eq!(ran(&run(root.path(), "pairs.toml", &[], 0)), ["train", "map", "estimate", "report"]);
}

const TANKS: &str = r#"
[import]
dataset = "tanks"
directory = "archive"
time_unit = "s"
table = { file = "levels.csv", environment = "tank", trajectory = "run", time = "t", disorder = "sort" }
channels = [{ column = "level", name = "level", unit = "m" }]
parameters = [{ name = "rate", unit = "s-1", expression = "outlet / area" }]
[import.side_table]
file = "tanks.csv"
key = "tank"
unknown = ["?"]
[import.splits]
adapt = ["p", "q", "unknown"]
validation = { trajectories = ["3"] }
test = { trajectories = ["4"] }
adapt_test = { trajectories = ["3"] }

[train]
steps = 300
learning_rate = 0.01
validate_every = 50
scaling = "standard"
model = { kind = "mlp", layers = 2, width = 8 }

[map]
[estimate]
[report]
"#;

/// Tanks that run empty, `level = h exp(-rate t)`: the header, and a line a sample, at irregular times, of unequal lengths.
fn levels() -> (String, Vec<String>) {
    let mut stream = Stream::new(1, "tanks", &[]);
    let tanks =
        [("a", 0.4), ("b", 0.5), ("c", 0.6), ("d", 0.7), ("e", 0.8), ("p", 0.45), ("q", 0.65), ("unknown", 0.6)];
    let mut lines = Vec::new();
    for (tank, rate) in tanks {
        for run in 1..=4 {
            let (start, mut t) = (stream.uniform(1.0, 2.0), 0.0);
            for _ in 0..8 + 2 * run {
                let level: f64 = start * f64::exp(-rate * t);
                lines.push(format!("{tank},{run},{t},{level}"));
                t += stream.uniform(0.1, 0.4);
            }
        }
    }
    ("tank,run,t,level".to_owned(), lines)
}

/// A house with the archive; `lines` are those of the table.
fn tanks(header: &str, lines: &[String]) -> TempDir {
    let root = house("tanks.toml", TANKS);
    fs::create_dir(root.path().join("archive")).unwrap();
    let table = lines.iter().fold(format!("{header}\n"), |mut table, line| {
        writeln!(table, "{line}").unwrap();
        table
    });
    fs::write(root.path().join("archive/levels.csv"), table).unwrap();
    let side = "tank,outlet,area\na,4,10\nb,5,10\nc,6,10\nd,7,10\ne,8,10\np,9,20\nq,13,20\nunknown,?,10\n";
    fs::write(root.path().join("archive/tanks.csv"), side).unwrap();
    root
}

#[test]
fn an_archive_gives_the_same_estimates_in_any_order_of_its_rows() {
    let (header, lines) = levels();
    let mut shuffled = lines.clone();
    let mut stream = Stream::new(2, "tanks", &[]);
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, stream.uniform(0.0, i as f64 + 1.0) as usize);
    }
    assert_ne!(lines, shuffled);
    let [ordered, shuffled] = [tanks(&header, &lines), tanks(&header, &shuffled)];
    let summary = run(ordered.path(), "tanks.toml", &["--threads", "1"], 0)["summary"].clone();
    run(shuffled.path(), "tanks.toml", &["--threads", "2"], 0);
    for path in ["models/tanks/weights.safetensors", "models/tanks/map.json", "estimates/adapt.parquet"] {
        let [ordered, shuffled] =
            [&ordered, &shuffled].map(|root| fs::read(root.path().join("runs/tanks").join(path)).unwrap());
        assert!(ordered == shuffled, "{path} differs");
    }
    // Rates in the hull, from three trajectories each, by a model that saw five tanks.
    assert!(summary["param_mape_overall"].as_f64().unwrap() < 5.0, "{summary}");
    assert_eq!((&summary["environments_in_hull"], &summary["environments"]), (&2.into(), &3.into()));
    assert!(summary["data_tolerance"].is_null(), "measurements have none");
}

#[test]
fn an_environment_that_fails_costs_exit_code_4_and_changes_no_other() {
    let (header, mut lines) = levels();
    let sound = tanks(&header, &lines);
    run(sound.path(), "tanks.toml", &[], 0);
    lines.extend((0..5).map(|t| format!("flood,1,{t},1e{}", 300 + t)));
    let flooded = tanks(&header, &lines);
    let adapt = ["--set", "import.splits.adapt=[\"p\", \"q\", \"unknown\", \"flood\"]"];
    let outcome = run(flooded.path(), "tanks.toml", &adapt, 4);
    assert_eq!((&outcome["environments"], &outcome["environments_failed"]), (&4.into(), &1.into()));
    assert_eq!(outcome["summary"]["environments_failed"], 1);
    let again = run(flooded.path(), "tanks.toml", &adapt, 4);
    assert_eq!(ran(&again), [""; 0], "the code stays while nothing runs");
    let [mse, mse_with_flood] = [&sound, &flooded]
        .map(|root| json(&root.path().join("runs/tanks/report/summary.json"))["mse_adaptation"].clone());
    assert_eq!(mse, mse_with_flood);
}

#[test]
fn a_training_that_diverges_ends_with_5() {
    let root = house("pairs.toml", PAIRS);
    let diverging = ["--set", "train.learning_rate=10", "--set", "train.teacher_forcing.start=0"];
    let outcome = paramill(root.path(), &[&["run", "pairs.toml", "--device", "cpu"], &diverging[..]].concat());
    assert_eq!(outcome.status.code(), Some(5), "{}", stderr(&outcome));
    assert!(stderr(&outcome).contains("lower train.learning_rate"), "{}", stderr(&outcome));
}

/// The shipped pipelines of fields at a size that says nothing of accuracy: every stage runs, and every environment has its row.
#[test]
#[cfg_attr(not(feature = "torch"), ignore = "needs libtorch")]
fn pipelines_of_fields_run_from_end_to_end() {
    let root = tempfile::tempdir().unwrap();
    let smaller = [
        ("gs", "train.model={ kind = \"convnet\", layers = 2, width = 3, output_scale = 5e-4 }"),
        ("ns", "train.model={ kind = \"fno\", layers = 1, modes = 2, width = 2, projection = 3 }"),
    ];
    for (name, model) in smaller {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("pipelines/{name}.toml"));
        let one = |split: &str, count: usize| {
            format!(
                "generate.splits.{split}={{ environments = \"{}\", trajectories = 1, limit = {count} }}",
                match split {
                    "adapt" | "grid" => split,
                    _ => "train",
                }
            )
        };
        let mut settings: Vec<String> =
            vec![one("train", 4), one("validation", 4), one("test", 4), one("adapt", 1), one("grid", 2)];
        settings
            .push("generate.splits.adapt_test={ environments = \"adapt\", trajectories = 1, limit = 1 }".to_owned());
        settings.extend([model, "train.steps=3", "train.validate_every=1"].map(str::to_owned));
        let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting.as_str()]).collect();
        let output = paramill(root.path(), &[&["run", file.to_str().unwrap(), "--json"], &arguments[..]].concat());
        // A model of three steps need not determine every context.
        assert!(
            matches!(output.status.code(), Some(0 | 4)),
            "{name}: {:?} {}",
            output.status.code(),
            String::from_utf8_lossy(&output.stdout)
        );
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(ran(&outcome), ["generate", "train", "map", "estimate", "report"]);
        assert_eq!(outcome["summary"]["environments"], 3, "{name}");
        assert!(outcome["summary"]["mse_in_domain"].as_f64().is_some_and(f64::is_finite), "{name}: {outcome}");
        assert!(root.path().join("runs").join(name).join("report/fields.svg").is_file(), "{name}");
    }
}
