//! Estimation: each environment for itself, recovered parameters, statuses, files that were changed.

#[path = "estimate/calibration.rs"]
mod calibration;
#[path = "common/dataset.rs"]
mod common;
#[path = "estimate/driven.rs"]
mod driven;
#[path = "estimate/formats.rs"]
mod formats;
#[path = "estimate/initial.rs"]
mod initial;
#[path = "estimate/least_errors.rs"]
mod least_errors;
#[path = "estimate/library.rs"]
mod library;
#[path = "estimate/missing.rs"]
mod missing;
#[path = "estimate/model_error.rs"]
mod model_error;
#[path = "estimate/robust.rs"]
mod robust;
#[path = "estimate/sealed.rs"]
mod sealed;
#[path = "estimate/sensors.rs"]
mod sensors;
#[path = "estimate/table.rs"]
mod table;
#[path = "common/model.rs"]
mod model;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use approx::assert_relative_eq;
use model::{
    FOUR_PAIRS, NATIVE, TORCH, dataset_of, files, generate, map, series, silently, train, train_settings, with_threads,
};
use paramill::checkpoint::{self, MapKind, StoredModel};
use paramill::dataset::{Dataset, Manifest};
use paramill::engine::Compute;
use paramill::estimate::{self, Error, Outcome, Row, Settings, Status, read_rows};
use paramill::schema::{Split, Trajectory};

const NINE_PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    trajectories = 4
    [splits.validation]
    environments = "train"
    trajectories = 4
    [splits.test]
    environments = "train"
    trajectories = 2
    [splits.adapt]
    environments = "adapt"
    trajectories = 1
    [splits.adapt_test]
    environments = "adapt"
    trajectories = 2
    [splits.grid]
    environments = "grid"
    limit = 25
    trajectories = 1
"#;

const TRAINING: &str = r#"
    model = { kind = "mlp", layers = 3, width = 16 }
    contexts = "tied"
    steps = 1500
    learning_rate = 0.005
    schedule = "cosine"
"#;

/// A dataset with a model that was trained on it, made once for all tests.
struct Trained {
    dataset: Dataset,
    model: StoredModel,
    directory: PathBuf,
}

static TRAINED: LazyLock<Trained> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("estimate");
    let _ = fs::remove_dir_all(&root);
    let dataset = generate(&root, NINE_PAIRS);
    let directory = root.join("model");
    let mut model = train(&train_settings(TRAINING), &dataset, &directory).unwrap();
    map("kind = \"auto\"", &dataset, &mut model, &directory);
    Trained { dataset, model, directory }
});

fn estimate(dataset: &Dataset, model: &StoredModel, compute: Compute, directory: &Path) -> Result<Outcome, Error> {
    silently(|run| estimate::run(&Settings::default(), compute, dataset, model, directory, run))
}

/// Estimates with the native engine and reads the rows of `split` back.
fn rows(dataset: &Dataset, model: &StoredModel, split: Split) -> Vec<Row> {
    let place = tempfile::tempdir().unwrap();
    estimate_with(&Settings::default(), dataset, model, &place.path().join("estimates"), split)
}

fn estimate_with(
    settings: &Settings,
    dataset: &Dataset,
    model: &StoredModel,
    directory: &Path,
    split: Split,
) -> Vec<Row> {
    let outcome = silently(|run| estimate::run(settings, NATIVE, dataset, model, directory, run)).unwrap();
    read_rows(directory, &outcome.manifest, split).unwrap()
}

/// A dataset with the quantities of `like` and only these grid trajectories.
fn grid(root: &Path, name: &str, like: &Manifest, trajectories: Vec<Trajectory>) -> Dataset {
    dataset_of(&root.join(name), like, vec![(Split::Grid, trajectories)])
}

/// Two species that start at `start`, sampled as often as asked, and stay where they are.
fn resting(environment: &str, samples: usize, start: [f64; 2]) -> Trajectory {
    series(environment, &vec![start; samples])
}

