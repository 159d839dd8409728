//! A system under known signals, from its trajectories to its parameter and to forecasts.
//!
//! ```text
//! x'' = -x - c (1 + w(t)) x' + F(t)
//! ```
//!
//! `c` damping, which differs from environment to environment; `F` a force, on straight lines between samples; `w` a valve, held between
//! them. A third input never moves. Simulated here by fine steps of the classical method.

use std::path::Path;
use std::sync::LazyLock;

use paramill::checkpoint::{ChannelScale, StoredModel};
use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{self, Error, InitialState, Row, Settings, Status};
use paramill::random::Stream;
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};
use paramill::train;

use super::common::{self, write};
use super::model::{NATIVE, map, train as trained, train_settings};
use super::{estimate_with, silently};

const SAMPLES: usize = 25;
/// Of the training environments, and of those that are new.
const TRAINING: [f64; 5] = [0.2, 0.5, 0.8, 1.1, 1.4];
const NEW: [f64; 3] = [0.33, 0.71, 1.12];

const SETTINGS: &str = r#"
    model = { kind = "mlp", layers = 2, width = 16 }
    contexts = "tied"
    scaling = "standard"
    precision = "f64"
    substeps = 2
    steps = 300
    learning_rate = 0.01
    schedule = "cosine"
    gauss_newton = { steps = 15 }
"#;

fn manifest() -> Manifest {
    let input = |name: &str, unit: &str, between| Input { quantity: Quantity::new(name, unit, ""), between };
    Manifest {
        channels: vec![Quantity::new("x", "m", ""), Quantity::new("v", "m s-1", "")],
        inputs: vec![
            input("force", "N", Between::Linear),
            input("valve", "1", Between::Hold),
            input("temperature", "K", Between::Linear),
        ],
        parameters: vec![Quantity::new("damping", "s-1", "")],
        ..common::manifest()
    }
}

