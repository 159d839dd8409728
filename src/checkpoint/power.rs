//! The power of a parameter that a map is affine in: `q = p^s`, and `q = ln p` for `s = 0`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The exponent `s`. For `s = 1` every `p` has a `q`; for others only `p > 0` has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Power(f64);

impl Power {
    /// The parameter itself.
    pub const ONE: Power = Power(1.0);
    /// All that a map may have, in the order in which they are tried.
    pub const ALL: [Power; 11] = [
        Power(-4.0),
        Power(-3.0),
        Power(-2.0),
        Power(-1.0),
        Power(-0.5),
        Power(0.0),
        Power(0.5),
        Power::ONE,
        Power(2.0),
        Power(3.0),
        Power(4.0),
    ];

    /// `q` of a parameter; NaN where it has none.
    pub fn raise(self, p: f64) -> f64 {
        match self.0 {
            1.0 => p,
            _ if p.is_nan() || p <= 0.0 => f64::NAN,
            0.0 => p.ln(),
            s => p.powf(s),
        }
    }

    /// The parameter of `q`, the inverse of [`Power::raise`]; NaN where there is none.
    pub fn invert(self, q: f64) -> f64 {
        let p = match self.0 {
            1.0 => return q,
            0.0 => q.exp(),
            _ if q <= 0.0 => return f64::NAN,
            s => q.powf(1.0 / s),
        };
        // Beyond the largest and the smallest numbers there is no parameter either.
        if p.is_finite() && p > 0.0 { p } else { f64::NAN }
    }

    /// `dp / dq` at `q`; NaN where `q` has no parameter.
    pub fn slope(self, q: f64) -> f64 {
        match self.0 {
            1.0 => 1.0,
            0.0 => self.invert(q),
            s => self.invert(q) / (s * q),
        }
    }

    /// `q` as a formula of the parameter `name`, such as `ln beta` or `beta^-2`.
    pub fn formula(self, name: &str) -> String {
        match self.0 {
            1.0 => name.to_owned(),
            0.0 => format!("ln {name}"),
            s => format!("{name}^{s}"),
        }
    }

    /// `q` as an expression of the parameter `name` in equations, such as `ln(beta)` or `beta^-2`.
    pub(crate) fn expression(self, name: &str) -> String {
        match self.0 {
            0.0 => format!("ln({name})"),
            _ => self.formula(name),
        }
    }

    /// The exponent.
    pub(crate) fn exponent(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_and_slopes_of_all_powers() {
        for power in Power::ALL {
            for p in [1e-3, 0.7, 1.0, 42.0] {
                let q = power.raise(p);
                approx::assert_relative_eq!(power.invert(q), p, max_relative = 1e-13);
                let h = if q == 0.0 { 1e-5 } else { 1e-5 * q.abs() };
                let difference = (power.invert(q + h) - power.invert(q - h)) / (2.0 * h);
                approx::assert_relative_eq!(power.slope(q), difference, max_relative = 1e-6);
            }
        }
    }

    #[test]
    fn what_has_no_power_or_no_parameter_is_nan() {
        for power in Power::ALL.into_iter().filter(|power| *power != Power::ONE) {
            assert!(power.raise(0.0).is_nan() && power.raise(-1.0).is_nan() && power.invert(f64::NAN).is_nan());
            if power != Power(0.0) {
                assert!(power.invert(0.0).is_nan() && power.invert(-1.0).is_nan() && power.slope(-1.0).is_nan());
            }
        }
        assert!(
            Power(0.0).invert(1e4).is_nan() && Power(0.0).invert(-1e4).is_nan() && Power(-0.5).invert(1e-200).is_nan()
        );
        assert_eq!((Power::ONE.raise(-2.0), Power::ONE.invert(-2.0), Power::ONE.slope(-2.0)), (-2.0, -2.0, 1.0));
    }
}
