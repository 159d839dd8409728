//! Broken sensors: none makes an estimate that is `ok`, wrong, and sure of itself.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use paramill::checkpoint::StoredModel;
use paramill::dataset::Dataset;
use paramill::estimate::{Row, Status};
use paramill::random::Stream;
use paramill::schema::{Split, Trajectory};

use super::{NINE_PAIRS, Trained, generate, grid, map, rows, train, train_settings};

/// A model that is as exact as its data let it be: nothing hides behind its error.
static EXACT: LazyLock<Trained> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sensors");
    let _ = fs::remove_dir_all(&root);
    let dataset = generate(&root, NINE_PAIRS);
    let directory = root.join("model");
    let mut model = train(&train_settings(EXACT_TRAINING), &dataset, &directory).unwrap();
    map("kind = \"affine\"", &dataset, &mut model, &directory);
    Trained { dataset, model, directory }
});

const EXACT_TRAINING: &str = r#"
    rule = "coda-l2"
    model = { kind = "mlp", layers = 3, width = 24 }
    contexts = "tied"
    adapted_layers = "last"
    substeps = 3
    steps = 1000
    learning_rate = 0.003
    schedule = "cosine"
    gauss_newton = { steps = 25, trajectories_per_environment = 2 }
"#;

/// What becomes of the values of one channel.
type Defect = fn(&[f64]) -> Vec<f64>;

fn each(values: &[f64], of: impl Fn(f64) -> f64) -> Vec<f64> {
    values.iter().map(|value| of(*value)).collect()
}

