//! Running mean `m` and standard deviation of values `x_1, x_2, ..`.
//!
//! ```text
//! m_n = m_{n-1} + (x_n - m_{n-1}) / n        s_n = s_{n-1} + (x_n - m_{n-1}) (x_n - m_n)        deviation = sqrt(s_n / n)
//! ```
//!
//! Source: B. P. Welford, Note on a Method for Calculating Corrected Sums of Squares and Products, Technometrics 4 (1962) 419-420.

/// The moments of the values so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    /// `n`.
    pub count: u64,
    /// `m`; zero where there are no values.
    pub mean: f64,
    /// `s`.
    squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        let difference = value - self.mean;
        self.mean += difference / self.count as f64;
        self.squares += difference * (value - self.mean);
    }

    /// The standard deviation; `None` where the values are constant up to rounding.
    pub(super) fn deviation(self) -> Option<f64> {
        let deviation = (self.squares / f64::max(self.count as f64, 1.0)).sqrt();
        let is_constant = deviation <= f64::EPSILON * self.mean.abs();
        (!is_constant).then_some(deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.add(value));
        moments
    }

    #[test]
    fn deviations_are_those_of_all_values_and_rounding_is_none() {
        let moments = of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!((moments.count, moments.mean), (4, 1e9 + 10.0));
        approx::assert_relative_eq!(moments.deviation().unwrap(), 22.5_f64.sqrt(), max_relative = 1e-12);
        assert_eq!(of(&[]).deviation(), None);
        assert_eq!(of(&[0.1 + 0.2; 1000]).deviation(), None);
        assert_eq!(of(&[0.3, 0.1 + 0.2]).deviation(), None);
        assert!(!of(&[1e200, -1e200]).deviation().unwrap().is_finite());
    }
}
