//! What the table says beyond the estimates: intervals, correlations, noise, cautions, fitted trajectories, forecasts.

use std::fs::{self, File};

use approx::assert_relative_eq;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use paramill::estimate::{self, Bounds, Error, InitialState, Row, Settings, Status, read_rows};
use paramill::schema::{Split, Trajectory};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::model::{NATIVE, silently};
use super::{TRAINED, Trained, estimate_with, grid};

/// The grid's trajectories with Gaussian noise on all samples but the first.
fn noisy(deviations: [f64; 2]) -> Vec<Trajectory> {
    let mut trajectories = TRAINED.dataset.read(Split::Grid).unwrap();
    for (e, trajectory) in trajectories.iter_mut().enumerate() {
        let mut stream = paramill::random::Stream::new(3, "noise", &[e as u64]);
        for (i, value) in trajectory.states.iter_mut().enumerate().skip(2) {
            *value += deviations[i % 2] * stream.normal();
        }
    }
    trajectories
}

#[test]
fn the_noise_of_each_channel_is_estimated() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let place = tempfile::tempdir().unwrap();
    let deviations = [0.1, 0.15];
    let noisy = grid(place.path(), "noisy", dataset.manifest(), noisy(deviations));
    // With chance correlations counted, some rows would have fewer degrees of freedom.
    let settings = Settings { serial_correlation: false, ..Settings::default() };
    let rows = estimate_with(&settings, &noisy, model, &place.path().join("estimates"), Split::Grid);
    for (channel, deviation) in deviations.into_iter().enumerate() {
        let squares: f64 = rows.iter().map(|row| row.noise[channel].powi(2)).sum();
        // 25 environments of 19 samples: the standard error of the deviation is 1/sqrt(2 * 475), about 3 %; the model's own error comes on top.
        assert_relative_eq!((squares / rows.len() as f64).sqrt(), deviation, max_relative = 0.2);
    }
    for row in &rows {
        assert_eq!((row.correlations.len(), row.noise.len(), row.degrees_of_freedom), (1, 2, 36.0));
        assert!(row.correlations[0].abs() < 1.0, "{row:?}");
        for parameter in &row.parameters {
            assert!(parameter.lower < parameter.value && parameter.value < parameter.upper, "{parameter:?}");
            // Student's quantile for 36 degrees of freedom is 2.028.
            assert_relative_eq!(
                parameter.upper - parameter.value,
                2.028 * parameter.standard_error,
                max_relative = 1e-3
            );
        }
    }
}

/// The rows of the grid under other settings.
fn rows_with(settings: &Settings) -> Result<Vec<Row>, Error> {
    let Trained { dataset, model, .. } = &*TRAINED;
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("estimates");
    let outcome = silently(|run| estimate::run(settings, NATIVE, dataset, model, &directory, run))?;
    assert!(estimate::verify(&directory).is_empty());
    read_rows(&directory, &outcome.manifest, Split::Grid)
}

#[test]
fn bounds_cut_and_say_so_and_far_contexts_are_cautioned() {
    let free = rows_with(&Settings::default()).unwrap();
    let bounds = [("beta".to_owned(), Bounds { min: Some(0.5), max: Some(1.0) })];
    let bounded = rows_with(&Settings { bounds: bounds.into(), extrapolation: 0.1, ..Settings::default() }).unwrap();
    let (mut cut, mut far) = (0, 0);
    for (free, bounded) in free.iter().zip(&bounded) {
        let (before, after) = (&free.parameters[0], &bounded.parameters[0]);
        assert!((0.5..=1.0).contains(&after.value) && after.lower >= 0.5 && after.upper <= 1.0, "{after:?}");
        assert_eq!(free.parameters[1], bounded.parameters[1]);
        assert!(!bounded.status.is_failure());
        if before.value < 0.5 || before.value > 1.0 {
            assert_eq!(bounded.status, Status::AtBound);
            assert!(bounded.reason.starts_with("beta was estimated as "), "{}", bounded.reason);
            cut += 1;
        } else if bounded.status == Status::OutsideTrainingRange {
            let delta = free.parameters[1].truth.unwrap();
            assert!(!(0.5..=1.0).contains(&delta), "{bounded:?}");
            far += 1;
        } else {
            assert_eq!((before.value, before.standard_error), (after.value, after.standard_error));
        }
    }
    assert!(cut >= 10 && far >= 3, "{cut} {far}");
    let unknown =
        rows_with(&Settings { bounds: [("alpha".to_owned(), Bounds::default())].into(), ..Settings::default() });
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "estimate.bounds: found the parameter `alpha`; the dataset has beta, delta"
    );
}

