//! How much work the fit of an environment may take.
//!
//! Work is counted in evaluations of the equations, not in seconds, so that the same environments are given up on every machine.

use crate::progress::Interrupt;
use crate::solve;

/// The work of one environment: spent so far, and its limit.
#[derive(Clone)]
pub(crate) struct Budget<'a> {
    /// Evaluations of the vector field so far; of an integrator of its own, steps.
    evaluations: u64,
    limit: u64,
    /// Also ends the work.
    pub interrupt: &'a Interrupt,
}

/// Why a trajectory was not integrated to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    #[error(transparent)]
    Integration(solve::Error),
    #[error("stopped at the limit of {0} evaluations of the equations (`estimate.physics.max_evaluations`)")]
    Spent(u64),
    #[error("{}", crate::systems::rest::restless(*.0))]
    Restless(f64),
    #[error("{0}")]
    Dose(String),
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

impl<'a> Budget<'a> {
    /// `limit` evaluations, none spent.
    pub(crate) fn new(limit: u64, interrupt: &'a Interrupt) -> Self {
        Budget { evaluations: 0, limit, interrupt }
    }

    /// Counts evaluations as spent.
    pub(crate) fn spend(&mut self, evaluations: u64) {
        self.evaluations += evaluations;
    }

    /// Evaluations so far.
    pub(crate) fn spent(&self) -> u64 {
        self.evaluations
    }

    /// Counts what was spent from a copy of this budget.
    pub(crate) fn catch_up(&mut self, copy: &Budget) {
        self.evaluations = copy.evaluations;
    }

    /// The share of the limit that is spent.
    pub(crate) fn share_spent(&self) -> f64 {
        self.evaluations as f64 / self.limit as f64
    }

    /// # Errors
    /// If the limit is reached, or an interrupt was requested.
    pub(crate) fn ensure_left(&self) -> Result<(), Halt> {
        match self.interrupt.requested() {
            Some(_) => Err(Halt::Interrupted),
            None if self.evaluations >= self.limit => Err(Halt::Spent(self.limit)),
            None => Ok(()),
        }
    }
}
