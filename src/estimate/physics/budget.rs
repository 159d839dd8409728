//! What a fit may cost: evaluations of the equations, which are the same on every machine and at every load, where seconds are not. An
//! environment that is given up is given up everywhere, and no row depends on what else the machine did.

use crate::progress::Interrupt;
use crate::solve;

/// Counts the work of one environment.
#[derive(Clone)]
pub(crate) struct Meter<'a> {
    /// Evaluations of the vector field so far; of an integrator of its own, steps.
    pub evaluations: u64,
    limit: u64,
    pub interrupt: &'a Interrupt,
}

/// Why a trajectory was not followed to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    #[error(transparent)]
    Integration(solve::Error),
    #[error("stopped at the limit of {0} evaluations of the equations (`estimate.physics.max_evaluations`)")]
    Spent(u64),
    #[error("interrupted")]
    Interrupted,
}

impl From<solve::Error> for Halt {
    fn from(error: solve::Error) -> Self {
        match error {
            solve::Error::Interrupted { .. } => Halt::Interrupted,
            error => Halt::Integration(error),
        }
    }
}

impl<'a> Meter<'a> {
    pub fn new(limit: u64, interrupt: &'a Interrupt) -> Self {
        Meter { evaluations: 0, limit, interrupt }
    }

    /// The share of the work that has been done.
    pub fn share(&self) -> f64 {
        self.evaluations as f64 / self.limit as f64
    }

    /// # Errors
    /// If no more work may be done.
    pub fn check(&self) -> Result<(), Halt> {
        match self.interrupt.requested() {
            Some(_) => Err(Halt::Interrupted),
            None if self.evaluations >= self.limit => Err(Halt::Spent(self.limit)),
            None => Ok(()),
        }
    }
}
