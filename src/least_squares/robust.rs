//! Huber's loss: least squares on which a few wrong values have little influence.
//!
//! ```text
//! minimise  sum_i s^2 rho(r_i / s)       rho(x) = x^2 / 2 up to |x| = k,  k |x| - k^2 / 2 beyond
//! psi = rho',   weight psi(x) / x = min(1, k / |x|),      s = 1.4826 median |r|
//!
//! cov = v (J'J)^-1,    v = K^2 s^2 [sum_i psi(r_i / s)^2 / (n - m)] / a^2,    K = 1 + (m / n) (1 - a) / a
//! ```
//!
//! `r [n]` residuals in units of their noise, `J [n, m]` their derivatives by the `m` unknowns, `s` their robust standard deviation, `a` the
//! share of them within `k s`, which is the mean of `psi'`. As weighted least squares each residual has the weight `psi(x) / x`; since these
//! weights depend on the residuals, `|r|^2 / (n - m)` and `J'J` with the weights included would make intervals a tenth too narrow. `k` keeps
//! 95 % of the efficiency under Gaussian noise. An infinite `s` gives ordinary least squares.
//! Source: P. J. Huber, Robust Estimation of a Location Parameter, Annals of Mathematical Statistics 35 (1964) 73-101, and Robust
//! Statistics (1981), section 7.6.

/// `k`: the multiple of the standard deviation beyond which a residual counts linearly.
pub(crate) const HUBER: f64 = 1.345;
/// Standard deviation of a Gaussian over the median of its absolute values.
const STD_DEV_OVER_MEDIAN: f64 = 1.4826;

/// The robust standard deviation `s` of residuals of the given absolute values; none of no residuals.
pub(crate) fn std_dev(sizes: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sizes: Vec<f64> = sizes.collect();
    let middle = sizes.len() / 2;
    if sizes.is_empty() {
        return None;
    }
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    Some(STD_DEV_OVER_MEDIAN * *median)
}

/// The weight `psi(x) / x` of a residual of the given absolute value, with `limit = k s`.
pub(crate) fn weight(size: f64, limit: f64) -> f64 {
    if size > limit { limit / size } else { 1.0 }
}

/// The factor `v` of the covariance, of residuals of the given absolute values, with `limit = k s`: `|r|^2 / (n - m)` where none is beyond
/// the limit. `degrees_of_freedom = n - m`.
pub(crate) fn variance(sizes: impl Iterator<Item = f64>, limit: f64, degrees_of_freedom: f64) -> f64 {
    let (mut squares, mut within, mut count) = (0.0, 0.0, 0.0);
    for size in sizes {
        squares += size.min(limit).powi(2);
        within += f64::from(u8::from(size <= limit));
        count += 1.0;
    }
    let share = within / count;
    let correction = 1.0 + (count - degrees_of_freedom) / count * (1.0 - share) / share;
    correction.powi(2) * squares / degrees_of_freedom / share.powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// The mean of normal draws, of which one in ten may be wrong: its variance over trials is what `variance` states.
    #[test]
    fn the_variance_is_that_of_the_estimate() {
        const COUNT: usize = 40;
        for wrong in [0.0, 0.1] {
            let (mut squares, mut stated) = (0.0, 0.0);
            for trial in 0..2000 {
                let mut stream = Stream::new(trial, "robust", &[]);
                let draw = |_| stream.normal() * if stream.unit() < wrong { 10.0 } else { 1.0 };
                let values: Vec<f64> = (0..COUNT).map(draw).collect();
                let mut mean = 0.0;
                let sizes = |mean: f64| values.iter().map(move |value| (value - mean).abs());
                let limit = HUBER * std_dev(sizes(mean)).unwrap();
                for _ in 0..30 {
                    let weights = || sizes(mean).map(|size| weight(size, limit));
                    mean = values.iter().zip(weights()).map(|(v, w)| v * w).sum::<f64>() / weights().sum::<f64>();
                }
                squares += mean * mean;
                stated += variance(sizes(mean), limit, COUNT as f64 - 1.0) / COUNT as f64;
            }
            // Both are means over 2000 trials, with standard errors of about 3 %; the formula is exact for many values only.
            approx::assert_relative_eq!(stated, squares, max_relative = 0.12);
            let least_squares = 2000.0 * (1.0 - wrong + 100.0 * wrong) / COUNT as f64;
            assert!(wrong == 0.0 || squares < 0.2 * least_squares, "{squares} of {least_squares}");
        }
        assert_eq!(variance([1.0, 2.0, 3.0].into_iter(), f64::INFINITY, 2.0), 7.0);
    }
}
