//! Generated datasets: complete, reproducible, and refused with reasons.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use paramill::dataset::{self, Dataset, Manifest};
use paramill::generate::{self, Environments, Error, Settings, Solver};
use paramill::progress::{Event, Interrupt, Observer, Run, Silent};
use paramill::schema::{Split, Trajectory};

#[path = "generate/equations.rs"]
mod equations;
#[path = "generate/inputs.rs"]
mod inputs;
#[path = "generate/observation.rs"]
mod observation;
#[path = "generate/outputs.rs"]
mod outputs;
#[path = "generate/resume.rs"]
mod resume;

const SETTINGS: &str = r#"
    dataset = "lv-tiny"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    trajectories = 2
    [splits.test]
    environments = "train"
    trajectories = 3
    [splits.adapt]
    environments = "adapt"
    trajectories = 1
    [splits.grid]
    environments = "grid"
    limit = 9
    trajectories = 1
"#;

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap()
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn generate(settings: &Settings, seed: u64, directory: &Path) -> Manifest {
    let interrupt = Interrupt::new();
    generate::run(settings, seed, directory, &Run { observer: &Silent, interrupt: &interrupt }).unwrap()
}

fn simulate(settings: &Settings, seed: u64) -> BTreeMap<Split, Vec<Trajectory>> {
    let interrupt = Interrupt::new();
    let run = Run { observer: &Silent, interrupt: &interrupt };
    let mut simulated: BTreeMap<Split, Vec<Trajectory>> = BTreeMap::new();
    let keep = &mut |split, trajectory: &Trajectory| {
        simulated.entry(split).or_default().push(trajectory.clone());
        Ok(())
    };
    generate::simulate(settings, seed, &run, keep).unwrap();
    simulated
}

#[test]
fn the_dataset_is_complete_and_says_what_made_it() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("lv-tiny");
    let settings = settings(SETTINGS);
    let manifest = generate(&settings, 5, &directory);
    assert_eq!(dataset::verify(&directory), Vec::<String>::new());

    let dataset = Dataset::open(&directory).unwrap();
    assert_eq!(*dataset.manifest(), manifest);
    for (split, kept) in simulate(&settings, 5) {
        assert_eq!(dataset.read(split).unwrap(), kept, "{split}");
    }
    let counts: Vec<_> = manifest
        .splits
        .iter()
        .map(|(split, summary)| (split.name(), summary.environments, summary.trajectories))
        .collect();
    assert_eq!(counts, [("train", 9, 18), ("test", 9, 27), ("adapt", 4, 4), ("grid", 9, 9)]);
    assert_eq!(manifest.data_tolerance, Some(1e-9));
    let configuration = &manifest.provenance.configuration;
    for (key, value) in [("horizon", 10.0), ("time_step", 0.5), ("rtol", 1e-9), ("atol", 1e-9)] {
        assert_eq!(configuration[key].as_f64(), Some(value), "{key}");
    }
    assert_eq!(configuration["solver"], "dop853");
    assert_eq!(manifest.provenance.seed, Some(5));

    let first = &dataset.read(Split::Grid).unwrap()[1];
    assert_eq!(first.key(), ("grid-00025", "00000"));
    assert_eq!(first.parameters, [Some(0.25), Some(0.75)]);
    assert_eq!((first.times.len(), first.times[0], first.times[19]), (20, 0.0, 9.5));
}

#[test]
fn threads_do_not_change_a_byte() {
    let place = tempfile::tempdir().unwrap();
    let settings = settings(SETTINGS);
    let manifests = [1, 2, 3].map(|threads| {
        let directory = place.path().join(threads.to_string());
        with_threads(threads, || generate(&settings, 11, &directory))
    });
    assert!(!manifests[0].files.is_empty());
    assert_eq!(manifests[0], manifests[1]);
    assert_eq!(manifests[0], manifests[2]);
}

#[test]
fn seeds_change_the_trajectories_but_not_the_environments() {
    let settings = settings(SETTINGS);
    let (one, other) = (simulate(&settings, 1), simulate(&settings, 2));
    for (a, b) in one.values().flatten().zip(other.values().flatten()) {
        assert_eq!((a.key(), &a.parameters), (b.key(), &b.parameters));
        assert_ne!(a.states, b.states);
    }
}

