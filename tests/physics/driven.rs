//! Equations under known inputs: a drug that is infused and cleared.

use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{Error, Status};
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};

use super::common::manifest;
use super::model::dataset_of;
use super::{rows, run};

const INFUSION: &str = r#"
    method = "physics"
    [physics.system]
    name = "infusion"
    time_unit = "h"
    horizon = 24.0
    time_step = 1.0
    states = [{ name = "concentration", unit = "mg L-1", derivative = "dose / volume - elimination * concentration", initial = [0.0, 0.0] }]
    inputs = [{ name = "dose", unit = "mg h-1" }]
    parameters = [
        { name = "volume", unit = "L", lower = 1.0, upper = 100.0 },
        { name = "elimination", unit = "h-1", lower = 0.001, upper = 2.0 },
    ]
"#;

/// Two doses of 100 mg within half an hour each; the edges of the infusions are samples without a measurement.
const TIMES: [f64; 12] = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 8.5, 9.0, 10.0, 12.0, 16.0, 24.0];

fn dose(t: f64) -> f64 {
    if (0.0..0.5).contains(&t) || (8.0..8.5).contains(&t) { 200.0 } else { 0.0 }
}

/// Closed form of the concentration, from nothing; other signals than doses are steps as well.
fn patient(id: usize, inputs: &[f64]) -> Trajectory {
    let (volume, elimination) = (20.0 + 3.0 * id as f64, 0.1 + 0.05 * id as f64);
    let mut states = vec![0.0];
    for (n, pair) in TIMES.windows(2).enumerate() {
        let level = inputs[n] / (volume * elimination);
        states.push(level + (states[n] - level) * (-elimination * (pair[1] - pair[0])).exp());
    }
    states[1] = f64::NAN;
    states[6] = f64::NAN;
    Trajectory {
        environment: format!("patient {id}"),
        trajectory: "0".to_owned(),
        parameters: vec![Some(volume), Some(elimination)],
        times: TIMES.to_vec(),
        states,
        inputs: inputs.to_vec(),
    }
}

fn clinic(root: &std::path::Path, inputs: Vec<Input>) -> Dataset {
    let manifest = Manifest {
        channels: vec![Quantity::new("concentration", "mg L-1", "")],
        parameters: vec![Quantity::new("volume", "L", ""), Quantity::new("elimination", "h-1", "")],
        time_unit: "h".to_owned(),
        inputs,
        ..manifest()
    };
    let doses = TIMES.map(dose);
    let patients = (0..4).map(|id| patient(id, &doses)).map(|patient| match manifest.inputs.is_empty() {
        true => Trajectory {
            inputs: Vec::new(),
            states: patient.states.iter().map(|x| if x.is_nan() { 1.0 } else { *x }).collect(),
            ..patient
        },
        false => patient,
    });
    dataset_of(&root.join("clinic"), &manifest, vec![(Split::Adapt, patients.collect())])
}

fn held(name: &str) -> Input {
    Input { quantity: Quantity::new(name, "mg h-1", ""), between: Between::Hold }
}

#[test]
fn rates_are_recovered_from_doses() {
    let root = tempfile::tempdir().unwrap();
    let dataset = clinic(root.path(), vec![held("dose")]);
    for settings in [INFUSION.to_owned(), format!("initial_state = \"observed\"\n{INFUSION}")] {
        let found = rows(&settings, &dataset, Split::Adapt);
        assert_eq!(found.len(), 4);
        for row in found {
            assert_eq!(row.status, Status::Ok, "{}: {}", row.environment, row.reason);
            assert!(row.parameter_mape().unwrap() < 1e-4, "{:?}", row.parameters);
        }
    }
    // The same doses on straight lines between the samples are other doses.
    let linear = clinic(root.path(), vec![Input { between: Between::Linear, ..held("dose") }]);
    assert!(rows(INFUSION, &linear, Split::Adapt).iter().all(|row| row.parameter_mape().is_none_or(|mape| mape > 1.0)));
}

