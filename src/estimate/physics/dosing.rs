//! Trajectories under amounts that are given at once, with their derivatives.
//!
//! ```text
//! y+ = y- + F a e_i,     S+ = S- + a e_i dF + (f(y-) - f(y+)) dl        at the time t + l
//! ```
//!
//! `a` is the amount given at `t`, `F` its bioavailability, `l` its lag time, `e_i` the unit vector of its state, `f` the vector field, and
//! `S [N, k]` the derivatives along directions. A reset puts states and derivatives to those of the starts. Doses in their steady state,
//! `a` every `T` since ever, put them to the fixed point of [`steady`](super::steady). At one time resets come first, then steady states, then
//! amounts; the sample of that time comes before all of them.

use super::budget::{Budget, Halt};
use super::course::{Course, Given};
use super::differences::Integrator;
use super::function::{Along, Function};
use super::model::{Derivatives, Model};
use super::series::Series;
use super::steady::steady;
use crate::dataset::Manifest;
use crate::problems::{Problem, Problems};
use crate::schema::Between;
use crate::signals::Drive;
use crate::systems::{Doses, InitialValue, Start, System};

/// What happens at a time.
struct Action {
    time: f64,
    /// When it was ordered: earlier by the lag.
    ordered: f64,
    what: What,
}

enum What {
    Reset,
    /// The amounts that are repeated, and the interval.
    Steady(Vec<Given>, f64),
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
        let is_read = doses.reset == Some(index)
            || doses.ways.iter().any(|way| way.input == index || way.interval == Some(index));
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
            What::Steady(all, interval) => {
                (state, slopes) = steady(&course, integrator, (all, *interval), (now, &state), budget)?;
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
    if let Some(wrong) = values.iter().find(|value| !value.is_finite()) {
        return Err(Halt::Dose(format!(
            "the bioavailability or lag of a dose is {wrong}; correct its expression, or bounds of parameters"
        )));
    }
    if let Some(lag) = values.iter().skip(1).step_by(2).find(|lag| **lag < 0.0) {
        let remedy = "raise the lower bounds of its parameters";
        return Err(Halt::Dose(format!("the lag of a dose is {lag}, below 0: {remedy}")));
    }
    let rises = series.rises();
    let mut actions = Vec::new();
    for rise in &rises {
        let time = rise.time;
        let is_interval = doses.ways.iter().any(|way| way.interval == Some(rise.input));
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
        if is_interval {
            let repeated = rises.iter().filter(|dose| dose.time == time).flat_map(|dose| {
                let is_meant = |way: &usize| {
                    let way = &doses.ways[*way];
                    way.input == dose.input && way.interval == Some(rise.input)
                };
                (0..doses.ways.len()).filter(is_meant).map(|way| given(way, dose.by)).collect::<Vec<_>>()
            });
            let repeated: Vec<Given> = repeated.collect();
            if repeated.is_empty() {
                return Err(Halt::Dose(format!(
                    "the interval of a steady state at t = {time}, and no dose at that time: give both the same time"
                )));
            }
            actions.push(Action { time, ordered: time, what: What::Steady(repeated, rise.by) });
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
