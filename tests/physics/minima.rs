//! Which minimum a fit ends at, and what is said of it: several minima, stiff equations, bounds, and data that the equations do not explain.

use std::f64::consts::TAU;
use std::path::Path;

use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{Row, Status};
use paramill::schema::{Quantity, Split, Trajectory};

use super::common::manifest;
use super::model::{dataset_of, generate};
use super::{rows, run};

/// Simulated with noise, and fitted without any known parameters to start from.
fn fitted(root: &Path, system: &str, noise: &str) -> Vec<Row> {
    let mut settings: toml::Table = toml::from_str(&format!(
        "dataset = \"pairs\"\nsplits.grid = {{ environments = \"all\", trajectories = 1 }}\nobservation.noise = {noise}"
    ))
    .unwrap();
    settings.insert("system".to_owned(), toml::Value::Table(toml::from_str(system).unwrap()));
    let _ = std::fs::remove_dir_all(root.join("pairs"));
    let dataset = generate(root, &toml::to_string(&settings).unwrap());
    rows("method = \"physics\"", &dataset, Split::Grid)
}

/// Whether a parameter lies beyond five of its standard errors.
fn is_wrong(row: &Row) -> bool {
    row.parameters.iter().any(|it| (it.value - it.truth.unwrap()).abs() > 5.0 * it.standard_error)
}

const OSCILLATOR: &str = r#"
    name = "oscillator"
    horizon = 10.0
    time_step = 0.1
    states = [
        { name = "x", derivative = "v", initial = [1.0, 2.0] },
        { name = "v", derivative = "-w^2 * x - damping * v", initial = [-1.0, 1.0] },
    ]
    parameters = [{ name = "w", lower = 0.1, upper = 50.0 }, { name = "damping", lower = 0.001, upper = 5.0 }]
    environments = { all = { w = [2.0, 5.0, 8.0, 11.0], damping = [0.1, 0.3] } }
"#;

const RELAXATION: &str = r#"
    name = "relaxation"
    horizon = 20.0
    time_step = 0.25
    states = [
        { name = "x", derivative = "y", initial = [1.5, 2.0] },
        { name = "y", derivative = "mu * (1 - x^2) * y - w * x", initial = [-0.5, 0.5] },
    ]
    parameters = [{ name = "mu", lower = 0.5, upper = 200.0 }, { name = "w", lower = 0.1, upper = 10.0 }]
    environments = { all = { mu = [2.0, 4.0, 6.0], w = [0.8, 1.2] } }
"#;

const EXCHANGE: &str = r#"
    name = "exchange"
    horizon = 4.0
    time_step = 0.1
    states = [
        { name = "a", derivative = "-k1 * a + k2 * b", initial = [1.0, 1.0] },
        { name = "b", derivative = "k1 * a - k2 * b - k3 * b^2", initial = [0.0, 0.0] },
    ]
    parameters = [
        { name = "k1", lower = 0.1, upper = 1000.0 },
        { name = "k2", lower = 0.1, upper = 10000.0 },
        { name = "k3", lower = 0.1, upper = 10000.0 },
    ]
    environments = { all = { k1 = [5.0, 15.0], k2 = [60.0], k3 = [30.0, 80.0] } }
"#;

#[test]
fn the_best_of_many_minima_is_found_and_no_other_is_ok() {
    let root = tempfile::tempdir().unwrap();
    let (mut all, mut ok) = (0, 0);
    for (system, noise) in
        [(OSCILLATOR, "{ x = 0.05, v = 0.3 }"), (RELAXATION, "0.01"), (EXCHANGE, "{ a = 0.005, b = 0.0005 }")]
    {
        let rows = fitted(root.path(), system, noise);
        all += rows.len();
        for row in rows.iter().filter(|row| row.status == Status::Ok) {
            assert!(!is_wrong(row), "{row:?}");
            ok += 1;
        }
    }
    assert!(ok + 1 >= all && all == 18, "{ok} of {all}");
}