#[test]
fn parameters_are_recovered_with_their_errors() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let rows = rows(dataset, model, Split::Grid);
    assert_eq!(rows.len(), 25);
    let levels = [0.25, 0.51, 0.75, 1.01, 1.25];
    for (row, truth) in rows.iter().zip(levels.iter().flat_map(|b| levels.iter().map(move |d| [*b, *d]))) {
        let of_row: Vec<f64> = row.parameters.iter().map(|it| it.truth.unwrap()).collect();
        assert_relative_eq!(of_row.as_slice(), truth.as_slice(), max_relative = 1e-12);
        let between = truth.iter().all(|p| (0.5..=1.0).contains(p));
        assert_eq!(row.in_hull, Some(between), "{truth:?}");
        assert_eq!((row.status.is_failure(), row.points), (false, 38), "{truth:?}: {}", row.reason);
        for parameter in &row.parameters {
            assert!(parameter.standard_error.is_finite() && parameter.standard_error > 0.0, "{parameter:?}");
        }
        // Where the model has learned the field.
        if between {
            assert!(row.parameter_mape().unwrap() < 2.5, "{truth:?}: {:?}", row.parameters);
            assert!(row.trajectory_rmse < 0.05, "{truth:?}: {}", row.trajectory_rmse);
        }
    }
}

#[test]
fn the_figures_are_those_of_the_rows() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("estimates");
    let outcome = estimate(dataset, model, NATIVE, &directory).unwrap();
    let adapt = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
    let grid = read_rows(&directory, &outcome.manifest, Split::Grid).unwrap();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let figures = &outcome.manifest.evaluation;
    let of_adapt = mean(adapt.iter().map(|row| row.test_mse.unwrap()).collect());
    assert_relative_eq!(figures.mse_adaptation.unwrap(), of_adapt, max_relative = 1e-12);
    assert!(figures.mse_in_domain.unwrap() < 1e-3, "{figures:?}");
    assert!(grid.iter().all(|row| row.test_mse.is_none()));
    let mape = |inside: Option<bool>| {
        let of_kind = grid.iter().filter(|row| inside.is_none() || row.in_hull == inside);
        Some(mean(of_kind.map(|row| row.parameter_mape().unwrap()).collect()))
    };
    assert_eq!(figures.parameter_split, Some(Split::Grid));
    assert_eq!(figures.param_mape_overall, mape(None));
    assert_eq!(figures.param_mape_in_hull, mape(Some(true)));
    assert_eq!(figures.param_mape_out_of_hull, mape(Some(false)));
    assert_eq!((figures.environments, figures.environments_failed), (29, 0));
    assert_eq!((figures.environments_in_hull, figures.environments_out_of_hull), (Some(4), Some(21)));
}

#[test]
fn a_row_depends_on_no_other_environment() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let expected = rows(dataset, model, Split::Grid);
    assert!(expected.iter().all(|row| row == &row.clone()), "no NaN, which is equal to nothing");
    let trajectories = dataset.read(Split::Grid).unwrap();
    let like = dataset.manifest();
    let root = tempfile::tempdir().unwrap();
    // Datasets are in the order of ids, so another order comes by other ids.
    let backwards: Vec<Trajectory> = trajectories
        .iter()
        .enumerate()
        .map(|(place, row)| Trajectory { environment: format!("{:02}", 99 - place), ..row.clone() })
        .collect();
    let found = rows(&grid(root.path(), "backwards", like, backwards), model, Split::Grid);
    for (found, expected) in found.iter().rev().zip(&expected) {
        assert_eq!(&Row { environment: expected.environment.clone(), ..found.clone() }, expected);
    }
    let some: Vec<Trajectory> = trajectories.iter().skip(1).step_by(3).cloned().collect();
    let found = rows(&grid(root.path(), "some", like, some), model, Split::Grid);
    assert!(found.len() == 8 && found.iter().all(|row| expected.contains(row)));
    let mut with_strangers = trajectories;
    with_strangers.push(resting("a huge", 20, [1e300, -1e300]));
    with_strangers.push(resting("a long", 400, [1.0, 1.0]));
    with_strangers.push(resting("grid-00200", 20, [2.0, 2.0]));
    with_strangers.push(resting("two points", 2, [1.0, 2.0]));
    let found = rows(&grid(root.path(), "strangers", like, with_strangers), model, Split::Grid);
    assert_eq!(found.len(), expected.len() + 4);
    assert!(expected.iter().all(|row| found.contains(row)));
}

