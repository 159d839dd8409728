//! Doses that are given at once: lags, bioavailability, steady states and resets, in closed forms of known truth.

use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{Error, Row, Status};
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};
use paramill::systems::Equations;

use super::common::manifest;
use super::model::dataset_of;
use super::{rows, run};

/// Absorption after a lag, of a part of the oral doses, and doses into a vein.
const BODY: &str = r#"
    method = "physics"
    [physics.system]
    name = "body"
    time_unit = "h"
    horizon = 24.0
    time_step = 1.0
    states = [
        { name = "depot", unit = "mg", derivative = "-ka * depot", start = 0.0 },
        { name = "central", unit = "mg", derivative = "ka * depot - ke * central", start = 0.0 },
    ]
    outputs = [{ name = "concentration", unit = "mg L-1", expression = "central / volume" }]
    inputs = [{ name = "oral", unit = "mg" }, { name = "vein", unit = "mg" }]
    doses = [
        { input = "oral", state = "depot", bioavailability = "f", lag = "lag" },
        { input = "vein", state = "central" },
    ]
    parameters = [
        { name = "ka", unit = "h-1", lower = 0.3, upper = 9.0 },
        { name = "ke", unit = "h-1", lower = 0.01, upper = 0.29 },
        { name = "volume", unit = "L", lower = 1.0, upper = 100.0 },
        { name = "f", lower = 0.05, upper = 1.0 },
        { name = "lag", unit = "h", lower = 0.01, upper = 2.0 },
    ]
"#;
const NAMES: [(&str, &str); 5] = [("ka", "h-1"), ("ke", "h-1"), ("volume", "L"), ("f", "1"), ("lag", "h")];

/// The parameters of a patient.
fn truth(id: usize) -> [f64; 5] {
    let id = id as f64;
    [1.1 + 0.3 * id, 0.1 + 0.03 * id, 20.0 + 5.0 * id, 0.8 - 0.1 * id, 0.4 + 0.2 * id]
}

/// The concentration `t` after an amount of 1 went into the mouth, or into the vein.
fn oral([ka, ke, volume, f, lag]: [f64; 5], t: f64) -> f64 {
    let t = t - lag;
    if t <= 0.0 { 0.0 } else { f * ka / (volume * (ka - ke)) * ((-ke * t).exp() - (-ka * t).exp()) }
}

fn vein([_, ke, volume, ..]: [f64; 5], t: f64) -> f64 {
    if t <= 0.0 { 0.0 } else { (-ke * t).exp() / volume }
}

