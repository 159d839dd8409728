//! Every system against SciPy or NumPy, at a known cost.

use std::fmt::Write;
use std::sync::Arc;

use paramill::progress::Interrupt;
use paramill::solve::{Adaptive, DOP853, Tolerance, Work};
use paramill::systems::{self, Dynamics, VectorField};
use serde::Deserialize;

#[path = "systems/fields.rs"]
mod fields;
#[path = "systems/sensitivities.rs"]
mod sensitivities;
#[path = "systems/stiff.rs"]
mod stiff;

/// Written by `reference/make.py`, which says how far its own two solvers differ.
#[derive(Deserialize)]
struct Reference {
    disagreement: f64,
    times: Vec<f64>,
    trajectories: Vec<ReferenceTrajectory>,
}

#[derive(Deserialize)]
struct ReferenceTrajectory {
    parameters: Vec<f64>,
    states: Vec<Vec<f64>>,
}

const REFERENCES: [(&str, &str); 3] = [
    ("glycolytic-oscillator", include_str!("reference/glycolytic_oscillator.json")),
    ("lotka-volterra", include_str!("reference/lotka_volterra.json")),
    ("lotka-volterra-4", include_str!("reference/lotka_volterra_4.json")),
];

/// The vector field of a system under one of its presets.
fn field_of(system: &str, preset: &str) -> VectorField {
    let found = systems::find(system).unwrap();
    match found.preset(preset).map(|preset| &preset.dynamics) {
        Some(Dynamics::Field(field)) => Arc::clone(field),
        _ => panic!("{system} has no field under {preset}"),
    }
}

/// The default tolerance of datasets, 1e-9 a step, keeps whole trajectories within 1e-7 of the reference. A rise of the
/// counts of steps tells of a stiffer field; many rejected ones, of a step held back by stability.
#[test]
fn trajectories_agree_with_scipy_at_a_known_cost() {
    let mut table = "system                 steps  rejected  evaluations  log10 error\n".to_owned();
    for (name, reference) in REFERENCES {
        let reference: Reference = serde_json::from_str(reference).unwrap();
        assert!(reference.disagreement < 1e-10, "{name}: the reference is good to {:e} only", reference.disagreement);
        let system = systems::find(name).unwrap();
        let field = field_of(name, "paper");
        let channels = system.channels.len();
        let tolerance = Tolerance { rtol: 1e-9, atol: 1e-9, max_steps: 10_000 };
        let mut integrator = Adaptive::new(&DOP853, channels, tolerance).unwrap();
        let mut total = Work::default();
        let mut worst: f64 = 0.0;
        for case in &reference.trajectories {
            assert_eq!(case.parameters.len(), system.parameters.len(), "{name}");
            let expected = case.states.concat();
            let mut states = vec![f64::NAN; expected.len()];
            let field = &mut |time: f64, state: &[f64], derivative: &mut [f64]| {
                field(&case.parameters, time, state, derivative);
            };
            let work = integrator
                .integrate(field, &expected[..channels], &reference.times, &mut states, &Interrupt::new())
                .unwrap();
            let error = states.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-7, "{name} with {:?} is off by {error:e}", case.parameters);
            worst = worst.max(error);
            total.accepted += work.accepted;
            total.rejected += work.rejected;
            total.evaluations += work.evaluations;
        }
        let Work { accepted, rejected, evaluations } = total;
        writeln!(table, "{name:21} {accepted:6} {rejected:9} {evaluations:12} {:12}", worst.log10().ceil()).unwrap();
    }
    insta::assert_snapshot!(table);
}
