//! Stiff systems: which method is chosen, and derivatives of trajectories against differences.

use std::sync::Arc;

use paramill::progress::Interrupt;
use paramill::schema::Between;
use paramill::signals::Drive;
use paramill::solve::{DOP853, TSIT5, Tolerance, Work};
use paramill::systems::{Dynamics, Equations, Sensitivities, Simulator, Start, System};

/// Robertson's reaction, which starts within a ten-thousandth of a second and goes on for thousands of years.
const ROBERTSON: &str = r#"
    name = "robertson"
    horizon = 40.0
    time_step = 1.0
    states = [
        { name = "a", derivative = "-k1 * a + k3 * b * c", initial = [1.0, 1.0] },
        { name = "b", derivative = "k1 * a - k2 * b^2 - k3 * b * c", initial = [0.0, 0.0] },
        { name = "c", derivative = "k2 * b^2", initial = [0.0, 0.0] },
    ]
    parameters = [
        { name = "k1", lower = 1e-3, upper = 1.0 },
        { name = "k2", lower = 1e6, upper = 1e9 },
        { name = "k3", lower = 1e3, upper = 1e5 },
    ]
"#;

/// Relaxation to what time and an input drive, with everything that a derivative may depend on.
const DRIVEN: &str = r#"
    name = "driven"
    horizon = 5.0
    time_step = 0.25
    states = [
        { name = "fast", derivative = "rate * (cos(t) + u * slow^1.5 - fast - 0.1 * fast^3)", initial = [1.0, 1.0] },
        { name = "slow", derivative = "exp(-slow) + 0.2 * sin(fast) - loss * sqrt(slow) * tanh(t)", initial = [1.0, 1.0] },
    ]
    inputs = [{ name = "u", unit = "1" }]
    parameters = [{ name = "rate", lower = 1.0, upper = 1e6 }, { name = "loss", lower = 0.1, upper = 10.0 }]
"#;

const RELAXATION: &str = r#"
    name = "relaxation"
    horizon = 20.0
    time_step = 0.25
    states = [
        { name = "x", derivative = "y", initial = [1.5, 2.0] },
        { name = "y", derivative = "mu * (1 - x^2) * y - x", initial = [-0.5, 0.5] },
    ]
    parameters = [{ name = "mu", lower = 0.5, upper = 1e4 }]
"#;

fn system(text: &str) -> Arc<System> {
    toml::from_str::<Equations>(text).unwrap().system().unwrap()
}

/// Along which directions a trajectory is differentiated: each parameter and each value of the initial state, by the logarithm where it is
/// not zero.
fn directions(parameters: &[f64], initial: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let k = parameters.len() + initial.len();
    let size = |value: f64| if value == 0.0 { 1e-3 } else { value };
    let (mut of_parameters, mut of_state) = (vec![0.0; parameters.len() * k], vec![0.0; initial.len() * k]);
    parameters.iter().enumerate().for_each(|(row, value)| of_parameters[row * k + row] = size(*value));
    for (row, value) in initial.iter().enumerate() {
        of_state[row * k + parameters.len() + row] = size(*value);
    }
    (of_parameters, of_state)
}

/// States `[T, C]` and sensitivities `[T, C, k]` as a stiff trajectory from its start.
fn stiff(
    system: &System,
    allowed: [f64; 2],
    (parameters, by_parameters): (&[f64], &[f64]),
    (initial, by_initial): (&[f64], &[f64]),
    drive: &Drive,
) -> (Vec<f64>, Vec<f64>, Work) {
    let (c, k) = (initial.len(), by_initial.len() / initial.len());
    let tolerance = Tolerance { rtol: allowed[0], atol: allowed[1], max_steps: 100_000 };
    let tangent = system.presets[0].tangent.clone().unwrap();
    let mut integrator = Sensitivities::stiff(tangent, c, k, &DOP853, tolerance).unwrap();
    let start = Start { parameters, parameter_directions: by_parameters, state: initial, state_directions: by_initial };
    let (mut states, mut by_all) = (vec![f64::NAN; drive.times.len() * c], vec![f64::NAN; drive.times.len() * c * k]);
    let work = integrator.integrate_under(drive, start, &mut states, &mut by_all, &Interrupt::new()).unwrap();
    (states, by_all, work)
}

