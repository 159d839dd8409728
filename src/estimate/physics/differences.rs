//! Trajectories with their derivatives by central differences, for systems without derivatives of their own: fields.
//!
//! ```text
//! S_j = (y(p + h P_j, y_0 + h Y_j) - y(p - h P_j, y_0 - h Y_j)) / 2 h,      h = rtol^(1/3)
//! ```
//!
//! `y [T, N]` states of the simulation with parameters `p [d_p]` from `y_0 [N]`; direction `j` moves the parameters by `P_j [d_p]` and the
//! initial state by `Y_j [N]`, scaled so that the state moves by about its own size. The error is `h^2 / 6` times the third derivative plus
//! the error of the simulation, at most `rtol`, over `h`: for this `h` both are about `rtol^(2/3)` (5e-6 at `rtol = 1e-8`). That is accurate
//! enough for estimates: with a relative error `e` of the derivatives, a Gauss-Newton step misses its target by `e` of its length, and the
//! minimum is off by `e` of a standard error.
//!
//! An integrator with fixed steps has the same error on both sides; its step is its own, or up to four times as long where `rtol` allows it.
//! A trajectory takes `1 + 2 k` simulations for `k` directions, and memory for two beside the result.
//! Source: W. Press et al., Numerical Recipes (2007), section 5.7.

use std::sync::Arc;

use crate::progress::Interrupt;
use crate::signals::Drive;
use crate::solve::{Adaptive, Error, Tableau, Tolerance, Work};
use crate::systems::{Dynamics, Sensitivities, Start, Stepper, VectorField};

/// Fixed steps may be this many times as long as those of the data.
const LONGEST: f64 = 4.0;

/// Integrates trajectories with their derivatives; owns the memory for it.
pub(crate) enum Integrator {
    /// By forward sensitivities.
    Sensitivities(Box<Sensitivities>),
    /// By central differences.
    Differences(Differences),
}

impl Integrator {
    /// As [`Sensitivities::integrate_under`]; systems without derivatives have no inputs.
    pub(crate) fn integrate(
        &mut self,
        drive: &Drive,
        start: Start,
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        match self {
            Integrator::Sensitivities(it) => {
                it.integrate_under(drive, start, states, sensitivities, interrupt).map(|_| ())
            }
            Integrator::Differences(it) => it.integrate(start, drive.times, states, sensitivities, interrupt),
        }
    }

    /// One for states of the same system along another number of `directions`; none by differences.
    ///
    /// # Errors
    /// As [`Sensitivities::new`].
    pub(crate) fn along(&self, directions: usize) -> Result<Option<Self>, Error> {
        match self {
            Integrator::Sensitivities(it) => Ok(Some(Integrator::Sensitivities(Box::new(it.along(directions)?)))),
            Integrator::Differences(_) => Ok(None),
        }
    }

    /// Whether it begins trajectories as stiff ones.
    pub(crate) fn is_stiff(&self) -> bool {
        matches!(self, Integrator::Sensitivities(it) if it.is_stiff())
    }

    /// Begins trajectories by the method that `other` begins them by.
    pub(crate) fn begin_as(&mut self, other: &Integrator) {
        if let (Integrator::Sensitivities(it), Integrator::Sensitivities(other)) = (self, other) {
            it.begin_as(other);
        }
    }

    /// Evaluations of the vector field in the last integration, finished or not; steps of an integrator of its own.
    pub(crate) fn evaluations(&self) -> u64 {
        match self {
            Integrator::Sensitivities(it) => it.work().evaluations,
            Integrator::Differences(it) => it.evaluations,
        }
    }
}

/// Central differences of simulations.
pub(crate) struct Differences {
    simulator: Simulator,
    /// Share of a direction that the simulations differ by.
    h: f64,
    directions: usize,
    evaluations: u64,
    /// Most steps of one trajectory.
    max_steps: u64,
}

enum Simulator {
    Adaptive(VectorField, Box<Adaptive>),
    Fixed(&'static Stepper, f64),
}

impl Differences {
    /// For states of `size` values along `directions`; `step` is that of the data where the integrator has fixed ones.
    ///
    /// # Errors
    /// As [`Adaptive::new`].
    pub(crate) fn new(
        dynamics: &Dynamics,
        step: f64,
        (size, directions): (usize, usize),
        tableau: &'static Tableau,
        tolerance: Tolerance,
    ) -> Result<Self, Error> {
        let Tolerance { rtol, max_steps, .. } = tolerance;
        let simulator = match dynamics {
            Dynamics::Field(field) => {
                Simulator::Adaptive(Arc::clone(field), Box::new(Adaptive::new(tableau, size, tolerance)?))
            }
            Dynamics::Stepper(stepper) => {
                let longer = (rtol / stepper.error_at(step)).powf(1.0 / f64::from(stepper.order));
                Simulator::Fixed(stepper, step * longer.clamp(1.0, LONGEST))
            }
        };
        Ok(Differences { simulator, h: rtol.cbrt(), directions, evaluations: 0, max_steps })
    }

    fn integrate(
        &mut self,
        start: Start,
        times: &[f64],
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        self.evaluations = 0;
        self.simulate((start.parameters, start.state), times, states, interrupt)?;
        let (k, h) = (self.directions, self.h);
        let mut ends = [vec![0.0; states.len()], vec![0.0; states.len()]];
        for direction in 0..k {
            let moved = |values: &[f64], directions: &[f64], by: f64| -> Vec<f64> {
                let slopes = directions.iter().skip(direction).step_by(k);
                values.iter().zip(slopes).map(|(value, slope)| value + by * slope).collect()
            };
            for (end, by) in ends.iter_mut().zip([h, -h]) {
                let parameters = moved(start.parameters, start.parameter_directions, by);
                let state = moved(start.state, start.state_directions, by);
                self.simulate((&parameters, &state), times, end, interrupt)?;
            }
            let rows = sensitivities.chunks_exact_mut(k).zip(ends[0].iter().zip(&ends[1]));
            rows.for_each(|(row, (after, before))| row[direction] = (after - before) / (2.0 * h));
        }
        Ok(())
    }

    fn simulate(
        &mut self,
        (parameters, state): (&[f64], &[f64]),
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        match &mut self.simulator {
            Simulator::Adaptive(field, adaptive) => {
                let field = &mut |time: f64, state: &[f64], slope: &mut [f64]| field(parameters, time, state, slope);
                let result = adaptive.integrate(field, state, times, states, interrupt);
                self.evaluations += adaptive.work().evaluations;
                result.map(|_| ())
            }
            Simulator::Fixed(stepper, step) => {
                // Without the limit an interval of years would run for ever.
                let steps: f64 = times.windows(2).map(|pair| ((pair[1] - pair[0]) / *step).ceil()).sum();
                let (limit, end) = (self.max_steps, times.last().copied().unwrap_or(0.0));
                if steps > limit as f64 {
                    return Err(Error::TooManySteps { limit, time: times[0], end, state: state.to_vec() });
                }
                self.evaluations += steps as u64;
                (stepper.integrate)(parameters, state, times, *step, states, interrupt).map(|_: Work| ())
            }
        }
    }
}
