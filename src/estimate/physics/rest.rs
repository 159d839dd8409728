//! The steady state that a system comes to before it starts: pre-equilibration.
//!
//! ```text
//! y* = lim y(t),  S* = lim S(t)   as t grows,      dy/dt = f(y, u*; p),   y(0) = s
//! ```
//!
//! `y [N]` state, `S [N, k]` its derivatives along directions, `u* [U]` constant inputs, `s [N]` the starts, which decide what is conserved. The
//! system is integrated over intervals that double, until one leaves state and derivatives as they are but for [`STILL`], and over one more:
//! what decays exponentially is then left to the fourth power of that.

use super::budget::{Budget, Halt};
use super::differences::Integrator;
use crate::schema::Between;
use crate::signals::Drive;
use crate::solve::Error;
use crate::systems::Start;

/// Change over an interval, relative to the value, below which a system is nearly at rest: more than errors of integration.
const STILL: f64 = 1e-3;
/// Values below this share of the greatest one count as zero.
const NOTHING: f64 = 1e-6;
/// Length of the first interval, in horizons of the system.
const FIRST: f64 = 8.0;
/// Intervals at most, each as long as all before.
const DOUBLINGS: usize = 40;

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

/// Whether values have hardly changed.
fn is_still(before: &[f64], after: &[f64]) -> bool {
    let greatest = after.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    let allowed = |value: f64| STILL * value.abs().max(NOTHING * greatest);
    before.iter().zip(after).all(|(before, after)| (after - before).abs() <= allowed(*after))
}