/// Absorption and elimination of a drug exchanged give the same curve, in another volume.
const ORAL: &str = r#"
    name = "oral"
    horizon = 12.0
    time_step = 0.5
    states = [{ name = "c", derivative = "320 / volume * absorption * exp(-absorption * t) - elimination * c", initial = [0.0, 0.0] }]
    parameters = [
        { name = "absorption", lower = 0.05, upper = 20.0 },
        { name = "elimination", lower = 0.005, upper = 1.0 },
        { name = "volume", lower = 1.0, upper = 500.0 },
    ]
    environments = { all = { absorption = [1.5], elimination = [0.1, 0.2], volume = [40.0, 70.0] } }
"#;

#[test]
fn two_minima_that_explain_the_data_alike_are_both_named() {
    let root = tempfile::tempdir().unwrap();
    for row in fitted(root.path(), ORAL, "0.02") {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        assert!(!is_wrong(&row), "{:?}", row.parameters);
    }
    for row in fitted(root.path(), &ORAL.replace("upper = 1.0 ", "upper = 10.0 "), "0.02") {
        assert_eq!(row.status, Status::Ambiguous);
        assert!(!row.status.is_failure() && row.minima.unwrap().second.unwrap() < 6.0, "{row:?}");
        let volume = row.parameters[2].truth.unwrap();
        assert!(row.reason.contains("explain the data as well as"), "{}", row.reason);
        // The volumes differ by the ratio of the two rates.
        let volumes: Vec<f64> = row
            .reason
            .split("volume ")
            .skip(1)
            .map(|text| text.split([' ', ';']).next().unwrap().parse().unwrap())
            .collect();
        let other = volume * row.parameters[1].truth.unwrap() / 1.5;
        for expected in [volume, other] {
            assert!(volumes.iter().any(|it| (it / expected - 1.0).abs() < 0.1), "{expected} in {}", row.reason);
        }
    }
}

#[test]
fn a_parameter_whose_sign_changes_nothing_is_not_ok() {
    let root = tempfile::tempdir().unwrap();
    let dataset = decays(root.path(), vec![decay("a", 0.5, 40, |_| 0.0)]);
    let signed = RATE.replace("0.1", "-2.0");
    let row = rows(&leak(&signed, "-rate^2 * level"), &dataset, Split::Adapt).remove(0);
    assert_eq!(row.status, Status::Ambiguous, "{row:?}");
    assert!(row.reason.contains("rate -7.0") && row.reason.contains("rate 7.0"), "{}", row.reason);
}

/// All that varies is noise: the constant is the right fit.
#[test]
fn a_system_at_rest_is_fitted() {
    let root = tempfile::tempdir().unwrap();
    let mut rest = decay("a", 0.0, 40, |_| 0.0);
    rest.parameters = vec![Some(2.0)];
    let dataset = decays(root.path(), vec![rest]);
    let inflow = RATE.replace("upper = 2.0", "upper = 20.0");
    let row = rows(&leak(&inflow, "rate - level"), &dataset, Split::Adapt).remove(0);
    assert_eq!(row.status, Status::Ok, "{row:?}");
    assert!((row.parameters[0].value - 2.0).abs() < 0.003 && !is_wrong(&row), "{row:?}");
}

#[test]
fn a_parameter_that_is_named_like_a_column_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let dataset = decays(root.path(), vec![decay("a", 0.5, 40, |_| 0.0)]);
    for name in ["status", "noise_level", "points"] {
        let settings = leak(&RATE.replace("rate", name), &format!("-{name} * level"));
        let refused = run(&settings, &dataset, &root.path().join("estimates")).map(|_| ()).unwrap_err().to_string();
        let expected = format!("the column `{name}` of the table of estimates twice");
        assert!(refused.contains(&expected) && refused.contains(&format!("the parameter `{name}`")), "{refused}");
    }
}

