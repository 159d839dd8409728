//! Dual numbers: values with their derivatives along several directions, for forward-mode differentiation.
//!
//! ```text
//! x = (v, d [4]),    f(x) = (f(v), f'(v) d),    f(x, y) = (f(v, w), df/dv d + df/dw e)   with y = (w, e)
//! ```
//!
//! A vector field written for any [`Scalar`] gives its values with `f64`, bit for bit as without derivatives, and its
//! directional derivatives with [`Dual`]. Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., section 3.1.

use std::array;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::functions::{Binary, Unary};

/// Number of directions of a [`Dual`].
pub const LANES: usize = 4;

/// A value and its derivatives along [`LANES`] directions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual {
    /// `v`.
    pub value: f64,
    /// `d [4]`.
    pub tangent: [f64; LANES],
}

/// The numbers that a vector field is written for: `f64`, or [`Dual`].
pub(crate) trait Scalar:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Neg<Output = Self>
{
    /// `self` to a whole power.
    fn powi(self, exponent: i32) -> Self;

    /// `self` to any power.
    fn powf(self, exponent: Self) -> Self;

    /// A function of `self`.
    fn unary(self, function: Unary) -> Self;

    /// A function of `self` and `right`.
    fn binary(self, right: Self, function: Binary) -> Self;
}

impl Scalar for f64 {
    #[inline(always)]
    fn powi(self, exponent: i32) -> Self {
        self.powi(exponent)
    }

    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        self.powf(exponent)
    }

    #[inline(always)]
    fn unary(self, function: Unary) -> Self {
        (function.value)(self)
    }

    #[inline(always)]
    fn binary(self, right: Self, function: Binary) -> Self {
        (function.value)(self, right)
    }
}

impl Dual {
    /// The chain rule for one operand: `(value, slope d)`.
    #[inline(always)]
    fn chain(self, value: f64, slope: f64) -> Self {
        Dual { value, tangent: self.tangent.map(|d| slope * d) }
    }

    /// The chain rule for two operands: `(value, slopes_0 d + slopes_1 e)`.
    #[inline(always)]
    fn chain_two(self, right: Self, value: f64, slopes: [f64; 2]) -> Self {
        let tangent = array::from_fn(|lane| slopes[0] * self.tangent[lane] + slopes[1] * right.tangent[lane]);
        Dual { value, tangent }
    }

    /// The derivative of a function of `self` and `right` by its first or its second argument.
    pub(super) fn partial(self, right: Self, function: Binary, by: usize) -> Self {
        let (slopes, bends) = ((function.slopes)(self.value, right.value), (function.bends)(self.value, right.value));
        let mut bends = [bends[by], bends[by + 1]];
        for (bend, operand) in bends.iter_mut().zip([self, right]) {
            if operand.is_constant() {
                *bend = 0.0;
            }
        }
        self.chain_two(right, slopes[by], bends)
    }

    /// Whether its derivative is zero along all directions; then an infinite slope does not count.
    pub(super) fn is_constant(&self) -> bool {
        self.tangent == [0.0; LANES]
    }
}

impl From<f64> for Dual {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Dual { value, tangent: [0.0; LANES] }
    }
}

impl Add for Dual {
    type Output = Dual;

    #[inline(always)]
    fn add(self, right: Dual) -> Dual {
        Dual { value: self.value + right.value, tangent: array::from_fn(|i| self.tangent[i] + right.tangent[i]) }
    }
}

impl Sub for Dual {
    type Output = Dual;

    #[inline(always)]
    fn sub(self, right: Dual) -> Dual {
        Dual { value: self.value - right.value, tangent: array::from_fn(|i| self.tangent[i] - right.tangent[i]) }
    }
}

impl Mul for Dual {
    type Output = Dual;

    #[inline(always)]
    fn mul(self, right: Dual) -> Dual {
        self.chain_two(right, self.value * right.value, [right.value, self.value])
    }
}

impl Div for Dual {
    type Output = Dual;

    #[inline(always)]
    fn div(self, right: Dual) -> Dual {
        let value = self.value / right.value;
        let slope = 1.0 / right.value;
        self.chain_two(right, value, [slope, -value * slope])
    }
}

impl Neg for Dual {
    type Output = Dual;

    #[inline(always)]
    fn neg(self) -> Dual {
        self.chain(-self.value, -1.0)
    }
}

impl Add<f64> for Dual {
    type Output = Dual;

