//! States that nobody measures, outputs, covariates, and where systems start: closed forms of known truth.

use std::path::Path;

use arrow_array::{Array, Float64Array, StringArray};
use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{Error, Row, Status, read_rows};
use paramill::random::Stream;
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};
use paramill::systems::Equations;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::common::manifest;
use super::model::dataset_of;
use super::{rows, run};

pub fn quantities(names: &[&str]) -> Vec<Quantity> {
    names.iter().map(|name| Quantity::new(name, "1", "")).collect()
}

pub fn trajectory(environment: &str, id: &str, parameters: &[f64], times: &[f64], states: Vec<f64>) -> Trajectory {
    Trajectory {
        environment: environment.to_owned(),
        trajectory: id.to_owned(),
        parameters: parameters.iter().copied().map(Some).collect(),
        times: times.to_vec(),
        states,
        inputs: Vec::new(),
    }
}

pub fn dataset(root: &Path, channels: &[&str], parameters: &[&str], inputs: &[&str], of: Vec<Trajectory>) -> Dataset {
    let input = |name: &&str| Input { quantity: Quantity::new(name, "1", ""), between: Between::Hold };
    let mut manifest = Manifest {
        channels: quantities(channels),
        parameters: quantities(parameters),
        inputs: inputs.iter().map(input).collect(),
        time_unit: "1".to_owned(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    dataset_of(&root.join("data"), &manifest, vec![(Split::Adapt, of)])
}

pub fn settings(of_estimate: &str, system: &str) -> String {
    format!(
        "method = \"physics\"\n{of_estimate}\n[physics.system]\nname = \"it\"\nhorizon = 9.0\ntime_step = 1.0\n{system}"
    )
}

pub fn refusal(settings: &str, dataset: &Dataset) -> String {
    let place = tempfile::tempdir().unwrap();
    match run(settings, dataset, &place.path().join("estimates")).map(|_| ()).unwrap_err() {
        error @ Error::Physics(_) => error.to_string(),
        other => panic!("{other}"),
    }
}

/// The numbers and texts of a Parquet file in `directory`.
pub struct Columns(arrow_array::RecordBatch);

impl Columns {
    pub fn read(directory: &Path, file: &str) -> Self {
        let file = std::fs::File::open(directory.join(file)).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        Columns(reader.next().unwrap().unwrap())
    }

    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let column: &Float64Array = self.0.column_by_name(name).unwrap().as_any().downcast_ref().unwrap();
        (0..column.len()).map(|row| if column.is_valid(row) { column.value(row) } else { f64::NAN }).collect()
    }

    /// Empty where there is none.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let column: &StringArray = self.0.column_by_name(name).unwrap().as_any().downcast_ref().unwrap();
        column.iter().map(|it| it.unwrap_or_default().to_owned()).collect()
    }
}

fn assert_exact(rows: &[Row]) {
    for row in rows {
        assert_eq!(row.status, Status::Ok, "{}: {}", row.environment, row.reason);
        assert!(row.parameter_mape().unwrap() < 1e-4, "{:?}", row.parameters);
    }
}

/// A battery: an open-circuit voltage, a resistor, and a resistor beside a capacitor whose voltage nobody measures.
const CELL: &str = r#"
    states = [{ name = "v1", derivative = "(r1 * current - v1) / tau", start = 0.0 }]
    outputs = [{ name = "voltage", expression = "ocv + r0 * current + v1" }]
    inputs = [{ name = "current" }]
    parameters = [
        { name = "ocv", lower = 2.0, upper = 5.0 },
        { name = "r0", lower = 1e-4, upper = 1.0 },
        { name = "r1", lower = 1e-4, upper = 1.0 },
        { name = "tau", lower = 0.1, upper = 1000.0 },
    ]
"#;
const CELLS: [[f64; 4]; 3] = [[3.7, 0.03, 0.01, 6.0], [3.4, 0.05, 0.02, 9.0], [4.1, 0.02, 0.04, 3.0]];
const PARAMETERS: [&str; 4] = ["ocv", "r0", "r1", "tau"];

fn current(t: f64) -> f64 {
    if (2.0..12.0).contains(&t) { -2.5 } else { 0.0 }
}

