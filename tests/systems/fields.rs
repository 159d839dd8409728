//! Systems of fields on a grid.

use std::fmt::Write;

use paramill::progress::Interrupt;
use paramill::random::Stream;
use paramill::solve::{Adaptive, DOP853, Tolerance};
use paramill::systems::{self, Dynamics, Stepper};
use serde::Deserialize;

use super::field_of;

const POINTS: usize = 32;
/// Later samples of a reference hold every fourth point along each axis.
const THIN: usize = 4;

/// Written by `reference/make_fields.py`.
#[derive(Deserialize)]
struct Reference {
    disagreement: f64,
    #[serde(default)]
    euler_error: f64,
    times: Vec<f64>,
    trajectories: Vec<ReferenceTrajectory>,
}

#[derive(Deserialize)]
struct ReferenceTrajectory {
    preset: String,
    parameters: Vec<f64>,
    /// `[C, n, n]`.
    initial: Vec<f64>,
    states: Vec<Sample>,
    /// The last sample `[n, n]` without an error in time.
    #[serde(default)]
    exact: Vec<f64>,
}

#[derive(Deserialize)]
struct Sample {
    points: Vec<f64>,
    means: Vec<f64>,
    variances: Vec<f64>,
}

fn gray_scott() -> Reference {
    serde_json::from_str(include_str!("../reference/gray_scott.json")).unwrap()
}

fn navier_stokes() -> Reference {
    serde_json::from_str(include_str!("../reference/navier_stokes.json")).unwrap()
}

fn stepper() -> &'static Stepper {
    match systems::find("navier-stokes").unwrap().presets[0].dynamics {
        Dynamics::Stepper(stepper) => stepper,
        Dynamics::Field(_) => panic!("navier-stokes has an integrator of its own"),
    }
}

/// Greatest difference of the samples `[T, C, n, n]` after the first from what the reference holds of them: of points, of means and of
/// variances.
fn differences(case: &ReferenceTrajectory, states: &[f64]) -> [f64; 3] {
    let mut greatest = [0.0_f64; 3];
    let mut compare = |which: usize, found: f64, expected: f64| {
        greatest[which] = greatest[which].max((found - expected).abs());
    };
    for (expected, state) in case.states.iter().zip(states.chunks_exact(case.initial.len()).skip(1)) {
        let kept = (0..state.len()).filter(|place| {
            let (i, j) = (place / POINTS % POINTS, place % POINTS);
            i.is_multiple_of(THIN) && j.is_multiple_of(THIN)
        });
        assert_eq!(kept.clone().count(), expected.points.len());
        for (place, point) in kept.zip(&expected.points) {
            compare(0, state[place], *point);
        }
        for (channel, field) in state.chunks_exact(POINTS * POINTS).enumerate() {
            let mean = field.iter().sum::<f64>() / field.len() as f64;
            let variance = field.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / field.len() as f64;
            compare(1, mean, expected.means[channel]);
            compare(2, variance, expected.variances[channel]);
        }
    }
    greatest
}

/// 1e-9 a step keeps whole trajectories, and the statistics of the patterns, within 1e-6: a step's error is a mean over all points, so
/// a few points may err more.
#[test]
fn gray_scott_agrees_with_scipy_at_a_known_cost() {
    let reference = gray_scott();
    assert!(reference.disagreement < 1e-9, "the reference is good to {:e} only", reference.disagreement);
    let mut table = "preset      parameters       steps  rejected  evaluations  log10 error\n".to_owned();
    for case in &reference.trajectories {
        let field = field_of("gray-scott", &case.preset);
        let tolerance = Tolerance { rtol: 1e-9, atol: 1e-9, max_steps: 10_000 };
        let mut states = vec![f64::NAN; reference.times.len() * case.initial.len()];
        let field = &mut |time: f64, state: &[f64], derivative: &mut [f64]| {
            field(&case.parameters, time, state, derivative);
        };
        let mut integrator = Adaptive::new(&DOP853, case.initial.len(), tolerance).unwrap();
        let work =
            integrator.integrate(field, &case.initial, &reference.times, &mut states, &Interrupt::new()).unwrap();
        let differences = differences(case, &states);
        let error = differences.into_iter().fold(0.0, f64::max);
        assert!(error < 1e-6, "{} with {:?} is off by {differences:?}", case.preset, case.parameters);
        let parameters = format!("{:?}", case.parameters);
        let log_error = error.log10().ceil();
        writeln!(
            table,
            "{:11} {parameters:15} {:6} {:9} {:12} {log_error:12}",
            case.preset, work.accepted, work.rejected, work.evaluations
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

/// A dead field would agree with anything: the benchmark's squares grow into patterns.
#[test]
fn gray_scott_makes_patterns() {
    for case in gray_scott().trajectories.iter().filter(|case| case.preset == "paper") {
        let last = case.states.last().unwrap();
        assert!(last.variances[1] > 5e-3 && last.means[1] > 0.05, "{:?}: {:?}", case.parameters, last.variances);
    }
}

#[test]
fn navier_stokes_agrees_with_numpy() {
    let reference = navier_stokes();
    for case in &reference.trajectories {
        let mut states = vec![f64::NAN; reference.times.len() * case.initial.len()];
        (stepper().integrate)(&case.parameters, &case.initial, &reference.times, 1e-3, &mut states, &Interrupt::new())
            .unwrap();
        let differences = differences(case, &states);
        assert!(differences.into_iter().all(|it| it < 1e-10), "{:?} is off by {differences:?}", case.parameters);
    }
}

/// The error that datasets state is that of the integrator, and falls with its step as it says.
#[test]
fn navier_stokes_errs_as_it_says() {
    let reference = navier_stokes();
    assert!(reference.disagreement < 1e-7, "the reference is good to {:e} only", reference.disagreement);
    let stepper = stepper();
    for step in [stepper.step, 2.0 * stepper.step] {
        let relative = reference.trajectories.iter().map(|case| {
            let mut states = vec![f64::NAN; reference.times.len() * case.initial.len()];
            (stepper.integrate)(
                &case.parameters,
                &case.initial,
                &reference.times,
                step,
                &mut states,
                &Interrupt::new(),
            )
            .unwrap();
            let last = states.chunks_exact(case.initial.len()).last().unwrap();
            let errors = last.iter().zip(&case.exact).map(|(found, exact)| (found - exact).powi(2)).sum::<f64>();
            errors / case.exact.iter().map(|exact| exact * exact).sum::<f64>()
        });
        let error = (relative.sum::<f64>() / reference.trajectories.len() as f64).sqrt();
        let stated = stepper.error_at(step);
        assert!((0.5..2.0).contains(&(error / stated)), "{error:e} at a step of {step}, {stated:e} stated");
        assert!(error < 0.02 * reference.euler_error, "{error:e}, with Euler's rule {:e}", reference.euler_error);
    }
}

/// By 30 units of time the flow has forgotten the size of the random field: force and viscosity balance.
#[test]
fn navier_stokes_starts_from_a_developed_flow() {
    let initial = systems::find("navier-stokes").unwrap().presets[0].initial.clone();
    let mut stream = Stream::new(1, "train", &[0, 0]);
    let mut vorticity = vec![f64::NAN; POINTS * POINTS];
    initial(&mut || stream.unit(), &mut vorticity);
    let mean = vorticity.iter().sum::<f64>() / vorticity.len() as f64;
    let variance = vorticity.iter().map(|value| value * value).sum::<f64>() / vorticity.len() as f64;
    assert!(mean.abs() < 1e-12 && (0.2..5.0).contains(&variance), "{mean} {variance}");
}