/// `[T, C]` at `times`, from `start` under `inputs [T, 3]`.
fn simulate(damping: f64, start: [f64; 2], times: &[f64], inputs: &[f64]) -> Vec<f64> {
    const STEPS: usize = 40;
    let mut state = start;
    let mut states = start.to_vec();
    for (pair, values) in times.windows(2).zip(inputs.windows(6).step_by(3)) {
        let dt = (pair[1] - pair[0]) / STEPS as f64;
        for step in 0..STEPS {
            let rate = |[x, v]: [f64; 2], c: f64| {
                let share = (step as f64 + c) / STEPS as f64;
                let force = (1.0 - share) * values[0] + share * values[3];
                [v, -x - damping * (1.0 + values[1]) * v + force]
            };
            let at = |k: [f64; 2], c: f64| [state[0] + c * dt * k[0], state[1] + c * dt * k[1]];
            let k1 = rate(state, 0.0);
            let k2 = rate(at(k1, 0.5), 0.5);
            let k3 = rate(at(k2, 0.5), 0.5);
            let k4 = rate(at(k3, 1.0), 1.0);
            state = [0, 1].map(|i| state[i] + dt / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
        }
        states.extend(state);
    }
    states
}

/// One trajectory at irregular times under a signal of its own: of two waves, or a square wave if `square`. At every sixth sample only the
/// inputs are known.
fn trajectory(environment: usize, damping: f64, number: usize, square: bool) -> Trajectory {
    let mut stream = Stream::new(11, "driven", &[environment as u64, number as u64, u64::from(square)]);
    let times: Vec<f64> = (0..SAMPLES).map(|t| 0.3 * t as f64 + stream.uniform(0.0, 0.1)).collect();
    let [fast, slow] = [stream.uniform(1.2, 2.0), stream.uniform(0.4, 0.9)];
    let [phase, period] = [stream.uniform(0.0, 6.0), stream.uniform(2.0, 3.0)];
    let inputs = times.iter().flat_map(|t| {
        let waves = (fast * t + phase).sin() + (slow * t).cos();
        let force = if square { 1.5 * ((t + phase) / period).floor().rem_euclid(2.0) - 0.75 } else { waves };
        [force, ((t / period + phase).floor()).rem_euclid(2.0), 293.15]
    });
    let inputs: Vec<f64> = inputs.collect();
    let start = [stream.uniform(-0.5, 0.5), stream.uniform(-0.5, 0.5)];
    let mut states = simulate(damping, start, &times, &inputs);
    for sample in (5..SAMPLES).step_by(6) {
        states[2 * sample..2 * sample + 2].fill(f64::NAN);
    }
    Trajectory {
        environment: format!("e{environment}"),
        trajectory: number.to_string(),
        parameters: vec![Some(damping)],
        times,
        states,
        inputs,
    }
}

fn rows(dampings: &[f64], numbers: std::ops::Range<usize>, square: bool) -> Vec<Trajectory> {
    let of_environment = |(e, &damping): (usize, &f64)| {
        numbers.clone().map(move |number| trajectory(e, damping, number, square)).collect::<Vec<_>>()
    };
    dampings.iter().enumerate().flat_map(of_environment).collect()
}

/// Writes what is learned from and what is estimated; with `inputs`, or without.
fn dataset(directory: &Path, inputs: bool) -> Dataset {
    let mut manifest = manifest();
    let mut splits = [
        (Split::Train, rows(&TRAINING, 0..2, false)),
        (Split::Validation, rows(&TRAINING, 2..3, false)),
        (Split::Adapt, rows(&NEW, 0..1, true)),
        (Split::AdaptTest, rows(&NEW, 1..2, true)),
    ];
    if !inputs {
        manifest.inputs.clear();
        splits.iter_mut().flat_map(|(_, rows)| rows).for_each(|row| row.inputs.clear());
    }
    write(directory, manifest, &splits);
    Dataset::open(directory).unwrap()
}

struct Learned {
    dataset: Dataset,
    model: StoredModel,
}

fn learn(inputs: bool) -> Learned {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(if inputs { "driven" } else { "not-driven" });
    let _ = std::fs::remove_dir_all(&root);
    let dataset = dataset(&root.join("set"), inputs);
    let mut model = trained(&train_settings(SETTINGS), &dataset, &root.join("model")).unwrap();
    map("kind = \"auto\"", &dataset, &mut model, &root.join("model"));
    Learned { dataset, model }
}

static DRIVEN: LazyLock<Learned> = LazyLock::new(|| learn(true));

fn estimated(learned: &Learned, settings: &Settings) -> Vec<Row> {
    let place = tempfile::tempdir().unwrap();
    estimate_with(settings, &learned.dataset, &learned.model, &place.path().join("estimates"), Split::Adapt)
}

/// Greatest error of a damping relative to the truth.
fn error(rows: &[Row]) -> f64 {
    let errors = rows.iter().zip(NEW).map(|(row, damping)| (row.parameters[0].value / damping - 1.0).abs());
    errors.fold(0.0, f64::max)
}

#[test]
fn a_driven_system_gives_its_parameter_under_another_signal_and_only_with_its_inputs() {
    let with = estimated(&DRIVEN, &Settings { fitted: true, ..Settings::default() });
    assert!(with.iter().all(|row| row.status == Status::Ok), "{with:?}");
    assert!(error(&with) < 0.02, "{with:?}");
    assert!(with.iter().all(|row| row.test_mse.unwrap() < 1e-4), "{with:?}");
    let without = estimated(&learn(false), &Settings::default());
    assert!(error(&without) > 0.2, "{without:?}");
}

#[test]
fn initial_states_are_estimated_under_inputs() {
    let settings = Settings { initial_state: Some(InitialState::Estimated), ..Settings::default() };
    let rows = estimated(&DRIVEN, &settings);
    assert!(rows.iter().all(|row| row.status == Status::Ok) && error(&rows) < 0.02, "{rows:?}");
}

#[test]
fn a_forecast_follows_its_inputs() {
    let Learned { dataset, model } = &*DRIVEN;
    let known =
        paramill::forecast::context_of_environment(&Settings::default(), NATIVE, dataset, model, "e1", None).unwrap().0;
    let Trajectory { times, inputs, .. } = trajectory(1, NEW[1], 7, false);
    let forecast = |inputs: &[f64]| paramill::forecast::forecast(NATIVE, model, &known, &[0.3, -0.2], &times, inputs);
    let truth = simulate(NEW[1], [0.3, -0.2], &times, &inputs);
    let states = forecast(&inputs).unwrap().states;
    let worst = states.iter().zip(&truth).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()));
    assert!(worst < 0.02, "{worst}");
    let error = forecast(&[]).unwrap_err().to_string();
    assert_eq!(error, "found 0 values of inputs; expected a value of force, valve, temperature at each of 25 times");
    let unknown: Vec<f64> = inputs.iter().enumerate().map(|(i, u)| if i == 4 { f64::NAN } else { *u }).collect();
    let error = forecast(&unknown).unwrap_err().to_string();
    assert!(error.starts_with("found the input valve = NaN at time 0."), "{error}");
}