/// Robertson's reactions from rounded data, which explicit methods cannot follow far.
#[test]
fn what_explicit_methods_cannot_follow_is_fitted() {
    let root = tempfile::tempdir().unwrap();
    let states = [
        [1.0, 0.0, 0.0],
        [0.996_077_66, 3.580_4e-5, 0.003_886_5],
        [0.985_172_1, 3.386_39e-5, 0.014_794],
        [0.941_6, 2.70e-5, 0.058_4],
        [0.905_5, 2.24e-5, 0.094_5],
        [0.715_8, 9.185e-6, 0.284_2],
    ];
    let names = ["y1", "y2", "y3"];
    let manifest = Manifest {
        channels: names.map(|name| Quantity::new(name, "1", "")).to_vec(),
        parameters: Vec::new(),
        ..manifest()
    };
    let reactions = Trajectory {
        environment: "reactions".to_owned(),
        trajectory: "0".to_owned(),
        parameters: Vec::new(),
        times: vec![0.0, 0.1, 0.4, 2.0, 4.0, 40.0],
        states: states.as_flattened().to_vec(),
        inputs: Vec::new(),
    };
    let dataset = dataset_of(&root.path().join("reactions"), &manifest, vec![(Split::Adapt, vec![reactions])]);
    let settings = r#"
        method = "physics"
        [physics]
        max_evaluations = 300000
        [physics.system]
        name = "robertson"
        time_unit = "s"
        horizon = 40.0
        time_step = 1.0
        states = [
            { name = "y1", derivative = "-k1*y1 + k3*y2*y3", initial = [1.0, 1.0] },
            { name = "y2", derivative = "k1*y1 - k2*y2^2 - k3*y2*y3", initial = [0.0, 0.0] },
            { name = "y3", derivative = "k2*y2^2", initial = [0.0, 0.0] },
        ]
        parameters = [
            { name = "k1", lower = 0.001, upper = 1.0 },
            { name = "k2", lower = 1e6, upper = 1e9 },
            { name = "k3", lower = 1e3, upper = 1e5 },
        ]
    "#;
    let row = rows(settings, &dataset, Split::Adapt).remove(0);
    assert_eq!(row.status, Status::Ok, "{}", row.reason);
    for (it, truth) in row.parameters.iter().zip([0.04, 3e7, 1e4]) {
        assert!((it.value / truth - 1.0).abs() < 2e-3, "{it:?}");
    }
}

/// A channel that decays at `rate`, with noise that repeats every seven samples.
pub(super) fn decay(id: &str, rate: f64, count: usize, wave: impl Fn(f64) -> f64) -> Trajectory {
    let times: Vec<f64> = (0..count).map(|i| 5.0 * i as f64 / count as f64).collect();
    let noise = |i: usize| 0.004 * (TAU * (i * i % 7) as f64 / 7.0).sin();
    let states = times.iter().enumerate().map(|(i, t)| 2.0 * (-rate * t).exp() + noise(i) + wave(*t)).collect();
    Trajectory {
        environment: id.to_owned(),
        trajectory: "0".to_owned(),
        parameters: vec![Some(rate)],
        times,
        states,
        inputs: Vec::new(),
    }
}

pub(super) fn decays(root: &Path, trajectories: Vec<Trajectory>) -> Dataset {
    let manifest = Manifest {
        channels: vec![Quantity::new("level", "1", "")],
        parameters: vec![Quantity::new("rate", "1", "")],
        ..manifest()
    };
    dataset_of(&root.join("decays"), &manifest, vec![(Split::Adapt, trajectories)])
}

pub(super) fn leak(parameters: &str, derivative: &str) -> String {
    format!(
        "method = \"physics\"\n[physics.system]\nname = \"leak\"\ntime_unit = \"s\"\nhorizon = 5.0\ntime_step = 0.25\n\
         states = [{{ name = \"level\", derivative = \"{derivative}\", initial = [0.0, 5.0] }}]\nparameters = [{parameters}]"
    )
}

pub(super) const RATE: &str = "{ name = \"rate\", lower = 0.1, upper = 2.0 }";

#[test]
fn a_bound_that_excludes_the_truth_is_named() {
    let root = tempfile::tempdir().unwrap();
    let flat = |_: f64| 0.0;
    let all = vec![decay("fast", 4.0, 40, flat), decay("right", 0.5, 40, flat), decay("slow", 0.01, 40, flat)];
    let rows = rows(&leak(RATE, "-rate * level"), &decays(root.path(), all), Split::Adapt);
    let said = |row: &Row| (row.status, row.reason.split(';').next().unwrap().to_owned());
    assert_eq!(said(&rows[0]), (Status::AtBound, "rate at its upper bound 2".to_owned()));
    assert_eq!(rows[1].status, Status::Ok, "{}", rows[1].reason);
    assert_eq!(said(&rows[2]), (Status::AtBound, "rate at its lower bound 0.1".to_owned()));
    // An estimate at its bound has an error like any other.
    assert!(rows[0].parameters[0].standard_error > 0.0 && rows[0].parameters[0].upper == 2.0, "{:?}", rows[0]);
}

