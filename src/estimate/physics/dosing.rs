//! Trajectories under amounts that are given at once, with their derivatives.
//!
//! ```text
//! y+ = y- + F a e_i,     S+ = S- + a e_i dF + (f(y-) - f(y+)) dl        at the time t + l
//! ```
//!
//! `a` is the amount given at `t`, `F` its bioavailability, `l` its lag time, `e_i` the unit vector of its state, `f` the vector field, and
//! `S [N, k]` the derivatives along directions. A reset puts states and derivatives to those of the starts. Doses in their steady state,
//! `a` every `T` since ever, put them to the fixed point of [`steady`](super::steady), or add it to them; infusions likewise. At one time resets come first, then steady states, then
//! amounts; the sample of that time comes before all of them.

use super::budget::{Budget, Halt};
use super::course::{Course, Given};
use super::differences::Integrator;
use super::function::Along;
use super::model::{Derivatives, Model};
use super::series::Series;
use super::steady::{Repeated, steady};
use crate::dataset::Manifest;
use crate::problems::{Problem, Problems};
use crate::schema::Between;
use crate::signals::Drive;
use crate::systems::{Doses, InitialValue, Start, System, wrong_way};

/// What happens at a time.
struct Action {
    time: f64,
    /// When it was ordered: earlier by the lag.
    ordered: f64,
    what: What,
}

enum What {
    Reset,
    /// What is repeated, and whether its steady state is added to the state.
    Steady(Repeated, bool),
    Give(Given),
}

impl What {
    /// What comes first at one time.
    fn rank(&self) -> u8 {
        match self {
            What::Reset => 0,
            What::Steady(..) => 1,
            What::Give(_) => 2,
        }
    }
}

/// Inputs of doses and resets that a dataset has on straight lines.
pub(crate) fn problems(system: &System, manifest: &Manifest) -> Vec<Problem> {
    let mut problems = Problems::default();
    let Some(doses) = &system.doses else { return Vec::new() };
    for (index, input) in system.inputs.iter().enumerate() {
        let is_read = doses.reads(index);
        let known = manifest.inputs.iter().find(|it| it.quantity.name == input.name);
        problems.require(
            !is_read || known.is_none_or(|it| it.between == Between::Hold),
            "system",
            format!("doses or resets by the input `{}`, which is on straight lines between its samples", input.name),
            "an input that is held and rises at once",
            "import it with `shape = \"bolus\"` ([[import.events]]) or `between = \"hold\"`",
        );
    }
    problems.into_vec()
}

/// Integrates `series` from `start`: writes states `[T, N]` and sensitivities `[T, N, k]`.
///
/// # Errors
/// Why it was not integrated to its end.
pub(crate) fn integrate(
    model: &Model,
    series: &Series,
    integrator: &mut Integrator,
    start: Start,
    (states, sensitivities): (&mut [f64], &mut [f64]),
    budget: &mut Budget,
) -> Result<(), Halt> {
    let drive = Drive { times: series.times(), inputs: series.inputs(), between: &model.between };
    let (Some(doses), Derivatives::Sensitivities(field), [first, .., end]) =
        (&model.doses, &model.derivatives, drive.times)
    else {
        budget.ensure_left()?;
        let integrated = integrator.integrate(&drive, start, states, sensitivities, budget.interrupt);
        budget.spend(integrator.evaluations());
        return Ok(integrated?);
    };
    let course = Course::new(drive, start, field);
    let (n, k) = (course.n, course.k);
    let (mut state, mut slopes) = (start.state.to_vec(), start.state_directions.to_vec());
    states[..n].copy_from_slice(&state);
    sensitivities[..n * k].copy_from_slice(&slopes);
    let (mut now, mut sample) = (*first, 1);
    let actions = actions(doses, series, &course)?;
    for action in actions.iter().filter(|it| it.time >= *first && it.time < *end) {
        let until = drive.times.partition_point(|time| *time <= action.time);
        let room = (&mut states[sample * n..until * n], &mut sensitivities[sample * n * k..until * n * k]);
        course.advance(integrator, (now, action.time), sample..until, (&mut state, &mut slopes), room, budget)?;
        (now, sample) = (action.time, until);
        match &action.what {
            What::Give(given) => course.give(now, given, &mut state, &mut slopes),
            What::Reset => (state, slopes) = reset(doses, &course, now),
            What::Steady(repeated, false) => {
                (state, slopes) = steady(&course, integrator, repeated, (now, &state), budget)?;
            }
            What::Steady(repeated, true) => {
                let (values, of_values) = steady(&course, integrator, repeated, (now, &vec![0.0; n]), budget)?;
                state.iter_mut().zip(values).for_each(|(state, value)| *state += value);
                slopes.iter_mut().zip(of_values).for_each(|(slope, value)| *slope += value);
            }
        }
    }
    let room = (&mut states[sample * n..], &mut sensitivities[sample * n * k..]);
    course.advance(integrator, (now, *end), sample..drive.times.len(), (&mut state, &mut slopes), room, budget)
}

