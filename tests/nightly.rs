//! Runs that nobody watches: how they stand, what they leave, whom they tell, and what they need of their surroundings.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use program::{BINARY, command, house, paramill, stderr, stdout};

/// Four pairs of species, estimated by their equations.
const PIPELINE: &str = r#"seed = 3

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits.train]
environments = "train"
trajectories = 1

[generate.splits.adapt]
environments = "adapt"
trajectories = 1

[estimate]
method = "physics"
splits = ["adapt"]

[report]
"#;

/// Runs the pipeline and holds it to an exit code; what it says on stderr.
fn run(root: &Path, arguments: &[&str], code: i32) -> String {
    let output = paramill(root, &[&["run", "pairs.toml", "-q", "--threads", "1"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    stderr(&output)
}

fn status(root: &Path, arguments: &[&str]) -> Value {
    let output = paramill(root, &[&["status", "pairs.toml", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    value["pipelines"][0].clone()
}

fn states(status: &Value) -> Vec<String> {
    let stages = status["stages"].as_array().unwrap().iter();
    stages.map(|it| format!("{} {}", it["stage"].as_str().unwrap(), it["state"].as_str().unwrap())).collect()
}

fn records(root: &Path) -> Vec<Value> {
    let entries = fs::read_dir(root.join("runs/pairs/records")).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect()
}

/// Makes the stage `estimate` fail by the machine: its directory leads nowhere.
fn break_estimates(root: &Path) {
    let place = root.join("runs/pairs/estimates");
    let _ = fs::remove_dir_all(&place);
    let _ = fs::remove_file(&place);
    symlink("nowhere/at/all", place).unwrap();
}

#[test]
fn status_says_what_is_missing_current_and_due_and_what_to_do() {
    let root = house(PIPELINE);
    let before = status(root.path(), &[]);
    assert_eq!(states(&before), ["generate missing", "estimate missing", "report missing"]);
    assert_eq!((&before["next"], &before["last_run"]), (&json!("paramill run pairs.toml"), &Value::Null));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "it writes nothing");

    run(root.path(), &[], 0);
    let after = status(root.path(), &[]);
    assert_eq!(states(&after), ["generate current", "estimate current", "report current"]);
    assert_eq!((&after["next"], &after["running"]), (&Value::Null, &json!(false)));
    assert_eq!((&after["environments"], &after["environments_failed"]), (&json!(4), &json!(0)));
    assert_eq!(after["last_run"]["exit_code"], 0);
    let mut bytes = 0;
    for stage in after["stages"].as_array().unwrap() {
        assert!(stage["age_seconds"].as_f64().unwrap() < 600.0 && stage["seconds"].as_f64().is_some(), "{stage}");
        bytes += stage["bytes"].as_u64().unwrap();
        assert!(stage["bytes"].as_u64().unwrap() > 100, "{stage}");
    }
    // Records of stages and runs are in no stage.
    assert!(after["bytes"].as_u64().unwrap() > bytes, "{after}");

    let due = status(root.path(), &["--set", "report.title=two words"]);
    assert_eq!(states(&due), ["generate current", "estimate current", "report due"]);
    assert_eq!(due["next"], "paramill run pairs.toml --set 'report.title=two words'");
    assert!(due["stages"][2]["reasons"].to_string().contains("report.title"), "{due}");

    let text = stdout(&paramill(root.path(), &["status", "pairs.toml"]));
    for said in ["generate  current", "environments: 4 estimated, 0 failed", "last run: exit code 0"] {
        assert!(text.contains(said), "{text}");
    }

    // What cannot run as things are, and a pipeline that is none beside one that is.
    let other = ["--workspace", "other", "--set", "generate.rtol=1e-6"];
    let blocked = status(root.path(), &other);
    assert_eq!(states(&blocked)[0], "generate blocked");
    assert_eq!(blocked["next"], Value::Null);
    assert!(blocked["stages"][0]["reasons"].to_string().contains("replace it with `--force generate`"), "{blocked}");
    let two = paramill(root.path(), &["status", "none.toml", "pairs.toml"]);
    assert_eq!(two.status.code(), Some(2));
    assert!(stderr(&two).contains("none.toml") && stdout(&two).contains("report    current"), "{}", stdout(&two));
}

#[test]
fn status_follows_a_training_that_runs_and_one_that_was_killed() {
    let pipeline = "seed = 3\n[generate]\ndataset = \"pairs\"\nsystem = \"lotka-volterra\"\n[generate.splits]\n\
                    train = { environments = \"train\", trajectories = 1, limit = 2 }\n\
                    validation = { environments = \"train\", trajectories = 1, limit = 2 }\n\
                    [train]\nsteps = 1000000\ncheckpoint_every = 5\ngauss_newton = { steps = 0 }\n";
    let root = house(pipeline);
    let arguments = ["run", "pairs.toml", "-q", "--threads", "1"];
    let mut child = command(root.path(), &arguments).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let running = loop {
        let status = status(root.path(), &[]);
        if status["stages"][1]["kept"]["done"].as_u64().is_some_and(|done| done >= 5) {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{status}");
        thread::sleep(Duration::from_millis(50));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(states(&running), ["generate current", "train running"]);
    assert_eq!((&running["running"], &running["process"]), (&json!(true), &json!(child.id())));
    assert_eq!(running["next"], Value::Null);

    let killed = status(root.path(), &[]);
    assert_eq!(states(&killed), ["generate current", "train interrupted"]);
    assert_eq!((&killed["running"], &killed["next"]), (&json!(false), &json!("paramill run pairs.toml")));
    let kept = &killed["stages"][1]["kept"];
    assert_eq!((&kept["total"], &kept["unit"]), (&json!(1_000_000), &json!("steps")));
    assert!(kept["done"].as_u64() >= running["stages"][1]["kept"]["done"].as_u64(), "{killed}");
    let text = stdout(&paramill(root.path(), &["status", "pairs.toml"]));
    assert!(text.contains("its process was killed") && text.contains("/1000000 steps"), "{text}");

    // Asked to stop, it says so itself.
    let mut child = command(root.path(), &arguments).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while states(&status(root.path(), &[]))[1] != "train running" {
        assert!(begun.elapsed() < Duration::from_secs(120));
        thread::sleep(Duration::from_millis(50));
    }
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let stopped = status(root.path(), &[]);
    assert_eq!(states(&stopped)[1], "train interrupted");
    assert_eq!(stopped["stages"][1]["stopped"]["exit_code"], 143);
    assert_eq!(records(root.path()).pop().unwrap()["error"]["kind"], "interrupted");

    // With the settings of a short training, the stage ends well, and nothing is unfinished any more.
    run(root.path(), &["--set", "train.steps=5"], 0);
    assert_eq!(states(&status(root.path(), &["--set", "train.steps=5"])), ["generate current", "train current"]);
    assert!(!root.path().join("runs/pairs/stages/train.unfinished.json").exists());
}

#[test]
fn a_failure_is_of_the_settings_that_it_was_met_with() {
    let pipeline = "seed = 3\n[generate]\ndataset = \"pairs\"\nsystem = \"lotka-volterra\"\n[generate.splits]\n\
                    train = { environments = \"train\", trajectories = 1, limit = 2 }\n\
                    validation = { environments = \"train\", trajectories = 1, limit = 2 }\n\
                    [train]\nsteps = 60\nvalidate_every = 10\nlearning_rate = 1e30\ngauss_newton = { steps = 0 }\n";
    let root = house(pipeline);
    let said = run(root.path(), &[], 5);
    let failed = status(root.path(), &[]);
    assert_eq!(states(&failed), ["generate current", "train failed"]);
    let message = failed["stages"][1]["stopped"]["message"].as_str().unwrap();
    assert!(said.contains(message), "{said}");

    let slower = ["--set", "train.learning_rate=1e-3"];
    let due = status(root.path(), &slower);
    assert_eq!(states(&due), ["generate current", "train missing"]);
    assert_eq!((&due["stages"][1]["stopped"], &due["last_run"]["exit_code"]), (&Value::Null, &json!(5)));
    let reasons = json!(["not made yet", "settings or inputs have changed since it failed"]);
    assert_eq!(due["stages"][1]["reasons"], reasons);
    // So that it is not lost, it stands with the run.
    let text = |more: &[&str]| stdout(&paramill(root.path(), &[&["status", "pairs.toml"], more].concat()));
    assert!(text(&slower).lines().any(|line| line.starts_with("last run:") && line.contains(message)));
    assert_eq!(text(&[]).matches(message).count(), 1);
    // What runs before it makes other data.
    let other = status(root.path(), &["--set", "seed=4"]);
    assert_eq!(states(&other), ["generate due", "train missing"]);
    assert!(other["stages"][1]["reasons"].to_string().contains("is made anew first"), "{other}");
}

#[test]
fn a_run_that_fails_is_known_by_status_record_metrics_and_command() {
    let told = |word: &str| {
        format!(
            "[\"sh\", \"-c\", \"echo {word} $PARAMILL_EXIT_CODE $PARAMILL_PIPELINE >> told; cp $PARAMILL_RECORD last.json; echo chatter\"]"
        )
    };
    let section = format!(
        "[run]\nrecords = 2\nmetrics = \"night/pairs.prom\"\non_success = {}\non_failure = {}\n",
        told("good"),
        told("bad")
    );
    let root = house(&format!("{PIPELINE}\n{section}"));
    let read = |name: &str| fs::read_to_string(root.path().join(name)).unwrap();
    let metric = |name: &str| {
        let metrics = read("night/pairs.prom");
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{metrics}"));
        line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    // What a command prints is no result.
    let first = paramill(root.path(), &["run", "pairs.toml", "-q", "--json", "--threads", "1"]);
    let result: Value = serde_json::from_str(&stdout(&first)).unwrap();
    assert_eq!((first.status.code(), stderr(&first).as_str()), (Some(0), "chatter\n"));
    let record: Value = serde_json::from_str(&read(result["record"].as_str().unwrap())).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("last.json")).unwrap(), record);
    let actions: Vec<&Value> = record["stages"].as_array().unwrap().iter().map(|stage| &stage["action"]).collect();
    assert_eq!(actions, ["run"; 3]);
    assert_eq!((&record["exit_code"], &record["error"], &record["environments"]), (&json!(0), &Value::Null, &json!(4)));
    assert!(record["figures"]["param_mape_overall"].as_f64().is_some_and(|figure| figure > 0.0), "{record}");
    assert_eq!(record["figures"]["param_mape_overall"], result["summary"]["param_mape_overall"]);
    for (name, value) in [
        ("paramill_run_exit_code{pipeline=\"pairs\"}", 0.0),
        ("paramill_environments{", 4.0),
        ("paramill_environments_failed{", 0.0),
        ("paramill_environments_by_status{pipeline=\"pairs\",status=\"ok\"}", 4.0),
        (
            "paramill_stage_duration_seconds{pipeline=\"pairs\",stage=\"estimate\"}",
            record["stages"][1]["seconds"].as_f64().unwrap(),
        ),
    ] {
        // The stage's record has the time of the stage alone, which that of the run repeats.
        assert_eq!(metric(name), value, "{name}");
    }
    let succeeded = metric("paramill_run_success_timestamp_seconds{");
    assert!((metric("paramill_stage_made_timestamp_seconds{") - succeeded).abs() < 600.0);

    break_estimates(root.path());
    for _ in 0..3 {
        let said = run(root.path(), &[], 1);
        assert!(said.contains("leads nowhere"), "{said}");
    }
    assert_eq!(read("told"), "good 0 pairs\nbad 1 pairs\nbad 1 pairs\nbad 1 pairs\n");
    assert_eq!(metric("paramill_run_exit_code{"), 1.0);
    assert_eq!(metric("paramill_run_success_timestamp_seconds{"), succeeded);
    let codes: Vec<Value> = records(root.path()).iter().map(|record| record["exit_code"].clone()).collect();
    assert_eq!(codes, [0, 1, 1], "the last two, and the last success");
    let failed = records(root.path()).pop().unwrap();
    assert!(failed["error"]["message"].as_str().unwrap().contains("leads nowhere"), "{failed}");
    assert_eq!((failed["stages"].as_array().unwrap().len(), &failed["figures"]), (0, &json!({})));

    let now = status(root.path(), &[]);
    assert_eq!(states(&now)[..2], ["generate current", "estimate failed"]);
    assert_eq!((&now["stages"][1]["stopped"]["exit_code"], &now["last_run"]["exit_code"]), (&json!(1), &json!(1)));
    assert_eq!(now["next"], "paramill run pairs.toml");

    // A command that cannot be called changes nothing but a warning.
    let said = run(root.path(), &["--set", "run.on_failure=[\"/no/such/program\"]"], 1);
    assert!(said.contains("warning: run.on_failure: the command `/no/such/program` cannot be started"), "{said}");
}

#[test]
fn whom_a_run_tells_makes_nothing_anew() {
    let root = house(PIPELINE);
    run(root.path(), &[], 0);
    let before = fs::read(root.path().join("runs/pairs/report/index.html")).unwrap();
    let sets = ["--set", "run.records=3", "--set", "run.on_success=[\"true\"]", "--set", "run.metrics=a.prom"];
    run(root.path(), &[&["--dry-run"], &sets[..]].concat(), 0);
    run(root.path(), &[&["--force", "report"], &sets[..]].concat(), 0);
    assert!(!String::from_utf8_lossy(&before).contains("on_success"));
    let shown = stdout(&paramill(root.path(), &[&["show", "pairs.toml"], &sets[..]].concat()));
    assert!(shown.contains("[run]") && shown.contains("on_success = [\"true\"]"), "{shown}");
}

#[test]
fn settings_that_would_tell_nobody_are_refused() {
    let root = house(&format!("{PIPELINE}\n[run]\nrecords = 0\n"));
    let output = paramill(root.path(), &["check", "pairs.toml"]);
    assert!(stderr(&output).contains("(run.records): found 0; expected at least 1"), "{}", stderr(&output));
    let root = house(&format!("{PIPELINE}\n[run]\nmetrics = \"pairs.txt\"\non_failure = [\"\", \"tanks\"]\n"));
    let output = paramill(root.path(), &["check", "pairs.toml"]);
    assert_eq!(output.status.code(), Some(2));
    for said in ["(run.metrics): found the path \"pairs.txt\"", "(run.on_failure.0): found an empty string"] {
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn a_log_is_text_or_json_on_stderr_and_in_a_file() {
    let root = house(PIPELINE);
    let output = paramill(root.path(), &["run", "pairs.toml", "--log-format", "json", "--log-file", "logs/night.log"]);
    assert_eq!(output.status.code(), Some(0));
    let (printed, file) = (lines(&stderr(&output)), fs::read_to_string(root.path().join("logs/night.log")).unwrap());
    assert_eq!(printed.len(), lines(&file).len());
    for line in &printed {
        for key in ["time", "level", "stage", "event", "message"] {
            assert!(line.get(key).is_some(), "{line}");
        }
    }
    let begun = printed.iter().find(|line| line["event"] == "begin" && line["stage"] == "generate").unwrap();
    assert_eq!((&begun["unit"], &begun["total"]), (&json!("trajectories"), &json!(13)));
    let last = printed.last().unwrap();
    assert_eq!((&last["event"], &last["level"]), (&json!("run_end"), &json!("info")));
    assert!(last["message"].as_str().unwrap().starts_with("pairs: ended with exit code 0"), "{last}");

    // Text, and a quiet terminal: the file has every line, with its time.
    let quiet = ["--log-file", "logs/quiet.log", "--force", "generate"];
    assert_eq!(run(root.path(), &quiet, 0), "");
    let file = fs::read_to_string(root.path().join("logs/quiet.log")).unwrap();
    assert!(
        file.lines().count() > 4 && file.lines().all(|line| line.starts_with("20") && line.contains("Z ")),
        "{file}"
    );
    assert!(file.contains("simulate pairs: begins, 13 trajectories"), "{file}");

    // Errors, and where the result is JSON too.
    for extra in [&[][..], &["--json"]] {
        let arguments = ["run", "pairs.toml", "--log-format", "json", "--set", "run.records=0"];
        let output = paramill(root.path(), &[&arguments[..], extra].concat());
        assert_eq!(output.status.code(), Some(2));
        let said = lines(&stderr(&output));
        assert!(said.iter().all(|line| line["level"] == "error"), "{said:?}");
        assert!(said[0]["message"].as_str().unwrap().contains("run.records"), "{said:?}");
    }
    let refused = paramill(root.path(), &["run", "pairs.toml", "--log-file", "/dev/null"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn a_run_waits_for_another_one_without_a_word_a_second() {
    let root = house(PIPELINE);
    let workspace = root.path().join("runs/pairs");
    fs::create_dir_all(&workspace).unwrap();
    let lock = fs::File::create(workspace.join(".lock")).unwrap();
    lock.lock().unwrap();
    fs::write(workspace.join(".lock"), "4711\n").unwrap();
    let arguments = ["run", "pairs.toml", "--wait", "--threads", "1"];
    let waiting = command(root.path(), &arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let watched = status(root.path(), &[]);
    assert_eq!((&watched["running"], &watched["process"]), (&json!(true), &json!(4711)));
    thread::sleep(Duration::from_millis(2500));
    drop(lock);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let waits: Vec<String> =
        stderr(&output).lines().filter(|line| line.contains("waiting")).map(str::to_owned).collect();
    assert_eq!(waits, ["waiting for runs/pairs/.lock, which process 4711 holds"]);
    // One that does not wait is no run of the workspace, and leaves no record there.
    let again = fs::File::create(workspace.join(".lock")).unwrap();
    again.lock().unwrap();
    run(root.path(), &[], 6);
    assert_eq!(records(root.path()).len(), 1);
}

#[test]
fn versions_of_a_model_are_kept_and_the_alias_leads_to_the_last_good_one() {
    let pipeline = "seed = 3\n[generate]\ndataset = \"pairs\"\nsystem = \"lotka-volterra\"\n[generate.splits]\n\
                    train = { environments = \"train\", trajectories = 1, limit = 2 }\n\
                    validation = { environments = \"train\", trajectories = 1, limit = 2 }\n\
                    [train]\nsteps = 1\ngauss_newton = { steps = 0 }\n[run]\nmodels = 2\n";
    let root = house(pipeline);
    let store = root.path().join("runs/pairs/models/pairs.versions");
    let versions = || -> Vec<Value> {
        let listed = paramill(root.path(), &["model", "list", "pairs.toml", "--json"]);
        let listed: Value = serde_json::from_str(&stdout(&listed)).unwrap();
        listed["versions"].as_array().unwrap().clone()
    };
    let manifest = |directory: &Path| fs::read(directory.join("manifest.json")).unwrap();
    assert!(versions().is_empty());
    run(root.path(), &[], 0);
    // A run that makes nothing anew makes no version.
    run(root.path(), &[], 0);
    let first = versions();
    assert_eq!((first.len(), &first[0]["current"], &first[0]["training"]["steps"]), (1, &json!(true), &json!(1)));
    let of_first = manifest(&store.join("current"));
    for steps in ["2", "3"] {
        run(root.path(), &["--set", &format!("train.steps={steps}")], 0);
    }
    let kept = versions();
    let steps: Vec<&Value> = kept.iter().map(|version| &version["training"]["steps"]).collect();
    assert_eq!(steps, [2, 3], "the first of three is gone");
    assert_eq!(manifest(&store.join("current")), manifest(&root.path().join("runs/pairs/models/pairs")));
    assert_ne!(manifest(&store.join("current")), of_first);
    let checked = paramill(root.path(), &["check", "runs/pairs/models/pairs.versions/current"]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));

    // The model of before is a version still, and `current` goes back to it.
    run(root.path(), &["--set", "train.steps=2"], 0);
    assert_eq!(versions().iter().map(|version| version["current"].clone()).collect::<Vec<_>>(), [true, false]);
    let shown = paramill(root.path(), &["model", "show", "pairs.toml", "--json"]);
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    let moves = shown["audit"].as_array().unwrap();
    assert_eq!((&shown["name"], moves.len()), (&kept[0]["name"], 2));
    assert_eq!((&moves[0]["from"], &moves[1]["from"]), (&first[0]["name"], &kept[1]["name"]));
    let processes: Vec<Value> = records(root.path()).iter().map(|record| record["process"].clone()).collect();
    assert_eq!(&moves[1]["process"], processes.last().unwrap());
    let text = stdout(&paramill(root.path(), &["model", "show", "pairs.toml"]));
    assert!(text.contains("came into use") && text.contains("the stages gave this model again"), "{text}");
    let none = paramill(root.path(), &["model", "show", "pairs.toml", "1999"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("found 0 versions `1999`"), "{}", stderr(&none));
}

#[test]
fn a_run_without_new_data_tells_somebody() {
    let pipeline = r#"[import]
dataset = "tanks"
directory = "archive"
time_unit = "s"
table = { file = "tanks.csv", environment = "tank", time = "t" }
channels = [{ column = "level", name = "level", unit = "m" }]

[import.splits]
adapt = ["*"]

[run]
data_days = 2
on_success = ["sh", "-c", "echo well >> told.txt"]
on_failure = ["sh", "-c", "echo \"$PARAMILL_EXIT_CODE $PARAMILL_MESSAGE\" >> told.txt"]
"#;
    let root = house(pipeline);
    let file = root.path().join("archive/tanks.csv");
    fs::create_dir(root.path().join("archive")).unwrap();
    fs::write(&file, "tank,t,level\na,0,2\na,1,1\na,2,0.5\n").unwrap();
    assert_eq!(run(root.path(), &[], 0), "");
    let written = fs::File::options().append(true).open(&file).unwrap();
    written.set_modified(std::time::SystemTime::now() - Duration::from_secs(3 * 86_400)).unwrap();
    let said = run(root.path(), &[], 0);
    assert!(said.contains("warning: no new data: found tanks.csv as the newest file of the archive"), "{said}");
    let told = fs::read_to_string(root.path().join("told.txt")).unwrap();
    let told: Vec<&str> = told.lines().collect();
    assert!(told.len() == 2 && told[0] == "well" && told[1].starts_with("0 no new data: "), "{told:?}");
    let warned = records(root.path()).iter().filter(|record| record["warnings"] != json!([])).count();
    assert_eq!(warned, 1);
    let warned_of_hours = run(root.path(), &["--set", "run.data_days=1.5"], 0);
    assert!(warned_of_hours.contains("expected one of the last 36 hours (run.data_days)"), "{warned_of_hours}");
    // Four days are enough, and a simulation has no age.
    assert_eq!(run(root.path(), &["--set", "run.data_days=4", "--set", "run.metrics=tanks.prom"], 0), "");
    let metrics = fs::read_to_string(root.path().join("tanks.prom")).unwrap();
    let line =
        metrics.lines().find(|line| line.starts_with("paramill_data_written_timestamp_seconds{")).expect("the time");
    let stated: f64 = line.rsplit_once(' ').unwrap().1.parse().unwrap();
    let written = fs::metadata(&file).unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!((stated - written.as_secs_f64()).abs() < 1e-2, "{line}");
    let simulated = house(&format!("{PIPELINE}\n[run]\ndata_days = 2\n"));
    let output = paramill(simulated.path(), &["check", "pairs.toml"]);
    assert!(
        stderr(&output).contains("(run.data_days): found 2, and a dataset that is simulated"),
        "{}",
        stderr(&output)
    );
}

fn nightly(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/nightly").join(name);
    fs::read_to_string(path).unwrap()
}

/// As cron starts it, and worse: no variable but PATH, then none at all; no terminal; stdin, stdout and stderr closed.
#[test]
fn the_line_for_cron_runs_in_an_empty_environment() {
    let root = house(PIPELINE);
    fs::rename(root.path().join("pairs.toml"), root.path().join("tanks.toml")).unwrap();
    let crontab = nightly("crontab");
    let line = crontab.lines().find(|line| line.contains("paramill run")).unwrap();
    let command_of_line = line.splitn(6, ' ').nth(5).unwrap();
    assert!(line.starts_with("17 2 * * * cd /srv/paramill && "), "{line}");
    let there = command_of_line.replace("/srv/paramill", root.path().to_str().unwrap());
    let program = Path::new(BINARY).parent().unwrap().display();
    let cron = |script: &str, path: Option<String>| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir("/").env_clear().stdin(Stdio::null());
        let output = command.envs(path.map(|path| ("PATH", path))).output().unwrap();
        assert_eq!(
            (output.status.code(), stderr(&output).as_str(), stdout(&output).as_str()),
            (Some(0), "", ""),
            "{script}"
        );
    };
    cron(&there, Some(format!("{program}:/usr/bin:/bin")));
    let result: Value = serde_json::from_slice(&fs::read(root.path().join("tanks.last-run.json")).unwrap()).unwrap();
    assert_eq!((&result["exit_code"], &result["environments"]), (&json!(0), &json!(4)));
    assert!(fs::read_to_string(root.path().join("logs/tanks.log")).unwrap().contains("ended with exit code 0"));

    let closed = there.replace("&& paramill", &format!("&& exec <&- >&- 2>&- && {BINARY}"));
    let closed = format!("{} --force estimate", closed.split(" > ").next().unwrap());
    cron(&closed, None);
    let entries = fs::read_dir(root.path().join("runs/tanks/records")).unwrap();
    assert_eq!(entries.count(), 2);
}

#[test]
fn the_unit_for_systemd_calls_a_command_that_is_there() {
    let service = nightly("paramill@.service");
    let of = |key: &str| service.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let words: Vec<&str> = of("ExecStart=").split_whitespace().collect();
    if let Err(error) = paramill::cli::command().try_get_matches_from(&words) {
        panic!("{error}");
    }
    // What it writes beside the products is where it may write.
    assert_eq!(of("WorkingDirectory="), of("ReadWritePaths="));
    assert_eq!(of("SuccessExitStatus="), "4");
    assert!(nightly("paramill@.timer").contains("\nPersistent=true\n"));
}
