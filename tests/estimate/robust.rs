//! Fits that begin badly, and data with values far off.

use approx::assert_relative_eq;
use paramill::checkpoint::StoredModel;
use paramill::dataset::Dataset;
use paramill::estimate::{self, InitialState, Loss, Row, Settings, Status, read_rows};
use paramill::random::Stream;
use paramill::schema::{Split, Trajectory};

use super::model::{NATIVE, silently};
use super::{TRAINED, Trained, grid, rows};

/// The same dynamics with all contexts moved by `shift`: what was context zero is now far away.
fn moved(shift: f64) -> StoredModel {
    let mut model = StoredModel::read(&TRAINED.directory).unwrap();
    let d = model.manifest.context_dimension;
    let size = model.shared.len() / (1 + d);
    for k in 1..=d {
        for i in 0..size {
            model.shared[i] -= shift * model.shared[k * size + i];
        }
    }
    model.contexts.iter_mut().for_each(|xi| *xi += shift);
    model.map.as_mut().unwrap().centre.iter_mut().for_each(|xi| *xi += shift);
    model
}

#[test]
fn a_fit_that_diverges_from_zero_begins_again_from_training_contexts() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let expected = rows(dataset, model, Split::Grid);
    let far = moved(300.0);
    // Nothing comes of zero: without other starts no environment has an estimate.
    let mut alone = StoredModel::read(&TRAINED.directory).unwrap();
    (alone.shared, alone.map) = (far.shared.clone(), far.map.clone());
    let from_zero = rows(dataset, &alone, Split::Grid);
    assert!(from_zero.iter().filter(|row| row.status.is_failure()).count() >= 20, "{from_zero:?}");
    for (row, expected) in
        rows(dataset, &far, Split::Grid).iter().zip(&expected).filter(|(_, it)| it.in_hull == Some(true))
    {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        for (found, expected) in row.parameters.iter().zip(&expected.parameters) {
            assert_relative_eq!(found.value, expected.value, max_relative = 1e-2);
        }
    }
}

fn rows_with(settings: &Settings, dataset: &Dataset) -> Vec<Row> {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("estimates");
    let outcome = silently(|run| estimate::run(settings, NATIVE, dataset, &TRAINED.model, &directory, run)).unwrap();
    read_rows(&directory, &outcome.manifest, Split::Grid).unwrap()
}

/// Root mean square of the relative errors of all parameters of the environments in the hull.
fn error(rows: &[Row]) -> f64 {
    let inside = rows.iter().filter(|row| row.in_hull == Some(true)).flat_map(|row| &row.parameters);
    let squares: Vec<f64> = inside.map(|it| (it.value / it.truth.unwrap() - 1.0).powi(2)).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn values_far_off_pull_little_under_hubers_loss() {
    let Trained { dataset, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let noisy = |outliers: bool| -> Vec<Trajectory> {
        let mut trajectories = dataset.read(Split::Grid).unwrap();
        for (e, trajectory) in trajectories.iter_mut().enumerate() {
            let mut stream = Stream::new(5, "noise", &[e as u64]);
            for (i, value) in trajectory.states.iter_mut().enumerate() {
                *value += 0.02 * stream.normal();
                if outliers && i % 13 == 7 {
                    *value += 1.5;
                }
            }
        }
        trajectories
    };
    let clean = grid(root.path(), "clean", dataset.manifest(), noisy(false));
    let dirty = grid(root.path(), "dirty", dataset.manifest(), noisy(true));
    for initial_state in [InitialState::Observed, InitialState::Estimated] {
        let squares = Settings { initial_state: Some(initial_state), ..Settings::default() };
        let huber = Settings { loss: Loss::Huber, ..squares.clone() };
        let (of_clean, of_dirty) = (error(&rows_with(&squares, &clean)), error(&rows_with(&squares, &dirty)));
        assert!(of_dirty > 4.0 * of_clean, "{of_clean} {of_dirty}");
        assert!(error(&rows_with(&huber, &dirty)) < 0.4 * of_dirty, "{}", error(&rows_with(&huber, &dirty)));
        assert!(error(&rows_with(&huber, &clean)) < 1.3 * of_clean, "{}", error(&rows_with(&huber, &clean)));
    }
}