/// What the equations give of the state holds at the first event, where no state was observed; the sample that was is one of many.
#[test]
fn the_system_starts_at_its_first_event() {
    let root = tempfile::tempdir().unwrap();
    let whole = clinic(root.path(), vec![held("dose")]);
    let mut late = whole.read(Split::Adapt).unwrap();
    late.iter_mut().for_each(|patient| patient.states[..4].fill(f64::NAN));
    let late = dataset_of(&root.path().join("late"), whole.manifest(), vec![(Split::Adapt, late)]);
    let found = rows(INFUSION, &late, Split::Adapt);
    assert!(found.iter().all(|row| row.status == Status::Ok && row.parameter_mape().unwrap() < 1e-4), "{found:?}");
    // Where nothing is given the first dose tells nothing, but the second does.
    let free = INFUSION.replace("[0.0, 0.0]", "[0.0, 50.0]");
    let found = rows(&free, &late, Split::Adapt);
    assert!(found.iter().all(|row| row.status == Status::Ok && row.parameter_mape().unwrap() < 1e-4), "{found:?}");
    // A state that is given is obeyed, whatever the first sample says.
    let given = INFUSION.replace("[0.0, 0.0]", "[3.0, 3.0]");
    let found = rows(&given, &whole, Split::Adapt);
    assert!(found.iter().all(|row| row.parameter_mape().is_none_or(|mape| mape > 1.0)), "{found:?}");
}

/// Time stands in the equations: they start at `t = 0`, before the first sample or behind it.
#[test]
fn equations_with_time_start_at_zero() {
    let root = tempfile::tempdir().unwrap();
    let manifest = Manifest {
        channels: vec![Quantity::new("c", "1", "")],
        parameters: vec![Quantity::new("absorption", "1", ""), Quantity::new("elimination", "1", "")],
        ..manifest()
    };
    let (absorption, elimination) = (1.2, 0.15);
    let taken = |id: &str, times: &[f64]| {
        let state = |t: &f64| match *t < 0.0 {
            true => 0.004,
            false => absorption / (absorption - elimination) * ((-elimination * t).exp() - (-absorption * t).exp()),
        };
        Trajectory {
            environment: id.to_owned(),
            trajectory: "0".to_owned(),
            parameters: vec![Some(absorption), Some(elimination)],
            times: times.to_vec(),
            states: times.iter().map(state).collect(),
            inputs: Vec::new(),
        }
    };
    let all = vec![
        taken("a before", &[-0.5, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0]),
        taken("b behind", &[1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0]),
    ];
    let dataset = dataset_of(&root.path().join("taken"), &manifest, vec![(Split::Adapt, all)]);
    let system = |initial: &str| {
        format!(
            "method = \"physics\"\n[physics.system]\nname = \"oral\"\ntime_unit = \"s\"\nhorizon = 24.0\ntime_step = 0.5\n\
             states = [{{ name = \"c\", derivative = \"absorption * exp(-absorption * t) - elimination * c\", initial = {initial} }}]\n\
             parameters = [{{ name = \"absorption\", lower = 0.5, upper = 20.0 }}, {{ name = \"elimination\", lower = 0.005, upper = 0.45 }}]"
        )
    };
    let found = rows(&system("[0.0, 0.0]"), &dataset, Split::Adapt);
    for row in &found {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        assert!(row.parameter_mape().unwrap() < 1e-4, "{:?}", row.parameters);
    }
    assert!(found[0].reason.contains("samples before t = 0, where the equations start, are left out: 1"));
    assert_eq!(found[1].reason, "");
    let free = rows(&system("[0.0, 1.0]"), &dataset, Split::Adapt);
    assert!(free[0].reason.contains("the samples begin before it does, at t = -0.5"), "{}", free[0].reason);
}

#[test]
fn inputs_that_the_data_do_not_have_are_named() {
    let root = tempfile::tempdir().unwrap();
    for (inputs, part) in
        [(vec![], "a dataset without inputs"), (vec![held("valve")], "a dataset with the inputs valve")]
    {
        let dataset = clinic(root.path(), inputs);
        let Err(Error::Physics(problems)) = run(INFUSION, &dataset, &root.path().join("estimates")) else { panic!() };
        assert!(problems[0].found.contains("the input `dose`") && problems[0].found.contains(part), "{problems:?}");
    }
}
