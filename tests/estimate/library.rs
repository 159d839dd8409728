//! What another program calls: estimates of what it has in memory are those that a dataset gets.

use paramill::estimate::physics as on_disk;
use paramill::estimate::{Error, Row, Settings, Status};
use paramill::schema::{Between, Split, Trajectory};
use paramill::{Model, physics, systems};

use super::model::silently;
use super::{NATIVE, TRAINED, Trained, estimate_with};

/// The rows without what needs held-out trajectories or the noise of the simulation.
fn comparable(rows: Vec<Row>) -> Vec<String> {
    let without = |mut row: Row| {
        row.test_mse = None;
        row.parameters.iter_mut().for_each(|it| it.crlb = None);
        format!("{row:?}")
    };
    rows.into_iter().map(without).collect()
}

#[test]
fn a_model_estimates_in_memory_as_on_disk() {
    let Trained { dataset, model, directory } = &*TRAINED;
    let place = tempfile::tempdir().unwrap();
    let expected = estimate_with(&Settings::default(), dataset, model, &place.path().join("rows"), Split::Adapt);
    let opened = Model::open(directory).unwrap();
    assert_eq!(opened.parameters().len(), 2);
    let rows = opened.estimate(&dataset.read(Split::Adapt).unwrap()).unwrap();
    assert_eq!(comparable(rows), comparable(expected));
}

#[test]
fn a_model_foretells_by_parameters() {
    let Trained { dataset, model, directory } = &*TRAINED;
    let opened = Model::open(directory).unwrap();
    let observed = dataset.read_rows(Split::Test, &[0]).unwrap().remove(0);
    let parameters: Vec<f64> = observed.parameters.iter().map(|it| it.unwrap()).collect();
    let forecast = opened.forecast(&parameters, observed.state(0), &observed.times, &[]).unwrap();
    let known = paramill::forecast::context_of_parameters(model, &parameters).unwrap();
    let expected =
        paramill::forecast::forecast(NATIVE, model, &known, observed.state(0), &observed.times, &[]).unwrap();
    assert_eq!(forecast.states, expected.states);
    let refused = |parameters: &[f64], initial: &[f64], times: &[f64], inputs: &[f64]| {
        opened.forecast(parameters, initial, times, inputs).unwrap_err().to_string()
    };
    assert_eq!(refused(&[1.0], &[1.0, 1.0], &[0.0], &[]), "found 1 parameters; expected 2");
    assert_eq!(refused(&parameters, &[1.0], &[0.0], &[]), "found 1 values of the initial state; expected 2");
    assert_eq!(refused(&parameters, &[1.0, 1.0], &[0.0], &[2.0]), "found 1 values of inputs; expected 0");
    assert!(refused(&parameters, &[1.0, 1.0], &[0.0, 0.0], &[]).contains("times that increase"));
    assert!(refused(&parameters, &[1.0, 1.0], &[], &[]).contains("at least one time"));
}

#[test]
fn equations_are_fitted_in_memory_as_on_disk() {
    let Trained { dataset, .. } = &*TRAINED;
    let system = systems::find("lotka-volterra").unwrap();
    let mut trajectories = dataset.read(Split::Adapt).unwrap();
    let rows = physics::fit(&system, &trajectories).unwrap();
    for row in &rows {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        for parameter in &row.parameters {
            let truth = parameter.truth.unwrap();
            assert!((parameter.value - truth).abs() < 1e-5 * truth, "{} for {truth}", parameter.value);
        }
    }
    // On disk the fits start from the known parameters of the training environments: another way to the same minimum.
    let place = tempfile::tempdir().unwrap();
    let settings = Settings { splits: vec![Split::Adapt], ..Settings::default() };
    let outcome = silently(|run| on_disk::run(&settings, dataset, &place.path().join("rows"), run)).unwrap();
    let expected = paramill::estimate::read_rows(&place.path().join("rows"), &outcome.manifest, Split::Adapt).unwrap();
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(row.environment, expected.environment);
        for (one, other) in row.parameters.iter().zip(&expected.parameters) {
            approx::assert_relative_eq!(one.value, other.value, max_relative = 1e-6);
        }
    }
    // What is not known of an environment may be left out.
    trajectories.iter_mut().for_each(|it| it.parameters = Vec::new());
    let unknown = physics::fit(&system, &trajectories).unwrap();
    assert!(unknown.iter().zip(&rows).all(|(a, b)| a.parameters[0].value == b.parameters[0].value));
    assert!(unknown.iter().all(|row| row.parameters.iter().all(|it| it.truth.is_none())));
}

#[test]
fn trajectories_that_do_not_fit_are_all_named() {
    let Trained { dataset, directory, .. } = &*TRAINED;
    let good = dataset.read_rows(Split::Adapt, &[0]).unwrap().remove(0);
    let short = Trajectory { states: good.states[..4].to_vec(), trajectory: "short".to_owned(), ..good.clone() };
    let mut turned = Trajectory { trajectory: "turned".to_owned(), ..good.clone() };
    turned.times.swap(0, 1);
    let driven = Trajectory { inputs: vec![1.0], trajectory: "driven".to_owned(), ..good.clone() };
    let trajectories = [good, short, turned, driven];
    let system = systems::find("lotka-volterra").unwrap();
    let by_equations = physics::fit(&system, &trajectories).unwrap_err();
    let by_model = Model::open(directory).unwrap().estimate(&trajectories).unwrap_err();
    for error in [by_equations, by_model] {
        let Error::Trajectories(problems) = &error else { panic!("{error}") };
        for (name, what) in [("short", "state values"), ("turned", "strictly increasing"), ("driven", "input")] {
            let found = |problem: &&String| problem.contains(&format!("trajectory `{name}`")) && problem.contains(what);
            assert!(problems.iter().any(|problem| found(&problem)), "{name}: {problems:?}");
        }
        assert!(problems.iter().all(|problem| !problem.contains("trajectory `0`")), "{problems:?}");
    }
}

#[test]
fn settings_that_do_not_fit_the_system_are_refused() {
    let system = systems::find("lotka-volterra").unwrap();
    let fixed = [("gamma".to_owned(), 1.0)].into();
    let physics = Some(paramill::estimate::PhysicsSettings { fixed, ..Default::default() });
    let settings = Settings { physics, ..Settings::default() };
    let error = physics::fit_with(&settings, &system, Between::Linear, &[]).unwrap_err();
    assert!(error.to_string().contains("fixed.gamma"), "{error}");
}