/// The voltages of capacitor and cell.
fn cell([ocv, r0, r1, tau]: [f64; 4], t: f64) -> [f64; 2] {
    let charged = |t: f64| -2.5 * r1 * (1.0 - (-(t - 2.0).clamp(0.0, 10.0) / tau).exp());
    let v1 = charged(t) * (-(t - 12.0).max(0.0) / tau).exp();
    [v1, ocv + r0 * current(t) + v1]
}

fn cells(root: &Path, noise: f64, channel: &str) -> Dataset {
    let times: Vec<f64> = (0..60).map(|n| 0.5 * f64::from(n)).collect();
    let mut stream = Stream::new(4, "cells", &[]);
    let trajectories = CELLS.iter().enumerate().map(|(id, truth)| Trajectory {
        inputs: times.iter().map(|t| current(*t)).collect(),
        states: times.iter().map(|t| cell(*truth, *t)[1] + noise * stream.normal()).collect(),
        ..trajectory(&id.to_string(), "0", truth, &times, Vec::new())
    });
    dataset(root, &[channel], &PARAMETERS, &["current"], trajectories.collect())
}

#[test]
fn an_output_reveals_a_hidden_state() {
    let root = tempfile::tempdir().unwrap();
    let exact = cells(root.path(), 0.0, "voltage");
    let directory = root.path().join("estimates");
    let outcome = run(&settings("fitted = true", CELL), &exact, &directory).unwrap();
    let found = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
    assert_exact(&found);
    // The first sample says as much as the others: it is no start.
    assert!(found.iter().all(|row| row.points == 60 && row.noise.len() == 1), "{found:?}");
    assert_eq!(outcome.manifest.hidden, quantities(&["v1"]));
    assert_eq!(outcome.manifest.start.as_deref(), Some("v1 = 0 at the first sample or event of each trajectory"));
    let fitted = Columns::read(&directory, "fitted_adapt.parquet");
    let (times, hidden, voltage) =
        (fitted.numbers("time"), fitted.numbers("v1_fitted"), fitted.numbers("voltage_fitted"));
    assert_eq!(times.len(), 180);
    for (row, t) in times.iter().enumerate() {
        let [v1, u] = cell(CELLS[row / 60], *t);
        assert!((hidden[row] - v1).abs() < 1e-6 && (voltage[row] - u).abs() < 1e-6, "{row}: {} {v1}", hidden[row]);
    }
    let noisy = rows(&settings("", CELL), &cells(root.path(), 1e-3, "voltage"), Split::Adapt);
    for row in noisy {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        for it in &row.parameters {
            assert!((it.value - it.truth.unwrap()).abs() < 4.0 * it.standard_error, "{it:?}");
        }
        assert!((row.noise[0] / 1e-3 - 1.0).abs() < 0.35, "{}", row.noise[0]);
    }
}

#[test]
fn a_hidden_state_obeys_its_start_however_others_start() {
    let root = tempfile::tempdir().unwrap();
    let cells = cells(root.path(), 0.0, "voltage");
    let observed = rows(&settings("initial_state = \"observed\"", CELL), &cells, Split::Adapt);
    assert_exact(&observed);
    // A start between bounds is found, beside everything else.
    let free = CELL.replace("start = 0.0", "start = { lower = -0.2, upper = 0.2, guess = 0.1 }");
    let directory = root.path().join("estimates");
    let outcome = run(&settings("", &free), &cells, &directory).unwrap();
    assert_exact(&read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap());
    let starts = Columns::read(&directory, "starts_adapt.parquet");
    assert!(starts.numbers("value").iter().all(|value| value.abs() < 1e-6), "{:?}", starts.numbers("value"));
    // One that is wrong is obeyed as well.
    let wrong = rows(&settings("", &CELL.replace("start = 0.0", "start = 0.3")), &cells, Split::Adapt);
    assert!(wrong.iter().all(|row| row.status != Status::Ok), "{wrong:?}");
}

