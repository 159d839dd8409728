//! A trajectory with its derivatives by central differences, where those of the equations are not written: fields.
//!
//! ```text
//! S_j = (y(p + h P_j, y_0 + h Y_j) - y(p - h P_j, y_0 - h Y_j)) / 2 h,      h = rtol^(1/3)
//! ```
//!
//! `y [T, N]` states of the simulation with parameters `p [d_p]` from `y_0 [N]`; along direction `j` parameters move by `P_j [d_p]` and the
//! initial state by `Y_j [N]`, directions being of a size that moves the state by about its own. The differences err by `h^2` of the third
//! derivative, over 6, and by the error of the simulation, at most `rtol`, over `h`: for this `h` both are about `rtol^(2/3)` (5e-6 at
//! `rtol = 1e-8`). Estimates are not held back by that: a Gauss-Newton step whose derivatives err by a share `e` ends the share `e` of
//! its length beside its aim, and the least squares they end at lie beside the true ones by the share `e` of a standard error.
//!
//! An integrator of fixed steps errs alike on both sides; its step is its own, or up to four times as long where `rtol` allows so.
//! A trajectory takes `1 + 2 k` simulations for `k` directions, and the memory of two beside the result.
//! Source: W. Press et al., Numerical Recipes (2007), section 5.7.

use std::sync::Arc;

use crate::progress::Interrupt;
use crate::signals::Drive;
use crate::solve::{Adaptive, Error, Tableau, Tolerance, Work};
use crate::systems::{Dynamics, Sensitivities, Start, Stepper, VectorField};

/// A step may be as many times as long as that of the data.
const LONGEST: f64 = 4.0;

/// What integrates trajectories with their derivatives, with its memory.
pub(crate) enum Integrator {
    /// Forward sensitivities.
    Sensitivities(Box<Sensitivities>),
    Differences(Differences),
}

impl Integrator {
    /// As [`Sensitivities::integrate_under`]; what is simulated has no inputs.
    pub fn integrate(
        &mut self,
        drive: &Drive,
        start: Start,
        states: &mut [f64],
        sensitivities: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        match self {
            Integrator::Sensitivities(of) => {
                of.integrate_under(drive, start, states, sensitivities, interrupt).map(|_| ())
            }
            Integrator::Differences(of) => of.integrate(start, drive.times, states, sensitivities, interrupt),
        }
    }

    /// Evaluations of the field that the last integration took, whether or not it came to its end; of an integrator of its own, steps.
    pub fn evaluations(&self) -> u64 {
        match self {
            Integrator::Sensitivities(of) => of.work().evaluations,
            Integrator::Differences(of) => of.evaluations,
        }
    }
}

/// Simulations side by side.
pub(crate) struct Differences {
    simulator: Simulator,
    h: f64,
    directions: usize,
    evaluations: u64,
    /// Steps of one trajectory at most.
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
    pub fn new(
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
                // An interval of years would be steps for ever.
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