    #[inline(always)]
    fn add(self, right: f64) -> Dual {
        Dual { value: self.value + right, ..self }
    }
}

impl Sub<f64> for Dual {
    type Output = Dual;

    #[inline(always)]
    fn sub(self, right: f64) -> Dual {
        Dual { value: self.value - right, ..self }
    }
}

impl Mul<f64> for Dual {
    type Output = Dual;

    #[inline(always)]
    fn mul(self, right: f64) -> Dual {
        self.chain(self.value * right, right)
    }
}

impl Scalar for Dual {
    #[inline(always)]
    fn powi(self, exponent: i32) -> Self {
        self.chain(self.value.powi(exponent), f64::from(exponent) * self.value.powi(exponent - 1))
    }

    fn powf(self, exponent: Self) -> Self {
        let value = self.value.powf(exponent.value);
        // `a^2` with `a <= 0` has a slope by `a`, but none by its exponent.
        let by_base = if self.is_constant() { 0.0 } else { exponent.value * self.value.powf(exponent.value - 1.0) };
        let by_exponent = if exponent.is_constant() { 0.0 } else { value * self.value.ln() };
        self.chain_two(exponent, value, [by_base, by_exponent])
    }

    fn unary(self, function: Unary) -> Self {
        let slope = if self.is_constant() { 0.0 } else { (function.slope)(self.value) };
        self.chain((function.value)(self.value), slope)
    }

    fn binary(self, right: Self, function: Binary) -> Self {
        let mut slopes = (function.slopes)(self.value, right.value);
        for (slope, operand) in slopes.iter_mut().zip([self, right]) {
            if operand.is_constant() {
                *slope = 0.0;
            }
        }
        self.chain_two(right, (function.value)(self.value, right.value), slopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expressions::functions::{BINARY, UNARY};

    const STEP: f64 = 1e-5;

    fn along(value: f64, tangent: [f64; LANES]) -> Dual {
        Dual { value, tangent }
    }

    /// Compares the derivatives along every direction with central differences.
    fn check_tangents(what: &str, function: &dyn Fn(Dual, Dual) -> Dual, a: f64, b: f64) {
        let (da, db) = ([1.0, 0.0, 0.3, -2.0], [0.0, 1.0, 0.7, 0.5]);
        let found = function(along(a, da), along(b, db));
        for lane in 0..LANES {
            let at = |h: f64| function(Dual::from(a + h * da[lane]), Dual::from(b + h * db[lane])).value;
            let expected = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let error = (found.tangent[lane] - expected).abs();
            assert!(error < 1e-8 * (1.0 + expected.abs()), "{what} at ({a}, {b}): {found:?}, not {expected}");
        }
        assert_eq!(found.value.to_bits(), function(Dual::from(a), Dual::from(b)).value.to_bits(), "{what}");
    }

    #[test]
    fn every_operation_has_the_derivative_of_its_differences() {
        for (a, b) in [(0.7, 1.9), (0.31, -0.45), (0.9, 2.5)] {
            check_tangents("+", &|a, b| a + b + 3.0, a, b);
            check_tangents("-", &|a, b| a - b - 3.0, a, b);
            check_tangents("*", &|a, b| a * b * 1.7, a, b);
            check_tangents("/", &|a, b| a / b, a, b);
            check_tangents("-x", &|a, b| -a * -b, a, b);
            check_tangents("powi", &|a, b| a.powi(4) * b.powi(-3), a, b);
            check_tangents("powf", &|a, b| a.powf(b), a, b);
            for (name, function) in UNARY {
                check_tangents(name, &|a, b| (a * b * b * 0.1 + 0.4).unary(function), a, b);
            }
            for (name, function) in BINARY {
                check_tangents(name, &|a, b| a.binary(b, function), a, b);
            }
        }
    }

    #[test]
    fn what_is_constant_has_no_slope_however_steep() {
        let zero = Dual::from(0.0);
        let root = UNARY.into_iter().find(|it| it.0 == "sqrt").unwrap().1;
        assert_eq!(zero.unary(root), zero);
        assert_eq!(zero.powf(along(2.0, [1.0; LANES])).tangent.map(|d| d.is_nan()), [true; LANES]);
        assert_eq!(along(0.0, [1.0; LANES]).powf(Dual::from(2.0)), zero);
        assert_eq!(along(-3.0, [1.0; LANES]).powf(Dual::from(2.0)), along(9.0, [-6.0; LANES]));
    }
}
