//! Estimation by known equations: recovered parameters, honest errors, statuses, and the pipeline without a model.

#[path = "common/dataset.rs"]
mod common;
#[path = "physics/correlated.rs"]
mod correlated;
#[path = "physics/dosed_forecasts.rs"]
mod dosed_forecasts;
#[path = "physics/doses.rs"]
mod doses;
#[path = "physics/driven.rs"]
mod driven;
#[path = "physics/fields.rs"]
mod fields;
#[path = "physics/few.rs"]
mod few;
#[path = "physics/forecasts.rs"]
mod forecasts;
#[path = "physics/hidden.rs"]
mod hidden;
#[path = "physics/likelihood.rs"]
mod likelihood;
#[path = "physics/minima.rs"]
mod minima;
#[path = "common/model.rs"]
mod model;
#[path = "physics/models.rs"]
mod models;
#[path = "physics/profiles.rs"]
mod profiles;
#[path = "physics/scopes.rs"]
mod scopes;
#[path = "physics/stiff.rs"]
mod stiff;
#[path = "physics/stuck.rs"]
mod stuck;

use std::fs;
use std::path::Path;

use common::write;
use model::{dataset_of, files, generate, series, silently, with_threads};
use paramill::dataset::Dataset;
use paramill::estimate::{self, Error, Outcome, Row, Settings, Status, read_rows};
use paramill::schema::{Split, Trajectory};

const PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    trajectories = 1
    [splits.adapt]
    environments = "adapt"
    trajectories = 2
    [splits.adapt_test]
    environments = "adapt"
    trajectories = 2
    [splits.grid]
    environments = "grid"
    limit = 25
    trajectories = 1
"#;

const EXACT: &str = "method = \"physics\"\ninitial_state = \"observed\"";
const ESTIMATED: &str = "method = \"physics\"";

fn run(settings: &str, dataset: &Dataset, directory: &Path) -> Result<Outcome, Error> {
    let settings: Settings = toml::from_str(settings).unwrap();
    silently(|run| estimate::physics::run(&settings, dataset, directory, run))
}

fn rows(settings: &str, dataset: &Dataset, split: Split) -> Vec<Row> {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("estimates");
    let outcome = run(settings, dataset, &directory).unwrap();
    read_rows(&directory, &outcome.manifest, split).unwrap()
}

/// The dataset with these grid trajectories in place of its own.
fn with_grid(root: &Path, like: &Dataset, trajectories: Vec<Trajectory>) -> Dataset {
    let training = like.read(Split::Train).unwrap();
    dataset_of(&root.join("changed"), like.manifest(), vec![(Split::Train, training), (Split::Grid, trajectories)])
}

/// Root mean square of error over standard error, and over the bound.
fn ratios(rows: &[Row]) -> [f64; 2] {
    let all = || rows.iter().flat_map(|row| &row.parameters).filter(|it| it.standard_error.is_finite());
    let mean = |scale: &dyn Fn(&estimate::ParameterEstimate) -> f64| {
        let squares = all().map(|it| ((it.value - it.truth.unwrap()) / scale(it)).powi(2));
        (squares.sum::<f64>() / all().count() as f64).sqrt()
    };
    [mean(&|it| it.standard_error), mean(&|it| it.crlb.unwrap())]
}

#[test]
fn exact_data_give_exact_parameters() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let huber = format!("{EXACT}\nloss = \"huber\"");
    for settings in [EXACT, ESTIMATED, &huber] {
        let rows_of_grid = rows(settings, &dataset, Split::Grid);
        assert_eq!(rows_of_grid.len(), 25);
        for row in rows_of_grid {
            let points = if settings == ESTIMATED { 40 } else { 38 };
            assert_eq!((row.status, row.points), (Status::Ok, points), "{}: {}", row.environment, row.reason);
            assert!(row.parameter_mape().unwrap() < 1e-6, "{:?}", row.parameters);
            assert!(row.trajectory_rmse < 1e-7 && row.context.is_empty());
            let truth = row.parameters.iter().map(|it| it.truth.unwrap());
            assert_eq!(row.in_hull, Some(truth.into_iter().all(|p| (0.5..=1.0).contains(&p))));
            assert!(row.parameters.iter().all(|it| it.crlb.is_none() && it.standard_error < 1e-7));
        }
        for row in rows(settings, &dataset, Split::Adapt) {
            assert!(row.test_mse.unwrap() < 1e-13, "{:?}", row.test_mse);
        }
    }
}

