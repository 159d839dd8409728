//! Why an integration failed.

use crate::progress::Interrupt;

/// Why an integration failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The method has fixed steps only.
    #[error("solver `{method}` has no error estimate; use one of dopri5, tsit5, dop853")]
    NoErrorEstimate {
        /// Name of the method.
        method: &'static str,
    },
    /// The tolerances are out of range.
    #[error("found rtol = {rtol:e} and atol = {atol:e}; expected rtol >= 1e-14 and atol >= 0, both finite")]
    Tolerance {
        /// The relative tolerance.
        rtol: f64,
        /// The absolute tolerance.
        atol: f64,
    },
    /// The sample times are not finite and strictly increasing.
    #[error("sample time {index} is {found}; expected a finite time after {before}")]
    Times {
        /// Index of the sample.
        index: usize,
        /// The time before it.
        before: f64,
        /// What was found.
        found: f64,
    },
    /// What is given again and again leads to no steady state.
    #[error(
        "what is given every interval from time {time} on leads to no steady state: it must leave every state again; correct the equations, or leave \
         out that interval"
    )]
    Restless {
        /// When.
        time: f64,
    },
    /// Something cannot be given to the system as it is said.
    #[error("{0}")]
    Given(String),
    /// The derivative is not finite, however short the step.
    #[error(
        "the derivative is not finite near time {time}, state {}; check the parameters and the initial state",
        brief(.state)
    )]
    NotFinite {
        /// When.
        time: f64,
        /// The state there.
        state: Vec<f64>,
    },
    /// Even the shortest step misses the tolerance.
    #[error(
        "the step shrank to {dt:e} at time {time}, state {}; the system is singular there (a quantity without bound, a root or quotient at \
         zero): narrow the bounds of the parameters, or start elsewhere",
        brief(.state)
    )]
    StepUnderflow {
        /// When.
        time: f64,
        /// The state there.
        state: Vec<f64>,
        /// The last step tried.
        dt: f64,
    },
    /// The limit on steps was reached.
    #[error(
        "{limit} steps led only to time {time} of {end}, state {}; many oscillations, or rates far apart that no method for stiff systems \
         could take over: narrow the bounds of the parameters, shorten the time or raise `max_steps`",
        brief(.state)
    )]
    TooManySteps {
        /// The limit on steps.
        limit: u64,
        /// When.
        time: f64,
        /// The last sample time.
        end: f64,
        /// The state there.
        state: Vec<f64>,
    },
    /// A signal asked to stop.
    #[error("interrupted by signal {signal}")]
    Interrupted {
        /// Its number (2 for SIGINT, 15 for SIGTERM).
        signal: i32,
    },
}

impl Error {
    /// The same error, reporting only the part of the state that `part` selects.
    pub fn with_partial_state(self, part: impl FnOnce(&[f64]) -> Vec<f64>) -> Error {
        match self {
            Error::NotFinite { time, state } => Error::NotFinite { time, state: part(&state) },
            Error::StepUnderflow { time, state, dt } => Error::StepUnderflow { time, state: part(&state), dt },
            Error::TooManySteps { limit, time, end, state } => {
                Error::TooManySteps { limit, time, end, state: part(&state) }
            }
            other => other,
        }
    }

    /// Turns a request to stop into an error.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if a stop was requested.
    pub fn if_requested(interrupt: &Interrupt) -> Result<(), Error> {
        interrupt.requested().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }))
    }
}

/// The state, or its beginning where it is long.
fn brief(state: &[f64]) -> String {
    match state.get(..8) {
        Some(first) if state.len() > 8 => format!("{first:?} and {} values more", state.len() - 8),
        _ => format!("{state:?}"),
    }
}