#[test]
fn residuals_beyond_the_noise_are_a_misfit_and_correlated_ones_are_told() {
    let root = tempfile::tempdir().unwrap();
    let (flat, swinging, drifting) = (|_: f64| 0.0, |t: f64| 0.3 * (1.5 * t).sin(), |t: f64| 0.012 * (3.0 * t).sin());
    let all = vec![
        decay("a right", 0.5, 60, flat),
        decay("b swinging", 0.5, 60, swinging),
        decay("c drifting", 0.5, 400, drifting),
    ];
    let rows = rows(&leak(RATE, "-rate * level"), &decays(root.path(), all), Split::Adapt);
    assert_eq!((rows[0].status, rows[0].reason.as_str()), (Status::Ok, ""));
    assert_eq!(rows[1].status, Status::Misfit);
    assert!(rows[1].reason.contains("in level, whose samples show a noise of"), "{}", rows[1].reason);
    assert!(!rows[1].status.is_failure() && rows[1].parameters[0].standard_error.is_finite());
    assert_eq!(rows[2].status, Status::Ok);
    assert!(rows[2].reason.contains("and intervals are wider for it"), "{}", rows[2].reason);
}

#[test]
fn a_first_sample_that_is_not_what_the_equations_give_is_a_misfit() {
    let root = tempfile::tempdir().unwrap();
    let dataset = decays(root.path(), vec![decay("a", 0.5, 60, |_| 0.0)]);
    let given = |value: &str| leak(RATE, "-rate * level").replace("[0.0, 5.0]", &format!("[{value}, {value}]"));
    let row = rows(&given("1.9"), &dataset, Split::Adapt).remove(0);
    assert_eq!(row.status, Status::Misfit, "{row:?}");
    assert!(row.reason.contains("the equations give level = 1.9 where the first sample is 2"), "{}", row.reason);
    let row = rows(&given("2.0"), &dataset, Split::Adapt).remove(0);
    assert_eq!((row.status, row.degrees_of_freedom), (Status::Ok, 58.0), "{}", row.reason);
}

#[test]
fn what_the_data_do_not_narrow_down_is_not_ok() {
    let root = tempfile::tempdir().unwrap();
    // The settling value of a decay that has hardly begun.
    let early = decay("early", 0.02, 30, |_| 0.0);
    let settling = format!("{RATE}, {{ name = \"rest\", lower = -0.5, upper = 0.5 }}").replace("0.1", "0.001");
    let dataset = decays(root.path(), vec![early]);
    let row = rows(&leak(&settling, "-rate * (level - rest)"), &dataset, Split::Adapt).remove(0);
    assert_eq!(row.status, Status::Unidentifiable, "{row:?}");
    assert!(row.reason.contains("do not narrow down rest"), "{}", row.reason);
    assert!(row.parameters.iter().all(|it| it.standard_error.is_nan()), "{row:?}");
    // As many unknowns as values: nothing tells whether the equations are right.
    let dataset = decays(root.path(), vec![decay("two", 0.5, 2, |_| 0.0)]);
    let row = rows(&leak(RATE, "-rate * level"), &dataset, Split::Adapt).remove(0);
    assert_eq!(row.status, Status::TooFewPoints, "{row:?}");
    assert!(row.reason.contains("2 observed values for 2 unknowns leave nothing"), "{}", row.reason);
}

#[test]
fn intervals_do_not_take_a_parameter_at_its_bound_as_known() {
    let root = tempfile::tempdir().unwrap();
    let dataset = decays(root.path(), vec![decay("a", 0.5, 40, |_| 0.0)]);
    let settling = |lower: f64| {
        let parameters = format!("{RATE}, {{ name = \"rest\", lower = {lower}, upper = 0.5 }}");
        rows(&leak(&parameters, "-rate * (level - rest)"), &dataset, Split::Adapt).remove(0)
    };
    let (free, held) = (settling(-0.5), settling(0.01));
    assert_eq!((free.status, held.status), (Status::Ok, Status::AtBound), "{free:?} {held:?}");
    let ratio = held.parameters[0].standard_error / free.parameters[0].standard_error;
    assert!((0.7..1.6).contains(&ratio), "{ratio}");
}
