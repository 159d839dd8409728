//! Dual numbers of dual numbers: second derivatives, along one direction and then along several others.
//!
//! ```text
//! x = (v, s),    f(x) = (f(v), f'(v) s),    v = (value, d [4]),    s = (slope, ds [4])
//! ```
//!
//! `v` and `s` are [`Dual`]s: a value with its derivatives along [`LANES`](super::LANES) directions, and the derivative of that along one more
//! direction, whose own derivatives `ds` are the second derivatives along both. With the unit vector of a state as `s`, the derivatives of a
//! vector field are a column of its Jacobian, and how that column changes along the directions. Source: J. Fike, J. Alonso, The Development
//! of Hyper-Dual Numbers for Exact Second-Derivative Calculations, AIAA 2011-886.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::dual::{Dual, Scalar};
use super::functions::{Binary, Unary};

/// A value, its derivative along one direction, and the derivatives of both along [`LANES`](super::LANES) others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nested {
    /// `v`.
    pub value: Dual,
    /// `s`.
    pub slope: Dual,
}

impl Nested {
    /// Whether its derivative along the one direction is zero, and stays so along the others; then an infinite slope does not count.
    fn is_still(&self) -> bool {
        self.slope == Dual::default()
    }

    /// `(value, factor s)`.
    #[inline(always)]
    fn chain(self, value: Dual, factor: Dual) -> Self {
        Nested { value, slope: self.slope * factor }
    }
}

impl From<f64> for Nested {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Nested { value: Dual::from(value), slope: Dual::default() }
    }
}

impl Add for Nested {
    type Output = Nested;

    #[inline(always)]
    fn add(self, right: Nested) -> Nested {
        Nested { value: self.value + right.value, slope: self.slope + right.slope }
    }
}

impl Sub for Nested {
    type Output = Nested;

    #[inline(always)]
    fn sub(self, right: Nested) -> Nested {
        Nested { value: self.value - right.value, slope: self.slope - right.slope }
    }
}

impl Mul for Nested {
    type Output = Nested;

    #[inline(always)]
    fn mul(self, right: Nested) -> Nested {
        Nested { value: self.value * right.value, slope: self.slope * right.value + self.value * right.slope }
    }
}

impl Div for Nested {
    type Output = Nested;

    #[inline(always)]
    fn div(self, right: Nested) -> Nested {
        let value = self.value / right.value;
        Nested { value, slope: (self.slope - value * right.slope) / right.value }
    }
}

impl Neg for Nested {
    type Output = Nested;

    #[inline(always)]
    fn neg(self) -> Nested {
        Nested { value: -self.value, slope: -self.slope }
    }
}

impl Add<f64> for Nested {
    type Output = Nested;

    #[inline(always)]
    fn add(self, right: f64) -> Nested {
        Nested { value: self.value + right, ..self }
    }
}

impl Sub<f64> for Nested {
    type Output = Nested;

    #[inline(always)]
    fn sub(self, right: f64) -> Nested {
        Nested { value: self.value - right, ..self }
    }
}

impl Mul<f64> for Nested {
    type Output = Nested;

    #[inline(always)]
    fn mul(self, right: f64) -> Nested {
        Nested { value: self.value * right, slope: self.slope * right }
    }
}

impl Scalar for Nested {
    #[inline(always)]
    fn powi(self, exponent: i32) -> Self {
        self.chain(self.value.powi(exponent), self.value.powi(exponent - 1) * f64::from(exponent))
    }

    fn powf(self, exponent: Self) -> Self {
        let value = self.value.powf(exponent.value);
        let mut slope = Dual::default();
        // As of dual numbers: `a^2` with `a <= 0` has a slope by `a`, but none by its exponent.
        if !self.is_still() {
            slope = self.slope * exponent.value * self.value.powf(exponent.value - 1.0);
        }
        if !exponent.is_still() {
            slope = slope + exponent.slope * value * logarithm(self.value);
        }
        Nested { value, slope }
    }

    fn unary(self, function: Unary) -> Self {
        let value = self.value.unary(function);
        if self.is_still() {
            return Nested { value, ..Nested::default() };
        }
        let Dual { value: at, tangent } = self.value;
        let bend = if self.value.is_constant() { 0.0 } else { (function.bend)(at) };
        self.chain(value, Dual { value: (function.slope)(at), tangent: tangent.map(|d| bend * d) })
    }

