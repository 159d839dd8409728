//! Every solver against exact solutions, against SciPy and against the cost it had before.

#[path = "solvers/stiff.rs"]
mod stiff;

use std::fmt::Write;

use paramill::progress::Interrupt;
use paramill::solve::{self, Adaptive, DOP853, Embedded, Error, ErrorEstimate, Field, Tableau, Tolerance, Work};
use paramill::systems::{self, Dynamics};
use proptest::prelude::*;
use serde::Deserialize;

/// `u' = u cos t`, `v' = t (1 + v^2)`: nonlinear, with time in it.
fn field(time: f64, y: &[f64]) -> Vec<f64> {
    vec![y[0] * time.cos(), time * (1.0 + y[1] * y[1])]
}

/// `u = exp(sin t)`, `v = tan(t^2 / 2)`.
fn exact(time: f64) -> Vec<f64> {
    vec![time.sin().exp(), (time * time / 2.0).tan()]
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn adaptive() -> impl Iterator<Item = (&'static Tableau, &'static Embedded)> {
    solve::all().into_iter().filter_map(|tableau| Some((tableau, tableau.embedded.as_ref()?)))
}

/// Slope of `ln error` over `ln dt` by least squares, over the errors that are neither crude nor rounding.
fn order(errors: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<(f64, f64)> =
        errors.filter(|(_, error)| (1e-13..1e-2).contains(error)).map(|(dt, error)| (dt.ln(), error.ln())).collect();
    assert!(points.len() >= 3, "too few errors to tell an order: {points:?}");
    let n = points.len() as f64;
    let mean = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let covariance: f64 = points.iter().map(|p| (p.0 - mean.0) * (p.1 - mean.1)).sum();
    covariance / points.iter().map(|p| (p.0 - mean.0).powi(2)).sum::<f64>()
}

fn assert_order(what: &str, tableau: &Tableau, found: f64, expected: u32) {
    assert_named_order(what, tableau.name, found, expected);
}

fn assert_named_order(what: &str, name: &str, found: f64, expected: u32) {
    let expected = f64::from(expected);
    assert!((expected - 0.35..expected + 0.65).contains(&found), "{what} of {name}: {found}, not {expected}");
}

#[test]
fn fixed_steps_converge_at_the_stated_order() {
    for tableau in solve::all() {
        let errors = (1..10).map(|power| {
            let steps = 1 << power;
            let dt = 1.0 / f64::from(steps);
            let mut state = exact(0.0);
            for step in 0..steps {
                let time = f64::from(step) * dt;
                state = solve::step_at(tableau, &mut |c, y: &Vec<f64>| field(time + c * dt, y), &state, &dt);
            }
            (dt, distance(&state, &exact(1.0)))
        });
        assert_order("order", tableau, order(errors), tableau.order);
    }
}

#[test]
fn steps_of_an_autonomous_field_leave_the_time_out() {
    for tableau in solve::all() {
        let logistic = |y: &Vec<f64>| vec![y[0] * (1.0 - y[0])];
        let start = vec![0.2];
        let with_time = solve::step_at(tableau, &mut |_, y: &Vec<f64>| logistic(y), &start, &0.1);
        assert_eq!(solve::step(tableau, &mut { logistic }, &start, &0.1), with_time, "{}", tableau.name);
    }
}

/// All stages `[m]` of one step from `time`, and the state after it.
fn stages(tableau: &Tableau, embedded: &Embedded, time: f64, dt: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let start = exact(time);
    let combine = |weights: &[f64], stages: &[Vec<f64>]| -> Vec<f64> {
        (0..start.len())
            .map(|channel| start[channel] + dt * weights.iter().zip(stages).map(|(w, k)| w * k[channel]).sum::<f64>())
            .collect()
    };
    let mut stages: Vec<Vec<f64>> = Vec::new();
    for (node, row) in tableau.nodes.iter().zip(&tableau.stages) {
        stages.push(field(time + node * dt, &combine(row, &stages)));
    }
    let next = combine(&tableau.weights, &stages);
    stages.push(field(time + dt, &next));
    for (node, row) in embedded.extension_nodes.iter().zip(embedded.extension_stages) {
        stages.push(field(time + node * dt, &combine(row, &stages)));
    }
    (stages, next)
}

#[test]
fn error_estimates_and_extensions_have_the_stated_orders() {
    let time = 0.3;
    let steps = || (0..10).map(|power| 0.3 * 0.75_f64.powi(power));
    for (tableau, embedded) in adaptive() {
        let estimates = match embedded.error {
            ErrorEstimate::Single(weights) => vec![(weights, embedded.error_order)],
            ErrorEstimate::Pair { fifth, third } => vec![(fifth, 5), (third, 3)],
        };
        for (weights, of_order) in estimates {
            let sizes = steps().map(|dt| {
                let (stages, _) = stages(tableau, embedded, time, dt);
                let sum = |channel: usize| weights.iter().zip(&stages).map(|(e, k)| e * k[channel]).sum::<f64>();
                (dt, dt * sum(0).hypot(sum(1)))
            });
            assert_order("error estimate", tableau, order(sizes), of_order + 1);
        }

        let interpolations = steps().map(|dt| {
            let (stages, next) = stages(tableau, embedded, time, dt);
            let inside = |theta: f64| -> Vec<f64> {
                let start = exact(time);
                (0..start.len())
                    .map(|channel| {
                        let slope = embedded.extension.iter().zip(&stages).map(|(polynomial, stage)| {
                            let weight = polynomial.iter().rev().fold(0.0, |value, p| (value + p) * theta);
                            weight * stage[channel]
                        });
                        start[channel] + dt * slope.sum::<f64>()
                    })
                    .collect()
            };
            assert!(distance(&inside(1.0), &next) < 1e-13, "the extension of {} misses the step", tableau.name);
            let worst = (1..20).map(|k| f64::from(k) / 20.0);
            (dt, worst.map(|theta| distance(&inside(theta), &exact(time + theta * dt))).fold(0.0, f64::max))
        });
        assert_order("extension", tableau, order(interpolations), embedded.extension_order + 1);
    }
}

fn tolerance(tolerance: f64) -> Tolerance {
    Tolerance { rtol: tolerance, atol: tolerance, max_steps: 10_000 }
}

fn integrate(
    tableau: &'static Tableau,
    tolerance: Tolerance,
    field: &mut impl Field,
    initial: &[f64],
    times: &[f64],
) -> Result<(Vec<f64>, Work), Error> {
    let mut states = vec![f64::NAN; times.len() * initial.len()];
    let work = Adaptive::new(tableau, initial.len(), tolerance)?.integrate(
        field,
        initial,
        times,
        &mut states,
        &Interrupt::new(),
    )?;
    Ok((states, work))
}

#[test]
fn errors_fall_with_the_tolerance() {
    let times: Vec<f64> = (0..38).map(|k| f64::from(k) * 0.04).collect();
    for (tableau, _) in adaptive() {
        let mut last = f64::INFINITY;
        for allowed in [1e-3, 1e-5, 1e-7, 1e-9, 1e-11] {
            let field = &mut |t: f64, y: &[f64], dy: &mut [f64]| dy.copy_from_slice(&field(t, y));
            let (states, _) = integrate(tableau, tolerance(allowed), field, &exact(0.0), &times).unwrap();
            let error = times
                .iter()
                .zip(states.chunks_exact(2))
                .map(|(&time, state)| distance(state, &exact(time)) / exact(time)[1].max(1.0))
                .fold(0.0, f64::max);
            assert!(error < 50.0 * allowed, "{} at {allowed:e}: {error:e}", tableau.name);
            assert!(error < last, "{} at {allowed:e}: {error:e}, no better than {last:e}", tableau.name);
            last = error;
        }
    }
}

#[test]
fn samples_do_not_change_the_steps() {
    let field = &mut |t: f64, y: &[f64], dy: &mut [f64]| dy.copy_from_slice(&field(t, y));
    let few = [0.0, 1.3];
    let many: Vec<f64> = (0..=1300).map(|k| f64::from(k) / 1000.0).collect();
    for (tableau, _) in adaptive() {
        let (sparse, sparse_work) = integrate(tableau, tolerance(1e-8), field, &exact(0.0), &few).unwrap();
        let (dense, dense_work) = integrate(tableau, tolerance(1e-8), field, &exact(0.0), &many).unwrap();
        assert_eq!(sparse[2..], dense[2600..], "{}", tableau.name);
        assert_eq!(sparse_work.accepted, dense_work.accepted, "{}", tableau.name);
    }
}

#[derive(Deserialize)]
struct Reference {
    times: Vec<f64>,
    trajectories: Vec<ReferenceTrajectory>,
}

#[derive(Deserialize)]
struct ReferenceTrajectory {
    parameters: [f64; 2],
    states: Vec<[f64; 2]>,
}

fn lotka_volterra(parameters: [f64; 2]) -> impl FnMut(f64, &[f64], &mut [f64]) {
    let Dynamics::Field(field) = systems::find("lotka-volterra").unwrap().presets[0].dynamics.clone() else {
        panic!("lotka-volterra is a field");
    };
    move |time, state, derivative| field(&parameters, time, state, derivative)
}

/// The reference is good to about 1e-12. Its worst error beside the cost shows whether a change makes a solver better.
#[test]
fn rollouts_agree_with_scipy_at_a_known_cost() {
    let reference: Reference = serde_json::from_str(include_str!("reference/lotka_volterra.json")).unwrap();
    let mut table = "method   tolerance  steps  rejected  evaluations  log10 error\n".to_owned();
    for (tableau, _) in adaptive() {
        for allowed in [1e-4, 1e-7, 1e-10] {
            let mut worst: f64 = 0.0;
            let mut total = Work::default();
            for case in &reference.trajectories {
                let field = &mut lotka_volterra(case.parameters);
                let (states, work) =
                    integrate(tableau, tolerance(allowed), field, &case.states[0], &reference.times).unwrap();
                worst = worst.max(distance(&states, case.states.as_flattened()));
                total.accepted += work.accepted;
                total.rejected += work.rejected;
                total.evaluations += work.evaluations;
            }
            assert!(worst < 100.0 * allowed, "{} at {allowed:e} is off by {worst:e}", tableau.name);
            let Work { accepted, rejected, evaluations } = total;
            let digits = worst.log10().ceil();
            writeln!(table, "{:8} {allowed:9.0e} {accepted:6} {rejected:9} {evaluations:12} {digits:12}", tableau.name)
                .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// However far the end: who asks to stop waits for no count of steps.
#[test]
fn a_request_to_stop_ends_an_integration() {
    let interrupt = Interrupt::new();
    let mut evaluations = 0;
    let fast = &mut |_: f64, y: &[f64], dy: &mut [f64]| {
        evaluations += 1;
        if evaluations == 5000 {
            interrupt.request(15);
        }
        dy[0] = -1e6 * y[0];
    };
    let endless = Tolerance { max_steps: u64::MAX, ..tolerance(1e-8) };
    let mut states = [0.0; 2];
    let ends =
        Adaptive::new(&DOP853, 1, endless).unwrap().integrate(fast, &[1.0], &[0.0, 1e3], &mut states, &interrupt);
    assert!(matches!(ends, Err(Error::Interrupted { signal: 15 })), "{ends:?}");
    assert!(evaluations < 5100, "{evaluations}");
}

#[test]
fn failures_name_time_and_state() {
    let times = [0.0, 0.5, 2.0];
    let blow_up = &mut |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = y[0] * y[0];
    match integrate(&DOP853, tolerance(1e-8), blow_up, &[1.0], &times) {
        Err(Error::StepUnderflow { time, state, .. } | Error::NotFinite { time, state }) => {
            assert!((time - 1.0).abs() < 1e-6, "{time}");
            assert!(state[0] > 1e6, "{state:?}");
        }
        other => panic!("{other:?}"),
    }

    let root = &mut |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = -(y[0] - 0.5).sqrt();
    let ends = integrate(&DOP853, tolerance(1e-8), root, &[0.4], &times);
    assert!(matches!(ends, Err(Error::NotFinite { time: 0.0, ref state }) if state == &[0.4]), "{ends:?}");

    let limit = Tolerance { max_steps: 3, ..tolerance(1e-8) };
    let oscillator = &mut |_: f64, y: &[f64], dy: &mut [f64]| dy.copy_from_slice(&[100.0 * y[1], -100.0 * y[0]]);
    match integrate(&DOP853, limit, oscillator, &[1.0, 0.0], &times) {
        Err(error @ Error::TooManySteps { limit: 3, end: 2.0, .. }) => {
            let text = error.to_string();
            assert!(text.contains("stiff") && text.contains("`max_steps`") && !text.contains("loosen"), "{text}");
            let Error::TooManySteps { time, state, .. } = error else { unreachable!() };
            assert!(time > 0.0 && time < 1.0 && state.len() == 2, "{time} {state:?}");
        }
        other => panic!("{other:?}"),
    }

    let still = &mut |_: f64, _: &[f64], dy: &mut [f64]| dy.fill(0.0);
    let order = integrate(&DOP853, tolerance(1e-8), still, &[1.0], &[0.0, 1.0, 1.0]);
    assert_eq!(order, Err(Error::Times { index: 2, before: 1.0, found: 1.0 }));
    assert_eq!(integrate(&DOP853, tolerance(1e-8), still, &[1.0], &times).unwrap().0, [1.0, 1.0, 1.0]);
    for tableau in solve::all().into_iter().filter(|tableau| tableau.embedded.is_none()) {
        let refused = Adaptive::new(tableau, 1, tolerance(1e-8)).err();
        assert_eq!(refused, Some(Error::NoErrorEstimate { method: tableau.name }));
    }
    assert!(matches!(Adaptive::new(&DOP853, 1, tolerance(0.0)), Err(Error::Tolerance { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// `V = delta x - ln(x) / 2 + beta y - ln(y) / 2` stays what it was; its gradient is bounded by `p + 0.5 / min(x, y)`.
    #[test]
    fn lotka_volterra_keeps_its_invariant(
        beta in 0.25..1.25f64, delta in 0.25..1.25f64, x in 1.0..3.0f64, y in 1.0..3.0f64
    ) {
        let invariant = |state: &[f64]| delta * state[0] - 0.5 * state[0].ln() + beta * state[1] - 0.5 * state[1].ln();
        let times: Vec<f64> = (0..20).map(|k| f64::from(k) * 0.5).collect();
        for (tableau, _) in adaptive() {
            let field = &mut lotka_volterra([beta, delta]);
            let (states, _) = integrate(tableau, tolerance(1e-11), field, &[x, y], &times).unwrap();
            for state in states.chunks_exact(2) {
                let gradient = 1.25 + 0.5 / state[0].min(state[1]);
                let drift = (invariant(state) - invariant(&[x, y])).abs();
                prop_assert!(drift < 1e-9 * gradient, "{}: {drift:e} at {state:?}", tableau.name);
            }
        }
    }
}

/// A repeated method is the method, step after step.
#[test]
fn a_repeated_method_takes_its_steps_one_after_the_other() {
    for tableau in solve::all() {
        let (dt, count) = (0.3, 3);
        let once = solve::step_at(
            &tableau.repeated(count),
            &mut |c, y: &Vec<f64>| field(0.2 + c * dt, y),
            &vec![1.0, 0.5],
            &dt,
        );
        let part = dt / count as f64;
        let steps = (0..count).fold(vec![1.0, 0.5], |state, step| {
            let time = 0.2 + step as f64 * part;
            solve::step_at(tableau, &mut |c, y: &Vec<f64>| field(time + c * part, y), &state, &part)
        });
        assert!(distance(&once, &steps) < 1e-14, "{}: {once:?} and {steps:?}", tableau.name);
    }
}