/// Patients with these inputs `[T, U]`, whose concentration is missing where it is NaN.
fn clinic(
    root: &std::path::Path,
    (times, inputs): (&[f64], &[Vec<f64>]),
    of_inputs: &[(&str, &str, Between)],
    concentration: impl Fn([f64; 5], f64) -> f64,
) -> Dataset {
    let input = |(name, unit, between): &(&str, &str, Between)| Input {
        quantity: Quantity::new(name, unit, ""),
        between: *between,
    };
    let mut manifest = Manifest {
        channels: vec![Quantity::new("concentration", "mg L-1", "")],
        parameters: NAMES.iter().map(|(name, unit)| Quantity::new(name, unit, "")).collect(),
        time_unit: "h".to_owned(),
        inputs: of_inputs.iter().map(input).collect(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    let patient = |id: usize| Trajectory {
        environment: format!("patient {id}"),
        trajectory: "0".to_owned(),
        parameters: truth(id).into_iter().map(Some).collect(),
        times: times.to_vec(),
        states: times.iter().map(|time| concentration(truth(id), *time)).collect(),
        inputs: inputs.concat(),
    };
    dataset_of(&root.join("clinic"), &manifest, vec![(Split::Adapt, (0..3).map(patient).collect())])
}

fn assert_exact(found: &[Row]) {
    assert_eq!(found.len(), 3);
    for row in found {
        assert_eq!(row.status, Status::Ok, "{}: {}", row.environment, row.reason);
        assert!(row.parameter_mape().unwrap() < 1e-4, "{:?}", row.parameters);
    }
}

const HELD: [(&str, &str, Between); 2] = [("oral", "mg", Between::Hold), ("vein", "mg", Between::Hold)];
/// 100 mg by mouth at -1 and 12, 30 mg into the vein at 6.
const TIMES: [f64; 16] = [-1.0, 0.0, 0.5, 1.0, 2.0, 4.0, 6.0, 6.5, 7.0, 9.0, 12.0, 13.0, 13.5, 14.0, 17.0, 24.0];

fn given() -> Vec<Vec<f64>> {
    let of = |t: &f64| vec![if *t < 12.0 { 100.0 } else { 200.0 }, if *t < 6.0 { 0.0 } else { 30.0 }];
    TIMES.iter().map(of).collect()
}

fn course(parameters: [f64; 5], t: f64) -> f64 {
    let both = oral(parameters, t + 1.0) + oral(parameters, t - 12.0);
    if t == -1.0 { f64::NAN } else { 100.0 * both + 30.0 * vein(parameters, t - 6.0) }
}

/// Times begin below zero.
#[test]
fn lag_and_bioavailability_are_recovered() {
    let root = tempfile::tempdir().unwrap();
    assert_exact(&rows(BODY, &clinic(root.path(), (&TIMES, &given()), &HELD, course), Split::Adapt));
}

#[test]
fn a_steady_state_and_a_reset_are_obeyed() {
    let times: Vec<f64> = (0..30).map(f64::from).collect();
    // Doses of 80 mg every 8 h since ever at 2, one more at 10, a reset at 12 together with 30 mg into the vein.
    let of = |t: &f64| {
        let oral = if *t < 2.0 {
            0.0
        } else if *t < 10.0 {
            80.0
        } else {
            160.0
        };
        vec![oral, if *t < 12.0 { 0.0 } else { 30.0 }, f64::from(*t >= 12.0), if *t < 2.0 { 0.0 } else { 8.0 }]
    };
    let inputs: Vec<Vec<f64>> = times.iter().map(of).collect();
    let concentration = |it: [f64; 5], t: f64| {
        let steady = || (0..400).map(|past| 80.0 * oral(it, t - 2.0 + 8.0 * f64::from(past))).sum::<f64>();
        match t {
            _ if t > 12.0 => 30.0 * vein(it, t - 12.0),
            // An observation at the time of a dose comes before it.
            _ if t > 2.0 => steady() + 80.0 * oral(it, t - 10.0),
            _ => 0.0,
        }
    };
    let of_inputs = [HELD.as_slice(), &[("reset", "1", Between::Hold), ("interval", "h", Between::Hold)]].concat();
    let settings = BODY
        .replace("    states = [", "    reset = \"reset\"\n    states = [")
        .replace(
            "unit = \"mg\" }]\n    doses",
            "unit = \"mg\" }, { name = \"reset\" }, { name = \"interval\", unit = \"h\" }]\n    doses",
        )
        .replace("lag = \"lag\"", "lag = \"lag\", interval = \"interval\"");
    let root = tempfile::tempdir().unwrap();
    assert_exact(&rows(&settings, &clinic(root.path(), (&times, &inputs), &of_inputs, concentration), Split::Adapt));
}

#[test]
fn doses_that_cannot_be_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let linear = HELD.map(|(name, unit, _)| (name, unit, Between::Linear));
    let dataset = clinic(root.path(), (&TIMES, &given()), &linear, course);
    match run(BODY, &dataset, &root.path().join("estimates")).map(|_| ()).unwrap_err() {
        error @ Error::Physics(_) => assert!(error.to_string().contains("on straight lines"), "{error}"),
        other => panic!("{other}"),
    }
    let system = BODY.split_once("[physics.system]").unwrap().1;
    for (from, to, expected) in [
        ("input = \"vein\"", "input = \"veins\"", "vein"),
        ("state = \"central\"", "state = \"centre\"", "central"),
        ("\"lag\" }", "\"lag * depot\" }", "doses depend on no state"),
        ("\"lag\" }", "\"lag\", interval = \"vein\" }", "an input of its own"),
        ("\"lag\" }", "\"lag\", interval = \"every\" }", "input of the system"),
        ("    states = [", "    reset = \"vein\"\n    states = [", "an input of its own"),
        (
            "    states = [\n        { name = \"depot\", unit = \"mg\", derivative = \"-ka * depot\", start = 0.0 }",
            "    reset = \"vein\"\n    states = [\n        { name = \"depot\", derivative = \"-ka * depot\", initial = [0.0, 1.0] }",
            "a start of `depot` that is not known",
        ),
    ] {
        assert!(system.contains(from), "{from}");
        let equations: Equations = toml::from_str(&system.replace(from, to)).unwrap();
        let said: Vec<String> = equations.system().unwrap_err().iter().map(|it| format!("{it:?}")).collect();
        assert!(said.join("; ").contains(expected), "{to}: {said:?}");
    }
}

#[test]
fn numbers_that_no_dose_can_have_are_refused_by_the_check() {
    let system = BODY.split("[physics.system]").nth(1).unwrap();
    for (from, to, expected) in [
        ("lag = \"lag\"", "lag = \"-1 / 2\"", "doses.0.lag"),
        ("bioavailability = \"f\"", "bioavailability = \"1 - 2\"", "doses.0.bioavailability"),
    ] {
        let equations: Equations = toml::from_str(&system.replacen(from, to, 1)).unwrap();
        let problems = equations.system().map(|_| ()).unwrap_err();
        assert!(problems.iter().any(|problem| problem.key == expected), "{problems:?}");
    }
    assert!(toml::from_str::<Equations>(system).unwrap().system().is_ok());
}
