//! Degrees of freedom of the interval of each unknown, where what is known of it does not all depend on how well the noise is known.
//!
//! ```text
//! nu_k = nu / w_k^2,     w_k = -d log C_kk / d log e  at  e = 1,     C(e) = (e I + P)^-1
//! D_k = n log(1 + w_k t^2 / nu) + (1 - w_k) t^2
//! ```
//!
//! `I` the information of values whose noise is estimated, `n` of them with `nu` degrees of freedom; `P` that of values with known noise, and of
//! priors; `w_k` the share of a variance that `I` is responsible for. Where it is all, `nu_k` is `nu`, and where it is nothing the interval is that
//! of a normal distribution. `D_k` is the increase of `-2 log L` at the ends of such an interval if residuals are linear in the unknowns and the noise
//! is constant: of noise that is estimated with the rest, whose size grows with the residuals, it is less than `t^2`. Sources: F. E. Satterthwaite, An approximate
//! distribution of estimates of variance components, Biometrics Bulletin 2 (1946) 110-114; G. Seber, C. Wild, Nonlinear Regression (1989), section 5.2.3.

use nalgebra::DMatrix;

use super::fitter::{Fitter, Iterate};
use super::normal::Normal;

/// Step of `log e`.
const STEP: f64 = 1e-3;

/// The increase of `-2 log L` at the ends of an interval of `square` squared standard errors, of which this `share` depends on noise that is told
/// by `count` values with `free` degrees of freedom; infinite ones where it is known.
pub(crate) fn increase(square: f64, share: f64, (count, free): (f64, f64)) -> f64 {
    if free.is_infinite() {
        return square;
    }
    count * (share * square / free).ln_1p() + (1.0 - share) * square
}

/// The share of a variance that falls from `before` to `after` where all that is told by estimated noise is told better by a factor of `exp` [`STEP`].
fn share(before: f64, after: f64) -> f64 {
    let share = (before / after).ln() / STEP;
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 }
}

impl Fitter<'_> {
    /// The information at a minimum were all that estimated noise tells told better; none where everything is by such noise, or nothing.
    pub(crate) fn better_information(&self, iterate: &Iterate) -> Option<Normal> {
        let maximum = self.maximum.as_ref()?;
        let is_mixed = maximum.objective.noise_count() > 0 && !maximum.objective.is_all_estimated();
        is_mixed.then(|| self.information(iterate, STEP.exp()))
    }

    /// The share `w [d]` of the variance of each parameter, whose covariance is this under what is known of parameters at `active` bounds and of
    /// `undetermined` ones.
    pub(crate) fn shares(
        &self,
        iterate: &Iterate,
        covariance: &DMatrix<f64>,
        (active, undetermined): (&[bool], &[bool]),
    ) -> Vec<f64> {
        let d = covariance.nrows();
        let Some(better) = self.better_information(iterate) else { return vec![1.0; d] };
        let after = self.covariance_by(&better, iterate, active, undetermined);
        (0..d).map(|k| share(covariance[(k, k)], after[(k, k)])).collect()
    }

    /// The same of an unknown of a trajectory's own, of this variance in units of `s^2`.
    pub(crate) fn own_share(&self, better: Option<&Normal>, (trajectory, index): (usize, usize), variance: f64) -> f64 {
        let after = better.and_then(|normal| normal.own_variance(trajectory, index));
        after.map_or(1.0, |after| share(variance, after))
    }

    /// The increase of `-2 log L` at the ends of an interval of `square` squared standard errors, of which this `share` depends on the noise. The
    /// deviance of least squares is by the variance that the best fit shows, and so `square` itself.
    pub(crate) fn increase(&self, square: f64, share: f64) -> f64 {
        match &self.maximum {
            None => square,
            Some(maximum) => {
                let objective = &maximum.objective;
                increase(square, share, (objective.telling() as f64, objective.degrees_of_freedom()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of `n` values with a prior on it: `-2 log L` with the noise at its best is a closed form.
    #[test]
    fn increases_are_those_of_a_mean() {
        let (n, squares, std_dev): (f64, f64, f64) = (5.0, 0.3, 0.2);
        let free = n - 1.0;
        let variance = squares / free;
        let (of_data, of_prior) = (n / variance, std_dev.powi(-2));
        for prior in [0.0, of_prior] {
            let share = of_data / (of_data + prior);
            for by in [0.05, 0.3, 2.0_f64] {
                let expected = n * (1.0 + n * by * by / squares).ln() + prior * by * by;
                let found = increase(by * by * (of_data + prior), share, (n, free));
                approx::assert_relative_eq!(found, expected, max_relative = 1e-12);
            }
        }
        assert_eq!(increase(3.8, 1.0, (5.0, f64::INFINITY)), 3.8);
    }
}