#[test]
fn fitted_trajectories_stand_beside_the_observed_ones() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("estimates");
    let settings = Settings { fitted: true, ..Settings::default() };
    let outcome = silently(|run| estimate::run(&settings, NATIVE, dataset, model, &directory, run)).unwrap();
    assert!(estimate::verify(&directory).is_empty());
    let rows = read_rows(&directory, &outcome.manifest, Split::Grid).unwrap();
    let file = File::open(directory.join("fitted_grid.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batches: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    let column = |name: &str| -> Vec<f64> {
        let values = batches.iter().flat_map(|batch| {
            let column = batch.column_by_name(name).unwrap().as_primitive::<Float64Type>();
            column.values().to_vec()
        });
        values.collect()
    };
    let (x, y, fitted_x, fitted_y) = (column("x"), column("y"), column("x_fitted"), column("y_fitted"));
    assert_eq!(x.len(), 25 * 20);
    let of_dataset = dataset.read(Split::Grid).unwrap();
    for (e, row) in rows.iter().enumerate() {
        let samples = e * 20..(e + 1) * 20;
        assert_eq!(of_dataset[e].environment, row.environment);
        let squares: f64 = samples.clone().map(|i| (x[i] - fitted_x[i]).powi(2) + (y[i] - fitted_y[i]).powi(2)).sum();
        assert_relative_eq!((squares / 38.0).sqrt(), row.trajectory_rmse, max_relative = 1e-6, epsilon = 1e-9);
        assert_relative_eq!(x[samples.start], of_dataset[e].states[0], max_relative = 1e-12);
        assert_relative_eq!(fitted_x[samples.start], x[samples.start], max_relative = 1e-12);
    }
    // A file that was changed is found.
    let path = directory.join("fitted_grid.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(estimate::verify(&directory).len(), 1);
}

#[test]
fn a_forecast_is_the_rollout_and_its_band_is_that_of_its_context() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let environment = dataset.index(Split::Adapt).unwrap()[0].environment.clone();
    let settings = Settings::default();
    let known =
        paramill::forecast::context_of_environment(&settings, NATIVE, dataset, model, &environment, None).unwrap().0;
    let observed = dataset.read_rows(Split::Adapt, &[0]).unwrap().remove(0);
    let forecast =
        paramill::forecast::forecast(NATIVE, model, &known, observed.state(0), &observed.times, &[]).unwrap();
    let (_, fitted) =
        estimate::portrait(&settings, NATIVE, dataset, model, (Split::Adapt, &environment), &known.context).unwrap();
    for (a, b) in forecast.states.iter().zip(&fitted) {
        assert_relative_eq!(a, b, max_relative = 1e-4, epsilon = 1e-5);
    }
    // The band against rollouts whose contexts move along the columns of a factor of the covariance.
    let factor = known.covariance.clone().cholesky().unwrap().l();
    let moved = |axis: usize, sign: f64| {
        let mut moved = known.clone();
        moved.context.iter_mut().enumerate().for_each(|(k, xi)| *xi += sign * factor[(k, axis)]);
        paramill::forecast::forecast(NATIVE, model, &moved, observed.state(0), &observed.times, &[]).unwrap().states
    };
    let ends = [0, 1].map(|axis| (moved(axis, 1.0), moved(axis, -1.0)));
    for i in 2..forecast.states.len() {
        let spread: f64 = ends.iter().map(|(up, down)| (0.5 * (up[i] - down[i])).powi(2)).sum();
        // Student's quantile for 36 degrees of freedom is 2.028; the arithmetic is in single precision.
        assert_relative_eq!(forecast.half_widths[i], 2.028 * spread.sqrt(), max_relative = 0.05, epsilon = 1e-5);
    }
    assert_eq!(&forecast.half_widths[..2], &[0.0, 0.0]);
}

