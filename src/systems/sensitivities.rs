//! A trajectory with its derivatives by parameters and initial state: forward sensitivities.
//!
//! ```text
//! dy/dt = f(t, y; p)                           y(t_0) = y_0
//! dS/dt = (df/dy) S + (df/dp) P                S(t_0) = Y
//! ```
//!
//! `y [C]` state, `p [d_p]` parameters; along each of `k` directions parameters move by `P [d_p, k]` and the initial state
//! by `Y [C, k]`, and the state then moves by `S = dy [C, k]`. State and sensitivities are integrated together with one step size, which
//! the errors of both control: directions should have a size that moves the state by about its own magnitude.
//! Source: M. Caracotsios, W. Stewart, Sensitivity analysis of initial value problems, Computers and Chemical Engineering 9
//! (1985) 359-365; the products with the Jacobians by [`Dual`] numbers, [`LANES`] directions at a time.

use super::system::TangentField;
use crate::expressions::{Dual, LANES};
use crate::progress::Interrupt;
use crate::signals::Drive;
use crate::solve::{Adaptive, Error, Tableau, Tolerance, Work};

/// Values of a [`Dual`].
const WIDTH: usize = 1 + LANES;

/// The start of a trajectory, and the directions along which it is differentiated.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// `p [d_p]`.
    pub parameters: &'a [f64],
    /// `P [d_p, k]`.
    pub parameter_directions: &'a [f64],
    /// `y_0 [C]`.
    pub state: &'a [f64],
    /// `Y [C, k]`.
    pub state_directions: &'a [f64],
}

/// An integrator of trajectories and their sensitivities along `k` directions, with its buffers.
pub struct Sensitivities {
    field: TangentField,
    directions: usize,
    channels: usize,
    integrator: Adaptive,
    /// Parameters `[G, d_p]` in groups of [`LANES`] directions.
    parameters: Vec<Dual>,
    /// A state `[C]` of one group, and its derivative.
    state: Vec<Dual>,
    derivative: Vec<Dual>,
    /// Initial state and states `[T]` with all groups `[G, C, 1 + LANES]`.
    initial: Vec<f64>,
    states: Vec<f64>,
    work: Work,
}

impl Sensitivities {
    /// For states of `channels` values of `field`, along `directions`.
    ///
    /// # Errors
    /// As [`Adaptive::new`].
    pub fn new(
        field: TangentField,
        channels: usize,
        directions: usize,
        tableau: &'static Tableau,
        tolerance: Tolerance,
    ) -> Result<Self, Error> {
        // Without directions one group still carries the state.
        let size = directions.div_ceil(LANES).max(1) * channels * WIDTH;
        Ok(Sensitivities {
            field,
            directions,
            channels,
            integrator: Adaptive::new(tableau, size, tolerance)?,
            parameters: Vec::new(),
            state: vec![Dual::default(); channels],
            derivative: vec![Dual::default(); channels],
            initial: vec![0.0; size],
            states: Vec::new(),
            work: Work::default(),
        })
    }

