//! How a thread integrates: adaptively, or with the fixed steps of a system's own integrator.

use crate::progress::Interrupt;
use crate::solve;
use crate::solve::Work;
use crate::systems::{Simulator, Stepper};

/// A thread's integrator.
pub(super) enum Integrator {
    Adaptive(Box<Simulator>),
    Fixed(&'static Stepper, f64),
}

impl Integrator {
    /// From `initial` at `times[0]`, writes the states at `times [T]`.
    pub(super) fn integrate(
        &mut self,
        parameters: &[f64],
        initial: &[f64],
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, solve::Error> {
        match self {
            Integrator::Adaptive(simulator) => simulator.integrate(parameters, initial, times, states, interrupt),
            Integrator::Fixed(stepper, step) => {
                (stepper.integrate)(parameters, initial, times, *step, states, interrupt)
            }
        }
    }
}
