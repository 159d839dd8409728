//! Standard errors, intervals and correlations of parameters from the covariance of their estimates.
//!
//! ```text
//! p_j  in  v_j ± t(0.975, n - d) sqrt(C_jj)          rho_jk = C_jk / sqrt(C_jj C_kk)
//! ```
//!
//! `v [d_p]` estimates, `C [d_p, d_p]` their covariance, `t` the quantile of Student's distribution with `n - d` degrees of freedom: `n`
//! observed values, `d` unknowns. Where a parameter has bounds, estimate and interval are cut there.

use nalgebra::DMatrix;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::row::ParameterEstimate;
use crate::estimate::bounds::Bounds;

/// Probability that the truth lies in a reported interval.
pub(crate) const LEVEL: f64 = 0.95;
/// Degrees of freedom beyond which Student's distribution is nearly normal.
const MANY: f64 = 100.0;

/// A part of the variance of a parameter that is known by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// How much of it.
    pub variance: f64,
    /// How well it is known.
    pub degrees_of_freedom: f64,
}

/// The estimate of every parameter with its interval, and the correlations `rho_jk` of every pair `j < k`, row by row.
///
/// `values [d_p]` with `covariance [d_p, d_p]`, of whose variances these `shares [d_p]`, all where there are none, depend on how well the noise is
/// known; the parts `of_model [d_p]` of the variances are the model's own error, none where it is not known; `truth [d_p]` where it is known.
pub(crate) fn parameter_estimates(
    values: &[f64],
    covariance: &DMatrix<f64>,
    (degrees_of_freedom, shares): (f64, &[f64]),
    of_model: &[Part],
    bounds: &[Bounds],
    truth: &[Option<f64>],
) -> (Vec<ParameterEstimate>, Vec<f64>) {
    let of_all = quantile(LEVEL, degrees_of_freedom);
    let of_interval = |j: usize| {
        let of_noise = of_share(degrees_of_freedom, shares.get(j).copied().unwrap_or(1.0));
        of_model.get(j).map_or(of_noise, |part| of_both(covariance[(j, j)], of_noise, *part))
    };
    let estimates = values.iter().enumerate().map(|(j, &value)| {
        let standard_error = covariance[(j, j)].sqrt();
        let of_interval = of_interval(j);
        let quantile = if of_interval == degrees_of_freedom { of_all } else { quantile(LEVEL, of_interval) };
        let half = quantile * standard_error;
        ParameterEstimate {
            value: bounds[j].cut(value),
            standard_error,
            degrees_of_freedom: of_interval,
            lower: bounds[j].cut(value - half),
            upper: bounds[j].cut(value + half),
            model_error: of_model.get(j).map(|part| part.variance.sqrt()).filter(|error| error.is_finite()),
            crlb: None,
            truth: truth[j],
        }
    });
    let pairs = (0..values.len()).flat_map(|j| (j + 1..values.len()).map(move |k| (j, k)));
    let correlations =
        pairs.map(|(j, k)| covariance[(j, k)] / (covariance[(j, j)] * covariance[(k, k)]).sqrt()).collect();
    (estimates.collect(), correlations)
}

/// Half the width of an interval of probability `level` in standard errors; NaN where no degree of freedom is left.
///
/// Beyond [`MANY`] degrees of freedom `n` by the expansion about the normal quantile `z`,
/// `z + (z^3 + z) / 4n + (5 z^5 + 16 z^3 + 3 z) / 96 n^2`, whose error is of order `n^-3`; inverting the distribution loses its digits
/// there. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
pub(crate) fn quantile(level: f64, degrees_of_freedom: f64) -> f64 {
    let below = 0.5 + 0.5 * level;
    if degrees_of_freedom <= MANY {
        return StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::NAN, |student| student.inverse_cdf(below));
    }
    let z = Normal::standard().inverse_cdf(below);
    z + (z.powi(3) + z) / (4.0 * degrees_of_freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * degrees_of_freedom * degrees_of_freedom)
}

/// Degrees of freedom of an interval of which this `share` of the variance depends on noise with `all` of them: Satterthwaite's.
pub(crate) fn of_share(all: f64, share: f64) -> f64 {
    if share < 1.0 { all / (share * share) } else { all }
}

/// Degrees of freedom of a `variance` of which a part has its own, and the rest those `of_noise`: Satterthwaite's.
fn of_both(variance: f64, of_noise: f64, part: Part) -> f64 {
    let rest = (variance - part.variance).max(0.0);
    let spread = rest * rest / of_noise + part.variance * part.variance / part.degrees_of_freedom;
    if spread > 0.0 { variance * variance / spread } else { of_noise }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from printed tables of Student's distribution.
    #[test]
    fn intervals_follow_student_and_are_cut_at_bounds() {
        for (degrees, expected) in [
            (1.0, 12.7062),
            (5.0, 2.570582),
            (30.0, 2.042272),
            (100.0, 1.98397),
            (101.0, 1.98373),
            (1000.0, 1.96234),
            (1e7, 1.95996),
        ] {
            approx::assert_relative_eq!(quantile(LEVEL, degrees), expected, max_relative = 2e-5);
        }
        assert!(quantile(LEVEL, 0.0).is_nan());
        assert_eq!((of_share(4.0, 1.0), of_share(4.0, 0.5), of_share(4.0, 0.0)), (4.0, 16.0, f64::INFINITY));
        let covariance = DMatrix::from_row_slice(2, 2, &[0.04, -0.03, -0.03, 0.09]);
        let bounds = [Bounds { min: Some(0.0), max: None }, Bounds::default()];
        let (estimates, correlations) =
            parameter_estimates(&[0.1, 2.0], &covariance, (30.0, &[]), &[], &bounds, &[None, Some(2.5)]);
        approx::assert_relative_eq!(correlations[0], -0.5);
        assert_eq!((estimates[0].lower, estimates[0].standard_error), (0.0, 0.2));
        approx::assert_relative_eq!(estimates[1].upper, 2.0 + 0.3 * 2.0423, max_relative = 1e-4);
        let (outside, _) = parameter_estimates(&[-1.0, 0.0], &covariance, (30.0, &[]), &[], &bounds, &[None, None]);
        // Two parts of one variance and 10 degrees of freedom each have 20; none of it is the model's, or all, 30 and 10.
        for (variance, expected) in [(0.02, [20.0, 0.02_f64.sqrt()]), (0.0, [30.0, 0.0]), (0.04, [10.0, 0.2])] {
            let of_noise = if variance == 0.02 { 10.0 } else { 30.0 };
            let parts = [Part { variance, degrees_of_freedom: 10.0 }; 2];
            let (with_model, _) =
                parameter_estimates(&[0.1, 2.0], &covariance, (of_noise, &[]), &parts, &bounds, &[None, None]);
            approx::assert_relative_eq!(with_model[0].degrees_of_freedom, expected[0], max_relative = 1e-12);
            assert_eq!(with_model[0].model_error, Some(expected[1]));
            let half = quantile(LEVEL, expected[0]) * 0.2;
            approx::assert_relative_eq!(with_model[0].upper, 0.1 + half, max_relative = 1e-12);
        }

        assert_eq!((outside[0].value, outside[0].lower, outside[0].upper), (0.0, 0.0, 0.0));
    }
}
