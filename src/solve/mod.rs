//! Runge-Kutta solvers: one tableau serves plain arrays and tensors.
//!
//! [`step`] and [`step_at`] take one step of any explicit method on anything that is a [`State`], building every stage
//! anew so that autograd can follow. [`Adaptive`] integrates one trajectory in plain memory to a tolerance, in place.

mod tableau;
mod step;
mod euler;
mod rk4;
mod rk38;
mod dopri5;
mod tsit5;
mod dop853;
mod combination;
mod adaptive;

pub use adaptive::{Adaptive, Error, Field, Tolerance, Work};
pub use dop853::DOP853;
pub use dopri5::DOPRI5;
pub use euler::EULER;
pub use rk4::RK4;
pub use rk38::RK38;
pub use step::{step, step_at};
pub use tableau::{Embedded, ErrorEstimate, Tableau};
pub use tsit5::TSIT5;

/// What a Runge-Kutta step needs from a state: `self + dt * sum_i c_i k_i`.
///
/// `Step` is `f64` for one trajectory in plain memory, and a tensor of one step per row for a batch.
pub trait State: Sized {
    type Step;

    /// `self + dt * sum_i c_i k_i` for `terms = [(c_i, k_i)]`; terms with `c_i = 0` are not passed.
    fn advance(&self, dt: &Self::Step, terms: &[(f64, &Self)]) -> Self;
}

impl State for Vec<f64> {
    type Step = f64;

    fn advance(&self, dt: &f64, terms: &[(f64, &Self)]) -> Self {
        let mut next = self.clone();
        for (coefficient, derivative) in terms {
            let weight = dt * coefficient;
            for (value, slope) in next.iter_mut().zip(derivative.iter()) {
                *value += weight * slope;
            }
        }
        next
    }
}

/// Every method, in ascending order of accuracy.
pub static ALL: [&Tableau; 6] = [&EULER, &RK4, &RK38, &DOPRI5, &TSIT5, &DOP853];

/// The method of that name.
pub fn find(name: &str) -> Option<&'static Tableau> {
    ALL.into_iter().find(|tableau| tableau.name == name)
}
