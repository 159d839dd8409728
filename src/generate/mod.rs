//! Simulates the trajectories of a system in parallel and writes them as a dataset.
//!
//! ```text
//! dy/dt = f(t, y; p_e),   y(0) drawn,   samples at t = 0, dt, .., T - dt
//! ```
//!
//! `p_e [d_p]` parameters of environment `e`, `y [C]` state, `T` horizon, `dt` sampling interval, both in the system's unit of
//! time. Every draw belongs to one (seed, split, environment, trajectory), and trajectories are written in order, so the
//! bytes do not depend on threads; those of a trajectory do not depend on how many others there are.

pub(crate) mod observation;
pub(crate) mod samples;
pub(crate) mod amounts;
pub(crate) mod course;
pub(crate) mod settings;
pub(crate) mod dosing;
pub(crate) mod happenings;
pub(crate) mod recorded;
pub(crate) mod environments;
pub(crate) mod error;
pub(crate) mod validate;
pub(crate) mod integrator;
pub(crate) mod rest;
pub(crate) mod simulation;
pub(crate) mod run;

pub use amounts::Amounts;
pub use course::Course;
pub(crate) use environments::known_quantities;
pub use error::Error;
pub use observation::{Observation, PerChannel};
pub use run::{environments, extent, regenerate, resume, run, run_rows, simulate, trajectories};
pub use settings::{Environments, Settings, Solver, SplitSettings};
pub use simulation::Extent;