/// The greatest distance between derivatives and differences, in units of the greatest derivative of each value along each direction.
fn disagreement(system: &System, allowed: [f64; 2], parameters: &[f64], initial: &[f64], drive: &Drive) -> f64 {
    let (of_parameters, of_state) = directions(parameters, initial);
    let (c, k) = (initial.len(), parameters.len() + initial.len());
    let (_, by_all, _) = stiff(system, allowed, (parameters, &of_parameters), (initial, &of_state), drive);
    let h = 1e-4;
    let mut worst: f64 = 0.0;
    for direction in 0..k {
        let moved = |by: f64| {
            let along = |values: &[f64], directions: &[f64]| -> Vec<f64> {
                let slopes = directions.iter().skip(direction).step_by(k);
                values.iter().zip(slopes).map(|(value, slope)| value + by * slope).collect()
            };
            let (parameters, initial) = (along(parameters, &of_parameters), along(initial, &of_state));
            stiff(system, allowed, (&parameters, &[]), (&initial, &[]), drive).0
        };
        let (after, before) = (moved(h), moved(-h));
        let found = |cell: usize| by_all[cell * k + direction];
        for channel in 0..c {
            let cells = || (channel..after.len()).step_by(c);
            let scale = cells().fold(1e-12, |greatest: f64, cell| greatest.max(found(cell).abs()));
            for cell in cells() {
                let difference = (after[cell] - before[cell]) / (2.0 * h);
                worst = worst.max((found(cell) - difference).abs() / scale);
            }
        }
    }
    worst
}

#[test]
fn sensitivities_of_stiff_systems_agree_with_differences() {
    let times: Vec<f64> = std::iter::once(0.0).chain((-8..=22).map(|k| 10.0_f64.powf(f64::from(k) / 2.0))).collect();
    let whole = Drive { times: &times, inputs: &[], between: &[] };
    let off = disagreement(&system(ROBERTSON), [1e-11, 1e-16], &[0.04, 3e7, 1e4], &[1.0, 0.0, 0.0], &whole);
    assert!(off < 1e-5, "robertson: {off:e}");

    let times: Vec<f64> = (0..21).map(|k| f64::from(k) * 0.25).collect();
    let inputs: Vec<f64> = times.iter().map(|t| (3.0 * t).sin()).collect();
    for between in [Between::Linear, Between::Hold] {
        let drive = Drive { times: &times, inputs: &inputs, between: &[between] };
        for rate in [3.0, 1e3] {
            let off = disagreement(&system(DRIVEN), [1e-11, 1e-11], &[rate, 0.5], &[1.0, 1.0], &drive);
            assert!(off < 1e-5, "driven at {rate}, {between:?}: {off:e}");
        }
    }
    // Up to the first jump, which moves so far that no difference follows it.
    let times: Vec<f64> = (0..36).map(|k| f64::from(k) * 2.0).collect();
    let drive = Drive { times: &times, inputs: &[], between: &[] };
    let off = disagreement(&system(RELAXATION), [1e-11, 1e-11], &[100.0], &[2.0, 0.1], &drive);
    assert!(off < 1e-5, "relaxation: {off:e}");
}

/// Both methods on a trajectory that both can follow.
#[test]
fn both_methods_give_the_same_sensitivities() {
    let (system, parameters, initial) = (system(RELAXATION), [5.0], [1.7, 0.3]);
    let times: Vec<f64> = (0..40).map(|k| f64::from(k) * 0.25).collect();
    let (of_parameters, of_state) = directions(&parameters, &initial);
    let drive = Drive { times: &times, inputs: &[], between: &[] };
    let (states, by_all, _) =
        stiff(&system, [1e-10, 1e-10], (&parameters, &of_parameters), (&initial, &of_state), &drive);
    let tolerance = Tolerance { rtol: 1e-11, atol: 1e-11, max_steps: 10_000 };
    let tangent = system.presets[0].tangent.clone().unwrap();
    let mut explicit = Sensitivities::new(tangent, 2, 3, &DOP853, tolerance).unwrap();
    let (mut expected, mut derivatives) = (vec![0.0; states.len()], vec![0.0; by_all.len()]);
    let start = Start {
        parameters: &parameters,
        parameter_directions: &of_parameters,
        state: &initial,
        state_directions: &of_state,
    };
    explicit.integrate(start, &times, &mut expected, &mut derivatives, &Interrupt::new()).unwrap();
    assert!(!explicit.is_stiff());
    for (found, expected) in states.iter().zip(&expected).chain(by_all.iter().zip(&derivatives)) {
        assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found}, not {expected}");
    }
}

