//! The density of Student's distribution around the predicted value, and the probability of a value below a limit.
//!
//! ```text
//! x = (y - z) / s,    -2 log L = 2 log s + log(n pi) + 2 log Gamma(n / 2) - 2 log Gamma((n + 1) / 2) + (n + 1) log(1 + x^2 / n)
//! ```
//!
//! Its arguments are `z`, `log s` and `log n`; `n` degrees of freedom. Expected information, with `h` the derivative of the digamma function:
//!
//! ```text
//! zz  (n + 1) / (n + 3) s^2      ss  2 n / (n + 3)      sn  -2 n / (n + 1) (n + 3)
//! nn  n^2 [h(n / 2) - h((n + 1) / 2)] / 4 - n (n + 5) / 2 (n + 1) (n + 3)
//! ```
//!
//! Source: K. Lange, R. Little, J. Taylor, Robust statistical modeling using the t distribution, Journal of the American Statistical
//! Association 84 (1989) 881-896.

use std::f64::consts::PI;

use statrs::function::beta::beta_reg;
use statrs::function::gamma::{digamma, ln_gamma};

use super::density::{ARGUMENTS, Density, Information, Observed};

/// Intervals of the quadrature over a tail.
const INTERVALS: usize = 120;
/// Step of `log n` for the derivative of a probability.
const STEP: f64 = 1e-4;

/// Student's distribution.
pub(crate) struct Student {
    pub prediction: f64,
    pub scale: f64,
    pub degrees_of_freedom: f64,
}

impl Student {
    /// The likelihood of `observed`.
    pub(crate) fn density(&self, observed: Observed, information: Information) -> Density {
        let n = self.degrees_of_freedom;
        let at = |value: f64| (value - self.prediction) / self.scale;
        let (value, gradient) = if observed.is_below() {
            let (log, gradient) = below(at(observed.limit), n);
            (-2.0 * log, gradient)
        } else {
            let x = at(observed.value);
            (2.0 * self.scale.ln() - 2.0 * log_density(x, n), score(x, n))
        };
        let standard = match information {
            Information::Expected if observed.limit > f64::NEG_INFINITY => limited(at(observed.limit), n),
            Information::OfOutcome if observed.is_below() => outer(gradient),
            _ => whole(n),
        };
        let units = [1.0 / self.scale, 1.0, 1.0];
        Density {
            value,
            gradient: std::array::from_fn(|i| gradient[i] * units[i]),
            information: std::array::from_fn(|i| std::array::from_fn(|j| standard[i][j] * units[i] * units[j])),
        }
    }
}

type Matrix = [[f64; ARGUMENTS]; ARGUMENTS];

fn outer(a: [f64; ARGUMENTS]) -> Matrix {
    a.map(|a_i| a.map(|a_j| a_i * a_j))
}

/// The logarithm of the density of the standard distribution.
fn log_density(x: f64, n: f64) -> f64 {
    ln_gamma(0.5 * (n + 1.0)) - ln_gamma(0.5 * n) - 0.5 * (n * PI).ln() - 0.5 * (n + 1.0) * (x * x / n).ln_1p()
}

/// Derivatives of `-log L` by `z / s`, `log s` and `log n`.
fn score(x: f64, n: f64) -> [f64; ARGUMENTS] {
    let pull = (n + 1.0) * x / (n + x * x);
    let of_gammas = 0.5 * (digamma(0.5 * n) - digamma(0.5 * (n + 1.0)));
    let by_n = of_gammas + 0.5 / n + 0.5 * (x * x / n).ln_1p() - 0.5 * pull * x / n;
    [-pull, 1.0 - pull * x, n * by_n]
}

/// The logarithm of the probability below `u`, and derivatives of its negative by `z / s`, `log s` and `log n`.
fn below(u: f64, n: f64) -> (f64, [f64; ARGUMENTS]) {
    let log = log_probability(u, n);
    let ratio = (log_density(u, n) - log).exp();
    let [after, before] = [STEP, -STEP].map(|by: f64| log_probability(u, n * by.exp()));
    (log, [ratio, ratio * u, -(after - before) / (2.0 * STEP)])
}

fn log_probability(u: f64, n: f64) -> f64 {
    let tail = 0.5 * beta_reg(0.5 * n, 0.5, n / (n + u * u));
    if u > 0.0 { (-tail).ln_1p() } else { tail.ln() }
}

/// The information of a value without limit, in units of `s`.
fn whole(n: f64) -> Matrix {
    let both = (n + 1.0) * (n + 3.0);
    let nn = 0.25 * n * n * (trigamma(0.5 * n) - trigamma(0.5 * (n + 1.0))) - 0.5 * n * (n + 5.0) / both;
    let sn = -2.0 * n / both;
    [[(n + 1.0) / (n + 3.0), 0.0, 0.0], [0.0, 2.0 * n / (n + 3.0), sn], [0.0, sn, nn]]
}

/// The information of a value with a limit that is `u` in units of `s`: above it that of the value, below it that of being there.
fn limited(u: f64, n: f64) -> Matrix {
    // The tail on the side of `u` is integrated over `x = -+(|u| + t / (1 - t))` by Simpson's rule.
    let side = if u > 0.0 { 1.0 } else { -1.0 };
    let mut tail = [[0.0; ARGUMENTS]; ARGUMENTS];
    for k in 0..INTERVALS {
        let t = k as f64 / INTERVALS as f64;
        let x = side * (u.abs() + t / (1.0 - t));
        let simpson = if k == 0 { 1.0 } else { 2.0 + 2.0 * (k % 2) as f64 };
        let weight = simpson / (3.0 * INTERVALS as f64) / (1.0 - t).powi(2) * log_density(x, n).exp();
        let of_score = outer(score(x, n));
        for (tail, of_score) in tail.iter_mut().flatten().zip(of_score.into_iter().flatten()) {
            *tail += weight * of_score;
        }
    }
    let above = match u > 0.0 {
        true => tail,
        false => {
            let whole = whole(n);
            std::array::from_fn(|i| std::array::from_fn(|j| whole[i][j] - tail[i][j]))
        }
    };
    let (log, gradient) = below(u, n);
    let of_below = outer(gradient);
    std::array::from_fn(|i| std::array::from_fn(|j| above[i][j] + log.exp() * of_below[i][j]))
}

/// The derivative of the digamma function, by recurrence and its asymptotic series.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = 1.0 / 6.0 - inverse * (1.0 / 30.0 - inverse * (1.0 / 42.0 - inverse / 30.0));
    sum + 1.0 / x + 0.5 * inverse + series * inverse / x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.t.logcdf`, `scipy.special.polygamma(1, x)`.
    #[test]
    fn functions_agree_with_scipy() {
        approx::assert_relative_eq!(trigamma(0.5), PI * PI / 2.0, max_relative = 1e-12);
        approx::assert_relative_eq!(trigamma(1.0), PI * PI / 6.0, max_relative = 1e-12);
        // Cauchy's distribution and that of two degrees of freedom have closed forms.
        for u in [-7.0_f64, -0.4, 0.9] {
            let cauchy = (0.5 + u.atan() / PI).ln();
            approx::assert_relative_eq!(log_probability(u, 1.0), cauchy, max_relative = 1e-9);
            let two = (0.5 + 0.5 * u / (2.0 + u * u).sqrt()).ln();
            approx::assert_relative_eq!(log_probability(u, 2.0), two, max_relative = 1e-9);
        }
    }
}
