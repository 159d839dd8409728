//! The runner with fake stages: what is up to date, what is forced, what is locked, what is refused.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paramill::atomic;
use paramill::dataset::{Manifest, Parent, Provenance};
use paramill::digest::sha256;
use paramill::engine::{Compute, DeviceChoice, EngineChoice};
use paramill::estimate::Status;
use paramill::pipeline::{
    Action, Context, Done, Error, Executor, Locations, Options, Plan, Product, Stage, directory_with_manifest, preview,
    run, whole_tree,
};
use paramill::progress::{Event, Interrupt, Observer, Run};
use paramill::schema::{FormatVersion, algorithm};
use serde_json::{Value, json};
use tempfile::TempDir;

const PIPELINE: &str = r#"
[generate]
dataset = "pairs"
system = "lotka-volterra"
[generate.splits]
train = { environments = "train", trajectories = 2 }
validation = { environments = "train", trajectories = 1 }
adapt = { environments = "adapt", trajectories = 1 }
[train]
[map]
[estimate]
[report]
"#;

/// Stages whose products are files that say what they were made from.
#[derive(Default)]
struct Fake {
    ran: RefCell<Vec<Stage>>,
    /// Environments that fail in the estimates.
    failed: Cell<usize>,
    /// A stage that stops with this signal.
    interrupted: Cell<Option<(Stage, i32)>>,
    /// What the training gives, beside its settings.
    weights: Cell<u32>,
}

impl Fake {
    fn ran(&self) -> Vec<&'static str> {
        self.ran.take().into_iter().map(Stage::name).collect()
    }

    fn place(&self, plan: &Plan, stage: Stage) -> PathBuf {
        match stage {
            Stage::Generate | Stage::Import => plan.dataset_directory.clone(),
            Stage::Train => plan.model_directory(),
            Stage::Map => plan.workspace.join("map"),
            Stage::Estimate => plan.estimates_directory(),
            Stage::Report => plan.report_directory(),
        }
    }
}

impl Executor for Fake {
    fn execute(&self, plan: &Plan, stage: Stage, _: &Context<'_>) -> Result<Done, Error> {
        if let Some((_, signal)) = self.interrupted.get().filter(|(at, _)| *at == stage) {
            return Err(Error::Interrupted { signal, kept: String::new() });
        }
        self.ran.borrow_mut().push(stage);
        let place = self.place(plan, stage);
        let directory = atomic::Directory::create(&place).unwrap();
        let text = if stage.makes_dataset() {
            dataset_manifest(stage, self.configuration(plan), plan.seed)
        } else {
            json!({ "kind": stage.name(), "settings": plan.settings(stage), "weights": self.weights.get() })
        };
        fs::write(directory.path().join("manifest.json"), text.to_string()).unwrap();
        directory.publish().unwrap();
        let failed = self.failed.get();
        let of_each = [(Status::Ok, 4 - failed), (Status::NotConverged, failed)];
        let counts = of_each.into_iter().filter(|(_, count)| stage == Stage::Estimate && *count > 0).collect();
        Ok(Done { device: "cpu".to_owned(), engine: "fake".to_owned(), statuses: counts })
    }

    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, Error> {
        let place = self.place(plan, stage);
        if stage == Stage::Report { whole_tree(&place) } else { directory_with_manifest(&place) }
    }

    fn sources(&self, _: &Plan) -> Result<Vec<Parent>, Error> {
        Ok(Vec::new())
    }

    fn configuration(&self, plan: &Plan) -> Value {
        plan.settings(Stage::Generate)
    }
}

fn dataset_manifest(stage: Stage, configuration: Value, seed: u64) -> Value {
    let manifest = Manifest {
        format: FormatVersion::DATASET,
        kind: "dataset".to_owned(),
        name: "pairs".to_owned(),
        description: String::new(),
        license: "unknown".to_owned(),
        provenance: Provenance::new(stage.name(), configuration, Some(seed), Vec::new()),
        time_unit: "1".to_owned(),
        channels: Vec::new(),
        grid: None,
        import_report: Vec::new(),
        inputs: Vec::new(),
        parameters: Vec::new(),
        publication: Default::default(),
        data_tolerance: None,
        splits: Default::default(),
        files: Vec::new(),
    };
    serde_json::to_value(manifest).unwrap()
}