/// All that happens, in order.
fn actions(doses: &Doses, series: &Series, course: &Course) -> Result<Vec<Action>, Halt> {
    let k = course.k;
    let Along { values, slopes } =
        course.function(&doses.field).along(&course.drive, 1, (&[], &[]), 2 * doses.ways.len());
    let given = |way: usize, by: f64| {
        let part = |part: usize| &slopes[(2 * way + part) * k..(2 * way + part + 1) * k];
        Given {
            state: doses.ways[way].state,
            amount: values[2 * way] * by,
            amount_slopes: part(0).iter().map(|slope| slope * by).collect(),
            lag: values[2 * way + 1],
            lag_slopes: part(1).to_vec(),
        }
    };
    if let Some(wrong) = wrong_way(&values) {
        return Err(Halt::Dose(wrong));
    }
    let rises = series.rises();
    let mut actions = Vec::new();
    for rise in &rises {
        let time = rise.time;
        let interval = doses.intervals().find(|interval| interval.0 == rise.input);
        let is_interval = interval.is_some();
        let of_way = |way: &usize| doses.ways[*way].input == rise.input;
        let is_dose = (0..doses.ways.len()).any(|way| of_way(&way));
        if (is_interval || is_dose || doses.reset == Some(rise.input)) && rise.by < 0.0 {
            let fall = -rise.by;
            return Err(Halt::Dose(format!(
                "an input of doses or resets falls by {fall} at t = {time}: it must be the sum of all amounts so far (`shape = \"bolus\"`)"
            )));
        }
        if doses.reset == Some(rise.input) {
            actions.push(Action { time, ordered: time, what: What::Reset });
        }
        if let Some((_, is_added)) = interval {
            let begun = doses.begun(&rises, rise).map_err(Halt::Dose)?;
            let repeated = Repeated {
                doses: begun.doses.into_iter().map(|(way, by)| given(way, by)).collect(),
                infusions: begun.infusions,
                interval: begun.interval,
            };
            actions.push(Action { time, ordered: time, what: What::Steady(repeated, is_added) });
        }
        for way in (0..doses.ways.len()).filter(of_way) {
            let given = given(way, rise.by);
            actions.push(Action { time: time + given.lag, ordered: time, what: What::Give(given) });
        }
    }
    // What was ordered before a reset or a steady state does not act after it.
    let cuts: Vec<f64> = actions.iter().filter(|it| !matches!(it.what, What::Give(_))).map(|it| it.time).collect();
    actions.retain(|it| !cuts.iter().any(|cut| it.ordered < *cut && it.time >= *cut));
    actions.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.what.rank().cmp(&b.what.rank())));
    Ok(actions)
}

