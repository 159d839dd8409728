//! Allowed errors of an integration, and the size of an error in units of them.
//!
//! ```text
//! |v|^2 = mean_c (v_c / (atol + rtol max(|y_c|, |y'_c|)))^2
//! ```
//!
//! `v [C]` error of a step from `y [C]` to `y' [C]`. Source: Hairer, Noersett, Wanner I, section II.4.

use super::combination::LONG;
use super::error::Error;

/// Tolerances and step limit of one integration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Allowed error per step relative to the state; at least 1e-14.
    pub rtol: f64,
    /// Allowed absolute error per step, in the unit of the state; not negative.
    pub atol: f64,
    /// Limit on steps, accepted and rejected together.
    pub max_steps: u64,
}

/// The cost of one integration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps taken.
    pub accepted: u64,
    /// Steps rejected.
    pub rejected: u64,
    /// Evaluations of the vector field.
    pub evaluations: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        self.evaluations += other.evaluations;
    }
}

impl Tolerance {
    /// # Errors
    /// [`Error::Tolerance`] if a tolerance is out of range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Tolerance { rtol, atol, .. } = *self;
        let is_valid = rtol.is_finite() && atol.is_finite() && rtol >= 1e-14 && atol >= 0.0;
        if is_valid { Ok(()) } else { Err(Error::Tolerance { rtol, atol }) }
    }

    /// The error allowed in a value that a step takes from `before` to `after`.
    #[inline(always)]
    pub(crate) fn scale(&self, before: f64, after: f64) -> f64 {
        // A channel that rests at zero has no error, and is not to divide by zero where atol is zero.
        (self.atol + self.rtol * before.abs().max(after.abs())).max(f64::MIN_POSITIVE)
    }

    /// Mean over the state of `(value / scale)^2`, where `scale` is the error allowed in a step from `state` to `next`.
    pub(crate) fn mean_square(&self, values: &[f64], state: &[f64], next: &[f64]) -> f64 {
        let squares = Squares { tolerance: *self, values, state, next };
        let sums = if values.len() < LONG { squares.sum() } else { pulp::Arch::new().dispatch(squares) };
        sums.iter().sum::<f64>() / values.len() as f64
    }
}

/// `(value / scale)^2` of a state, to be added.
struct Squares<'a> {
    tolerance: Tolerance,
    values: &'a [f64],
    state: &'a [f64],
    next: &'a [f64],
}

impl Squares<'_> {
    /// As many sums as the greatest vector has places, whatever the processor's: the order of additions is then the same on all.
    #[inline(always)]
    fn sum(self) -> [f64; 8] {
        let mut sums = [0.0; 8];
        let (values, values_left) = self.values.as_chunks::<8>();
        let (state, state_left) = self.state.as_chunks::<8>();
        let (next, next_left) = self.next.as_chunks::<8>();
        for ((values, state), next) in values.iter().zip(state).zip(next) {
            for k in 0..8 {
                sums[k] += square(self.tolerance, values[k], state[k], next[k]);
            }
        }
        for (((sum, value), before), after) in sums.iter_mut().zip(values_left).zip(state_left).zip(next_left) {
            *sum += square(self.tolerance, *value, *before, *after);
        }
        sums
    }
}

/// A type of its own, since the body of a closure is not compiled for the vectors that are found.
impl pulp::WithSimd for Squares<'_> {
    type Output = [f64; 8];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [f64; 8] {
        self.sum()
    }
}

#[inline(always)]
fn square(tolerance: Tolerance, value: f64, before: f64, after: f64) -> f64 {
    (value / tolerance.scale(before, after)).powi(2)
}

pub(crate) fn all_finite(values: &[f64]) -> bool {
    // No early end, which would keep the loop out of vectors.
    values.iter().fold(true, |all, value| all & value.is_finite())
}

/// # Errors
/// [`Error::Times`] if the times are not finite and strictly increasing.
pub(crate) fn check_times(times: &[f64]) -> Result<(), Error> {
    let mut before = f64::NEG_INFINITY;
    for (index, &found) in times.iter().enumerate() {
        if !found.is_finite() || found <= before {
            return Err(Error::Times { index, before, found });
        }
        before = found;
    }
    Ok(())
}