/// Remembers what it is told.
#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl Observer for Heard {
    fn observe(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Heard {
    fn sentences(&self) -> String {
        let events = self.0.lock().unwrap();
        let sentences = events.iter().filter_map(|event| match event {
            Event::Note(text) | Event::Warn(text) => Some(text.clone()),
            _ => None,
        });
        sentences.collect::<Vec<_>>().join("\n")
    }
}

struct House {
    root: TempDir,
    fake: Fake,
    heard: Heard,
    interrupt: Interrupt,
}

impl House {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("pairs.toml"), PIPELINE).unwrap();
        let (fake, heard) = (Fake::default(), Heard::default());
        House { root, fake, heard, interrupt: Interrupt::new() }
    }

    fn plan_of(&self, file: &str, arguments: &[&str]) -> Plan {
        let locations = Locations {
            datasets: self.root.path().join("datasets"),
            workspace: Some(self.root.path().join("runs").join(file)),
        };
        let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string()).collect();
        Plan::load(&self.root.path().join(format!("{file}.toml")), &arguments, &locations).unwrap()
    }

    fn plan(&self, arguments: &[&str]) -> Plan {
        self.plan_of("pairs", arguments)
    }

    fn go(&self, plan: &Plan, options: &Options) -> Result<paramill::pipeline::Outcome, Error> {
        run(plan, options, &self.fake, &Run { observer: &self.heard, interrupt: &self.interrupt })
    }

    /// Runs everything and says which stages ran.
    fn ran(&self, arguments: &[&str]) -> Vec<&'static str> {
        self.go(&self.plan(arguments), &options(&[], &[])).unwrap();
        self.fake.ran()
    }
}

fn options(stages: &[Stage], force: &[Stage]) -> Options {
    Options {
        stages: stages.to_vec(),
        force: force.to_vec(),
        compute: Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Auto },
        threads: 1,
    }
}

const ALL: [&str; 5] = ["generate", "train", "map", "estimate", "report"];
const NONE: [&str; 0] = [];

#[test]
fn a_second_run_does_nothing() {
    let house = House::new();
    assert_eq!(house.ran(&[]), ALL);
    let outcome = house.go(&house.plan(&[]), &options(&[], &[])).unwrap();
    assert_eq!(house.fake.ran(), NONE);
    assert!(outcome.stages.iter().all(|stage| stage.decision.action == Action::Keep));
    assert!(outcome.stages.iter().all(|stage| stage.seconds.is_some() && stage.sha256.is_some()));
}

#[test]
fn a_setting_runs_its_stage_and_what_follows_from_it() {
    let house = House::new();
    house.ran(&[]);
    assert_eq!(house.ran(&["train.steps=7"]), ["train", "map", "estimate", "report"]);
    assert!(house.heard.sentences().contains("train: steps: 12000 -> 7"), "{}", house.heard.sentences());
    assert_eq!(house.ran(&["train.steps=7"]), NONE);
    assert_eq!(house.ran(&["train.steps=7", "report.title=other"]), ["report"]);
    assert_eq!(house.ran(&["train.steps=7", "report.title=other", "seed=1"]), ALL);
}

#[test]
fn a_stage_that_gives_the_same_again_does_not_trouble_those_after_it() {
    let house = House::new();
    house.ran(&[]);
    house.go(&house.plan(&[]), &options(&[], &[Stage::Train])).unwrap();
    // The report states how the training ran, so it is drawn again.
    assert_eq!(house.fake.ran(), ["train", "report"]);
    house.fake.weights.set(1);
    house.go(&house.plan(&[]), &options(&[], &[Stage::Train])).unwrap();
    assert_eq!(house.fake.ran(), ["train", "map", "estimate", "report"]);
}

