//! Navier-Stokes: vorticity of a forced flow on the periodic unit square.
//!
//! ```text
//! dw/dt = -v . grad(w) + nu lap(w) + f,   div v = 0,   w = curl v
//! f = 0.1 (sin(2 pi (x + y)) + cos(2 pi (x + y)))
//! ```
//!
//! `w [32, 32]` vorticity, `v` velocity, `nu` viscosity, which differs between environments; the benchmark states no units.
//! The integrator is [`super::vorticity`]'s. A trajectory starts from a Gaussian random field ([`super::random_field`], alpha 2.5,
//! tau 7) that has moved on for 30 units of time at `nu = 8e-4`, whatever its own viscosity.
//!
//! Source: M. Kirchmeyer, Y. Yin et al., Generalizing to New Physical Systems via Context-Informed Dynamics Model, ICML
//! 2022, appendix on Navier-Stokes, after Z. Li et al., ICLR 2021.

use std::f64::consts::TAU;
use std::sync::Arc;

use super::random_field::RandomField;
use super::system::{Axis, Channel, Dynamics, EnvironmentSet, Outputs, Parameter, Preset, SpaceAxis, Stepper, System};
use super::vorticity::Vorticity;
use crate::progress::Interrupt;

const POINTS: usize = 32;
/// Step of the integrator, in the initial law always.
const STEP: f64 = 1e-3;
const BURN_IN: f64 = 30.0;
const BURN_IN_VISCOSITY: f64 = 8e-4;
const INITIAL: RandomField = RandomField { smoothness: 2.5, inverse_length: 7.0 };

/// The system `navier-stokes`.
pub(crate) fn system() -> System {
    System {
        name: "navier-stokes".to_owned(),
        description: "Vorticity of a forced flow on a periodic square, 32 x 32 points, viscosity nu varies".to_owned(),
        time_unit: "1".to_owned(),
        channels: vec![Channel::new("w", "1", "Vorticity")],
        outputs: Outputs::default(),
        inputs: Vec::new(),
        covariates: Vec::new(),
        parameters: vec![Parameter::new("nu", "1", "Viscosity", [1e-4, 1.0])],
        horizon: 10.0,
        time_step: 1.0,
        initial: Vec::new(),
        starts: None,
        preequilibration: None,
        doses: None,
        uses_time: false,
        presets: vec![Preset {
            name: "paper".to_owned(),
            description: "Initial vorticity a Gaussian random field after 30 units of time at nu = 8e-4".to_owned(),
            space: vec![axis("x"), axis("y")],
            dynamics: Dynamics::Stepper(&STEPPER),
            tangent: None,
            initial: Arc::new(|uniform, vorticity| {
                INITIAL.draw(POINTS, uniform, vorticity);
                let mut flow = Vorticity::new(POINTS, &force());
                flow.set(vorticity);
                let burnt_in = flow.advance(BURN_IN, STEP, BURN_IN_VISCOSITY, &Interrupt::new());
                burnt_in.expect("nobody asks it to stop");
                flow.get(vorticity);
            }),
            environments: vec![
                EnvironmentSet::new("train", [Axis::values([8e-4, 9e-4, 10e-4, 11e-4, 12e-4])]),
                EnvironmentSet::new("adapt", [Axis::values([8.5e-4, 9.5e-4, 10.5e-4, 11.5e-4])]),
                EnvironmentSet::new("grid", [Axis::Uniform { first: 0.6e-3, last: 1.4e-3, count: 81 }]),
            ],
        }],
    }
}

static STEPPER: Stepper = Stepper {
    name: "pseudo-spectral, Crank-Nicolson and Adams-Bashforth of order 2",
    step: STEP,
    order: 2,
    error: 3.5e-7,
    integrate: |parameters, initial, times, step, states, interrupt| {
        Vorticity::new(POINTS, &force()).integrate(parameters[0], initial, times, step, states, interrupt)
    },
};

fn axis(name: &str) -> SpaceAxis {
    SpaceAxis { name: name.to_owned(), unit: "1".to_owned(), count: POINTS, spacing: 1.0 / POINTS as f64 }
}

/// `f [32, 32]`.
fn force() -> Vec<f64> {
    let value = |place: usize| {
        let (sine, cosine) = (TAU * (place / POINTS + place % POINTS) as f64 / POINTS as f64).sin_cos();
        0.1 * (sine + cosine)
    };
    (0..POINTS * POINTS).map(value).collect()
}