#[test]
fn what_is_compared_with_nothing_is_refused_and_says_what_to_write() {
    let root = tempfile::tempdir().unwrap();
    let other = cells(root.path(), 0.0, "volts");
    let said = refusal(&settings("", CELL), &other);
    for part in ["the channel `volts`", "the states v1", "the outputs voltage"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let cells = cells(root.path(), 0.0, "voltage");
    let said = refusal(&settings("", &CELL.replace("start = 0.0", "initial = [0.0, 1.0]")), &cells);
    for part in ["states.0.name", "the state `v1`, which has no start", "`start = 0.0`", "lower = 0.0"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let wrong = CELL.replace("start = 0.0", "start = \"v1 + ocv\", initial = [0.0, 1.0]").replace("+ v1\"", "+ v2\"");
    let system: Equations = toml::from_str(&format!("name = \"it\"\nhorizon = 1.0\ntime_step = 0.1\n{wrong}")).unwrap();
    let said: Vec<String> = system.system().unwrap_err().iter().map(ToString::to_string).collect();
    let said = said.join("\n");
    for part in [
        "states.0.start: found `v1` at character 1",
        "states have no values yet",
        "states.0.initial: found both",
        "outputs.0.expression: found `v2`",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    for (start, part) in [
        ("start = { lower = 2.0, upper = 1.0 }", "from 2 to 1"),
        ("start = { lower = 1.0, upper = 2.0, guess = 3.0 }", "a number from 1 to 2"),
        ("start = nan", "found NaN"),
        ("unit = \"V\"", "neither `initial` nor `start` of `v1`"),
    ] {
        let text = CELL.replace("start = 0.0", start);
        let system: Equations =
            toml::from_str(&format!("name = \"it\"\nhorizon = 1.0\ntime_step = 0.1\n{text}")).unwrap();
        let problems = system.system().unwrap_err();
        assert!(problems.len() == 1 && problems[0].to_string().contains(part), "{part} in {problems:?}");
    }
}

/// Doses of unknown size in the gut: each trajectory has its own, the rates are those of the environment.
const GUT: &str = r#"
    states = [
        { name = "gut", derivative = "-absorption * gut", start = { lower = 0.1, upper = 1000.0 } },
        { name = "blood", derivative = "absorption * gut - elimination * blood", start = 0.0 },
    ]
    outputs = [{ name = "concentration", expression = "blood / volume" }]
    constants = { volume = 5.0 }
    parameters = [
        { name = "absorption", lower = 0.5, upper = 20.0 },
        { name = "elimination", lower = 0.005, upper = 0.45 },
    ]
"#;

#[test]
fn starts_between_bounds_are_fitted_to_each_trajectory_and_their_intervals_hold() {
    let root = tempfile::tempdir().unwrap();
    let times: Vec<f64> = (0..24).map(f64::from).collect();
    let taken = |dose: f64, [a, e]: [f64; 2], t: f64| dose / 5.0 * a / (a - e) * ((-e * t).exp() - (-a * t).exp());
    let mut stream = Stream::new(9, "doses", &[]);
    let mut trajectories = Vec::new();
    let mut doses = Vec::new();
    for environment in 0..40 {
        let rates = [stream.uniform(1.0, 2.0), stream.uniform(0.1, 0.2)];
        for id in 0..3 {
            let dose = stream.uniform(20.0, 200.0);
            doses.push(dose);
            let states = times.iter().map(|t| taken(dose, rates, *t) + 0.2 * stream.normal()).collect();
            trajectories.push(trajectory(&format!("{environment:02}"), &id.to_string(), &rates, &times, states));
        }
    }
    let dataset = dataset(root.path(), &["concentration"], &["absorption", "elimination"], &[], trajectories);
    let directory = root.path().join("estimates");
    let outcome = run(&settings("", GUT), &dataset, &directory).unwrap();
    let found = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
    assert!(found.iter().all(|row| row.status == Status::Ok), "{found:?}");
    // Residuals of some may be correlated by chance.
    assert!(found.iter().filter(|row| row.degrees_of_freedom == 67.0).count() >= 38, "{found:?}");
    assert_eq!(outcome.manifest.starts, quantities(&["gut"]));
    assert_eq!(
        outcome.manifest.start.as_deref(),
        Some("gut from 0.1 to 1000, blood = 0 at the first sample or event of each trajectory")
    );
    let starts = Columns::read(&directory, "starts_adapt.parquet");
    assert!(starts.texts("state").iter().all(|state| state == "gut"));
    let [value, error, lower, upper] = ["value", "standard_error", "lower", "upper"].map(|name| starts.numbers(name));
    let held = (0..120).filter(|&k| (lower[k]..=upper[k]).contains(&doses[k])).count();
    let squares: f64 = (0..120).map(|k| ((value[k] - doses[k]) / error[k]).powi(2)).sum();
    // Of 120 intervals of 95 %, and of as many normal draws.
    assert!((107..=120).contains(&held) && ((squares / 120.0).sqrt() - 1.0).abs() < 0.25, "{held} {squares}");
    // Bounds that exclude the doses are told.
    let narrow = rows(&settings("", &GUT.replace("upper = 1000.0 }", "upper = 15.0 }")), &dataset, Split::Adapt);
    let told = |row: &Row| row.reason.contains("the start of gut at its upper bound 15");
    assert!(
        narrow.iter().all(|row| row.status.is_failure() || row.status == Status::AtBound && told(row)),
        "{narrow:?}"
    );
}

/// What is cooling begins at a temperature that is a parameter, and so is the room's.
const CUP: &str = r#"
    states = [{ name = "x", derivative = "-rate * (x - room)", start = "room + excess" }]
    parameters = [
        { name = "room", lower = -50.0, upper = 50.0 },
        { name = "excess", lower = 1.0, upper = 100.0 },
        { name = "rate", lower = 0.001, upper = 5.0 },
    ]
"#;

#[test]
fn a_start_may_be_an_expression_of_parameters() {
    let root = tempfile::tempdir().unwrap();
    let times: Vec<f64> = (0..20).map(|n| 0.5 * f64::from(n)).collect();
    let cup = |id: usize, noise: f64, stream: &mut Stream| {
        let [room, excess, rate] = [20.0 + id as f64, 50.0 - 3.0 * id as f64, 0.2 + 0.1 * id as f64];
        let states = times.iter().map(|t| room + excess * (-rate * t).exp() + noise * stream.normal()).collect();
        trajectory(&format!("{id:02}"), "0", &[room, excess, rate], &times, states)
    };
    let of = |count: usize, noise: f64| {
        let mut stream = Stream::new(2, "cups", &[]);
        let cups = (0..count).map(|id| cup(id, noise, &mut stream)).collect();
        dataset(root.path(), &["x"], &["room", "excess", "rate"], &[], cups)
    };
    let exact = rows(&settings("", CUP), &of(4, 0.0), Split::Adapt);
    assert_exact(&exact);
    // The first sample is a measurement of the parameters like all others.
    assert!(exact.iter().all(|row| row.points == 20 && row.degrees_of_freedom == 17.0), "{exact:?}");
    let noisy = rows(&settings("", CUP), &of(12, 0.1), Split::Adapt);
    let all = noisy.iter().flat_map(|row| &row.parameters);
    let ratios: Vec<f64> = all.map(|it| (it.value - it.truth.unwrap()) / it.standard_error).collect();
    let size = (ratios.iter().map(|it| it * it).sum::<f64>() / ratios.len() as f64).sqrt();
    assert!((size - 1.0).abs() < 0.35, "{size}");
    // Simulations start there as well.
    let generated = super::generate(
        root.path(),
        &format!(
            "dataset = \"pairs\"\nsplits.grid = {{ environments = [{{ room = 20.0, excess = 30.0, rate = 0.5 }}], trajectories = 2 }}\n\
             [system]\nname = \"it\"\nhorizon = 9.0\ntime_step = 1.0\n{CUP}"
        ),
    );
    let simulated = generated.read(Split::Grid).unwrap();
    assert!(simulated.len() == 2 && simulated.iter().all(|it| it.states[0] == 50.0), "{simulated:?}");
    assert_exact(&rows("method = \"physics\"", &generated, Split::Grid));
}

/// The bigger the body, the slower it clears: the weight is known, the clearance of a unit of weight is not.
const CLEARANCE: &str = r#"
    states = [{ name = "amount", derivative = "-clearance / weight * amount", start = "10 * weight" }]
    outputs = [{ name = "concentration", expression = "amount / (volume * weight)" }]
    covariates = [{ name = "weight" }]
    parameters = [
        { name = "clearance", lower = 0.01, upper = 100.0 },
        { name = "volume", lower = 0.01, upper = 100.0 },
    ]
"#;

#[test]
fn covariates_stand_in_equations_outputs_and_starts() {
    let root = tempfile::tempdir().unwrap();
    let times: Vec<f64> = (0..12).map(f64::from).collect();
    let patient = |id: usize, known: bool| {
        let (clearance, volume, weight) = (2.0 + id as f64, 0.5 + 0.1 * id as f64, 60.0 + 10.0 * id as f64);
        let states = times.iter().map(|t| 10.0 / volume * (-clearance / weight * t).exp()).collect();
        let mut patient = trajectory(&id.to_string(), "0", &[clearance, volume, weight], &times, states);
        patient.parameters[2] = patient.parameters[2].filter(|_| known);
        patient
    };
    let all = vec![patient(0, true), patient(1, true), patient(2, false)];
    let dataset = dataset(root.path(), &["concentration"], &["clearance", "volume", "weight"], &[], all);
    let found = rows(&settings("", CLEARANCE), &dataset, Split::Adapt);
    assert_exact(&found[..2]);
    assert_eq!((found[0].parameters.len(), found[2].status), (2, Status::NoData));
    assert!(found[2].reason.contains("not known of this environment: weight"), "{}", found[2].reason);
    let said =
        refusal(&settings("", &CLEARANCE.replace("\"weight\"", "\"height\"").replace("weight", "height")), &dataset);
    assert!(said.contains("the covariate `height`") && said.contains("clearance, volume, weight"), "{said}");
}

/// A gene that is induced: at rest in the dark, its messenger is made and decays; nobody measures the light's receptor.
const GENE: &str = r#"
    states = [
        { name = "receptor", derivative = "light - 2 * receptor", start = 0.0 },
        { name = "messenger", derivative = "synthesis * (1 + receptor) - decay * messenger", start = 0.0 },
    ]
    outputs = [{ name = "signal", expression = "gain * messenger" }]
    inputs = [{ name = "light" }]
    constants = { gain = 3.0 }
    preequilibration = { light = 0.5 }
    parameters = [
        { name = "synthesis", lower = 0.01, upper = 100.0 },
        { name = "decay", lower = 0.01, upper = 1.5 },
    ]
"#;

#[test]
fn a_system_may_be_at_rest_before_it_starts() {
    let root = tempfile::tempdir().unwrap();
    let times: Vec<f64> = (0..16).map(|n| 0.5 * f64::from(n)).collect();
    // The receptor goes from 0.25 to 1.5 when the light goes from 0.5 to 3.
    let signal = |[s, d]: [f64; 2], t: f64| {
        let (rest, end, b) = (1.25 * s / d, 2.5 * s / d, -1.25 * s / (d - 2.0));
        3.0 * (end + b * (-2.0 * t).exp() + (rest - end - b) * (-d * t).exp())
    };
    let gene = |id: usize| {
        let truth = [1.0 + id as f64, 0.3 + 0.2 * id as f64];
        let states = times.iter().map(|t| signal(truth, *t)).collect();
        Trajectory { inputs: vec![3.0; times.len()], ..trajectory(&id.to_string(), "0", &truth, &times, states) }
    };
    let dataset = dataset(root.path(), &["signal"], &["synthesis", "decay"], &["light"], (0..3).map(gene).collect());
    for of_estimate in ["", "initial_state = \"observed\""] {
        let found = rows(&settings(of_estimate, GENE), &dataset, Split::Adapt);
        assert_exact(&found);
        assert!(found.iter().all(|row| row.points == 16), "{found:?}");
    }
    // What grows for ever has no steady state.
    let growing = GENE.replace("- decay * messenger", "+ 0 * decay");
    let found = rows(&settings("", &growing), &dataset, Split::Adapt);
    assert!(
        found.iter().all(|row| row.status.is_failure() && row.reason.contains("does not come to rest")),
        "{found:?}"
    );
    let text = GENE
        .replace("{ light = 0.5 }", "{ dark = 0.5 }")
        .replace("start = 0.0 },\n    ]", "initial = [0.0, 1.0] },\n    ]");
    let text = text.replace("light - 2", "light * t - 2");
    let system: Equations = toml::from_str(&format!("name = \"it\"\nhorizon = 1.0\ntime_step = 0.1\n{text}")).unwrap();
    let said: Vec<String> = system.system().unwrap_err().iter().map(ToString::to_string).collect();
    let said = said.join("\n");
    for part in ["preequilibration.dark", "no value of `light`", "no `start` of `messenger`", "`t` in a derivative"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn several_sensors_may_measure_one_output() {
    let root = tempfile::tempdir().unwrap();
    let one = cells(root.path(), 1e-3, "voltage").read(Split::Adapt).unwrap();
    let mut stream = Stream::new(6, "sensors", &[]);
    let second = |trajectory: &Trajectory| {
        let pairs = trajectory.states.iter().zip(&trajectory.times);
        let truth = CELLS[trajectory.environment.parse::<usize>().unwrap()];
        let states: Vec<f64> = pairs.flat_map(|(u, t)| [*u, cell(truth, *t)[1] + 1e-4 * stream.normal()]).collect();
        Trajectory { states, ..trajectory.clone() }
    };
    let both = one.iter().map(second).collect();
    let dataset = dataset(root.path(), &["rough", "fine"], &PARAMETERS, &["current"], both);
    let sensors = CELL.replace("name = \"voltage\",", "name = \"voltage\", channels = [\"rough\", \"fine\"],");
    let found = rows(&settings("", &sensors), &dataset, Split::Adapt);
    for row in &found {
        assert_eq!((row.status, row.points), (Status::Ok, 120), "{}", row.reason);
        assert!(
            (row.noise[0] / 1e-3 - 1.0).abs() < 0.35 && (row.noise[1] / 1e-4 - 1.0).abs() < 0.35,
            "{:?}",
            row.noise
        );
        assert!(
            row.parameters.iter().all(|it| (it.value - it.truth.unwrap()).abs() < 4.0 * it.standard_error),
            "{row:?}"
        );
    }
    let twice = sensors.replace("\"fine\"]", "\"v1\"]");
    let system: Equations = toml::from_str(&format!("name = \"it\"\nhorizon = 1.0\ntime_step = 0.1\n{twice}")).unwrap();
    let problems = system.system().unwrap_err();
    assert!(
        problems[0].to_string().contains("the channel `v1`, which the state `v1` is compared with"),
        "{problems:?}"
    );
}

/// Of measured data with known truth: hidden states, an output, and a fitted start beside the parameter. Against differences of the closed form, with the
/// noise that the fit found.
#[test]
fn bounds_know_hidden_states_and_starts() {
    let system = r#"
        states = [
            { name = "x", derivative = "-k * x", start = { lower = 0.1, upper = 9.0 } },
            { name = "z", derivative = "k * x - 0.1 * z", start = 0.0 },
        ]
        outputs = [{ name = "y", expression = "z / 2" }]
        parameters = [{ name = "k", lower = 0.05, upper = 2.0 }]
    "#;
    let value = |k: f64, x0: f64, t: f64| 0.5 * x0 * k / (k - 0.1) * ((-0.1 * t).exp() - (-k * t).exp());
    let times: Vec<f64> = (0..25).map(|t| 0.4 * f64::from(t)).collect();
    let place = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(2, "bounds", &[]);
    let states = times.iter().map(|t| value(0.3, 3.0, *t) + 0.02 * stream.normal()).collect();
    let data = dataset(place.path(), &["y"], &["k"], &[], vec![trajectory("e", "0", &[0.3], &times, states)]);
    for of_noise in ["", "noise = \"constant\""] {
        let directory = place.path().join("estimates");
        let outcome = run(&settings(of_noise, system), &data, &directory).unwrap();
        let row: Row = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().remove(0);
        let x0 = Columns::read(&directory, "starts_adapt.parquet").numbers("value")[0];
        let step = 1e-5;
        let slopes = |t: f64| {
            let of_k = (value(0.3 + step, x0, t) - value(0.3 - step, x0, t)) / (2.0 * step);
            [of_k, value(0.3, 1.0, t)]
        };
        let mut information = [0.0; 3];
        for t in &times {
            let [k, x] = slopes(*t);
            information[0] += k * k;
            information[1] += k * x;
            information[2] += x * x;
        }
        let noise = row.noise_terms.first().copied().unwrap_or(row.noise[0]);
        let [a, b, c] = information;
        let (found, expected) = (row.parameters[0].crlb.unwrap(), noise * (c / (a * c - b * b)).sqrt());
        approx::assert_relative_eq!(found, expected, max_relative = 1e-3);
        assert!((row.parameters[0].standard_error / found - 1.0).abs() < 0.5);
    }
    assert!(
        run(&settings("", system), &data, &place.path().join("again"))
            .unwrap()
            .manifest
            .evaluation
            .error_over_bound_overall
            .is_some()
    );
}