fn parsed(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn another_version_of_the_program_makes_nothing_again_and_one_of_an_algorithm_does() {
    let house = House::new();
    let plan = house.plan(&[]);
    let (manifest_path, record_of_dataset) =
        (plan.dataset_directory.join("manifest.json"), plan.record_path(Stage::Generate));
    let say_of_dataset = |key: &str, value: Value| {
        let (mut manifest, mut record) = (parsed(&manifest_path), parsed(&record_of_dataset));
        manifest["provenance"][key] = value;
        record["sha256"] = sha256(manifest.to_string().as_bytes()).into();
        fs::write(&manifest_path, manifest.to_string()).unwrap();
        fs::write(&record_of_dataset, record.to_string()).unwrap();
    };
    for stage in plan.stages() {
        house.go(&plan, &options(&[stage], &[])).unwrap();
        // As version 0.0.9 left it, which took its own version and that of the format for ingredients.
        let mut record = parsed(&plan.record_path(stage));
        assert_eq!(record["ingredients"]["algorithm"], algorithm(stage.name()));
        record.as_object_mut().unwrap().remove("tool");
        record["fingerprint"] = "0".repeat(64).into();
        let ingredients = record["ingredients"].as_object_mut().unwrap();
        // A stage whose algorithm is another since is made again.
        if algorithm(stage.name()) == 1 {
            ingredients.remove("algorithm");
        }
        ingredients.extend([
            ("tool".to_owned(), "paramill 0.0.9".into()),
            ("format".to_owned(), json!({ "major": 2, "minor": 0 })),
        ]);
        fs::write(plan.record_path(stage), record.to_string()).unwrap();
        if stage == Stage::Generate {
            say_of_dataset("tool", "paramill 0.0.9".into());
        }
    }
    assert_eq!(house.fake.ran(), ALL);
    assert_eq!(house.ran(&[]), NONE);
    let mut record = parsed(&plan.record_path(Stage::Map));
    record["ingredients"]["algorithm"] = 0.into();
    fs::write(plan.record_path(Stage::Map), record.to_string()).unwrap();
    assert_eq!(house.ran(&[])[0], "map");
    assert!(
        house.heard.sentences().contains(&format!("map: algorithm 0 -> {}", algorithm("map"))),
        "{}",
        house.heard.sentences()
    );
    say_of_dataset("algorithm", 0.into());
    assert_eq!(house.ran(&[])[0], "generate");
    assert!(house.heard.sentences().contains("(algorithm 0 -> 1)"), "{}", house.heard.sentences());
}

#[test]
fn the_algorithm_of_every_stage_has_a_version() {
    for stage in Stage::ALL {
        assert!(algorithm(stage.name()) >= 1, "{stage}");
    }
}

#[test]
fn a_missing_changed_or_damaged_product_is_made_again() {
    let house = House::new();
    house.ran(&[]);
    let plan = house.plan(&[]);
    fs::remove_dir_all(plan.estimates_directory()).unwrap();
    assert_eq!(house.ran(&[])[0], "estimate");
    fs::write(plan.report_directory().join("extra"), "not the stage's").unwrap();
    assert_eq!(house.ran(&[]), ["report"]);
    let damaged = json!({ "kind": "train", "files": [{ "path": "weights", "bytes": 8, "sha256": "" }] });
    fs::write(plan.model_directory().join("manifest.json"), damaged.to_string()).unwrap();
    assert_eq!(house.ran(&[])[0], "train");
    assert!(house.heard.sentences().contains("lacks weights"), "{}", house.heard.sentences());
    fs::write(plan.record_path(Stage::Map), "not a record").unwrap();
    assert_eq!(house.ran(&[])[0], "map");
}

#[test]
fn a_stage_alone_needs_its_inputs_and_says_which_stage_makes_them() {
    let house = House::new();
    let plan = house.plan(&[]);
    let alone = options(&[Stage::Train], &[]);
    match house.go(&plan, &alone) {
        Err(error @ Error::MissingInput { stage: Stage::Train, needs: Stage::Generate, .. }) => {
            assert_eq!(error.exit_code(), 2);
        }
        other => panic!("{other:?}"),
    }
    house.go(&plan, &options(&[Stage::Generate], &[])).unwrap();
    house.go(&plan, &alone).unwrap();
    assert_eq!(house.fake.ran(), ["generate", "train"]);
    let other = house.plan(&["train.steps=7"]);
    house.go(&other, &options(&[Stage::Map], &[])).unwrap();
    assert_eq!(house.fake.ran(), ["map"]);
    assert!(house.heard.sentences().contains("map uses what train made before"), "{}", house.heard.sentences());
    let absent = house.go(&plan, &options(&[Stage::Import], &[]));
    assert!(matches!(absent, Err(Error::NoSuchStage { stage: Stage::Import, .. })));
}

#[test]
fn a_dataset_is_shared_by_pipelines_that_want_the_same_and_never_taken_from_another() {
    let house = House::new();
    house.ran(&[]);
    fs::copy(house.root.path().join("pairs.toml"), house.root.path().join("other.toml")).unwrap();
    let outcome = house.go(&house.plan_of("other", &[]), &options(&[], &[])).unwrap();
    assert_eq!(outcome.stages[0].decision.action, Action::Adopt);
    assert_eq!(house.fake.ran(), ["train", "map", "estimate", "report"]);
    let differing = house.plan_of("other", &["generate.rtol=1e-6"]);
    match house.go(&differing, &options(&[], &[])) {
        Err(error @ Error::DatasetDiffers { .. }) => {
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(text.contains("rtol: 1e-9 -> 1e-6") && text.contains("--force generate"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(house.fake.ran(), NONE);
    house.go(&differing, &options(&[], &[Stage::Generate])).unwrap();
    assert_eq!(house.fake.ran()[0], "generate");
    // Now it is the other pipeline's, and the first one is told so.
    let taken = house.go(&house.plan(&[]), &options(&[], &[]));
    assert!(matches!(taken, Err(Error::DatasetDiffers { .. })), "{taken:?}");
}

#[test]
fn a_pipeline_replaces_its_own_dataset_and_says_how_it_differs() {
    let house = House::new();
    house.ran(&[]);
    assert_eq!(house.ran(&["generate.rtol=1e-6"])[0], "generate");
    assert!(house.heard.sentences().contains("rtol: 1e-9 -> 1e-6"), "{}", house.heard.sentences());
}

#[test]
fn a_folder_that_is_no_dataset_is_left_alone_even_by_force() {
    let house = House::new();
    let plan = house.plan(&[]);
    fs::create_dir_all(&plan.dataset_directory).unwrap();
    fs::write(plan.dataset_directory.join("notes.txt"), "mine").unwrap();
    let refused = house.go(&plan, &options(&[], &[Stage::Generate]));
    assert!(matches!(refused, Err(Error::NotADataset { .. })), "{refused:?}");
    assert_eq!(fs::read_to_string(plan.dataset_directory.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_dry_run_says_what_would_run_and_writes_nothing() {
    let house = House::new();
    let actions = |arguments: &[&str]| {
        let decisions = preview(&house.plan(arguments), &options(&[], &[]), &house.fake).unwrap();
        decisions.into_iter().map(|decision| decision.action).collect::<Vec<_>>()
    };
    assert_eq!(actions(&[]), [Action::Run; 5]);
    assert_eq!(fs::read_dir(house.root.path()).unwrap().count(), 1, "only the pipeline file");
    house.ran(&[]);
    assert_eq!(actions(&[]), [Action::Keep; 5]);
    let changed = actions(&["map.kind=affine"]);
    // The report shows the settings, so it runs whatever the map gives.
    assert_eq!(changed, [Action::Keep, Action::Keep, Action::Run, Action::Depends, Action::Run]);
    assert_eq!(house.fake.ran(), NONE);
}

#[test]
fn another_run_that_holds_a_lock_is_named() {
    let house = House::new();
    let plan = house.plan(&[]);
    for (path, first) in [(plan.workspace.join(".lock"), true), (house.root.path().join("datasets/.pairs.lock"), false)]
    {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let held = fs::File::create(&path).unwrap();
        held.try_lock().unwrap();
        fs::write(&path, "4242\n").unwrap();
        match house.go(&plan, &options(&[], &[])) {
            Err(error @ Error::Locked { .. }) => {
                assert_eq!(error.exit_code(), 6);
                let text = error.to_string();
                assert!(text.contains("process 4242") && text.contains(path.to_str().unwrap()), "{text}");
            }
            other => panic!("{other:?}, first {first}"),
        }
    }
    assert_eq!(house.ran(&[]), ALL);
}

#[test]
fn a_lock_leaves_no_file_and_is_held_by_one() {
    let house = House::new();
    let plan = house.plan(&[]);
    house.ran(&[]);
    let (own, of_dataset) = (plan.workspace.join(".lock"), house.root.path().join("datasets/.pairs.lock"));
    assert!(!own.exists() && !of_dataset.exists() && !house.root.path().join("datasets/.lock").exists());
    // A file that its holder has removed is no lock: whoever opened it before takes the new one.
    let gone = fs::File::create(&own).unwrap();
    gone.try_lock().unwrap();
    fs::remove_file(&own).unwrap();
    assert_eq!(house.ran(&["map.kind=affine"]), ["map", "estimate", "report"]);
    assert!(!own.exists());
}

#[test]
fn a_model_that_nothing_needs_is_not_trained_unless_asked_for() {
    let house = House::new();
    assert_eq!(house.ran(&["estimate.method=physics"]), ["generate", "estimate", "report"]);
    assert!(house.heard.sentences().contains("train: skipped, no model is needed"));
    let plan = house.plan(&["estimate.method=physics"]);
    house.go(&plan, &options(&[Stage::Train], &[])).unwrap();
    assert_eq!(house.fake.ran(), ["train"]);
}

#[test]
fn what_dead_runs_left_is_removed_with_a_note() {
    let house = House::new();
    let plan = house.plan(&[]);
    let left = [plan.workspace.join("models/.paramill-a"), house.root.path().join("datasets/.paramill-b")];
    for path in &left {
        fs::create_dir_all(path).unwrap();
    }
    house.ran(&[]);
    for path in &left {
        assert!(!path.exists());
        assert!(house.heard.sentences().contains(path.to_str().unwrap()));
    }
}

#[test]
fn what_a_live_writer_has_beside_our_dataset_is_left_alone() {
    let house = House::new();
    let theirs = house.root.path().join("datasets/.paramill-theirs");
    fs::create_dir_all(&theirs).unwrap();
    let lock = fs::File::create(house.root.path().join("datasets/.lock")).unwrap();
    lock.try_lock_shared().unwrap();
    assert_eq!(house.ran(&[]), ALL);
    assert!(theirs.exists());
}

#[test]
fn a_request_to_stop_ends_the_run_and_the_next_one_goes_on() {
    let house = House::new();
    house.fake.interrupted.set(Some((Stage::Map, 15)));
    match house.go(&house.plan(&[]), &options(&[], &[])) {
        Err(error @ Error::Interrupted { signal: 15, .. }) => assert_eq!(error.exit_code(), 143),
        other => panic!("{other:?}"),
    }
    assert_eq!(house.fake.ran(), ["generate", "train"]);
    house.fake.interrupted.set(None);
    house.interrupt.request(2);
    match house.go(&house.plan(&[]), &options(&[], &[])) {
        Err(error @ Error::Interrupted { signal: 2, .. }) => assert_eq!(error.exit_code(), 130),
        other => panic!("{other:?}"),
    }
    assert_eq!(house.fake.ran(), NONE);
    let resumed = House { interrupt: Interrupt::new(), ..house };
    assert_eq!(resumed.ran(&[]), ["map", "estimate", "report"]);
}

#[test]
fn failed_environments_show_in_the_exit_code_and_still_do_when_nothing_runs() {
    for (failed, code) in [(0, 0), (1, 4), (4, 5)] {
        let house = House::new();
        house.fake.failed.set(failed);
        for _ in 0..2 {
            let outcome = house.go(&house.plan(&[]), &options(&[], &[])).unwrap();
            assert_eq!(outcome.exit_code(), code);
        }
        assert_eq!(house.fake.ran(), ALL);
    }
}

#[test]
fn the_record_tells_how_the_stage_ran() {
    let house = House::new();
    house.ran(&[]);
    let plan = house.plan(&[]);
    let record: Value = serde_json::from_slice(&fs::read(plan.record_path(Stage::Train)).unwrap()).unwrap();
    for key in ["fingerprint", "seconds", "device", "engine", "threads", "product", "sha256"] {
        assert!(!record[key].is_null(), "{key} in {record}");
    }
    let dataset = fs::read(Path::new(&plan.dataset_directory).join("manifest.json")).unwrap();
    assert_eq!(record["ingredients"]["parents"][0]["sha256"], sha256(&dataset));
}