#[test]
fn an_environment_that_cannot_be_fitted_has_a_status_and_a_reason() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let odd = vec![
        resting("a huge", 20, [1e300, -1e300]),
        resting("b resting", 20, [2.0 / 3.0, 2.0 / 3.0]),
        resting("c two points", 2, [1.0, 2.0]),
        dataset.read(Split::Grid).unwrap().remove(12),
    ];
    let dataset = grid(root.path(), "odd", dataset.manifest(), odd);
    let directory = root.path().join("estimates");
    let outcome = estimate(&dataset, model, NATIVE, &directory).unwrap();
    let rows = read_rows(&directory, &outcome.manifest, Split::Grid).unwrap();
    let [huge, resting, two_points, sound] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((huge.status, huge.iterations), (Status::Diverged, 0));
    assert!(!huge.reason.is_empty() && huge.context.iter().all(|xi| xi.is_nan()));
    assert!(huge.parameters.iter().all(|it| it.value.is_nan() && it.standard_error.is_nan()));
    assert!(huge.parameter_mape().is_none());
    // It rests where these very parameters balance: the context is determined, as well as the model knows that state. Or its sensors are stuck.
    assert_eq!(resting.status, Status::OutsideTrainingRange, "{}", resting.reason);
    assert!(resting.reason.starts_with("x stands still along trajectory 0"), "{}", resting.reason);
    assert!(resting.parameter_mape().unwrap() < 15.0, "{:?}", resting.parameters);
    // As many observed values as context dimensions: a fit, but nothing left to tell its error.
    assert_eq!(two_points.points, 2);
    assert!(matches!(two_points.status, Status::TooFewPoints | Status::NotConverged), "{}", two_points.reason);
    assert!(two_points.parameters.iter().all(|it| it.value.is_finite() && it.standard_error.is_nan()));
    assert_eq!((sound.status, sound.reason.as_str()), (Status::Ok, ""));
    let figures = &outcome.manifest.evaluation;
    assert_eq!(figures.environments_failed, 2);
    let counts: Vec<(Status, usize)> = figures.statuses.iter().map(|(status, count)| (*status, *count)).collect();
    let mut expected = vec![(sound.status, 1), (huge.status, 1), (two_points.status, 1), (resting.status, 1)];
    expected.sort();
    assert_eq!(counts, expected);
}

#[test]
fn fewer_values_than_context_dimensions_are_too_few_and_fewer_iterations_do_not_converge() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let settings =
        "model = { kind = \"mlp\", layers = 2, width = 8 }\n steps = 5\n context_dimension = 3\n validate_every = 5";
    let directory = root.path().join("model");
    let mut model = train(&train_settings(settings), &dataset, &directory).unwrap();
    map("kind = \"affine\"", &dataset, &mut model, &directory);
    let odd = vec![resting("a", 2, [1.0, 2.0]), resting("b", 20, [1.0, 2.0])];
    let dataset = grid(root.path(), "odd", dataset.manifest(), odd);
    let settings = Settings { iterations: 1, tolerance: 1e-30, ..Settings::default() };
    let directory = root.path().join("estimates");
    let outcome = silently(|run| estimate::run(&settings, NATIVE, &dataset, &model, &directory, run)).unwrap();
    let rows = read_rows(&directory, &outcome.manifest, Split::Grid).unwrap();
    let ends: Vec<_> = rows.iter().map(|row| (row.status, row.points, row.reason.as_str())).collect();
    let too_few = (Status::TooFewPoints, 2, "2 observed values for 3 context dimensions");
    assert_eq!(ends, [too_few, (Status::NotConverged, 38, "stopped at the limit of 1 iterations")]);
    // What is no estimate has no interval: where a fit ended at least says where.
    assert!(rows[0].parameters.iter().all(|it| it.value.is_nan()));
    assert!(rows[1].parameters.iter().all(|it| it.value.is_finite()));
    for row in &rows {
        assert!(row.parameters.iter().all(|it| it.standard_error.is_nan() && it.lower.is_nan() && it.upper.is_nan()));
        assert!(row.correlations.iter().all(|it| it.is_nan()));
    }
}