/// Whether the next trajectory begins as a stiff one, after each of several with these values of `mu`; with the last states and their cost.
fn choices(mu: &[f64], end: f64) -> Vec<(bool, [f64; 2], Work)> {
    let system = system(RELAXATION);
    let tolerance = Tolerance { rtol: 1e-6, atol: 1e-6, max_steps: 1_000_000 };
    let tangent = system.presets[0].tangent.clone().unwrap();
    let mut integrator = Sensitivities::new(tangent, 2, 1, &TSIT5, tolerance).unwrap();
    let of_each = mu.iter().map(|&mu| {
        let times: Vec<f64> = (0..=4).map(|k| f64::from(k) * end / 4.0).collect();
        let start =
            Start { parameters: &[mu], parameter_directions: &[mu], state: &[2.0, 0.0], state_directions: &[0.0; 2] };
        let (mut states, mut by_all) = ([f64::NAN; 10], [f64::NAN; 10]);
        let work = integrator.integrate(start, &times, &mut states, &mut by_all, &Interrupt::new()).unwrap();
        assert!(states.iter().chain(&by_all).all(|value| value.is_finite()), "{mu}: {states:?} {by_all:?}");
        (integrator.is_stiff(), [states[8], states[9]], work)
    });
    of_each.collect()
}

#[test]
fn the_method_follows_the_system_and_what_it_costs() {
    let found = choices(&[1.0, 1000.0, 1000.0, 1.0, 1.0], 500.0);
    let is_stiff: Vec<bool> = found.iter().map(|it| it.0).collect();
    assert_eq!(is_stiff, [false, true, true, false, false], "{found:?}");
    // Left in the middle, and from the start.
    let [x, y] = [0, 1].map(|value| (found[1].1[value] - found[2].1[value]).abs());
    assert!(x < 1e-4 && y < 1e-4, "{found:?}");
    assert!(found[2].2.evaluations < 3000, "{:?}", found[2]);
}

#[test]
fn simulations_leave_the_explicit_method_where_it_creeps() {
    let (robertson, tolerance) = (system(ROBERTSON), Tolerance { rtol: 1e-9, atol: 1e-14, max_steps: 10_000 });
    let preset = &robertson.presets[0];
    let Dynamics::Field(field) = &preset.dynamics else { panic!("it is a field") };
    let times: Vec<f64> = std::iter::once(0.0).chain((0..=11).map(|k| 10.0_f64.powi(k))).collect();
    let simulate = |with: bool| {
        let tangent = preset.tangent.as_ref().filter(|_| with);
        let mut simulator = Simulator::new(field, tangent, 3, Some(&DOP853), tolerance).unwrap();
        let mut states = vec![f64::NAN; times.len() * 3];
        let parameters = [0.04, 3e7, 1e4];
        simulator.integrate(&parameters, &[1.0, 0.0, 0.0], &times, &mut states, &Interrupt::new()).map(|_| states)
    };
    let states = simulate(true).unwrap();
    // Published to this many digits (Hairer and Wanner's test set, at 1e11).
    let end = &states[states.len() - 3..];
    for (found, expected) in end.iter().zip([0.2083340149701255e-7, 0.8333360770334713e-13, 0.999_999_979_166_505]) {
        assert!((found / expected - 1.0).abs() < 1e-5, "{end:?}");
    }
    // Matter is conserved.
    assert!(states.chunks_exact(3).all(|state| (state.iter().sum::<f64>() - 1.0).abs() < 1e-8));
    assert!(simulate(false).is_err());
}