/// The starts of the states, and their derivatives, at a time.
fn reset(doses: &Doses, course: &Course, time: f64) -> (Vec<f64>, Vec<f64>) {
    let (n, k) = (course.n, course.k);
    let (mut state, mut slopes) = (vec![0.0; n], vec![0.0; n * k]);
    let inputs = course.inputs_at(time);
    let drive = Drive { times: &[time], inputs: &inputs, ..course.drive };
    let of_starts = doses.starts.as_ref().map(|field| course.function(field).along(&drive, 1, (&[], &[]), n));
    for (value, initial) in doses.initial.iter().enumerate() {
        match (initial, &of_starts) {
            (InitialValue::Number(number), _) => state[value] = *number,
            (InitialValue::Expression(_), Some(Along { values, slopes: of_values })) => {
                state[value] = values[value];
                slopes[value * k..(value + 1) * k].copy_from_slice(&of_values[value * k..(value + 1) * k]);
            }
            // Equations with a reset have no other starts.
            _ => {}
        }
    }
    (state, slopes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::progress::Interrupt;
    use crate::solve::{DOP853, Tolerance};
    use crate::systems::{Equations, Sensitivities};

    /// Absorption and elimination, saturable where `km` is finite; oral and intravenous doses, resets, and intervals of steady states.
    const BODY: &str = r#"
        name = "body"
        horizon = 24.0
        time_step = 1.0
        reset = "reset"
        inputs = [
            { name = "oral" }, { name = "vein" }, { name = "reset" }, { name = "interval" },
            { name = "rate" }, { name = "every" }, { name = "added" },
        ]
        infusions = [{ input = "rate", interval = "every", superposed = "added" }]
        states = [
            { name = "depot", derivative = "-ka * depot", start = 0.0 },
            { name = "central", derivative = "ka * depot - ke * central / (1 + central / km) + rate", start = "base" },
        ]
        parameters = [
            { name = "ka", lower = 0.1, upper = 9.0 },
            { name = "ke", lower = 0.01, upper = 9.0 },
            { name = "f", lower = 0.0, upper = 1.0 },
            { name = "lag", lower = 0.0, upper = 3.0 },
            { name = "base", lower = 0.0, upper = 3.0 },
            { name = "km", lower = 0.0, upper = 1e300 },
        ]
        doses = [
            { input = "oral", state = "depot", bioavailability = "f", lag = "lag", interval = "interval" },
            { input = "vein", state = "central", bioavailability = "1 / 2" },
        ]
    "#;
    const KA: f64 = 1.3;
    const KE: f64 = 0.2;
    const F: f64 = 0.7;
    const LAG: f64 = 0.35;
    const BASE: f64 = 0.4;

    /// States `[T, 2]` and their derivatives by the parameters `[T, 2, 6]`, with doses as sums `[T, 4]`, and no infusion.
    fn course(parameters: &[f64; 6], times: &[f64], inputs: &[[f64; 4]]) -> Result<(Vec<f64>, Vec<f64>), Halt> {
        let inputs: Vec<[f64; 7]> = inputs.iter().map(|row| [row[0], row[1], row[2], row[3], 0.0, 0.0, 0.0]).collect();
        course_of_all(parameters, times, &inputs)
    }

    /// The same with all inputs `[T, 7]`.
    fn course_of_all(parameters: &[f64; 6], times: &[f64], inputs: &[[f64; 7]]) -> Result<(Vec<f64>, Vec<f64>), Halt> {
        let equations: Equations = toml::from_str(BODY).unwrap();
        let system = equations.system().unwrap();
        let field = system.presets[0].tangent.clone().unwrap();
        let tolerance = Tolerance { rtol: 1e-11, atol: 1e-12, max_steps: 100_000 };
        let sensitivities = Sensitivities::new(Arc::clone(&field), 2, 6, &DOP853, tolerance).unwrap();
        let model = Model {
            derivatives: Derivatives::Sensitivities(field),
            channels: 2,
            observables: None,
            points: 1,
            between: vec![Between::Hold; 7],
            parameters: parameters.to_vec(),
            estimated: Vec::new(),
            coordinates: Vec::new(),
            own: Vec::new(),
            initial: system.initial.clone(),
            starts: system.starts.clone(),
            rest: None,
            doses: system.doses.clone(),
            start: None,
        };
        let series = Series::new(times.to_vec(), vec![0.0; 2 * times.len()], inputs.concat(), 2);
        let identity: Vec<f64> = (0..36).map(|cell| f64::from(cell / 6 == cell % 6)).collect();
        let mut of_start = vec![0.0; 12];
        of_start[6 + 4] = 1.0;
        let state = [0.0, parameters[4]];
        let start = Start { parameters, parameter_directions: &identity, state: &state, state_directions: &of_start };
        let (mut states, mut slopes) = (vec![0.0; 2 * times.len()], vec![0.0; 12 * times.len()]);
        let (interrupt, mut integrator) = (Interrupt::default(), Integrator::Sensitivities(Box::new(sensitivities)));
        let mut budget = Budget::new(u64::MAX, &interrupt);
        integrate(&model, &series, &mut integrator, start, (&mut states, &mut slopes), &mut budget)?;
        Ok((states, slopes))
    }

    fn body(km: f64) -> [f64; 6] {
        [KA, KE, F, LAG, BASE, km]
    }

    /// The central amount `t` after an amount of 1 has reached the depot.
    fn absorbed(t: f64) -> f64 {
        if t < 0.0 { 0.0 } else { KA / (KA - KE) * ((-KE * t).exp() - (-KA * t).exp()) }
    }

    fn assert_central(found: &[f64], times: &[f64], expected: impl Fn(f64) -> f64) {
        for (state, time) in found.chunks_exact(2).zip(times) {
            assert!((state[1] - expected(*time)).abs() < 1e-8, "{} at {time}, not {}", state[1], expected(*time));
        }
    }

    /// Against central differences.
    fn assert_derivatives(km: f64, times: &[f64], inputs: &[[f64; 4]]) {
        let (_, slopes) = course(&body(km), times, inputs).unwrap();
        for parameter in 0..6 {
            let step = 1e-5 * body(km)[parameter];
            let [above, below] = [step, -step].map(|step| {
                let mut moved = body(km);
                moved[parameter] += step;
                course(&moved, times, inputs).unwrap().0
            });
            for (cell, (above, below)) in above.iter().zip(&below).enumerate() {
                let (found, expected) = (slopes[cell * 6 + parameter], (above - below) / (2.0 * step));
                assert!(
                    (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                    "parameter {parameter}, cell {cell}: {found}, not {expected}"
                );
            }
        }
    }

    /// Negative times, several doses in the lag of another, and one at the time of a sample, which does not see it.
    const TIMES: [f64; 8] = [-3.0, -2.8, -1.0, 0.0, 0.1, 2.0, 5.0, 9.0];
    const DOSES: [[f64; 4]; 8] = [
        [10.0, 0.0, 0.0, 0.0],
        [14.0, 0.0, 0.0, 0.0],
        [14.0, 0.0, 0.0, 0.0],
        [14.0, 6.0, 0.0, 0.0],
        [19.0, 6.0, 0.0, 0.0],
        [19.0, 6.0, 0.0, 0.0],
        [19.0, 6.0, 0.0, 0.0],
        [99.0, 6.0, 0.0, 0.0],
    ];

    #[test]
    fn doses_add_up_as_exponentials() {
        let (states, _) = course(&body(1e300), &TIMES, &DOSES).unwrap();
        assert_central(&states, &TIMES, |t| {
            let oral = [(-3.0, 10.0), (-2.8, 4.0), (0.1, 5.0)];
            let oral: f64 = oral.iter().map(|(given, amount)| F * amount * absorbed(t - given - LAG)).sum();
            let vein = if t > 0.0 { 3.0 * (-KE * t).exp() } else { 0.0 };
            BASE * (-KE * (t + 3.0)).exp() + oral + vein
        });
        for km in [2.0, 1e6] {
            assert_derivatives(km, &TIMES, &DOSES);
        }
    }

    #[test]
    fn a_reset_drops_what_was_given_before() {
        let mut inputs = DOSES;
        // With a dose at its own time (4), while that of 0.1 is still to act.
        inputs[4..].iter_mut().for_each(|row| row[2] = 1.0);
        inputs[4][0] = 14.0;
        let times = [TIMES.as_slice(), &[9.5]].concat();
        let inputs = [inputs.as_slice(), &[[19.0, 6.0, 1.0, 0.0]]].concat();
        let mut late = inputs.clone();
        late[4][0] = 19.0;
        for inputs in [&inputs, &late] {
            let given = if inputs[4][0] > 14.0 { 0.1 } else { 2.0 };
            let inputs: Vec<[f64; 4]> = inputs.iter().map(|row| [row[0].min(19.0), row[1], row[2], row[3]]).collect();
            let (states, _) = course(&body(1e300), &times, &inputs).unwrap();
            assert_central(&states[10..], &times[5..], |t| {
                BASE * (-KE * (t - 0.1)).exp() + F * 5.0 * absorbed(t - given - LAG)
            });
            assert_derivatives(3.0, &times, &inputs);
        }
    }

    #[test]
    fn a_steady_state_is_that_of_doses_since_ever() {
        let (times, every) = ([0.0, 0.3, 1.0, 7.0, 12.5, 13.0], 6.0);
        let dose = |before: f64| [before + 8.0, 0.0, 0.0, every];
        let inputs = [[3.0, 0.0, 0.0, 0.0], dose(3.0), dose(3.0), dose(3.0), dose(3.0), dose(3.0)];
        let (states, _) = course(&body(1e300), &times, &inputs).unwrap();
        assert_central(&states[4..], &times[2..], |t| {
            (0..200).map(|past| F * 8.0 * absorbed(t - 0.3 - LAG + every * f64::from(past))).sum()
        });
        assert_derivatives(5.0, &times, &inputs);
        // The saturable state is one too: a period later, with the next dose given, it is the same.
        let again = [0.0, 0.001, every, every + 0.001];
        let inputs = [[8.0, 0.0, 0.0, every], [8.0, 0.0, 0.0, every], [16.0, 0.0, 0.0, every], [16.0, 0.0, 0.0, every]];
        let (states, _) = course(&body(5.0), &again, &inputs).unwrap();
        assert!((states[3] - states[7]).abs() < 1e-8, "{states:?}");
    }

    /// The central amount `t` after an infusion of the rate 1 and two hours began.
    fn infused(t: f64) -> f64 {
        let after = |t: f64| if t < 0.0 { 0.0 } else { (1.0 - (-KE * t).exp()) / KE };
        after(t) - after(t - 2.0)
    }

    /// Every six hours, of two hours each; the central state is that of all since ever, or that is added to what is there.
    #[test]
    fn a_steady_state_is_that_of_infusions_since_ever() {
        let times = [0.0, 0.5, 1.0, 2.5, 4.0, 8.0];
        let rows = |interval: [f64; 2], bolus: f64| {
            times.map(|t| {
                let begun = f64::from(t >= 0.5);
                let rate = if (0.5..2.5).contains(&t) { 3.0 } else { 0.0 };
                [0.0, bolus, 0.0, 0.0, rate, interval[0] * begun, interval[1] * begun]
            })
        };
        let since_ever = |t: f64| (0..200).map(|past| 3.0 * infused(t - 0.5 + 6.0 * f64::from(past))).sum::<f64>();
        let (states, _) = course_of_all(&body(1e300), &times, &rows([6.0, 0.0], 8.0)).unwrap();
        assert_central(&states[4..], &times[2..], since_ever);
        let (states, slopes) = course_of_all(&body(1e300), &times, &rows([0.0, 6.0], 8.0)).unwrap();
        let there = |t: f64| (BASE + 4.0) * (-KE * t).exp();
        assert_central(&states[4..], &times[2..], |t| there(t) + since_ever(t));
        for (cell, t) in times.iter().enumerate().skip(2) {
            let of_base = slopes[(2 * cell + 1) * 6 + 4];
            assert!((of_base - (-KE * t).exp()).abs() < 1e-8, "{of_base}");
        }
        // By elimination and saturation against differences, and a period later the saturable state is the same.
        let again = [0.0, 0.001, 2.0, 6.0, 6.001];
        let inputs = again.map(|t| [0.0, 0.0, 0.0, 0.0, if (2.0..6.0).contains(&t) { 0.0 } else { 3.0 }, 6.0, 0.0]);
        let (states, slopes) = course_of_all(&body(30.0), &again, &inputs).unwrap();
        assert!((states[3] - states[9]).abs() < 1e-8 && states[3] > 1.0, "{states:?}");
        for parameter in [1, 5] {
            let [above, below] = [1e-5, -1e-5].map(|share| {
                let mut moved = body(30.0);
                moved[parameter] *= 1.0 + share;
                course_of_all(&moved, &again, &inputs).unwrap().0[5]
            });
            let expected = (above - below) / (2e-5 * body(30.0)[parameter]);
            let found = slopes[5 * 6 + parameter];
            assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{parameter}: {found} {expected}");
        }
        let longer = times.map(|t| [0.0, 0.0, 0.0, 0.0, if t < 4.0 { 3.0 } else { 0.0 }, 3.0, 0.0]);
        let endless = times.map(|_| [0.0, 0.0, 0.0, 0.0, 3.0, 3.0, 0.0]);
        for (inputs, expected) in [(longer, "must not be longer"), (endless, "does not end")] {
            let said = course_of_all(&body(1e300), &times, &inputs).map(|_| ()).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_given_is_said() {
        let says = |parameters: [f64; 6], inputs: [[f64; 4]; 2]| {
            course(&parameters, &[0.0, 1.0], &inputs).map(|_| ()).unwrap_err().to_string()
        };
        let mut early = body(1.0);
        early[3] = -0.5;
        let steady = [[1.0, 0.0, 0.0, 0.2], [1.0, 0.0, 0.0, 0.2]];
        for (parameters, inputs, expected) in [
            (early, [[1.0, 0.0, 0.0, 0.0]; 2], "below 0"),
            (body(1.0), [[1.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]], "falls by 0.5"),
            (body(1.0), steady, "shorter than the interval"),
            (body(1.0), [[0.0, 0.0, 0.0, 0.2]; 2], "no dose or infusion at that time"),
        ] {
            let said = says(parameters, inputs);
            assert!(said.contains(expected), "{said}");
        }
    }
}