/// A model of several steps between samples is first fitted with one: where the fit ends, its own error is least.
#[test]
fn a_fit_that_began_roughly_ends_at_the_minimum_of_the_models_own_error() {
    let Trained { dataset, directory, .. } = &*TRAINED;
    let mut model = StoredModel::read(directory).unwrap();
    model.manifest.substeps = 3;
    let squares = |row: &Row, context: &[f64]| {
        let (observed, predicted) =
            estimate::portrait(&Settings::default(), NATIVE, dataset, &model, (Split::Grid, &row.environment), context)
                .unwrap();
        observed.states.iter().zip(&predicted).map(|(y, z)| (y - z) * (y - z)).sum::<f64>()
    };
    let rows = rows(dataset, &model, Split::Grid);
    let one_step = self::rows(dataset, &TRAINED.model, Split::Grid);
    assert!(rows.iter().zip(&one_step).any(|(three, one)| (three.context[0] - one.context[0]).abs() > 1e-4));
    for row in rows.iter().filter(|row| row.in_hull == Some(true)) {
        assert_eq!(row.status, Status::Ok, "{}: {}", row.environment, row.reason);
        let least = squares(row, &row.context);
        for k in 0..2 {
            for step in [-0.02, 0.02] {
                let mut context = row.context.clone();
                context[k] += step;
                assert!(squares(row, &context) > least, "{}: {k} {step}", row.environment);
            }
        }
    }
}

#[test]
fn files_do_not_depend_on_the_number_of_threads() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let written = [1, 2].map(|threads| {
        let directory = root.path().join(threads.to_string());
        with_threads(threads, || estimate(dataset, model, NATIVE, &directory).map(|_| ())).unwrap();
        files(&directory)
    });
    assert_eq!(written[0].len(), 4);
    assert!(written[0] == written[1]);
}

#[test]
#[cfg_attr(not(feature = "torch"), ignore = "needs libtorch")]
fn engines_estimate_the_same() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let native = rows(dataset, model, Split::Adapt);
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("torch");
    let outcome = estimate(dataset, model, TORCH, &directory).unwrap();
    for (torch, native) in read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().iter().zip(&native) {
        assert_eq!(torch.status, native.status);
        for (torch, native) in torch.parameters.iter().zip(&native.parameters) {
            assert_relative_eq!(torch.value, native.value, max_relative = 1e-3);
        }
    }
}

/// Ways to damage a file.
fn damages(bytes: &[u8]) -> [Vec<u8>; 3] {
    let mut flipped = bytes.to_vec();
    flipped[bytes.len() / 2] ^= 1;
    [flipped, bytes[..bytes.len() / 2].to_vec(), Vec::new()]
}

#[test]
fn changed_estimates_are_refused() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("estimates");
    estimate(dataset, model, NATIVE, &directory).unwrap();
    let (manifest, _) = estimate::Manifest::read(&directory).unwrap();
    assert_eq!(read_rows(&directory, &manifest, Split::Adapt).unwrap().len(), 4);
    let path = directory.join("adapt.parquet");
    let bytes = fs::read(&path).unwrap();
    for damaged in damages(&bytes) {
        fs::write(&path, damaged).unwrap();
        let error = read_rows(&directory, &manifest, Split::Adapt).unwrap_err();
        assert!(matches!(&error, Error::Invalid { path: of, .. } if *of == path), "{error}");
    }
    fs::copy(directory.join("grid.parquet"), &path).unwrap();
    assert!(matches!(read_rows(&directory, &manifest, Split::Adapt), Err(Error::Invalid { .. })));
    fs::remove_file(&path).unwrap();
    assert!(matches!(read_rows(&directory, &manifest, Split::Adapt), Err(Error::Invalid { .. })));
    fs::write(directory.join("manifest.json"), "{}").unwrap();
    assert!(matches!(estimate::Manifest::read(&directory), Err(Error::Invalid { .. })));
}