/// What is drawn are the parameters of the row, and a fit of all where these do not explain the data as well as it says.
#[test]
fn a_portrait_is_drawn_from_its_row() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), &format!("{PAIRS}[observation]\nnoise = {{ x = 0.2, y = 0.02 }}\n"));
    for text in [ESTIMATED, EXACT, "method = \"physics\"\nloss = \"huber\""] {
        let row = rows(text, &dataset, Split::Grid).swap_remove(7);
        let settings: Settings = toml::from_str(text).unwrap();
        let portrait = |row: &Row| {
            silently(|run| estimate::physics::portrait(&settings, &dataset, Split::Grid, row, run)).unwrap()
        };
        let first = if text == EXACT { 2 } else { 0 };
        let rmse = |(observed, states): &(Trajectory, Vec<f64>)| {
            let errors = observed.states.iter().zip(states).skip(first).map(|(y, z)| (y - z).powi(2));
            (errors.clone().sum::<f64>() / errors.count() as f64).sqrt()
        };
        let drawn = portrait(&row);
        approx::assert_relative_eq!(rmse(&drawn), row.trajectory_rmse, max_relative = 1e-3);
        let mut other = row.clone();
        other.parameters[0].value *= 1.2;
        let fitted = portrait(&other);
        approx::assert_relative_eq!(rmse(&fitted), row.trajectory_rmse, max_relative = 1e-3);
        for (a, b) in drawn.1.iter().zip(&fitted.1) {
            approx::assert_relative_eq!(a, b, epsilon = 2e-3);
        }
        other.trajectory_rmse = 10.0;
        assert!(rmse(&portrait(&other)) > 1.1 * row.trajectory_rmse, "{text}");
    }
}

#[test]
fn errors_are_as_large_as_stated_and_no_smaller_than_the_bound() {
    let root = tempfile::tempdir().unwrap();
    for (noise, settings) in [
        ("noise = 0.05", ESTIMATED),
        ("noise = { x = 0.1, y = 0.01 }", ESTIMATED),
        ("relative_noise = 0.05", &format!("{ESTIMATED}\nnoise = \"proportional\"")),
    ] {
        let text = format!("{PAIRS}[observation]\n{noise}\n").replace("limit = 25", "limit = 225");
        let _ = fs::remove_dir_all(root.path().join("pairs"));
        let dataset = generate(root.path(), &text);
        let rows = rows(settings, &dataset, Split::Grid);
        assert!(rows.iter().all(|row| row.status == Status::Ok));
        let [of_errors, of_bounds] = ratios(&rows);
        // 450 estimates: the root mean square of as many normal draws errs by 1 / sqrt(900), here by four times that.
        assert!((of_errors - 1.0).abs() < 0.14, "{noise}: error over standard error {of_errors}");
        assert!((0.87..1.3).contains(&of_bounds), "{noise}: error over bound {of_bounds}");
    }
}