#[test]
fn inputs_are_scaled_by_the_training_split_and_a_constant_one_is_safe() {
    let Learned { dataset, model } = &*DRIVEN;
    let forces: Vec<f64> = dataset.read(Split::Train).unwrap().iter().flat_map(|it| it.inputs.clone()).collect();
    let forces: Vec<f64> = forces.into_iter().step_by(3).collect();
    let mean = forces.iter().sum::<f64>() / forces.len() as f64;
    let deviation = (forces.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / forces.len() as f64).sqrt();
    let [force, valve, temperature] = model.manifest.input_scales[..] else { panic!("three inputs") };
    assert_eq!((valve.least, valve.greatest), (0.0, 1.0));
    let [force, temperature] = [force, temperature].map(|it| it.scale);
    approx::assert_relative_eq!(force.centre, mean, epsilon = 1e-12);
    approx::assert_relative_eq!(force.scale, deviation, epsilon = 1e-12);
    approx::assert_relative_eq!(temperature.centre, 293.15, max_relative = 1e-14);
    assert_eq!(temperature.scale, temperature.centre);
    let again = StoredModel::read(&dataset.directory().with_file_name("model")).unwrap();
    assert_eq!(again.manifest.input_scales, model.manifest.input_scales);
    assert_ne!(force, ChannelScale { centre: 0.0, scale: 1.0 });
}

/// One environment of the training; and the same where an input that never moved has another value, and where one is far outside.
#[test]
fn inputs_outside_those_of_the_training_have_a_status() {
    let root = tempfile::tempdir().unwrap();
    let Learned { dataset, model } = &*DRIVEN;
    let mut rows = vec![trajectory(1, NEW[1], 0, true); 3];
    for (row, name) in rows.iter_mut().zip(["a", "b", "c"]) {
        row.environment = name.to_owned();
    }
    rows[1].inputs.iter_mut().skip(2).step_by(3).for_each(|temperature| *temperature = 300.0);
    rows[2].inputs[9] = 40.0;
    write(&root.path().join("set"), dataset.manifest().clone(), &[(Split::Adapt, rows)]);
    let dataset = Dataset::open(&root.path().join("set")).unwrap();
    let place = root.path().join("estimates");
    let rows = estimate_with(&Settings::default(), &dataset, model, &place, Split::Adapt);
    assert_eq!(rows[0].status, Status::Ok, "{rows:?}");
    for (row, part) in rows[1..].iter().zip(["input temperature is 300.0 at time 0", "input force is 40.0 at time "]) {
        assert_eq!(row.status, Status::OutsideTrainingRange, "{row:?}");
        assert!(row.reason.contains(part), "{row:?}");
    }
    // The model knows nothing of the temperature, and makes little of it.
    assert!((rows[1].parameters[0].value / rows[0].parameters[0].value - 1.0).abs() < 0.1, "{rows:?}");
}

#[test]
fn a_model_without_a_place_for_inputs_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (manifest, rows) = common::fields(2, false);
    let mut others = rows.clone();
    others.iter_mut().for_each(|row| row.trajectory += "b");
    let splits = [(Split::Train, common::driven(rows)), (Split::Validation, common::driven(others))];
    write(&root.path().join("set"), common::with_inputs(manifest), &splits);
    let dataset = Dataset::open(&root.path().join("set")).unwrap();
    for kind in ["convnet", "fno"] {
        let settings = train_settings(&format!("model = {{ kind = \"{kind}\" }}"));
        let error = trained(&settings, &dataset, &root.path().join("model")).err().unwrap().to_string();
        let part = format!("train.model: found \"{kind}\" for states with 2 inputs; expected fields without inputs");
        assert!(error.contains(&part), "{error}");
    }
}