#[test]
fn a_changed_model_is_found_and_refused() {
    let Trained { directory: sound, .. } = &*TRAINED;
    assert_eq!(checkpoint::verify(sound), [""; 0]);
    let root = tempfile::tempdir().unwrap();
    let listed = ["README.md", "map.json", "training-log.csv", "weights.safetensors"];
    for name in listed {
        let bytes = fs::read(sound.join(name)).unwrap();
        for (case, damaged) in damages(&bytes).into_iter().enumerate() {
            let directory = root.path().join(format!("{name}-{case}"));
            fs::create_dir(&directory).unwrap();
            files(sound).iter().for_each(|(name, bytes)| fs::write(directory.join(name), bytes).unwrap());
            fs::write(directory.join(name), damaged).unwrap();
            let problems = checkpoint::verify(&directory);
            assert!(problems.len() == 1 && problems[0].contains(name), "{problems:?}");
            assert!(StoredModel::read(&directory).is_err());
        }
    }
    let directory = root.path().join("all");
    fs::create_dir(&directory).unwrap();
    for name in ["manifest.json", "SHA256SUMS"] {
        fs::copy(sound.join(name), directory.join(name)).unwrap();
    }
    assert_eq!(checkpoint::verify(&directory).len(), listed.len(), "every missing file is named");
}

#[test]
fn the_map_is_kept_with_its_residuals() {
    let Trained { dataset, model, directory } = &*TRAINED;
    let stored = StoredModel::read(directory).unwrap();
    assert!(stored.shared == model.shared && stored.contexts == model.contexts && stored.log == model.log);
    assert_eq!(stored.manifest, model.manifest);
    let map = stored.map.unwrap();
    assert_eq!(Some(&map), model.map.as_ref());
    assert_eq!(map.parameters, ["beta", "delta"]);
    assert!(map.leave_one_out.affine.is_some() && map.leave_one_out.quadratic.is_some());
    let known = dataset.index(Split::Train).unwrap();
    assert_eq!(map.environments.len(), 9);
    for residual in &map.environments {
        let entry = known.iter().find(|entry| entry.environment == residual.environment).unwrap();
        for j in 0..2 {
            assert_eq!(entry.parameters[j], Some(residual.parameters[j]));
            let mapped = map.apply(&residual.context)[j];
            assert_relative_eq!(residual.residuals[j], mapped - residual.parameters[j], epsilon = 1e-15);
            assert!(residual.residuals[j].abs() < 0.02, "{residual:?}");
        }
    }
}

/// A map of `beta^-2` that is below zero at every context: `beta` has no value there.
#[test]
fn a_context_without_a_parameter_has_a_status_and_a_reason() {
    let Trained { dataset, model, directory } = &*TRAINED;
    let mut model = StoredModel { map: model.map.clone(), ..StoredModel::read(directory).unwrap() };
    let map = model.map.as_mut().unwrap();
    (map.kind, map.powers) = (MapKind::Power, serde_json::from_str("[-2, 1]").unwrap());
    map.coefficients = vec![vec![-1.0, 0.0, 0.0], vec![0.5, 0.1, 0.0]];
    map.inverse_gram = vec![vec![0.0; 3]; 3];
    for row in rows(dataset, &model, Split::Grid) {
        assert_eq!(row.status, Status::Unidentifiable, "{}", row.reason);
        assert_eq!(row.reason, "beta has no value: the map gives beta^-2 = -1.000000 for this context");
        assert!(row.parameters[0].value.is_nan() && row.parameters[1].value.is_finite());
    }
}

#[test]
fn another_dataset_is_refused() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let mut other = dataset.manifest().clone();
    other.channels[0].unit = "kg".to_owned();
    let trajectories = dataset.read(Split::Grid).unwrap();
    let directory = root.path().join("estimates");
    match estimate(&grid(root.path(), "kg", &other, trajectories), model, NATIVE, &directory).map(|_| ()) {
        Err(Error::OtherQuantities { found, expected, .. }) => {
            assert!(found.contains("x [kg]") && expected.contains("x [1]"), "{found}, {expected}");
        }
        other => panic!("{other:?}"),
    }
    let only_training = generate(root.path(), FOUR_PAIRS);
    assert!(matches!(estimate(&only_training, model, NATIVE, &directory), Err(Error::NoSplit { .. })));
    assert!(!directory.exists());
}