    /// The cost of the last trajectory, even if it failed.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Integrates from `start` at `times[0]`; writes the states at `times [T]` to `states [T, C]` and their derivatives to
    /// `sensitivities [T, C, k]`. After an error their contents are unspecified.
    ///
    /// # Errors
    /// As [`Adaptive::integrate`].
    ///
    /// # Panics
    /// If an array has not the size stated.
    pub fn integrate(
        &mut self,
        start: Start,
        times: &[f64],
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, Error> {
        let (c, k, size) = (self.channels, self.directions, self.initial.len());
        assert_eq!((start.state.len(), start.state_directions.len()), (c, c * k), "initial state of another size");
        assert_eq!(start.parameter_directions.len(), start.parameters.len() * k, "directions of another number");
        assert_eq!((states.len(), sensitivities.len()), (times.len() * c, times.len() * c * k), "room of another size");
        self.begin(start);
        self.states.resize(times.len() * size, 0.0);
        let Sensitivities { field, integrator, parameters, state, derivative, .. } = self;
        let d_p = start.parameters.len();
        let augmented = &mut |time: f64, values: &[f64], slopes: &mut [f64]| {
            let groups = values.chunks_exact(c * WIDTH).zip(slopes.chunks_exact_mut(c * WIDTH));
            for (group, (values, slopes)) in groups.enumerate() {
                for (dual, [value, tangent @ ..]) in state.iter_mut().zip(values.as_chunks::<WIDTH>().0) {
                    *dual = Dual { value: *value, tangent: *tangent };
                }
                field.first(&parameters[group * d_p..(group + 1) * d_p], Dual::from(time), state, derivative);
                for (dual, [value, tangent @ ..]) in derivative.iter().zip(slopes.as_chunks_mut::<WIDTH>().0) {
                    (*value, *tangent) = (dual.value, dual.tangent);
                }
            }
        };
        let integrated = integrator.integrate(augmented, &self.initial, times, &mut self.states, interrupt);
        self.work = integrator.work();
        // Reports the state without its derivatives.
        let work = integrated.map_err(|error| {
            error.with_partial_state(|state| state.iter().step_by(WIDTH).take(c).copied().collect())
        })?;
        let rows = self.states.chunks_exact(size);
        for (sample, row) in rows.enumerate() {
            for channel in 0..c {
                let cell = sample * c + channel;
                states[cell] = row[channel * WIDTH];
                for (direction, sensitivity) in sensitivities[cell * k..(cell + 1) * k].iter_mut().enumerate() {
                    let (group, lane) = (direction / LANES, direction % LANES);
                    *sensitivity = row[(group * c + channel) * WIDTH + 1 + lane];
                }
            }
        }
        Ok(work)
    }

    /// As [`Sensitivities::integrate`] at the times and under the inputs of `drive`, stretch by stretch. `start.parameters` holds the parameters
    /// without the inputs.
    ///
    /// # Errors
    /// As [`Sensitivities::integrate`].
    pub fn integrate_under(
        &mut self,
        drive: &Drive,
        start: Start,
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, Error> {
        let (c, k, d_p) = (self.channels, self.directions, start.parameters.len());
        let mut parameters = start.parameters.to_vec();
        parameters.resize(d_p + drive.size(), 0.0);
        let mut parameter_directions = start.parameter_directions.to_vec();
        parameter_directions.resize(parameters.len() * k, 0.0);
        let (mut state, mut state_directions) = (start.state.to_vec(), start.state_directions.to_vec());
        let mut total = Work::default();
        for (samples, behind) in drive.stretches() {
            parameters[d_p..].copy_from_slice(&behind);
            let (first, end) = (*samples.start() * c, (*samples.end() + 1) * c);
            let start = Start {
                parameters: &parameters,
                parameter_directions: &parameter_directions,
                state: &state,
                state_directions: &state_directions,
            };
            let (states, sensitivities) = (&mut states[first..end], &mut sensitivities[first * k..end * k]);
            let integrated = self.integrate(start, &drive.times[samples], states, sensitivities, interrupt);
            total += self.work;
            self.work = total;
            integrated?;
            state.copy_from_slice(&states[states.len() - c..]);
            state_directions.copy_from_slice(&sensitivities[sensitivities.len() - c * k..]);
        }
        Ok(total)
    }

    /// Parameters and initial state with their directions in groups.
    fn begin(&mut self, start: Start) {
        let k = self.directions;
        let lanes = |directions: &[f64], row: usize, group: usize| -> [f64; LANES] {
            let row = &directions[row * k..(row + 1) * k];
            std::array::from_fn(|lane| row.get(group * LANES + lane).copied().unwrap_or(0.0))
        };
        self.parameters.clear();
        for (group, values) in self.initial.chunks_exact_mut(self.channels * WIDTH).enumerate() {
            let parameters = start.parameters.iter().enumerate();
            self.parameters.extend(
                parameters.map(|(row, &value)| Dual { value, tangent: lanes(start.parameter_directions, row, group) }),
            );
            for (channel, [value, tangent @ ..]) in values.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                *value = start.state[channel];
                *tangent = lanes(start.state_directions, channel, group);
            }
        }
    }
}
