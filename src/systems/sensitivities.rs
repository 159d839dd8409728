//! A trajectory with its derivatives by parameters and initial state: forward sensitivities.
//!
//! ```text
//! dy/dt = f(t, y; p)                           y(t_0) = y_0
//! dS/dt = (df/dy) S + (df/dp) P                S(t_0) = Y
//! ```
//!
//! `y [C]` state, `p [d_p]` parameters; along each of `k` directions parameters move by `P [d_p, k]` and the initial state
//! by `Y [C, k]`, and the state then moves by `S = dy [C, k]`. State and sensitivities are integrated together with one step size, which
//! the errors of both control in explicit methods: directions should have a size that moves the state by about its own magnitude.
//!
//! An explicit method begins. Where it finds the system stiff and has spent its patience, [`Rosenbrock`] integrates the trajectory, from its
//! start so that one method gives all of it, and those that follow. If a stiff trajectory would have taken the explicit method no more than
//! half the work, the next ones are given to that again, with more patience.
//!
//! Source: M. Caracotsios, W. Stewart, Sensitivity analysis of initial value problems, Computers and Chemical Engineering 9
//! (1985) 359-365; the products with the Jacobians by dual numbers, [`LANES`] directions at a time.

use super::directions::{Directions, Start, WIDTH};
use super::system::TangentField;
use crate::expressions::LANES;
use crate::progress::Interrupt;
use crate::signals::Drive;
use crate::solve::{Adaptive, Error, RODAS5P, Rosenbrock, Tableau, Tolerance, Work};

/// Evaluations that an explicit method may spend on a stiff trajectory before it is left.
pub(crate) const PATIENCE: u64 = 1000;
/// An explicit method begins again where it would take at most this share of the work of the other.
const CHEAPER: f64 = 0.5;