/// One value in each trajectory is wrong by far: least squares follow it, Huber's loss does not, and says how well it does.
#[test]
fn a_wrong_value_moves_least_squares_and_not_huber() {
    let root = tempfile::tempdir().unwrap();
    let text = format!("{PAIRS}[observation]\nnoise = 0.05\n").replace("limit = 25", "limit = 225");
    let dataset = generate(root.path(), &text);
    let huber = format!("{ESTIMATED}\nloss = \"huber\"");
    let clean = dataset.read(Split::Grid).unwrap();
    let dirty: Vec<Trajectory> = clean
        .iter()
        .enumerate()
        .map(|(e, trajectory)| {
            let mut dirty = trajectory.clone();
            dirty.states[(11 * e) % 40] += [5.0, 200.0][e % 2];
            dirty
        })
        .collect();
    let changed = with_grid(root.path(), &dataset, dirty);
    let error = |rows: &[Row]| {
        let errors = rows.iter().flat_map(|row| &row.parameters).map(|it| (it.value / it.truth.unwrap() - 1.0).abs());
        let mut errors: Vec<f64> = errors.map(|error| if error.is_nan() { f64::INFINITY } else { error }).collect();
        errors.sort_by(f64::total_cmp);
        errors[errors.len() / 2]
    };
    let squares = rows(ESTIMATED, &dataset, Split::Grid);
    let of_clean = error(&squares);
    let moved = error(&rows(ESTIMATED, &changed, Split::Grid));
    assert!(moved > 4.0 * of_clean, "{moved} beside {of_clean}");
    for (dataset, most) in [(&dataset, 1.15), (&changed, 1.3)] {
        let rows = rows(&huber, dataset, Split::Grid);
        let good: Vec<Row> = rows.iter().filter(|row| row.status == Status::Ok).cloned().collect();
        assert!(
            good.len() >= 220,
            "{} of {}: {:?}",
            good.len(),
            rows.len(),
            rows.iter().find(|it| it.status.is_failure())
        );
        assert!(error(&rows) < most * of_clean, "{} beside {of_clean}", error(&rows));
        // Half of the errors of normal estimates are within 0.6745 standard errors; of 450 draws the median errs by 5 %.
        let of_parameter = |it: &estimate::ParameterEstimate| (it.value - it.truth.unwrap()).abs() / it.standard_error;
        let mut over: Vec<f64> = good.iter().flat_map(|row| row.parameters.iter().map(of_parameter)).collect();
        over.sort_by(f64::total_cmp);
        let middle = over[over.len() / 2] / 0.6745;
        assert!((middle - 1.0).abs() < 0.15, "error over standard error {middle}");
        let beyond = over.iter().filter(|ratio| ratio.is_nan() || **ratio > 3.0).count() as f64 / over.len() as f64;
        // Of 40 values, where one is wrong by as much as all others vary, another minimum is sometimes the lower one.
        assert!(beyond < 0.04, "{beyond} beyond three standard errors");
        let noise = good.iter().map(|row| row.noise[0]).sum::<f64>() / good.len() as f64;
        assert!((noise / 0.05 - 1.0).abs() < 0.2, "{noise}");
    }
}

#[test]
fn missing_cells_count_for_nothing() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let mut holed = dataset.read(Split::Grid).unwrap();
    for trajectory in &mut holed {
        // One cell of the first sample is missing too: its initial value is then unknown.
        trajectory.states.iter_mut().step_by(3).for_each(|cell| *cell = f64::NAN);
    }
    let dataset = with_grid(root.path(), &dataset, holed);
    for (settings, points) in [(EXACT, 25), (ESTIMATED, 26)] {
        for row in rows(settings, &dataset, Split::Grid) {
            assert_eq!((row.status, row.points), (Status::Ok, points), "{}", row.reason);
            assert!(row.parameter_mape().unwrap() < 1e-6, "{:?}", row.parameters);
        }
    }
}

#[test]
fn what_cannot_be_estimated_says_why_and_changes_no_other_row() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let good = dataset.read(Split::Grid).unwrap();
    let alone = rows(EXACT, &dataset, Split::Grid);
    let growing: Vec<[f64; 2]> = (0..20).map(|t| [(0.25 * f64::from(t)).exp(), 0.0]).collect();
    let random: Vec<[f64; 2]> =
        (0..20).map(|t| [(7.3 * f64::from(t)).sin() + 2.0, (5.1 * f64::from(t)).cos() + 2.0]).collect();
    let strange = [
        series("a nothing", &[[1.0, 2.0], [f64::NAN, 2.0]]),
        series("b at rest", &[[2.0 / 3.0, 2.0 / 3.0]; 20]),
        series("c beyond numbers", &[[1e200, 1e200]; 3]),
        series("d prey alone", &growing),
        series("e no such equations", &random),
        series("f never observed", &[[f64::NAN; 2]; 5]),
        series("g tiny", &growing.iter().map(|state| state.map(|value| value * 1e-300)).collect::<Vec<_>>()),
        series("h one sample", &[[1.0, 2.0]]),
        series("i no sample", &[]),
    ];
    let mut all = good.clone();
    all.extend(strange);
    let found = rows(EXACT, &with_grid(root.path(), &dataset, all.clone()), Split::Grid);
    assert!(alone.iter().all(|row| found.contains(row)));
    let row = |name: &str| found.iter().find(|row| row.environment.starts_with(name)).unwrap();
    let said = |name: &str| (row(name).status, row(name).reason.as_str());
    assert_eq!(said("a"), (Status::TooFewPoints, "1 observed values for 2 unknowns"));
    // One value with all its digits does not say how exact it is.
    assert_eq!(row("b").status, Status::Unidentifiable);
    assert!(row("b").reason.contains("has one value at all samples"), "{}", row("b").reason);
    assert!(row("b").parameter_mape().unwrap() < 1e-5, "{:?}", row("b").parameters);
    for (name, size) in [("c", "`x` has values of about 1e200"), ("g", "`x` has values of about 1e-298")] {
        assert_eq!(row(name).status, Status::Diverged);
        assert!(row(name).reason.contains(size), "{}", row(name).reason);
    }
    assert_eq!(said("d"), (Status::Unidentifiable, "the data do not determine beta, delta"));
    assert!(row("d").parameters.iter().all(|it| it.value.is_nan()));
    assert_eq!(row("e").status, Status::NotConverged);
    assert_eq!(row("f").status, Status::NoData, "{}", row("f").reason);
    assert_eq!((row("h").status, row("i").status), (Status::TooFewPoints, Status::NoData));

    let bounded = rows(&format!("{EXACT}\nbounds = {{ beta = {{ max = 0.6 }} }}"), &dataset, Split::Grid);
    for (bounded, free) in bounded.iter().zip(&alone) {
        let beyond = free.parameters[0].value > 0.6;
        assert_eq!(bounded.status == Status::AtBound, beyond, "{}", bounded.reason);
        assert_eq!(bounded.parameters[0].value == 0.6, beyond);
    }
    let first = rows(&format!("{EXACT}\niterations = 1\ntolerance = 1e-12"), &dataset, Split::Grid);
    assert!(first.iter().any(|row| row.status == Status::NotConverged && row.reason.contains("1 iterations")));
}

