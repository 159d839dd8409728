//! Parameters of partial differential equations, by differences of simulations.

use std::fs;

use paramill::dataset::Dataset;
use paramill::estimate::{Error, Row, Settings, Status, physics};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::schema::Split;

use super::common::write;
use super::model::generate;
use super::{ESTIMATED, rows, run};

fn fields(system: &str, horizon: f64, time_step: f64) -> String {
    format!(
        r#"
        dataset = "pairs"
        system = "{system}"
        horizon = {horizon}
        time_step = {time_step}
        [splits.train]
        environments = "train"
        limit = 1
        trajectories = 1
        [splits.adapt]
        environments = "adapt"
        limit = 2
        trajectories = 1
        [splits.adapt_test]
        environments = "adapt"
        limit = 2
        trajectories = 1
        "#
    )
}

#[test]
fn parameters_of_fields_are_recovered() {
    for (system, horizon, time_step, points) in
        [("gray-scott", 80.0, 20.0, 3 * 2048), ("navier-stokes", 1.0, 0.25, 3 * 1024)]
    {
        let root = tempfile::tempdir().unwrap();
        let dataset = generate(root.path(), &fields(system, horizon, time_step));
        let found = rows(ESTIMATED, &dataset, Split::Adapt);
        assert_eq!(found.len(), 2);
        for row in &found {
            assert_eq!((row.status, row.points), (Status::Ok, points), "{}", row.reason);
            assert!(row.parameter_mape().unwrap() < 1e-3, "{:?}", row.parameters);
            assert!(row.trajectory_rmse < 1e-6 && row.iterations < 100, "{} {}", row.trajectory_rmse, row.iterations);
        }
        assert!(found.iter().all(|row| row.test_mse.unwrap() < 1e-12), "{:?}", found[0].test_mse);
    }
}

#[test]
fn noise_on_fields_gives_honest_errors() {
    let root = tempfile::tempdir().unwrap();
    let exact = generate(root.path(), &fields("gray-scott", 80.0, 20.0));
    let mut trajectories = exact.read(Split::Adapt).unwrap();
    for (e, trajectory) in trajectories.iter_mut().enumerate() {
        let mut stream = paramill::random::Stream::new(7, "fields", &[e as u64]);
        // All but the first sample, where the simulation starts.
        trajectory.states[2048..].iter_mut().for_each(|value| *value += 0.01 * stream.normal());
        trajectory.states[3 * 2048 + 17 * e] = f64::NAN;
    }
    let directory = root.path().join("noisy");
    write(&directory, exact.manifest().clone(), &[(Split::Adapt, trajectories)]);
    for row in rows(ESTIMATED, &Dataset::open(&directory).unwrap(), Split::Adapt) {
        assert_eq!((row.status, row.points), (Status::Ok, 3 * 2048 - 1), "{}", row.reason);
        for parameter in &row.parameters {
            let error = (parameter.value - parameter.truth.unwrap()).abs();
            assert!(error < 4.0 * parameter.standard_error, "{parameter:?}");
            assert!(parameter.standard_error < 0.02 * parameter.value, "{parameter:?}");
        }
        assert!(row.noise.iter().all(|noise| (noise / 0.01 - 1.0).abs() < 0.06), "{:?}", row.noise);
    }
}

#[test]
fn what_fields_have_no_estimate_for_is_refused_and_a_fit_stops_where_it_is_asked_to() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), &fields("gray-scott", 80.0, 40.0));
    let directory = root.path().join("estimates");
    let refused = |settings: &str, dataset: &Dataset| run(settings, dataset, &directory).map(|_| ()).unwrap_err();
    let error = refused(&format!("{ESTIMATED}\ninitial_state = \"estimated\""), &dataset);
    assert!(matches!(error, Error::EstimatedFields), "{error}");

    let mut coarse = dataset.manifest().clone();
    coarse.provenance.stage = "import".to_owned();
    coarse.grid.as_mut().unwrap().axes[0].spacing = 2.0;
    let changed = root.path().join("coarse");
    write(&changed, coarse, &[(Split::Adapt, dataset.read(Split::Adapt).unwrap())]);
    let error =
        refused(&format!("{ESTIMATED}\nphysics = {{ system = \"gray-scott\" }}"), &Dataset::open(&changed).unwrap());
    let text = error.to_string();
    assert!(text.contains("`gray-scott` on 32 points 1 apart") && text.contains("32 points 2 apart"), "{text}");
    assert!(!directory.exists() && fs::exists(&changed).unwrap());

    let interrupt = Interrupt::new();
    interrupt.request(2);
    let stopping = Run { observer: &Silent, interrupt: &interrupt };
    let settings: Settings = toml::from_str(ESTIMATED).unwrap();
    let row = Row {
        environment: dataset.index(Split::Adapt).unwrap()[0].environment.clone(),
        status: Status::Ok,
        reason: String::new(),
        context: Vec::new(),
        model: None,
        parameters: Vec::new(),
        correlations: Vec::new(),
        noise: Vec::new(),
        noise_terms: Vec::new(),
        likelihood: None,
        autocorrelation: Vec::new(),
        trajectory_rmse: 0.0,
        trajectory_mape: 0.0,
        test_mse: None,
        points: 0,
        degrees_of_freedom: 0.0,
        iterations: 0,
        minima: None,
        in_hull: None,
    };
    let stopped = physics::portrait(&settings, &dataset, Split::Adapt, &row, &stopping).map(|_| ());
    assert!(matches!(stopped, Err(Error::Interrupted { signal: 2 })), "{stopped:?}");
}