/// An integrator of trajectories and their sensitivities along `k` directions, with its buffers.
pub struct Sensitivities {
    field: Directions,
    directions: usize,
    channels: usize,
    tableau: &'static Tableau,
    tolerance: Tolerance,
    explicit: Adaptive,
    /// `None` until a trajectory is stiff.
    stiff: Option<Box<Rosenbrock>>,
    /// Whether trajectories begin as stiff ones.
    is_stiff: bool,
    /// Evaluations that the explicit method may spend on a stiff trajectory.
    patience: u64,
    /// Initial state and states `[T]` with all groups `[G, C, 1 + LANES]`, or the states followed by groups `[G, C, LANES]`.
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
        let field = Directions::new(field, channels, directions);
        Ok(Sensitivities {
            directions,
            channels,
            tableau,
            tolerance,
            explicit: Adaptive::new(tableau, field.size(), tolerance)?,
            stiff: None,
            is_stiff: false,
            patience: PATIENCE,
            initial: vec![0.0; field.size()],
            states: Vec::new(),
            work: Work::default(),
            field,
        })
    }

    /// As [`Sensitivities::new`], but every trajectory begins as a stiff one.
    ///
    /// # Errors
    /// As [`Adaptive::new`].
    pub fn stiff(
        field: TangentField,
        channels: usize,
        directions: usize,
        tableau: &'static Tableau,
        tolerance: Tolerance,
    ) -> Result<Self, Error> {
        let it = Sensitivities::new(field, channels, directions, tableau, tolerance)?;
        Ok(Sensitivities { is_stiff: true, ..it })
    }

    /// One for states of the same system along another number of `directions`, which begins trajectories as this one does.
    ///
    /// # Errors
    /// As [`Adaptive::new`].
    pub(crate) fn along(&self, directions: usize) -> Result<Self, Error> {
        let (field, tolerance) = (self.field.field(), self.tolerance);
        let it = Sensitivities::new(field, self.channels, directions, self.tableau, tolerance)?;
        Ok(Sensitivities { is_stiff: self.is_stiff, ..it })
    }

    /// Begins trajectories as `other` does.
    pub(crate) fn begin_as(&mut self, other: &Sensitivities) {
        (self.is_stiff, self.patience) = (other.is_stiff, other.patience);
    }

    /// The cost of the last trajectory, even if it failed.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Whether the next trajectory begins as a stiff one.
    pub fn is_stiff(&self) -> bool {
        self.is_stiff
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
        let (c, k) = (self.channels, self.directions);
        assert_eq!((start.state.len(), start.state_directions.len()), (c, c * k), "initial state of another size");
        assert_eq!(start.parameter_directions.len(), start.parameters.len() * k, "directions of another number");
        assert_eq!((states.len(), sensitivities.len()), (times.len() * c, times.len() * c * k), "room of another size");
        self.work = Work::default();
        self.field.begin(start);
        self.field.write_groups(start, &mut self.initial);
        if self.is_stiff || self.is_found_stiff(times, states, sensitivities, interrupt)? {
            self.integrate_stiff(times, states, sensitivities, interrupt)?;
            self.reconsider();
        }
        Ok(self.work)
    }

    /// Whether the explicit method leaves the trajectory because it is stiff; otherwise it is integrated.
    fn is_found_stiff(
        &mut self,
        times: &[f64],
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<bool, Error> {
        let (c, k, size) = (self.channels, self.directions, self.initial.len());
        self.states.resize(times.len() * size, 0.0);
        let Sensitivities { field, explicit, initial, patience, .. } = self;
        let augmented = &mut |time: f64, values: &[f64], slopes: &mut [f64]| {
            field.slopes_of_groups(time, values, slopes);
        };
        let integrated =
            explicit.integrate_unless_stiff(augmented, initial, times, &mut self.states, interrupt, *patience);
        self.work = explicit.work();
        // Reports the state without its derivatives.
        let stiff = integrated.map_err(|error| {
            error.with_partial_state(|state| state.iter().step_by(WIDTH).take(c).copied().collect())
        })?;
        if stiff.is_some() {
            return Ok(true);
        }
        for (sample, row) in self.states.chunks_exact(size).enumerate() {
            for channel in 0..c {
                let cell = sample * c + channel;
                states[cell] = row[channel * WIDTH];
                for (direction, sensitivity) in sensitivities[cell * k..(cell + 1) * k].iter_mut().enumerate() {
                    let (group, lane) = (direction / LANES, direction % LANES);
                    *sensitivity = row[(group * c + channel) * WIDTH + 1 + lane];
                }
            }
        }
        Ok(false)
    }

    /// By the method for stiff systems.
    fn integrate_stiff(
        &mut self,
        times: &[f64],
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let (c, k) = (self.channels, self.directions);
        self.is_stiff = true;
        let stiff = match &mut self.stiff {
            Some(stiff) => stiff,
            none => none.insert(Box::new(Rosenbrock::new(&RODAS5P, c, self.field.stiff_groups(), self.tolerance)?)),
        };
        let initial = self.field.ungrouped(&self.initial);
        self.states.resize(times.len() * self.initial.len(), 0.0);
        let rows = &mut self.states[..times.len() * initial.len()];
        let integrated = stiff.integrate(&mut self.field, &initial, None, times, rows, interrupt);
        self.work += stiff.work();
        integrated.map_err(|error| error.with_partial_state(|state| state[..c].to_vec()))?;
        for (sample, row) in rows.chunks_exact(initial.len()).enumerate() {
            states[sample * c..(sample + 1) * c].copy_from_slice(&row[..c]);
            self.field.write_sensitivities(row, &mut sensitivities[sample * c * k..(sample + 1) * c * k]);
        }
        Ok(())
    }

    /// After a stiff trajectory: whether the next one begins as such.
    fn reconsider(&mut self) {
        let (Some(stiff), Some(embedded)) = (&self.stiff, &self.tableau.embedded) else { return };
        let of_explicit = self.tableau.weights.len() as f64 * stiff.stiffness() / embedded.stiff;
        let evaluations = stiff.work().evaluations;
        if of_explicit < CHEAPER * evaluations as f64 {
            (self.is_stiff, self.patience) = (false, PATIENCE.max(2 * evaluations));
        }
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
}
