//! Stretches of a trajectory between jumps of its state, and the jumps.

use std::ops::Range;

use super::budget::{Budget, Halt};
use super::differences::Integrator;
use super::function::Function;
use crate::expressions::Dual;
use crate::schema::Between;
use crate::signals::Drive;
use crate::systems::{Start, TangentField};

/// The surroundings of one trajectory, and the directions along which it is differentiated.
pub(crate) struct Course<'a> {
    pub drive: Drive<'a>,
    /// Parameters, with their directions; the state is that of the start.
    pub start: Start<'a>,
    pub field: &'a TangentField,
    /// Values of a state.
    pub n: usize,
    /// Directions.
    pub k: usize,
}

/// An amount that a state jumps by, a lag after it was given.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Index of the state.
    pub state: usize,
    /// The jump, and its derivatives `[k]`.
    pub amount: f64,
    pub amount_slopes: Vec<f64>,
    /// The lag, and its derivatives `[k]`.
    pub lag: f64,
    pub lag_slopes: Vec<f64>,
}

impl<'a> Course<'a> {
    /// The course of `field` under `drive` from `start`.
    pub(crate) fn new(drive: Drive<'a>, start: Start<'a>, field: &'a TangentField) -> Self {
        let n = start.state.len();
        Course { drive, start, field, n, k: start.state_directions.len() / n.max(1) }
    }

    /// A function of the parameters, along these directions.
    pub(crate) fn function<'f>(&'f self, field: &'f TangentField) -> Function<'f> {
        let Start { parameters, parameter_directions, .. } = self.start;
        Function { field, parameters, directions: parameter_directions, k: self.k }
    }

    /// The inputs `[U]` at a time, just after any jump there.
    pub(crate) fn inputs_at(&self, time: f64) -> Vec<f64> {
        let Drive { times, inputs, between } = self.drive;
        let u = between.len();
        let next = times.partition_point(|sample| *sample <= time);
        let (n, next) = (next.saturating_sub(1), next.min(times.len() - 1));
        let of_input = |(input, between): (usize, &Between)| {
            let (value, slope) = between.step(inputs[n * u + input], inputs[next * u + input], times[next] - times[n]);
            value + slope * (time - times[n])
        };
        between.iter().enumerate().map(of_input).collect()
    }

    /// Integrates `state [N]` and its `slopes [N, k]` from one time to another; writes those at the `samples` between, the last time
    /// included, to `states [T, N]` and `sensitivities [T, N, k]`.
    ///
    /// # Errors
    /// Why it was not integrated to its end.
    pub(crate) fn advance(
        &self,
        integrator: &mut Integrator,
        (from, to): (f64, f64),
        samples: Range<usize>,
        (state, slopes): (&mut [f64], &mut [f64]),
        (states, sensitivities): (&mut [f64], &mut [f64]),
        budget: &mut Budget,
    ) -> Result<(), Halt> {
        if from >= to {
            return Ok(());
        }
        let u = self.drive.between.len();
        let (mut times, mut inputs) = (vec![from], self.inputs_at(from));
        times.extend(&self.drive.times[samples.clone()]);
        inputs.extend(&self.drive.inputs[samples.start * u..samples.end * u]);
        if times[times.len() - 1] < to {
            times.push(to);
            inputs.extend(self.inputs_at(to));
        }
        let drive = Drive { times: &times, inputs: &inputs, between: self.drive.between };
        let start = Start { state, state_directions: slopes, ..self.start };
        let (mut all, mut of_all) = (vec![0.0; times.len() * self.n], vec![0.0; times.len() * self.n * self.k]);
        budget.ensure_left()?;
        let integrated = integrator.integrate(&drive, start, &mut all, &mut of_all, budget.interrupt);
        budget.spend(integrator.evaluations());
        integrated?;
        states.copy_from_slice(&all[self.n..][..states.len()]);
        sensitivities.copy_from_slice(&of_all[self.n * self.k..][..sensitivities.len()]);
        state.copy_from_slice(&all[all.len() - self.n..]);
        slopes.copy_from_slice(&of_all[of_all.len() - self.n * self.k..]);
        Ok(())
    }

    /// Gives an amount at the time at which it acts.
    pub(crate) fn give(&self, time: f64, given: &Given, state: &mut [f64], slopes: &mut [f64]) {
        let k = self.k;
        let is_moved = given.lag_slopes.iter().any(|slope| *slope != 0.0);
        let before = is_moved.then(|| self.derivative(time, state));
        state[given.state] += given.amount;
        let of_state = slopes[given.state * k..(given.state + 1) * k].iter_mut();
        of_state.zip(&given.amount_slopes).for_each(|(slope, of_amount)| *slope += of_amount);
        let Some(before) = before else { return };
        let after = self.derivative(time, state);
        for (row, (before, after)) in slopes.chunks_exact_mut(k).zip(before.iter().zip(&after)) {
            row.iter_mut().zip(&given.lag_slopes).for_each(|(slope, of_lag)| *slope += (before - after) * of_lag);
        }
    }

    /// The vector field `[N]` at a time.
    fn derivative(&self, time: f64, state: &[f64]) -> Vec<f64> {
        let mut parameters: Vec<Dual> = self.start.parameters.iter().map(|value| Dual::from(*value)).collect();
        if !self.drive.between.is_empty() {
            parameters.extend(self.inputs_at(time).into_iter().flat_map(|value| [Dual::from(value), Dual::default()]));
            parameters.push(Dual::from(time));
        }
        let state: Vec<Dual> = state.iter().map(|value| Dual::from(*value)).collect();
        let mut derivative = vec![Dual::default(); self.n];
        self.field.first(&parameters, Dual::from(time), &state, &mut derivative);
        derivative.into_iter().map(|it| it.value).collect()
    }
}