#[test]
fn a_model_of_other_inputs_is_refused_by_name_and_unit() {
    let root = tempfile::tempdir().unwrap();
    let Learned { dataset, model } = &*DRIVEN;
    let place = root.path().join("estimates");
    let refused = |other: &Dataset| {
        let settings = Settings::default();
        let error = silently(|run| estimate::run(&settings, NATIVE, other, model, &place, run)).err().unwrap();
        assert!(matches!(error, Error::OtherQuantities { .. }) && !place.exists());
        for error in [
            silently(|run| estimate::map::run(&Default::default(), &settings, NATIVE, other, model, run))
                .err()
                .unwrap(),
            paramill::forecast::context_of_environment(&settings, NATIVE, other, model, "e1", None).unwrap_err(),
            estimate::portrait(&settings, NATIVE, other, model, (Split::Adapt, "e1"), &[0.0]).unwrap_err(),
        ] {
            assert!(matches!(error, Error::OtherQuantities { .. }), "{error}");
        }
        error.to_string()
    };
    let none = self::dataset(&root.path().join("none"), false);
    let text = refused(&none);
    assert!(text.contains("channels x [m], v [m s-1], no inputs and parameters damping [s-1]"), "{text}");
    let mut kilo = dataset.manifest().clone();
    kilo.inputs[0].quantity.unit = "kN".to_owned();
    write(&root.path().join("kilo"), kilo, &[(Split::Adapt, dataset.read(Split::Adapt).unwrap())]);
    let text = refused(&Dataset::open(&root.path().join("kilo")).unwrap());
    assert!(text.contains("inputs force [kN] (linear), valve [1] (hold), temperature [K] (linear)"), "{text}");
    assert!(text.contains("trained on channels x [m], v [m s-1], inputs force [N] (linear)"), "{text}");
}

/// Samples of inputs alone before the first observed states, as events make them, are for equations that know the state there.
#[test]
fn what_leads_to_the_first_observed_state_changes_nothing_learned() {
    let root = tempfile::tempdir().unwrap();
    let Learned { dataset, model } = &*DRIVEN;
    let led = |split: Split| {
        let mut rows = dataset.read(split).unwrap();
        for row in &mut rows {
            let first = row.times[0];
            row.times.splice(0..0, [first - 9.0, first - 4.0]);
            row.inputs.splice(0..0, [40.0, 1.0, 293.15, 0.0, 0.0, 293.15]);
            row.states.splice(0..0, [f64::NAN; 4]);
        }
        (split, rows)
    };
    let splits = [Split::Train, Split::Validation, Split::Adapt, Split::AdaptTest].map(led);
    write(&root.path().join("set"), dataset.manifest().clone(), &splits);
    let later = Dataset::open(&root.path().join("set")).unwrap();
    for initial_state in [InitialState::Observed, InitialState::Estimated] {
        let settings = Settings { initial_state: Some(initial_state), ..Settings::default() };
        let rows = |dataset: &Dataset, name: &str| {
            let rows = estimate_with(&settings, dataset, model, &root.path().join(name), Split::Adapt);
            format!("{rows:?}") // NaN is equal to nothing, but reads alike
        };
        let name = format!("{initial_state:?}");
        assert_eq!(rows(&later, &format!("later-{name}")), rows(dataset, &name));
        let start = |dataset: &Dataset| {
            paramill::forecast::context_of_environment(&settings, NATIVE, dataset, model, "e1", None).unwrap().1
        };
        assert_eq!(start(&later), start(dataset));
    }
    let brief = train_settings(&SETTINGS.replace("steps = 300", "steps = 3").replace("steps = 15 }", "steps = 1 }"));
    let shared = |dataset: &Dataset, name: &str| trained(&brief, dataset, &root.path().join(name)).unwrap().shared;
    assert!(shared(&later, "model-later") == shared(dataset, "model"));
}

#[test]
fn inputs_that_are_read_from_disk_train_the_same() {
    let root = tempfile::tempdir().unwrap();
    let text =
        SETTINGS.replace("steps = 300", "trajectories_per_environment = 2\n    steps = 3\n    validate_every = 1");
    let held = train_settings(&text.replace("steps = 15 }", "steps = 1 }"));
    let streamed = train::Settings { memory_budget_mib: 0, ..held.clone() };
    let [held, streamed] = [(held, "held"), (streamed, "streamed")]
        .map(|(it, name)| trained(&it, &DRIVEN.dataset, &root.path().join(name)));
    let (held, streamed) = (held.unwrap(), streamed.unwrap());
    assert_eq!((held.log.len(), streamed.log.len()), (4, 4));
    assert!(held.shared == streamed.shared);
}

#[test]
fn inputs_too_large_for_their_spread_are_named() {
    let root = tempfile::tempdir().unwrap();
    let mut splits = [(Split::Train, rows(&TRAINING, 0..1, false)), (Split::Validation, rows(&TRAINING, 1..2, false))];
    splits[0].1[0].inputs[1] = 1e300;
    write(&root.path().join("set"), manifest(), &splits);
    let dataset = Dataset::open(&root.path().join("set")).unwrap();
    let error = trained(&train_settings(SETTINGS), &dataset, &root.path().join("model")).err().unwrap();
    assert!(matches!(*error, train::Error::TooLarge { ref quantity, .. } if quantity == "input `valve`"), "{error}");
}