#[test]
fn neither_threads_nor_company_change_a_byte() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), &format!("{PAIRS}[observation]\nnoise = 0.05\n"));
    let made = |threads: usize| {
        let directory = root.path().join(format!("estimates-{threads}"));
        with_threads(threads, || run(ESTIMATED, &dataset, &directory).unwrap());
        files(&directory)
    };
    assert_eq!(made(1), made(2));
    let few: Vec<Trajectory> = dataset.read(Split::Grid).unwrap().into_iter().step_by(3).collect();
    let all = rows(ESTIMATED, &dataset, Split::Grid);
    let some = rows(ESTIMATED, &with_grid(root.path(), &dataset, few), Split::Grid);
    assert!(some.len() == 9 && some.iter().all(|row| all.contains(row)));
}

/// Work is counted, not timed: what is given up is so everywhere, and holds up no other.
#[test]
fn a_slow_environment_is_given_up_and_changes_no_other_row() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let mut all = dataset.read(Split::Grid).unwrap();
    all.truncate(5);
    let mut slow = all[2].clone();
    slow.environment = "a slow".to_owned();
    slow.times.iter_mut().for_each(|time| *time *= 1e6);
    let alone = rows(ESTIMATED, &with_grid(root.path(), &dataset, all.clone()), Split::Grid);
    all.push(slow);
    let dataset = with_grid(root.path(), &dataset, all);
    for (limit, status, reason) in [
        (20_000, Status::NotConverged, "stopped at the limit of 20000 evaluations of the equations"),
        (10_000_000, Status::Diverged, "10000 steps led only to time"),
    ] {
        let settings = format!("{ESTIMATED}\nphysics = {{ max_evaluations = {limit} }}");
        let found = rows(&settings, &dataset, Split::Grid);
        assert_eq!(found[0].status, status, "{}", found[0].reason);
        assert!(found[0].reason.contains(reason), "{}", found[0].reason);
        assert_eq!(found[1..], alone);
    }
}

/// Seven states, of which all initial values are unknown: more directions than are differentiated together.
#[test]
fn a_stiffer_system_of_more_states_is_fitted() {
    let root = tempfile::tempdir().unwrap();
    let text = r#"
        dataset = "pairs"
        system = "glycolytic-oscillator"
        [splits.train]
        environments = "train"
        trajectories = 1
        [splits.adapt]
        environments = "adapt"
        trajectories = 3
    "#;
    let dataset = generate(root.path(), text);
    for settings in [EXACT, ESTIMATED] {
        for row in rows(settings, &dataset, Split::Adapt) {
            assert_eq!(row.status, Status::Ok, "{}", row.reason);
            assert!(row.parameter_mape().unwrap() < 1e-4, "{:?}", row.parameters);
        }
    }
}

