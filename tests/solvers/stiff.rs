//! The method for stiff systems: order, stability, derivatives, and what an explicit method says of stiffness.

use paramill::progress::Interrupt;
use paramill::solve::{
    Adaptive, DOP853, DOPRI5, Linearisation, RODAS5P, Rosenbrock, StiffField, TSIT5, Tableau, Tolerance,
};

use super::{assert_named_order, distance, exact, field, order, tolerance};

/// A field of two values with its Jacobian `[[a, b], [c, d]]` and its derivative by time.
struct Two<F, J>(F, J);

impl<F, J> StiffField for Two<F, J>
where
    F: Fn(f64, &[f64]) -> Vec<f64>,
    J: Fn(f64, &[f64]) -> ([f64; 4], [f64; 2]),
{
    fn pattern(&self) -> Vec<(usize, usize)> {
        vec![(0, 0), (0, 1), (1, 0), (1, 1)]
    }

    fn slopes(&mut self, time: f64, state: &[f64], slopes: &mut [f64]) {
        slopes.copy_from_slice(&(self.0)(time, state));
    }

    fn linearise(&mut self, time: f64, state: &[f64], at: &mut Linearisation) -> u64 {
        let (jacobian, by_time) = (self.1)(time, state);
        at.entries.copy_from_slice(&jacobian);
        at.by_time.copy_from_slice(&by_time);
        1
    }
}

/// The field of the explicit methods, which has time in it.
fn driven() -> impl StiffField {
    Two(field, |time: f64, y: &[f64]| {
        let by_time = [-y[0] * time.sin(), 1.0 + y[1] * y[1]];
        ([time.cos(), 0.0, 0.0, 2.0 * time * y[1]], by_time)
    })
}

fn integrate(
    field: &mut impl StiffField,
    tolerance: Tolerance,
    dt: Option<f64>,
    initial: &[f64],
    times: &[f64],
) -> Vec<f64> {
    let mut states = vec![f64::NAN; times.len() * initial.len()];
    let mut integrator = Rosenbrock::new(&RODAS5P, initial.len(), 0, tolerance).unwrap();
    integrator.integrate(field, initial, dt, times, &mut states, &Interrupt::new()).unwrap();
    states
}

/// One step of a length that no tolerance forbids.
fn one_step(field: &mut impl StiffField, start: f64, dt: f64, inside: &[f64]) -> Vec<Vec<f64>> {
    let loose = Tolerance { rtol: 1e9, atol: 1e9, max_steps: 1 };
    let times: Vec<f64> =
        std::iter::once(0.0).chain(inside.iter().copied()).chain([1.0]).map(|it| start + it * dt).collect();
    let states = integrate(field, loose, Some(2.0 * dt), &exact(start), &times);
    states.chunks_exact(2).map(<[f64]>::to_vec).collect()
}

#[test]
fn steps_converge_at_the_stated_order() {
    let steps = (2..9).map(|power| {
        let count = 1 << power;
        let dt = 1.0 / f64::from(count);
        let mut state = exact(0.0);
        for step in 0..count {
            let time = f64::from(step) * dt;
            let loose = Tolerance { rtol: 1e9, atol: 1e9, max_steps: 1 };
            state = integrate(&mut driven(), loose, Some(2.0 * dt), &state, &[time, time + dt])[2..].to_vec();
        }
        (dt, distance(&state, &exact(1.0)))
    });
    assert_named_order("order", "rodas5p", order(steps), RODAS5P.order);

    let inside: Vec<f64> = (1..20).map(|k| f64::from(k) / 20.0).collect();
    let worst = (0..10).map(|power| {
        let dt = 0.3 * 0.75_f64.powi(power);
        let states = one_step(&mut driven(), 0.3, dt, &inside);
        let errors = states[1..20].iter().zip(&inside).map(|(state, at)| distance(state, &exact(0.3 + at * dt)));
        (dt, errors.fold(0.0, f64::max))
    });
    assert_named_order("extension", "rodas5p", order(worst), RODAS5P.extension_order + 1);
}