#[test]
fn a_forecast_starts_at_the_end_of_a_trajectory_as_it_was_measured_or_fitted() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let environment = dataset.index(Split::Adapt).unwrap()[0].environment.clone();
    let observed = Settings::default();
    let estimated = Settings { initial_state: Some(InitialState::Estimated), ..Settings::default() };
    let end = |settings: &Settings, trajectory: Option<&str>| {
        paramill::forecast::context_of_environment(settings, NATIVE, dataset, model, &environment, trajectory)
    };
    let last = |trajectory: &Trajectory| trajectory.state(trajectory.len() - 1).to_vec();
    let support = dataset.read_rows(Split::Adapt, &[0]).unwrap().remove(0);
    let start = end(&observed, None).unwrap().1.unwrap();
    assert_eq!((start.state, start.is_fitted), (last(&support), false));
    assert_eq!((start.trajectory, start.time), (support.trajectory.clone(), support.times[support.len() - 1]));

    let (known, start) = end(&estimated, Some(&support.trajectory)).unwrap();
    let start = start.unwrap();
    let place = (Split::Adapt, environment.as_str());
    let portrait = estimate::portrait(&estimated, NATIVE, dataset, model, place, &known.context).unwrap();
    assert_eq!((&start.state[..], start.is_fitted), (&portrait.1[portrait.1.len() - 2..], true));
    assert_ne!(start.state, last(&support));

    // A trajectory that the context was not fitted to has no fitted state.
    let mut held_out = dataset.read(Split::AdaptTest).unwrap().into_iter();
    let is_other = |it: &Trajectory| it.environment == environment && it.trajectory != support.trajectory;
    let held_out = held_out.find(is_other).unwrap();
    let start = end(&estimated, Some(&held_out.trajectory)).unwrap().1.unwrap();
    assert_eq!((start.state, start.is_fitted), (last(&held_out), false));
    let error = end(&observed, Some("nine")).unwrap_err().to_string();
    let expected = format!("found no trajectory nine of environment {environment}; expected one of its trajectories: ");
    assert!(error.starts_with(&expected) && error.contains(&support.trajectory), "{error}");
}

#[test]
fn a_context_for_given_parameters_maps_back_to_them() {
    let Trained { dataset, model, .. } = &*TRAINED;
    for wanted in [[0.6, 0.9], [1.1, 0.4]] {
        let known = paramill::forecast::context_of_parameters(model, &wanted).unwrap();
        let mapped = model.map.as_ref().unwrap().apply(&known.context);
        assert_relative_eq!(mapped.as_slice(), wanted.as_slice(), max_relative = 1e-6);
    }
    let unknown =
        paramill::forecast::context_of_environment(&Settings::default(), NATIVE, dataset, model, "adapt-0000", None);
    let message = unknown.unwrap_err().to_string();
    assert!(message.contains("no environment adapt-0000 in") && message.contains("such as adapt-00000"), "{message}");
}

#[test]
fn a_forecast_that_is_not_finite_and_a_context_far_away_are_told() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let environment = dataset.index(Split::Adapt).unwrap()[0].environment.clone();
    let settings = Settings::default();
    let known =
        paramill::forecast::context_of_environment(&settings, NATIVE, dataset, model, &environment, None).unwrap().0;
    let observed = dataset.read_rows(Split::Adapt, &[0]).unwrap().remove(0);
    assert_eq!(estimate::extrapolates(model, &known.context, 1.0), None);
    let far: Vec<f64> = known.context.iter().map(|xi| xi + 1e3).collect();
    assert!(estimate::extrapolates(model, &far, 1.0).unwrap().starts_with("context 0 is "));
    let error = paramill::forecast::forecast(NATIVE, model, &known, &[1e200, 1e200], &observed.times, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the forecast is not finite from time 0.5 on; start nearer to the training data, or look less far ahead"
    );
    let reversed = [("beta".to_owned(), Bounds { min: Some(5.0), max: Some(1.0) })];
    let error = rows_with(&Settings { bounds: reversed.into(), ..Settings::default() }).unwrap_err();
    assert_eq!(error.to_string(), "estimate.bounds.beta: found min 5 above max 1; expected the smaller one as min");
}
