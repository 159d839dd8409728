//! The Gaussian density of a value, or of its logarithm, and the probability of one below a limit.
//!
//! ```text
//! w = (y - m) / s,    -2 log L = w^2 + 2 log s + log 2 pi            at or below the limit l:  -2 log Phi(u),  u = (l - m) / s
//! ```
//!
//! Expected information of `(m, s)` in units of `1 / s^2`, with `q = 1 - Phi(u)`, `f` the density at `u` and `r = f / Phi(u)`:
//!
//! ```text
//! mm  q + u f + f r        ms  (u^2 + 1) f + u f r        ss  2 q + u (u^2 + 1) f + u^2 f r
//! ```
//!
//! Source: T. Amemiya, Regression analysis when the dependent variable is truncated normal, Econometrica 41 (1973) 997-1016.

use std::f64::consts::{SQRT_2, TAU};

use statrs::function::erf::erfc;

use super::density::{ARGUMENTS, Density, Information, Observed};

/// Below this the probability is by its asymptotic series.
const FAR: f64 = -25.0;

/// A mean and a standard deviation with their derivatives by the arguments.
pub(crate) struct Gaussian {
    pub mean: f64,
    pub mean_slopes: [f64; ARGUMENTS],
    pub std_dev: f64,
    pub std_dev_slopes: [f64; ARGUMENTS],
}

impl Gaussian {
    /// The likelihood of `observed`.
    pub(crate) fn density(&self, observed: Observed, information: Information) -> Density {
        let s = self.std_dev;
        let u = (observed.limit - self.mean) / s;
        let (value, by_mean, by_std_dev) = if observed.is_below() {
            let log = log_probability(u);
            let ratio = ratio(u, log);
            (-2.0 * log, ratio, ratio * u)
        } else {
            let w = (observed.value - self.mean) / s;
            (w * w + 2.0 * s.ln() + TAU.ln(), -w, 1.0 - w * w)
        };
        let [mm, ms, ss] = match information {
            Information::Expected if u > f64::NEG_INFINITY => expected(u),
            Information::OfOutcome if observed.is_below() => {
                let ratio = ratio(u, log_probability(u));
                let curvature = (ratio * (ratio + u)).max(0.0);
                [curvature, curvature * u, curvature * u * u]
            }
            _ => [1.0, 0.0, 2.0],
        };
        let (m, d) = (&self.mean_slopes, &self.std_dev_slopes);
        let entry =
            |i: usize, j: usize| (mm * m[i] * m[j] + ms * (m[i] * d[j] + d[i] * m[j]) + ss * d[i] * d[j]) / (s * s);
        Density {
            value,
            gradient: std::array::from_fn(|i| (by_mean * m[i] + by_std_dev * d[i]) / s),
            information: std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))),
        }
    }
}

/// The expected information of `(m, s)` in units of `1 / s^2`: `mm`, `ms`, `ss`.
fn expected(u: f64) -> [f64; 3] {
    if u < FAR {
        return [1.0, 0.0, 2.0];
    }
    let above = 0.5 * erfc(u / SQRT_2);
    let f = (-0.5 * u * u).exp() / TAU.sqrt();
    let below = f * ratio(u, log_probability(u));
    [above + u * f + below, (u * u + 1.0) * f + u * below, 2.0 * above + u * (u * u + 1.0) * f + u * u * below]
}

/// `log Phi(u)`.
fn log_probability(u: f64) -> f64 {
    if u < FAR {
        let square = u * u;
        let series = 1.0 - 1.0 / square + 3.0 / square.powi(2) - 15.0 / square.powi(3);
        return -0.5 * square - (-u).ln() - 0.5 * TAU.ln() + series.ln();
    }
    (0.5 * erfc(-u / SQRT_2)).ln()
}

/// The density at `u` over `Phi(u)`, whose logarithm is `log`.
fn ratio(u: f64, log: f64) -> f64 {
    (-0.5 * u * u - 0.5 * TAU.ln() - log).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.norm.logcdf`.
    #[test]
    fn probabilities_agree_with_scipy() {
        for (u, expected) in [
            (1.3, -0.101_811_802_667_655_06),
            (-4.0, -10.360_101_486_527_29),
            (-24.0, -292.098_721_003_207_86),
            (-26.0, -342.178_508_929_927_94),
            (-60.0, -1_805.013_560_680_567_5),
        ] {
            approx::assert_relative_eq!(log_probability(u), expected, max_relative = 1e-9);
        }
    }
}
