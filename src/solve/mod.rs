//! Explicit Runge-Kutta solvers, whose tableaus serve arrays and tensors, and a Rosenbrock method for stiff systems.
//!
//! [`step`] and [`step_at`] take one step of any method on any [`State`]; every stage is a new value, so autograd can follow.
//! [`Adaptive`] integrates one trajectory in memory to a tolerance, in place, and says where it is
//! stiff; [`Rosenbrock`] integrates that, with its derivatives.

mod tableau;
mod euler;
mod rk4;
mod state;
mod step;
mod rk38;
mod dopri5;
mod tsit5;
mod dop853;
mod combination;
mod error;
mod tolerance;
mod control;
mod adaptive;
mod rosenbrock_tableau;
mod rodas5p;
mod factorisation;
mod rosenbrock;

pub use adaptive::{Adaptive, Field, Stiff};
pub use dop853::DOP853;
pub use dopri5::DOPRI5;
pub use error::Error;
pub use euler::EULER;
pub(crate) use factorisation::Factorisation;
pub use rk4::RK4;
pub use rk38::RK38;
pub use rodas5p::RODAS5P;
pub use rosenbrock::{Linearisation, Rosenbrock, StiffField};
pub use rosenbrock_tableau::RosenbrockTableau;
pub use state::State;
pub use step::{step, step_at};
pub use tableau::{Embedded, ErrorEstimate, Tableau};
pub use tolerance::{Tolerance, Work};
pub use tsit5::TSIT5;

/// Every method, in ascending order of accuracy.
pub fn all() -> [&'static Tableau; 6] {
    [&EULER, &RK4, &RK38, &DOPRI5, &TSIT5, &DOP853]
}

/// The method of that name.
pub fn find(name: &str) -> Option<&'static Tableau> {
    all().into_iter().find(|tableau| tableau.name == name)
}
