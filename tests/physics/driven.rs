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