/// Every trajectory of `small` stands unchanged in `large`, which has more.
fn assert_contains(large: &BTreeMap<Split, Vec<Trajectory>>, small: &BTreeMap<Split, Vec<Trajectory>>) {
    for (split, trajectories) in small {
        for trajectory in trajectories {
            assert!(large[split].contains(trajectory), "{split} {:?}", trajectory.key());
        }
    }
    assert!(large.values().map(Vec::len).sum::<usize>() > small.values().map(Vec::len).sum::<usize>());
}

#[test]
fn more_environments_trajectories_and_splits_leave_the_old_ones_alone() {
    let small = settings(
        r#"
        dataset = "d"
        system = "lotka-volterra"
        [splits.train]
        environments = [{ beta = 0.5, delta = 0.7 }, { beta = 1.5, delta = 0.6 }]
        trajectories = 2
        [splits.grid]
        environments = "grid"
        limit = 4
        trajectories = 1
        "#,
    );
    let before = simulate(&small, 3);

    let mut large = small.clone();
    let train = large.splits.get_mut(&Split::Train).unwrap();
    train.trajectories = 5;
    let Environments::Explicit(list) = &mut train.environments else { unreachable!() };
    list.push(BTreeMap::from([("beta".to_owned(), 0.9), ("delta".to_owned(), 0.9)]));
    large.splits.get_mut(&Split::Grid).unwrap().limit = None;
    let held_out = large.splits[&Split::Train].clone();
    large.splits.insert(Split::Validation, held_out);
    let after = with_threads(2, || simulate(&large, 3));
    assert_contains(&after, &before);
    assert_eq!(after[&Split::Grid].len(), 2601);

    for (train, validation) in after[&Split::Train].iter().zip(&after[&Split::Validation]) {
        assert_eq!((train.key(), &train.parameters), (validation.key(), &validation.parameters));
        assert_ne!(train.states, validation.states);
    }
}

#[test]
fn initial_states_follow_the_preset() {
    for (preset, upper) in [("paper", 3.0), ("lv-narrow", 2.0)] {
        let mut settings = settings(SETTINGS);
        settings.preset = Some(preset.to_owned());
        settings.splits.get_mut(&Split::Train).unwrap().trajectories = 50;
        let simulated = simulate(&settings, 4);
        let initial = || simulated[&Split::Train].iter().flat_map(|trajectory| trajectory.state(0).iter().copied());
        assert!(initial().all(|value| (1.0..upper).contains(&value)));
        // Of 900 uniform draws some lie in the outer twentieth on either side.
        let margin = (upper - 1.0) / 20.0;
        assert!(initial().any(|value| value > upper - margin) && initial().any(|value| value < 1.0 + margin));
    }
}

#[test]
fn initial_states_of_the_oscillator_fill_their_box() {
    let bounds = [(0.15, 1.60), (0.19, 2.16), (0.04, 0.20), (0.10, 0.35), (0.08, 0.30), (0.14, 2.67), (0.05, 0.10)];
    let settings = settings(
        "dataset = \"go\"\nsystem = \"glycolytic-oscillator\"\n\
         [splits.train]\nenvironments = \"train\"\ntrajectories = 32",
    );
    let trajectories = &simulate(&settings, 4)[&Split::Train];
    assert_eq!((trajectories.len(), trajectories[0].times.len()), (288, 20));
    for (channel, (lower, upper)) in bounds.into_iter().enumerate() {
        let initial = || trajectories.iter().map(|trajectory| trajectory.state(0)[channel]);
        assert!(initial().all(|value| (lower..upper).contains(&value)), "channel {channel}");
        let margin = (upper - lower) / 20.0;
        let reaches = initial().any(|value| value > upper - margin) && initial().any(|value| value < lower + margin);
        assert!(reaches, "channel {channel}");
    }
}

#[test]
fn solvers_agree_within_the_tolerance() {
    let run = |solver, tolerance| {
        simulate(
            &Settings { solver: Some(solver), rtol: Some(tolerance), atol: Some(tolerance), ..settings(SETTINGS) },
            8,
        )
    };
    let fine = run(Solver::Dop853, 1e-13);
    for solver in [Solver::Dopri5, Solver::Tsit5, Solver::Dop853, Solver::Rodas5p] {
        let coarse = run(solver, 1e-9);
        for (a, b) in fine.values().flatten().zip(coarse.values().flatten()) {
            for (a, b) in a.states.iter().zip(&b.states) {
                assert!((a - b).abs() < 1e-7, "{solver:?}: {a} {b}");
            }
        }
    }
}

