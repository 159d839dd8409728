//! The steady state that a system comes to before it starts, as [fits](crate::systems::rest) find it.

use super::integrator::Integrator;
use crate::progress::Interrupt;
use crate::solve;
use crate::solve::Work;
use crate::systems::System;
use crate::systems::rest::{DOUBLINGS, FIRST, is_still, restless};

/// The steady state that `initial [N]` leads to under the inputs before the start, where the system has one before it; else that state.
///
/// # Errors
/// If it cannot be integrated, or does not come to rest.
pub(super) fn rested(
    integrator: &mut Integrator,
    system: &System,
    parameters: &[f64],
    initial: Vec<f64>,
    interrupt: &Interrupt,
) -> Result<(Vec<f64>, Work), solve::Error> {
    let (mut state, mut work) = (initial, Work::default());
    let Some(inputs) = &system.preequilibration else { return Ok((state, work)) };
    let held: Vec<f64> = inputs.iter().flat_map(|value| [*value, 0.0]).collect();
    let (mut from, mut until, mut is_last) = (0.0, FIRST * system.horizon, false);
    for _ in 0..DOUBLINGS {
        // Behind the inputs stands the time at which they were read.
        let time = (!inputs.is_empty()).then_some(from);
        let all: Vec<f64> = parameters.iter().chain(&held).copied().chain(time).collect();
        let mut along = vec![0.0; 2 * state.len()];
        match integrator.integrate(&all, &state, &[from, until], &mut along, interrupt) {
            // That is far behind the first interval, which is long already.
            Err(solve::Error::TooManySteps { .. }) if from > 0.0 => return Err(solve::Error::Given(restless(from))),
            integrated => work += integrated?,
        }
        let after = along.split_off(state.len());
        let is_still = is_still(&state, &after);
        state = after;
        if is_still && is_last {
            return Ok((state, work));
        }
        (from, until, is_last) = (until, 2.0 * until, is_still);
    }
    Err(solve::Error::Given(restless(from)))
}
