//! Derivatives of trajectories by parameters and initial states, against SciPy and against differences.

use std::sync::Arc;

use paramill::progress::Interrupt;
use paramill::schema::Between;
use paramill::signals::Drive;
use paramill::solve::{Adaptive, DOP853, Error, TSIT5, Tableau, Tolerance};
use paramill::systems::{self, Dynamics, Equations, Sensitivities, Start, System};
use serde::Deserialize;

/// Written by `reference/make_sensitivities.py`, by complex steps.
#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    system: String,
    disagreement: f64,
    times: Vec<f64>,
    parameters: Vec<f64>,
    states: Vec<Vec<f64>>,
    /// `[T, C, d_p + C]`.
    sensitivities: Vec<Vec<Vec<f64>>>,
}

const PENDULUM: &str = r#"
    name = "pendulum"
    horizon = 5.0
    time_step = 0.25
    states = [
        { name = "angle", derivative = "speed", initial = [1.0, 1.0] },
        { name = "speed", derivative = "-gravity * sin(angle) - friction * speed + drive * cos(2 * t)", initial = [0.0, 0.0] },
    ]
    parameters = [
        { name = "gravity", lower = 0.1, upper = 10.0 },
        { name = "friction", lower = 0.0, upper = 1.0 },
        { name = "drive", lower = 0.0, upper = 1.0 },
    ]
"#;

/// Lotka-Volterra as a user would write it.
const PAIRS: &str = r#"
    name = "pairs"
    horizon = 10.0
    time_step = 0.5
    states = [
        { name = "x", derivative = "half * x - beta * x * y", initial = [1.0, 3.0] },
        { name = "y", derivative = "delta * x * y - half * y", initial = [1.0, 3.0] },
    ]
    parameters = [{ name = "beta", lower = 0.1, upper = 2.0 }, { name = "delta", lower = 0.1, upper = 2.0 }]
    constants = { half = 0.5 }
"#;

fn user_system(text: &str) -> Arc<System> {
    toml::from_str::<Equations>(text).unwrap().system().unwrap()
}

fn system(name: &str) -> Arc<System> {
    if name == "pendulum" { user_system(PENDULUM) } else { systems::find(name).unwrap() }
}

/// States `[T, C]` and their derivatives `[T, C, d_p + C]` by all parameters and initial values.
fn sensitivities(
    system: &System,
    tableau: &'static Tableau,
    allowed: f64,
    parameters: &[f64],
    initial: &[f64],
    times: &[f64],
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (d_p, c) = (parameters.len(), initial.len());
    let k = d_p + c;
    let unit = |rows: usize, offset: usize| -> Vec<f64> {
        (0..rows * k).map(|cell| f64::from(cell / k + offset == cell % k)).collect()
    };
    let start =
        Start { parameters, parameter_directions: &unit(d_p, 0), state: initial, state_directions: &unit(c, d_p) };
    let tolerance = Tolerance { rtol: allowed, atol: allowed, max_steps: 10_000 };
    let (mut states, mut by_all) = (vec![f64::NAN; times.len() * c], vec![f64::NAN; times.len() * c * k]);
    let tangent = system.presets[0].tangent.clone().unwrap();
    Sensitivities::new(tangent, c, k, tableau, tolerance)?.integrate(
        start,
        times,
        &mut states,
        &mut by_all,
        &Interrupt::new(),
    )?;
    Ok((states, by_all))
}

#[test]
fn sensitivities_agree_with_scipy() {
    let reference: Reference = serde_json::from_str(include_str!("../reference/sensitivities.json")).unwrap();
    for case in &reference.cases {
        assert!(case.disagreement < 1e-5, "{}: the reference is good to {:e} only", case.system, case.disagreement);
        let expected: Vec<f64> = case.sensitivities.concat().concat();
        let k = expected.len() / case.states.concat().len();
        // The greatest derivative along each direction.
        let scale = |direction: usize| {
            expected.iter().skip(direction).step_by(k).fold(0.0, |greatest: f64, value| greatest.max(value.abs()))
        };
        for (tableau, allowed) in [(&DOP853, 1e-10), (&TSIT5, 1e-8)] {
            let (states, found) =
                sensitivities(&system(&case.system), tableau, allowed, &case.parameters, &case.states[0], &case.times)
                    .unwrap();
            for (found, expected) in states.iter().zip(case.states.iter().flatten()) {
                assert!((found - expected).abs() < 100.0 * allowed, "{}: {found}, not {expected}", case.system);
            }
            for (cell, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let error = (found - expected).abs() / scale(cell % k);
                assert!(error < 200.0 * allowed, "{} {}: cell {cell} is off by {error:e}", case.system, tableau.name);
            }
        }
    }
}