    fn binary(self, right: Self, function: Binary) -> Self {
        let value = self.value.binary(right.value, function);
        let (a, b) = (self.value, right.value);
        let (slopes, bends) = ((function.slopes)(a.value, b.value), (function.bends)(a.value, b.value));
        // How the slope by one operand changes along the directions, where an operand changes at all.
        let factor = |slope: f64, [by_left, by_right]: [f64; 2]| {
            let part = |operand: Dual, bend: f64, lane: usize| match operand.is_constant() {
                true => 0.0,
                false => bend * operand.tangent[lane],
            };
            let tangent = std::array::from_fn(|lane| part(a, by_left, lane) + part(b, by_right, lane));
            Dual { value: slope, tangent }
        };
        let mut slope = Dual::default();
        if !self.is_still() {
            slope = self.slope * factor(slopes[0], [bends[0], bends[1]]);
        }
        if !right.is_still() {
            slope = slope + right.slope * factor(slopes[1], [bends[1], bends[2]]);
        }
        Nested { value, slope }
    }
}

/// The natural logarithm.
fn logarithm(x: Dual) -> Dual {
    Dual { value: x.value.ln(), tangent: x.tangent.map(|d| d / x.value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expressions::LANES;
    use crate::expressions::functions::{BINARY, UNARY};

    const STEP: f64 = 1e-5;

    /// Compares value and derivatives with those of dual numbers, and second derivatives with central differences of these.
    fn check<F>(what: &str, function: F, on_duals: &dyn Fn(Dual, Dual) -> Dual, a: f64, b: f64)
    where
        F: Fn(Nested, Nested) -> Nested,
    {
        let (da, db) = ([1.0, 0.0, 0.3, -2.0], [0.0, 1.0, 0.7, 0.5]);
        let (sa, sb) = (0.8, -0.6);
        let of = |value: f64, tangent: [f64; LANES]| Dual { value, tangent };
        let nested = |value: Dual, slope: f64| Nested { value, slope: Dual::from(slope) };
        let found = function(nested(of(a, da), sa), nested(of(b, db), sb));
        assert_eq!(found.value, on_duals(of(a, da), of(b, db)), "{what}");
        let at = |h: f64| on_duals(of(a + h * sa, da), of(b + h * sb, db));
        let (after, before) = (at(STEP), at(-STEP));
        let close = |found: f64, after: f64, before: f64| {
            let expected = (after - before) / (2.0 * STEP);
            assert!(
                (found - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                "{what} at ({a}, {b}): {found}, not {expected}"
            );
        };
        close(found.slope.value, after.value, before.value);
        for lane in 0..LANES {
            close(found.slope.tangent[lane], after.tangent[lane], before.tangent[lane]);
        }
    }

    #[test]
    fn every_operation_has_the_second_derivatives_of_its_differences() {
        macro_rules! compare {
            ($what:expr, $function:expr, $a:expr, $b:expr) => {
                check($what, $function, &$function, $a, $b)
            };
        }
        for (a, b) in [(0.7, 1.9), (0.31, -0.45), (0.9, 2.5)] {
            compare!("+", |a, b| a + b + 3.0, a, b);
            compare!("-", |a, b| a - b - 3.0, a, b);
            compare!("*", |a, b| a * b * 1.7, a, b);
            compare!("/", |a, b| a / b, a, b);
            compare!("-x", |a, b| -a * -b, a, b);
            compare!("powi", |a, b| a.powi(4) * b.powi(-3), a, b);
            compare!("powf", |a, b| a.powf(b), a, b);
            for (name, function) in UNARY {
                compare!(name, |a, b| (a * b * b * 0.1 + 0.4).unary(function), a, b);
            }
            for (name, function) in BINARY {
                compare!(name, |a, b| a.binary(b, function), a, b);
            }
        }
    }

    #[test]
    fn what_is_constant_has_no_slope_however_steep() {
        let zero = Nested::from(0.0);
        let root = UNARY.into_iter().find(|it| it.0 == "sqrt").unwrap().1;
        assert_eq!(zero.unary(root), zero);
        let falling = Nested { value: Dual::from(-3.0), slope: Dual::from(1.0) };
        assert_eq!(falling.powf(Nested::from(2.0)), Nested { value: Dual::from(9.0), slope: Dual::from(-6.0) });
    }
}