#[test]
fn horizon_and_time_step_can_be_set() {
    let settings = Settings { horizon: Some(1.0), time_step: Some(0.25), ..settings(SETTINGS) };
    for trajectory in simulate(&settings, 0).values().flatten() {
        assert_eq!(trajectory.times, [0.0, 0.25, 0.5, 0.75]);
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<Event>>);

impl Observer for Log {
    fn observe(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

#[test]
fn progress_counts_trajectories() {
    let (log, interrupt) = (Log::default(), Interrupt::new());
    generate::simulate(&settings(SETTINGS), 0, &Run { observer: &log, interrupt: &interrupt }, &mut |_, _| Ok(()))
        .unwrap();
    let events = log.0.into_inner().unwrap();
    assert!(matches!(&events[0], Event::Begin { total: Some(58), unit: "trajectories", .. }), "{events:?}");
    let done: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Advance { done, .. } => Some(*done),
            _ => None,
        })
        .collect();
    assert_eq!(done, [18, 45, 49, 58]);
    assert_eq!(events.last(), Some(&Event::End));
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    interrupt.request(15);
    let run = Run { observer: &Silent, interrupt: &interrupt };
    let ended = generate::run(&settings(SETTINGS), 0, &place.path().join("d"), &run);
    assert!(matches!(ended, Err(Error::Interrupted { signal: 15, kept: 0 })), "{ended:?}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_failed_integration_names_the_trajectory() {
    let place = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    let run = Run { observer: &Silent, interrupt: &interrupt };
    let settings = Settings { max_steps: Some(2), ..settings(SETTINGS) };
    let errors = [1, 2].map(|threads| {
        with_threads(threads, || generate::run(&settings, 0, &place.path().join("d"), &run).unwrap_err().to_string())
    });
    assert_eq!(errors[0], errors[1]);
    let start = "train train-00000 trajectory 00000 (parameters [0.5, 0.5]): 2 steps led only to time ";
    assert!(errors[0].starts_with(start), "{}", errors[0]);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn settings_that_cannot_be_run_are_refused_with_every_reason() {
    let broken = settings(
        r#"
        dataset = "../lv"
        system = "lotka-volterra"
        preset = "lv-narow"
        rtol = 0.0
        time_step = 20.0
        [splits.train]
        environments = "train"
        trajectories = 0
        limit = 0
        [splits.adapt]
        environments = [{ beta = 0.5, gama = 1.0 }, { beta = -1.0, delta = nan }]
        trajectories = 1
        [splits.adapt_test]
        environments = "adapt"
        trajectories = 1
        "#,
    );
    let lines =
        |settings: &Settings| settings.validate().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("every_reason", lines(&broken));

    let broken = settings(
        r#"
        dataset = "d"
        system = "lotka-voltera"
        [splits]
        "#,
    );
    insta::assert_snapshot!("unknown_system", lines(&broken));

    let mut broken = settings(SETTINGS);
    broken.splits.get_mut(&Split::Test).unwrap().environments = Environments::Named("tran".to_owned());
    broken.splits.get_mut(&Split::Adapt).unwrap().environments = Environments::Named("adept".to_owned());
    broken.splits.insert(Split::AdaptTest, broken.splits[&Split::Adapt].clone());
    broken
        .splits
        .insert(Split::Validation, generate::SplitSettings { limit: Some(4), ..broken.splits[&Split::Train].clone() });
    broken.splits.get_mut(&Split::Train).unwrap().limit = Some(2);
    insta::assert_snapshot!("partners", lines(&broken));

    // What calibrates trains nothing; that a grid meets one of the training environments does no harm.
    let calibrated = |environments: &str| {
        let split = format!("environments = {environments}\ntrajectories = 1");
        let mut settings = settings(SETTINGS);
        settings.splits.insert(Split::Calibrate, toml::from_str(&split).unwrap());
        lines(&settings)
    };
    let refused = calibrated("\"train\"");
    assert!(refused.contains("splits.calibrate.environments: found 9 of 9 environments that are"), "{refused}");
    let grid = "{ beta = { from = 0.5, to = 1.1, count = 5 }, delta = { from = 0.5, to = 1.1, count = 5 } }";
    assert_eq!([calibrated("\"adapt\""), calibrated(grid)], ["", ""]);

    let mut alone = settings(SETTINGS);
    alone.splits.remove(&Split::Train);
    insta::assert_snapshot!("no_partner", lines(&alone));

    assert_eq!(settings(SETTINGS).validate(), []);
    let interrupt = Interrupt::new();
    let run = Run { observer: &Silent, interrupt: &interrupt };
    assert!(
        matches!(generate::simulate(&alone, 0, &run, &mut |_, _| Ok(())), Err(Error::Invalid(problems)) if problems.len() == 1)
    );
}

#[test]
fn unknown_keys_are_refused() {
    for text in [format!("steps = 3\n{SETTINGS}"), format!("{SETTINGS}\nstep = 3")] {
        assert!(toml::from_str::<Settings>(&text).unwrap_err().to_string().contains("unknown field"));
    }
}

#[test]
fn the_schema_accepts_what_can_be_run_and_refuses_the_rest() {
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let document = |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    assert!(schema.is_valid(&document(SETTINGS)));
    let resolved = settings(SETTINGS).resolved(&paramill::systems::find("lotka-volterra").unwrap());
    assert!(schema.is_valid(&serde_json::to_value(&resolved).unwrap()));
    assert_eq!(serde_json::from_value::<Settings>(serde_json::to_value(&resolved).unwrap()).unwrap(), resolved);
    for (valid, broken) in [
        ("trajectories = 2", "trajectories = 0"),
        ("limit = 9", "limit = 0"),
        ("limit = 9", "limits = 9"),
        ("splits.test", "splits.tset"),
        ("dataset = \"lv-tiny\"", "dataset = \"../lv\""),
        ("environments = \"grid\"", "environments = 3"),
        ("environments = \"grid\"", ""),
        ("dataset", "rtol = 0\ndataset"),
        ("dataset", "solver = \"rk4\"\ndataset"),
        ("dataset", "horizon = 0\ndataset"),
    ] {
        assert!(SETTINGS.contains(valid));
        assert!(!schema.is_valid(&document(&SETTINGS.replacen(valid, broken, 1))), "accepted: {broken}");
    }
}

#[test]
fn environments_can_be_a_grid_of_ranges() {
    let with = |grid: &str| {
        let grid = format!("environments = {grid}");
        SETTINGS.replacen("environments = \"grid\"\n    limit = 9", &grid, 1)
    };
    let two_by_three =
        with("{ delta = { from = 0.5, to = 1.0, count = 3 }, beta = { from = 0.25, to = 0.75, count = 2 } }");
    let rows = &simulate(&settings(&two_by_three), 1)[&Split::Grid];
    let found: Vec<(&str, Option<f64>, Option<f64>)> =
        rows.iter().map(|row| (row.environment.as_str(), row.parameters[0], row.parameters[1])).collect();
    let expected = [(0.25, 0.5), (0.25, 0.75), (0.25, 1.0), (0.75, 0.5), (0.75, 0.75), (0.75, 1.0)];
    let ids = ["grid-00000", "grid-00001", "grid-00002", "grid-00003", "grid-00004", "grid-00005"];
    let expected: Vec<_> = ids.iter().zip(expected).map(|(id, (beta, delta))| (*id, Some(beta), Some(delta))).collect();
    assert_eq!(found, expected);

    for (broken, key) in [
        ("{ delta = { from = 0.5, to = 1.0, count = 3 } }", "splits.grid.environments"),
        (
            "{ gama = { from = 0.5, to = 1.0, count = 3 }, beta = { from = 0.5, to = 1.0, count = 2 }, delta = { from = 0.5, to = 1.0, count = 2 } }",
            "splits.grid.environments.gama",
        ),
        (
            "{ beta = { from = 0.5, to = 1.0, count = 1 }, delta = { from = 0.5, to = 1.0, count = 2 } }",
            "splits.grid.environments.beta",
        ),
        (
            "{ beta = { from = 0.5, to = -1.0, count = 2 }, delta = { from = 0.5, to = 1.0, count = 2 } }",
            "splits.grid.environments.beta.to",
        ),
        (
            "{ beta = { from = 0.5, to = 1.0, count = 1000 }, delta = { from = 0.5, to = 1.0, count = 101 } }",
            "splits.grid.environments",
        ),
    ] {
        let problems = settings(&with(broken)).validate();
        assert!(problems.iter().any(|problem| problem.key == key), "{broken}: {problems:?}");
    }
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let document = |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    assert!(schema.is_valid(&document(&two_by_three)));
    assert!(!schema.is_valid(&document(&with("{ beta = { from = 0.5, to = 1.0 } }"))));
}
