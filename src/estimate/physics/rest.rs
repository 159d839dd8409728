//! The steady state that a system comes to before it starts: pre-equilibration.
//!
//! ```text
//! y* = lim y(t),  S* = lim S(t)   as t grows,      dy/dt = f(y, u*; p),   y(0) = s
//! ```
//!
//! `y [N]` state, `S [N, k]` its derivatives along directions, `u* [U]` constant inputs, `s [N]` the starts, which decide what is conserved. The
//! system is integrated over intervals that double, until state and derivatives [stay as they are](crate::systems::rest).

use super::budget::{Budget, Halt};
use super::differences::Integrator;
use crate::schema::Between;
use crate::signals::Drive;
use crate::solve::Error;
use crate::systems::Start;
use crate::systems::rest::{DOUBLINGS, FIRST, is_still};

/// How a system rests before it starts.
#[derive(Clone)]
pub(crate) struct Rest {
    /// `[U]`.
    pub inputs: Vec<f64>,
    /// A time that is typical of the system.
    pub horizon: f64,
}

impl Rest {
    /// The steady state that `start` leads to, and its derivatives.
    ///
    /// # Errors
    /// If it cannot be integrated, or does not come to rest.
    pub(crate) fn settle(
        &self,
        integrator: &mut Integrator,
        start: Start,
        budget: &mut Budget,
    ) -> Result<(Vec<f64>, Vec<f64>), Halt> {
        let between = vec![Between::Hold; self.inputs.len()];
        let inputs = self.inputs.repeat(2);
        let (mut state, mut directions) = (start.state.to_vec(), start.state_directions.to_vec());
        let (mut from, mut until, mut is_last) = (0.0, FIRST * self.horizon, false);
        for _ in 0..DOUBLINGS {
            let drive = Drive { times: &[from, until], inputs: &inputs, between: &between };
            let (mut states, mut slopes) = (vec![0.0; 2 * state.len()], vec![0.0; 2 * directions.len()]);
            budget.ensure_left()?;
            let start = Start { state: &state, state_directions: &directions, ..start };
            let integrated = integrator.integrate(&drive, start, &mut states, &mut slopes, budget.interrupt);
            budget.spend(integrator.evaluations());
            match integrated {
                // That is far behind the first interval, which is long already.
                Err(Error::TooManySteps { .. }) if from > 0.0 => return Err(Halt::Restless(from)),
                integrated => integrated?,
            }
            let (after, slopes) = (states.split_off(state.len()), slopes.split_off(directions.len()));
            let is_still = is_still(&state, &after) && is_still(&directions, &slopes);
            (state, directions) = (after, slopes);
            if is_still && is_last {
                return Ok((state, directions));
            }
            (from, until, is_last) = (until, 2.0 * until, is_still);
        }
        Err(Halt::Restless(from))
    }
}