const COOLING: &str = r#"
    name = "cooling"
    horizon = 10.0
    time_step = 0.5
    states = [{ name = "warmth", derivative = "-rate * (warmth - room)", initial = [50.0, 90.0] }]
    parameters = [
        { name = "room", lower = -50.0, upper = 50.0 },
        { name = "rate", lower = 0.001, upper = 5.0 },
    ]
    environments = { all = { room = [-20.0, 0.0, 20.0], rate = [0.1, 0.5] } }
"#;

#[test]
fn equations_of_a_user_are_fitted_and_what_is_known_stays() {
    let root = tempfile::tempdir().unwrap();
    let system: toml::Table = toml::from_str(COOLING).unwrap();
    let mut settings: toml::Table =
        toml::from_str("dataset = \"pairs\"\nsplits.grid = { environments = \"all\", trajectories = 1 }").unwrap();
    settings.insert("system".to_owned(), toml::Value::Table(system.clone()));
    let dataset = generate(root.path(), &toml::to_string(&settings).unwrap());
    for row in rows(EXACT, &dataset, Split::Grid) {
        assert_eq!((row.status, row.in_hull), (Status::Ok, None), "{}", row.reason);
        for parameter in &row.parameters {
            let error = (parameter.value - parameter.truth.unwrap()).abs();
            assert!(error < 1e-6, "{:?}", row.parameters);
        }
    }
    let known = rows(&format!("{EXACT}\nphysics = {{ fixed = {{ room = 20.0 }} }}"), &dataset, Split::Grid);
    for row in known.iter().filter(|row| row.environment.ends_with('4') || row.environment.ends_with('5')) {
        assert_eq!((row.status, row.parameters.len()), (Status::Ok, 1));
        assert!(row.parameter_mape().unwrap() < 1e-6, "{:?}", row.parameters);
    }
}

#[test]
fn settings_that_do_not_fit_the_dataset_are_refused_with_all_problems() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let refused = |settings: &str| {
        let error = run(&format!("{EXACT}\n{settings}"), &dataset, &root.path().join("estimates")).map(|_| ());
        error.unwrap_err().to_string()
    };
    let other = refused("physics = { system = \"glycolytic-oscillator\", fixed = { k2 = 1.0, k1 = 1e9 } }");
    for part in ["fixed.k1", "fixed.k2", "one of k1 or K1", "the state `S1`", "the state `S7`"] {
        assert!(other.contains(part), "{part} in {other}");
    }
    let fields = refused("physics = { system = \"gray-scott\" }");
    assert!(fields.contains("found `gray-scott` on 32 points 1 apart"), "{fields}");
    assert!(refused("physics = { system = \"lotka\" }").contains("did you mean `lotka-volterra`?"));
    assert!(refused("physics = { fixed = { beta = 0.5, delta = 0.5 } }").contains("one at least"));
    assert!(refused("bounds = { delta = { min = 20.0 } }").contains("bounds that overlap"));
    assert!(refused("bounds = { gamma = { min = 0.1 } }").contains("the parameter `gamma`"));
    assert!(!root.path().join("estimates").exists());

    let mut measured = dataset.manifest().clone();
    measured.provenance.stage = "import".to_owned();
    let directory = root.path().join("measured");
    write(&directory, measured, &[(Split::Grid, dataset.read(Split::Grid).unwrap())]);
    let measured = Dataset::open(&directory).unwrap();
    let error = run(EXACT, &measured, &root.path().join("estimates")).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("estimate.physics.system: found nothing"), "{error}");
    let named = rows(&format!("{EXACT}\nphysics = {{ system = \"lotka-volterra\" }}"), &measured, Split::Grid);
    assert!(named.iter().all(|row| row.status == Status::Ok && row.parameter_mape().unwrap() < 1e-6));
}