fn extent(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

const DEFECTS: [(&str, Defect); 16] = [
    ("zero", |values| each(values, |_| 0.0)),
    ("stuck", |values| each(values, |_| values[values.len() / 2])),
    ("stuck from the middle on", |values| {
        let middle = values.len() / 2;
        values.iter().enumerate().map(|(t, value)| if t < middle { *value } else { values[middle] }).collect()
    }),
    ("ten times", |values| each(values, |value| 10.0 * value)),
    ("a millionth", |values| each(values, |value| 1e-6 * value)),
    ("a million times", |values| each(values, |value| 1e6 * value)),
    ("offset by five", |values| each(values, |value| value + 5.0)),
    ("offset by a half", |values| each(values, |value| value + 0.5)),
    ("other sign", |values| each(values, |value| -value)),
    ("reversed", |values| values.iter().rev().copied().collect()),
    ("clipped", |values| {
        let (low, high) = extent(values);
        each(values, |value| value.min(low + 0.5 * (high - low)))
    }),
    ("whole numbers", |values| each(values, f64::floor)),
    ("drifting", |values| values.iter().enumerate().map(|(t, value)| value + 0.1 * t as f64).collect()),
    ("spikes", |values| {
        let (low, high) = extent(values);
        values
            .iter()
            .enumerate()
            .map(|(t, value)| if t % 10 == 4 { value + 2.0 * (high - low) } else { *value })
            .collect()
    }),
    ("late by three samples", |values| (0..values.len()).map(|t| values[t.saturating_sub(3)]).collect()),
    ("square", |values| each(values, |value| value * value)),
];

/// The trajectory with a defect of the channels `broken`.
fn broken(sound: &Trajectory, name: &str, channels: &[usize], defect: Defect) -> Trajectory {
    let mut trajectory = sound.clone();
    trajectory.environment = format!("{name} {channels:?} {}", sound.environment);
    for &channel in channels {
        let values: Vec<f64> = sound.states.iter().skip(channel).step_by(2).copied().collect();
        for (t, value) in defect(&values).into_iter().enumerate() {
            trajectory.states[2 * t + channel] = value;
        }
    }
    trajectory
}

/// Whether the row says that it can be relied on, and some parameter is further off than five of its standard errors.
fn is_wrong_and_sure(row: &Row) -> bool {
    let is_off = row.parameters.iter().any(|it| (it.value - it.truth.unwrap()).abs() > 5.0 * it.standard_error);
    row.status == Status::Ok && is_off
}

/// The trajectories of environments that are like those of the training.
fn in_hull(dataset: &Dataset, model: &StoredModel) -> Vec<Trajectory> {
    let of_rows = rows(dataset, model, Split::Grid);
    let is_within =
        |it: &Trajectory| of_rows.iter().any(|row| row.environment == it.environment && row.in_hull == Some(true));
    dataset.read(Split::Grid).unwrap().into_iter().filter(is_within).collect()
}

#[test]
fn no_broken_sensor_is_ok_and_wrong() {
    let Trained { dataset, model, .. } = &*EXACT;
    let root = tempfile::tempdir().unwrap();
    let sound = in_hull(dataset, model);
    let mut all = sound.clone();
    for trajectory in &sound {
        for (name, defect) in DEFECTS {
            all.extend([&[0][..], &[1], &[0, 1]].map(|channels| broken(trajectory, name, channels, defect)));
        }
        let mut swapped = broken(trajectory, "swapped", &[], |values| values.to_vec());
        swapped.states.chunks_exact_mut(2).for_each(|state| state.swap(0, 1));
        all.push(swapped);
    }
    let found = rows(&grid(root.path(), "broken", dataset.manifest(), all), model, Split::Grid);
    let wrong: Vec<&str> =
        found.iter().filter(|row| is_wrong_and_sure(row)).map(|row| row.environment.as_str()).collect();
    assert_eq!(wrong, [""; 0]);
    for row in &found {
        let is_sound = row.environment.starts_with("grid-");
        assert!(
            !is_sound || (row.status, row.reason.as_str()) == (Status::Ok, ""),
            "{}: {}",
            row.environment,
            row.reason
        );
        assert!(row.status == Status::Ok || !row.reason.is_empty(), "{}", row.environment);
    }
    for (name, status, reason) in [
        ("stuck [1] ", Status::OutsideTrainingRange, "y stands still"),
        ("a million times [0] ", Status::OutsideTrainingRange, "x is "),
        ("stuck from the middle on [0, 1] ", Status::Misfit, "is left (root mean square)"),
    ] {
        let mut of_defect = found.iter().filter(|row| row.environment.starts_with(name)).peekable();
        assert!(of_defect.peek().is_some());
        of_defect.for_each(|row| assert!(row.status == status && row.reason.contains(reason), "{row:?}"));
    }
}

#[test]
fn noise_and_few_samples_are_no_broken_sensors() {
    let Trained { dataset, model, .. } = &*EXACT;
    let root = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(1, "sensors", &[]);
    let mut all = Vec::new();
    for trajectory in in_hull(dataset, model) {
        for size in [0.02, 0.1, 0.3] {
            let mut noisy = trajectory.clone();
            noisy.environment = format!("{} {size}", trajectory.environment);
            noisy.states.iter_mut().for_each(|value| *value += size * stream.normal());
            all.push(noisy);
        }
        let mut short = trajectory;
        short.environment += " short";
        short.times.truncate(5);
        short.states.truncate(10);
        all.push(short);
    }
    let found = rows(&grid(root.path(), "noisy", dataset.manifest(), all), model, Split::Grid);
    let doubted: Vec<_> = found.iter().filter(|row| row.status == Status::Misfit).map(|row| &row.reason).collect();
    assert!(doubted.is_empty(), "{doubted:?}");
    assert!(!found.iter().any(|row| row.reason.contains("stands still")));
}

/// It knows of no channel what it was like, and of all together how well it followed them.
#[test]
fn a_model_of_an_older_format_is_held_against_its_error_alone() {
    let Trained { dataset, directory, .. } = &*EXACT;
    let mut model = StoredModel::read(directory).unwrap();
    model.manifest.observed.clear();
    let root = tempfile::tempdir().unwrap();
    model.write(&root.path().join("older")).unwrap();
    let model = StoredModel::read(&root.path().join("older")).unwrap();
    let sound = dataset.read(Split::Grid).unwrap().remove(12);
    let half = broken(&sound, "offset", &[0, 1], |values| each(values, |value| value + 0.5));
    let still = broken(&sound, "still", &[1], |values| each(values, |_| values[0]));
    let found = rows(&grid(root.path(), "offset", dataset.manifest(), vec![sound, half, still]), &model, Split::Grid);
    assert_eq!((found[0].status, found[1].status), (Status::Ok, Status::Misfit), "{found:?}");
    assert!(!found[2].reason.contains("stands still"), "{found:?}");
}