#[test]
fn sensitivities_agree_with_differences() {
    let system = system("glycolytic-oscillator");
    let Dynamics::Field(field) = &system.presets[0].dynamics else { panic!("it is a field") };
    let (parameters, initial) = ([90.0, 0.75], [0.9, 1.1, 0.12, 0.2, 0.15, 1.3, 0.07]);
    let times: Vec<f64> = (0..20).map(|sample| f64::from(sample) * 0.05).collect();
    let tolerance = Tolerance { rtol: 1e-12, atol: 1e-12, max_steps: 10_000 };
    let states = |values: &[f64]| {
        let mut states = vec![f64::NAN; times.len() * 7];
        let field = &mut |time: f64, y: &[f64], dy: &mut [f64]| field(&values[..2], time, y, dy);
        Adaptive::new(&DOP853, 7, tolerance)
            .unwrap()
            .integrate(field, &values[2..], &times, &mut states, &Interrupt::new())
            .unwrap();
        states
    };
    let (_, found) = sensitivities(&system, &DOP853, 1e-10, &parameters, &initial, &times).unwrap();
    let values = [parameters.as_slice(), initial.as_slice()].concat();
    for direction in 0..9 {
        let step = 1e-5 * values[direction];
        let moved = |by: f64| {
            let mut values = values.clone();
            values[direction] += by;
            states(&values)
        };
        let (ahead, behind) = (moved(step), moved(-step));
        let differences: Vec<f64> = ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * step)).collect();
        let scale = differences.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
        for (found, expected) in found.iter().skip(direction).step_by(9).zip(&differences) {
            assert!((found - expected).abs() < 1e-6 * scale, "direction {direction}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_system_of_a_user_is_freed_with_its_last_owner() {
    let system = user_system(PAIRS);
    let preset = &system.presets[0];
    let Dynamics::Field(field) = &preset.dynamics else { panic!("it is a field") };
    let (of_system, field) = (Arc::downgrade(&system), Arc::downgrade(field));
    let (tangent, initial) = (Arc::downgrade(preset.tangent.as_ref().unwrap()), Arc::downgrade(&preset.initial));
    assert!(of_system.strong_count() == 1 && field.strong_count() == 1, "somebody else keeps it");
    drop(system);
    assert_eq!(of_system.strong_count(), 0);
    assert_eq!([field.strong_count(), tangent.strong_count(), initial.strong_count()], [0; 3]);
}

#[test]
fn equations_of_a_user_have_the_derivatives_of_a_built_in_system() {
    let times: Vec<f64> = (0..20).map(|sample| f64::from(sample) * 0.5).collect();
    let of = |system: &System| sensitivities(system, &DOP853, 1e-9, &[0.8, 0.6], &[2.5, 1.5], &times).unwrap();
    let (built_in, user) = (of(&system("lotka-volterra")), of(&user_system(PAIRS)));
    for (a, b) in [(&built_in.0, &user.0), (&built_in.1, &user.1)] {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs().max(1.0)));
    }
}

