//! How finely the values of a quantity were recorded.
//!
//! ```text
//! q = 10^-d, d the fewest decimals (0 or more) that write every value;  of values with more than 13 digits the spacing of the floating-point numbers
//! sigma = q / sqrt(12)
//! ```
//!
//! No residual says less of the noise than `sigma`, the standard deviation of what rounding to `q` takes away: the residuals of a sensor that is
//! stuck are rounding alone. Where every value is the same and is written with all digits, as after a conversion of its unit, not even `q` is
//! known. Source: B. Widrow, I. Kollár, Quantization Noise (2008), chapter 5.

/// A value with more digits than this is no rounded decimal.
const DIGITS: i32 = 13;
/// Values of which one alone does not show a sensor that is stuck.
const FEW: usize = 3;

/// How finely the values of a channel were recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resolution {
    /// `sigma`, in the unit of the values.
    pub std_dev: f64,
    /// Whether there are several values, and all are the same.
    pub is_constant: bool,
    /// Whether all values are the same, with all digits, so that `sigma` says nothing.
    pub is_hidden: bool,
}

/// The resolution of `values`, none of them NaN.
pub(crate) fn resolution(values: impl Iterator<Item = f64> + Clone) -> Resolution {
    let greatest = values.clone().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    let decimals = decimals(values.clone());
    let spacing = match decimals {
        Some(decimals) => 10.0_f64.powi(-decimals),
        None if values.clone().all(|value| f64::from(value as f32) == value) => f64::from(f32::EPSILON) * greatest,
        None => f64::EPSILON * greatest,
    };
    let first = values.clone().next();
    let is_constant = values.clone().count() >= FEW && values.clone().all(|value| Some(value) == first);
    Resolution { std_dev: spacing / 12.0_f64.sqrt(), is_constant, is_hidden: is_constant && decimals.is_none() }
}

/// The fewest decimals that write every value; none where one has more digits than a rounded decimal.
fn decimals(values: impl Iterator<Item = f64>) -> Option<i32> {
    let (mut decimals, mut power) = (0, 1.0);
    for value in values {
        loop {
            let shifted = value.abs() * power;
            if shifted >= 10.0_f64.powi(DIGITS) {
                return None;
            }
            // The nearest number to a decimal, and the product, are off by half a unit in the last place each.
            if (shifted - shifted.round()).abs() <= 2.0 * f64::EPSILON * shifted {
                break;
            }
            decimals += 1;
            power = 10.0_f64.powi(decimals);
        }
    }
    Some(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Resolution {
        resolution(values.iter().copied())
    }

    #[test]
    fn decimals_and_floating_point_numbers_are_told_apart() {
        let of_decimals = |q: f64| Resolution { std_dev: q / 12.0_f64.sqrt(), is_constant: false, is_hidden: false };
        assert_eq!(of(&[84.4, 70.0, -0.3]), of_decimals(0.1));
        assert_eq!(of(&[1.0, 250.0, 0.0]), of_decimals(1.0));
        assert_eq!(of(&[0.7; 9]), Resolution { is_constant: true, ..of_decimals(0.1) });
        assert_eq!(of(&[3.2e-9, 4e-10]), of_decimals(1e-10));
        assert_eq!(of(&[]), of_decimals(1.0));
        let third = of(&[1.0 / 3.0, 2.0, 0.1]);
        assert_eq!(
            third,
            Resolution { std_dev: 2.0 * f64::EPSILON / 12.0_f64.sqrt(), is_constant: false, is_hidden: false }
        );
        let single = of(&[f64::from(0.1_f32), f64::from(0.7_f32)]);
        approx::assert_relative_eq!(single.std_dev, 0.7 * 1.192e-7 / 12.0_f64.sqrt(), max_relative = 1e-3);
    }

    /// Every multiple of a power of ten is seen as one.
    #[test]
    fn rounded_values_have_their_decimals() {
        for decimals in 0..8 {
            let power = 10.0_f64.powi(decimals);
            let values = (1..2000).map(|i| (f64::from(i) * 7.313_712_345_679 * power).round() / power);
            let q = power.recip();
            approx::assert_relative_eq!(resolution(values).std_dev, q / 12.0_f64.sqrt(), max_relative = 1e-12);
        }
    }

    #[test]
    fn one_value_with_all_digits_hides_its_resolution() {
        assert!(of(&[20.555_555_555_555_557; 3]).is_hidden);
        assert!(!of(&[20.555_555_555_555_557; 2]).is_hidden);
        assert!(!of(&[20.555_555_555_555_557, 20.555_555_555_555_557, 20.6]).is_hidden);
        assert!(!of(&[20.6; 3]).is_hidden);
    }
}