/// The pipeline from nothing, at a small size: no model, yet a report; then nothing is left to do.
#[test]
fn the_pipeline_needs_no_model() {
    let place = tempfile::tempdir().unwrap();
    let pipeline = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/lv-physics.toml");
    let paramill = |more: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("paramill").unwrap();
        command.current_dir(place.path()).arg("run").arg(&pipeline).args(["--quiet", "--json"]);
        command.args(["--set", "generate.splits.grid.limit=100"]).args(more);
        let output = command.assert().success().get_output().stdout.clone();
        serde_json::from_slice::<serde_json::Value>(&output).unwrap()
    };
    let made = paramill(&[]);
    let stages: Vec<&str> = made["stages"].as_array().unwrap().iter().map(|it| it["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["generate", "estimate", "report"]);
    assert_eq!((made["environments"].as_u64(), made["environments_failed"].as_u64()), (Some(104), Some(0)));
    assert!(made["summary"]["param_mape_overall"].as_f64().unwrap() < 1e-6);
    let report = place.path().join("runs/lv-physics/report");
    assert!(report.join("index.html").exists() && report.join("parameter-error-map.svg").exists());
    assert!(!place.path().join("runs/lv-physics/models").exists());
    let mut show = assert_cmd::Command::cargo_bin("paramill").unwrap();
    let shown = show.current_dir(place.path()).args(["show", "runs/lv-physics/estimates"]).assert().success();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    assert!(shown.contains("grid: 100 environments") && shown.contains("and 50 more in runs/lv-physics"), "{shown}");
    assert!(shown.contains("0.2500 [0.2500, 0.2500]"), "{shown}");
    let again = paramill(&[]);
    assert!(again["stages"].as_array().unwrap().iter().all(|it| it["action"] == "keep"), "{again}");
}

/// An archive in which some sensors were dead, stuck or mad: each has its status, the other rows stay, and the exit code says that some failed.
#[test]
fn an_archive_survives_its_worst_environments() {
    let root = tempfile::tempdir().unwrap();
    let good: Vec<Trajectory> = generate(root.path(), PAIRS).read(Split::Grid).unwrap().into_iter().take(6).collect();
    let mut text = "pair,t,x,y\n".to_owned();
    for trajectory in &good {
        for (t, time) in trajectory.times.iter().enumerate() {
            let state = trajectory.state(t);
            text += &format!("{},{time},{},{}\n", trajectory.environment, state[0], state[1]);
        }
    }
    let estimated = |name: &str, text: &str, code: i32| {
        let place = root.path().join(name);
        fs::create_dir(&place).unwrap();
        fs::write(place.join("pairs.csv"), text).unwrap();
        let pipeline = r#"
            [import]
            dataset = "measured"
            directory = "."
            time_unit = "1"
            table = { file = "pairs.csv", environment = "pair", time = "t", missing = ["NaN"] }
            channels = [{ column = "x", name = "x", unit = "1" }, { column = "y", name = "y", unit = "1" }]
            splits = { adapt = ["*"] }
            [estimate]
            method = "physics"
            fitted = true
            initial_state = "observed"
            physics = { system = "lotka-volterra" }
            [report]
        "#;
        fs::write(place.join("measured.toml"), pipeline).unwrap();
        let mut command = assert_cmd::Command::cargo_bin("paramill").unwrap();
        command.current_dir(&place).args(["run", "measured.toml", "--quiet"]).assert().code(code);
        let estimates = place.join("runs/measured/estimates");
        let (manifest, _) = estimate::Manifest::read(&estimates).unwrap();
        assert!(estimate::verify(&estimates).is_empty());
        read_rows(&estimates, &manifest, Split::Adapt).unwrap()
    };
    let alone = estimated("alone", &text, 0);
    assert!(alone.iter().all(|row| row.status == Status::Ok), "{alone:?}");
    let mut with = text;
    for t in 0..20 {
        with +=
            &format!("dead,{t},NaN,NaN\nmad,{t},{},{}\nstuck,{t},2.5,2.5\n", 1e3f64.powi(t % 7), 1e-3f64.powi(t % 5));
    }
    let found = estimated("with", &with, 4);
    assert_eq!(found.len(), alone.len() + 3);
    let told = |row: &Row| format!("{row:?}"); // NaN is equal to nothing, but reads alike
    assert!(alone.iter().all(|row| found.iter().any(|other| told(other) == told(row))));
    let row = |name: &str| found.iter().find(|row| row.environment == name).unwrap();
    assert_eq!(row("dead").status, Status::NoData);
    assert!(row("mad").status.is_failure(), "{:?}", row("mad"));
    // Nobody can tell a stuck sensor from a system at rest: these equations rest there where 0.5 = beta y = delta x.
    assert_eq!(row("stuck").status, Status::Ok);
    row("stuck").parameters.iter().for_each(|it| approx::assert_relative_eq!(it.value, 0.2, max_relative = 1e-6));
}