#[test]
fn without_directions_there_is_still_the_state_and_failures_stay_failures() {
    let tangent = system("lotka-volterra").presets[0].tangent.clone().unwrap();
    let tolerance = Tolerance { rtol: 1e-9, atol: 1e-9, max_steps: 10_000 };
    let mut states = [f64::NAN; 4];
    let start = Start { parameters: &[0.5, 0.5], parameter_directions: &[], state: &[1.0, 1.0], state_directions: &[] };
    let mut integrator = Sensitivities::new(Arc::clone(&tangent), 2, 0, &DOP853, tolerance).unwrap();
    integrator.integrate(start, &[0.0, 1.0], &mut states, &mut [], &Interrupt::new()).unwrap();
    assert!(states.iter().all(|value| (value - 1.0).abs() < 1e-12), "rests where both balance: {states:?}");
    let lost = Start { state: &[f64::INFINITY, 1.0], ..start };
    let ends = integrator.integrate(lost, &[0.0, 1.0], &mut states, &mut [], &Interrupt::new());
    assert!(matches!(ends, Err(Error::NotFinite { .. })), "{ends:?}");
    let few = Tolerance { max_steps: 3, ..tolerance };
    let far = Start { state: &[3.0, 0.5], ..start };
    let ends = Sensitivities::new(Arc::clone(&tangent), 2, 0, &TSIT5, few).unwrap().integrate(
        far,
        &[0.0, 9.0],
        &mut states,
        &mut [],
        &Interrupt::new(),
    );
    assert!(matches!(ends, Err(Error::TooManySteps { limit: 3, .. })), "{ends:?}");
    // Of the values that are integrated together, people know the state.
    let along =
        Start { parameter_directions: &[1.0, 0.0, 0.0, 1.0], state: &[2.0, 1.0], state_directions: &[0.0; 4], ..start };
    let (mut states, mut by_both) = ([0.0; 4], [0.0; 8]);
    let mut integrator = Sensitivities::new(tangent, 2, 2, &TSIT5, few).unwrap();
    match integrator.integrate(along, &[0.0, 9.0], &mut states, &mut by_both, &Interrupt::new()) {
        Err(Error::TooManySteps { state, .. }) => assert!(state.len() == 2 && state[0] < 2.5, "{state:?}"),
        other => panic!("{other:?}"),
    }
}

/// A tank that fills by a known flow and drains by itself: `dx/dt = u - rate x`.
const TANK: &str = r#"
    name = "tank"
    horizon = 5.0
    time_step = 0.5
    states = [{ name = "x", derivative = "u - rate * x", initial = [1.0, 1.0] }]
    inputs = [{ name = "u" }]
    parameters = [{ name = "rate", lower = 0.1, upper = 2.0 }]
"#;

/// The tank `[T]` in closed form: with `u = a + s tau`, `x = (x_0 - p) exp(-rate tau) + p + s tau / rate`, `p = a / rate - s / rate^2`.
fn tank(rate: f64, times: &[f64], inputs: &[f64], between: Between) -> Vec<f64> {
    let mut levels = vec![1.0];
    for n in 1..times.len() {
        let tau = times[n] - times[n - 1];
        let a = inputs[n - 1];
        let s = if between == Between::Hold { 0.0 } else { (inputs[n] - a) / tau };
        let p = a / rate - s / (rate * rate);
        levels.push((levels[n - 1] - p) * (-rate * tau).exp() + p + s * tau / rate);
    }
    levels
}

#[test]
fn states_and_sensitivities_follow_inputs() {
    let tangent = user_system(TANK).presets[0].tangent.clone().unwrap();
    let times = [1e6, 1e6 + 0.5, 1e6 + 1.5, 1e6 + 1.75, 1e6 + 4.0];
    let inputs = [1.0, 1.0, 0.0, 3.0, -1.0];
    for between in [Between::Hold, Between::Linear] {
        let tolerance = Tolerance { rtol: 1e-10, atol: 1e-10, max_steps: 10_000 };
        let mut integrator = Sensitivities::new(Arc::clone(&tangent), 1, 2, &DOP853, tolerance).unwrap();
        let start = Start {
            parameters: &[0.7],
            parameter_directions: &[1.0, 0.0],
            state: &[1.0],
            state_directions: &[0.0, 1.0],
        };
        let drive = Drive { times: &times, inputs: &inputs, between: &[between] };
        let (mut states, mut by_all) = (vec![f64::NAN; 5], vec![f64::NAN; 10]);
        integrator.integrate_under(&drive, start, &mut states, &mut by_all, &Interrupt::new()).unwrap();
        let expected = tank(0.7, &times, &inputs, between);
        let [above, below] = [1e-5, -1e-5].map(|by| tank(0.7 + by, &times, &inputs, between));
        for n in 0..times.len() {
            assert!((states[n] - expected[n]).abs() < 1e-8, "{between:?}, sample {n}: {} {}", states[n], expected[n]);
            let slope = (above[n] - below[n]) / 2e-5;
            assert!((by_all[2 * n] - slope).abs() < 1e-7, "{between:?}, sample {n}: {} {slope}", by_all[2 * n]);
            let of_initial = (-0.7 * (times[n] - times[0])).exp();
            assert!((by_all[2 * n + 1] - of_initial).abs() < 1e-8, "{between:?}, sample {n}");
        }
    }
}