#[test]
fn errors_fall_with_the_tolerance() {
    let times: Vec<f64> = (0..38).map(|k| f64::from(k) * 0.04).collect();
    let mut last = f64::INFINITY;
    for allowed in [1e-3, 1e-5, 1e-7, 1e-9, 1e-11] {
        let states = integrate(&mut driven(), tolerance(allowed), None, &exact(0.0), &times);
        let errors = times.iter().zip(states.chunks_exact(2));
        let error =
            errors.map(|(&time, state)| distance(state, &exact(time)) / exact(time)[1].max(1.0)).fold(0.0, f64::max);
        assert!(error < 50.0 * allowed && error < last, "{allowed:e}: {error:e} after {last:e}");
        last = error;
    }
}

/// `u' = -rate (u - cos t) - sin t`, which has the solution `cos t`: what differs from it decays, however long the step.
#[test]
fn what_decays_fast_is_gone_after_a_long_step() {
    for rate in [1e4, 1e8, 1e12] {
        let mut relaxing = Two(
            |t: f64, y: &[f64]| vec![-rate * (y[0] - t.cos()) - t.sin(), -y[1]],
            |t: f64, _: &[f64]| ([-rate, 0.0, 0.0, -1.0], [-rate * t.sin() - t.cos(), 0.0]),
        );
        let loose = Tolerance { rtol: 1e9, atol: 1e9, max_steps: 1 };
        let states = integrate(&mut relaxing, loose, Some(1.0), &[2.0, 1.0], &[0.0, 0.5]);
        assert!((states[2] - 0.5_f64.cos()).abs() < 1e-2, "{rate:e}: {states:?}");
        // To the tolerance it takes as many steps as the slow part asks for.
        let mut integrator = Rosenbrock::new(&RODAS5P, 2, 0, tolerance(1e-8)).unwrap();
        let mut states = [0.0; 4];
        let work = integrator
            .integrate(&mut relaxing, &[2.0, 1.0], None, &[0.0, 10.0], &mut states, &Interrupt::new())
            .unwrap();
        assert!((states[2] - 10.0_f64.cos()).abs() < 1e-7 && work.accepted < 300, "{rate:e}: {states:?}, {work:?}");
        // An explicit method would follow the fast part to the end.
        assert!((integrator.stiffness() / (10.0 * rate) - 1.0).abs() < 0.01, "{}", integrator.stiffness());
    }
}

#[test]
fn an_explicit_method_knows_what_is_stiff() {
    let found = |tableau: &'static Tableau, rate: f64, patience: u64| {
        let mut adaptive = Adaptive::new(tableau, 2, tolerance(1e-6)).unwrap();
        let field = &mut |t: f64, y: &[f64], dy: &mut [f64]| {
            dy.copy_from_slice(&[-rate * (y[0] - t.cos()) - t.sin(), y[1] * t.cos()]);
        };
        let (times, mut states) = ([0.0, 1.0, 9.0], [f64::NAN; 6]);
        let stiff = adaptive
            .integrate_unless_stiff(field, &[1.0, 1.0], &times, &mut states, &Interrupt::new(), patience)
            .unwrap();
        (stiff, adaptive.work(), states)
    };
    for tableau in [&DOP853, &DOPRI5, &TSIT5] {
        let (stiff, work, states) = found(tableau, 3e3, 0);
        let stiff = stiff.unwrap_or_else(|| panic!("{} takes it for easy", tableau.name));
        assert!(work.accepted < 400 && stiff.time < 3.0, "{}: {work:?} {stiff:?}", tableau.name);
        let written = states.chunks_exact(2).take_while(|state| !state[0].is_nan()).count();
        assert_eq!(written, stiff.sample, "{}", tableau.name);
        let (patient, work, _) = found(tableau, 3e3, 10_000);
        assert!(patient.unwrap().time > stiff.time && work.evaluations >= 10_000, "{}: {work:?}", tableau.name);
        assert_eq!(found(tableau, 1.0, 0).0, None, "{}", tableau.name);
    }
}

/// The limit is where the stability polynomial leaves the unit circle, or just before.
#[test]
fn limits_of_stability_are_those_of_the_methods() {
    for tableau in [&DOP853, &DOPRI5, &TSIT5] {
        let factor = |z: f64| paramill::solve::step(tableau, &mut |y: &Vec<f64>| vec![-y[0]], &vec![1.0], &z)[0].abs();
        let limit = tableau.embedded.as_ref().unwrap().stiff;
        assert!(factor(limit) < 1.0 && factor(1.15 * limit) > 1.0, "{}: {}", tableau.name, factor(limit));
    }
}
