//! One fit loop that emits events.

mod settings;

pub use settings::{Precision, Scaling, Schedule, Settings, Solver, TeacherForcing};
