//! The model's own error, learned from environments that neither train nor test.

use paramill::checkpoint::ParameterMap;
use paramill::estimate::{Row, Settings, Status};

use super::model::Listener;
use super::*;

/// Environments to calibrate on, over the training ones and a bit beyond, and others between and beyond them.
const PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.calibrate]
    environments = { beta = { from = 0.42, to = 1.08, count = 9 }, delta = { from = 0.42, to = 1.08, count = 9 } }
    trajectories = 1
    [splits.grid]
    environments = { beta = { from = 0.46, to = 1.04, count = 14 }, delta = { from = 0.46, to = 1.04, count = 14 } }
    trajectories = 1
"#;

fn learned(dataset: &Dataset, map: ParameterMap) -> StoredModel {
    let mut model = StoredModel { map: Some(map), ..StoredModel::read(&TRAINED.directory).unwrap() };
    let error = silently(|run| estimate::model_error::run(&Settings::default(), NATIVE, dataset, &model, run)).unwrap();
    model.map.as_mut().unwrap().model_error = error;
    model
}

/// The share of the intervals that hold the truth, over environments in the hull or not.
fn held(rows: &[Row], in_hull: bool) -> f64 {
    let rows = rows.iter().filter(|row| row.status == Status::Ok && row.in_hull == Some(in_hull));
    let holds = rows.flat_map(|row| &row.parameters).map(|it| (it.lower..=it.upper).contains(&it.truth.unwrap()));
    let holds: Vec<bool> = holds.collect();
    holds.iter().filter(|holds| **holds).count() as f64 / holds.len() as f64
}

/// Exact data, of which noise explains nothing: the truth is known from the simulation.
#[test]
fn intervals_hold_the_truth_where_the_model_errs_more_than_the_data() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let map = TRAINED.model.map.clone().unwrap();
    let mut model = learned(&dataset, map.clone());
    let without = rows(&dataset, &TRAINED.model, Split::Grid);
    let with = rows(&dataset, &model, Split::Grid);
    let shares = [held(&without, true), held(&with, true), held(&without, false), held(&with, false)];
    assert!(shares[0] < 0.85 && (0.9..0.99).contains(&shares[1]), "{shares:?}");
    assert!(shares[2] < 0.85 && (0.88..0.995).contains(&shares[3]), "{shares:?}");

    for (with, without) in with.iter().zip(&without) {
        let own = map.variance(&with.context);
        for ((with, without), own) in with.parameters.iter().zip(&without.parameters).zip(own) {
            let of_model = with.model_error.unwrap();
            let of_noise = without.standard_error.powi(2) - own;
            let rest = with.standard_error.powi(2) - of_model.powi(2);
            let rounding = 1e-12 * (with.standard_error.powi(2) + own);
            assert_relative_eq!(rest, of_noise, epsilon = rounding, max_relative = 1e-9);
            assert_eq!((with.value, without.model_error), (without.value, None));
            assert!(with.degrees_of_freedom <= 78.0 + 36.0 && with.degrees_of_freedom > 30.0, "{with:?}");
        }
    }

    // It is stored with the model, and left out where that is asked for.
    let stored = root.path().join("model");
    model.write(&stored).unwrap();
    let read = StoredModel::read(&stored).unwrap();
    assert_eq!(read.map, model.map);
    assert_eq!(rows(&dataset, &read, Split::Grid), with);
    let settings = Settings { model_error: false, ..Settings::default() };
    let left_out = estimate_with(&settings, &dataset, &read, &root.path().join("left-out"), Split::Grid);
    assert_eq!(left_out, without);
}

#[test]
fn too_few_environments_tell_nothing_and_that_is_said() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), &PAIRS.replace("count = 9", "count = 2"));
    let listener = Listener::default();
    let found =
        estimate::model_error::run(&Settings::default(), NATIVE, &dataset, &TRAINED.model, &listener.run()).unwrap();
    assert_eq!(found, None);
    let warnings = listener.warnings();
    assert!(warnings.contains("of 4 environments of the split calibrate 4 have known parameters"), "{warnings}");
}
