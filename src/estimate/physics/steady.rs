//! The steady state of repeated doses and infusions: the state, just before one of them is given, that the next finds again.
//!
//! ```text
//! y* = P(y*; p),     (1 - dP/dy) S* = dP/dp,     y <- y + (1 - dP/dy)^-1 (P(y) - y)
//! ```
//!
//! `P` carries a state `y [N]` over one interval, with the doses in it at their lags, and is differentiated by the state together with the `k`
//! directions. Inputs stay as they are at the time of the dose, but for infusions that end. Newton's method, which is exact after one step where the equations are linear.

use super::budget::{Budget, Halt};
use super::course::{Course, Given};
use super::differences::Integrator;
use crate::signals::Drive;
use crate::solve::Factorisation;
use crate::systems::{Infused, Start, longer_lag};

/// Last step of Newton's method, relative to the state; what is left is about its square.
const CLOSE: f64 = 1e-6;
/// Values below this share of the greatest one count as zero.
const NOTHING: f64 = 1e-6;
/// Steps of Newton's method at most.
const STEPS: usize = 40;

/// What is given again and again since ever.
pub(crate) struct Repeated {
    /// Amounts at once, at their lags.
    pub doses: Vec<Given>,
    pub infusions: Vec<Infused>,
    /// The time between two of each.
    pub interval: f64,
}

/// The steady state under what is `repeated`, and its derivatives, at a time at which an interval begins; Newton's method begins at `guess`.
///
/// # Errors
/// If there is none, or it cannot be integrated to.
pub(crate) fn steady(
    course: &Course,
    integrator: &Integrator,
    Repeated { doses, infusions, interval }: &Repeated,
    (time, guess): (f64, &[f64]),
    budget: &mut Budget,
) -> Result<(Vec<f64>, Vec<f64>), Halt> {
    let (n, k, interval) = (course.n, course.k, *interval);
    if let Some(wrong) = longer_lag(doses.iter().map(|dose| dose.lag), interval) {
        return Err(Halt::Dose(wrong));
    }
    let Some(mut integrator) = integrator.along(n + k)? else {
        return Err(Halt::Dose(
            "doses in their steady state, and equations without derivatives: leave them out".to_owned(),
        ));
    };
    let padded = |slopes: &[f64]| [&vec![0.0; n], slopes].concat();
    let doses: Vec<Given> = doses
        .iter()
        .map(|it| Given { amount_slopes: padded(&it.amount_slopes), lag_slopes: padded(&it.lag_slopes), ..it.clone() })
        .collect();
    let directions: Vec<f64> = course.start.parameter_directions.chunks_exact(k.max(1)).flat_map(padded).collect();
    let directions = if k == 0 { vec![0.0; course.start.parameters.len() * n] } else { directions };
    // The inputs change where infusions end.
    let end = time + interval;
    let mut ends: Vec<&Infused> = infusions.iter().collect();
    ends.sort_by(|a, b| a.duration.total_cmp(&b.duration));
    let (mut times, mut inputs, mut level) = (vec![time], course.inputs_at(time), course.inputs_at(time));
    for infused in &ends {
        level[infused.input] -= infused.rate;
        times.push((time + infused.duration).min(end));
        inputs.extend(&level);
    }
    times.push(end);
    inputs.extend(&level);
    let drive = Drive { times: &times, inputs: &inputs, ..course.drive };
    let mut changes: Vec<(f64, Option<&Given>)> = doses.iter().map(|dose| (time + dose.lag, Some(dose))).collect();
    changes.extend(times.iter().map(|at| (*at, None)));
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut identity = vec![0.0; n * (n + k)];
    (0..n).for_each(|i| identity[i * (n + k) + i] = 1.0);
    let start = Start { parameter_directions: &directions, state_directions: &identity, ..course.start };
    let period = Course { drive, start, field: course.field, n, k: n + k };

    let mut state = guess.to_vec();
    let mut system = Factorisation::new(n);
    for _ in 0..STEPS {
        let (mut after, mut slopes, mut now) = (state.clone(), identity.clone(), time);
        for (at, dose) in &changes {
            let at = *at;
            period.advance(&mut integrator, (now, at), 0..0, (&mut after, &mut slopes), (&mut [], &mut []), budget)?;
            if let Some(dose) = dose {
                period.give(at, dose, &mut after, &mut slopes);
            }
            now = at;
        }
        let is_regular = system.factorise(|matrix| {
            for (column, values) in matrix.chunks_exact_mut(n).enumerate() {
                for (row, value) in values.iter_mut().enumerate() {
                    *value = f64::from(row == column) - slopes[row * (n + k) + column];
                }
            }
        });
        if !is_regular {
            break;
        }
        let mut step: Vec<f64> = after.iter().zip(&state).map(|(after, before)| after - before).collect();
        system.solve(&mut step);
        state.iter_mut().zip(&step).for_each(|(value, step)| *value += step);
        if !state.iter().all(|value| value.is_finite()) {
            break;
        }
        let greatest = state.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
        let is_close = |(value, step): (&f64, &f64)| step.abs() <= CLOSE * value.abs().max(NOTHING * greatest);
        if state.iter().zip(&step).all(is_close) {
            let mut derivatives = vec![0.0; n * k];
            for direction in 0..k {
                let mut column: Vec<f64> = (0..n).map(|row| slopes[row * (n + k) + n + direction]).collect();
                system.solve(&mut column);
                column.iter().enumerate().for_each(|(row, value)| derivatives[row * k + direction] = *value);
            }
            return Ok((state, derivatives));
        }
    }
    Err(Halt::Dose(format!(
        "doses every {interval} at t = {time} that lead to no steady state: what is given must leave every state again; remove `interval` of \
         these doses, or correct the equations"
    )))
}
