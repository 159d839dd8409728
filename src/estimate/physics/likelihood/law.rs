//! The likelihood of an observed value under each kind of noise.

use super::density::{ARGUMENTS, Density, Information, Observed};
use super::gaussian::Gaussian;
use super::student::Student;

/// The kind of noise of a channel, with up to two parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    /// The variance `a^2 + b^2 (z^2 + least^2)`, parameters `a` and `b`, of which one may be zero.
    Gaussian {
        /// So that a prediction of zero has some noise where `a` is zero.
        least: f64,
    },
    /// The logarithm is Gaussian, parameter its standard deviation.
    LogNormal,
    /// Student's distribution, parameters its scale and degrees of freedom.
    Student,
}

impl Law {
    /// The likelihood of `observed` where `z` is predicted, for these `parameters` of the noise.
    pub(crate) fn density(self, observed: Observed, z: f64, parameters: [f64; 2], information: Information) -> Density {
        let [a, b] = parameters;
        match self {
            Law::Gaussian { least } => {
                let (constant, proportional) = (a * a, b * b * (z * z + least * least));
                let std_dev = (constant + proportional).sqrt();
                let slopes = [b * b * z, constant, proportional].map(|slope| slope / std_dev);
                let mean_slopes = [1.0, 0.0, 0.0];
                Gaussian { mean: z, mean_slopes, std_dev, std_dev_slopes: slopes }.density(observed, information)
            }
            Law::LogNormal => {
                if z <= 0.0 {
                    return Density::IMPOSSIBLE;
                }
                let mut mean_slopes = [0.0; ARGUMENTS];
                mean_slopes[0] = 1.0 / z;
                let gaussian = Gaussian { mean: z.ln(), mean_slopes, std_dev: a, std_dev_slopes: [0.0, a, 0.0] };
                let limit = if observed.limit > 0.0 { observed.limit.ln() } else { f64::NEG_INFINITY };
                if observed.is_below() {
                    return gaussian.density(Observed { value: limit, limit }, information);
                }
                let value = observed.value.ln();
                let of_logarithm = gaussian.density(Observed { value, limit }, information);
                // The density of the value, not of its logarithm.
                Density { value: of_logarithm.value + 2.0 * value, ..of_logarithm }
            }
            Law::Student => Student { prediction: z, scale: a, degrees_of_freedom: b }.density(observed, information),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [(Law, [f64; 2], f64); 6] = [
        (Law::Gaussian { least: 0.0 }, [0.4, 0.0], 1.7),
        (Law::Gaussian { least: 1e-3 }, [0.0, 0.2], 1.7),
        (Law::Gaussian { least: 0.0 }, [0.3, 0.2], 1.7),
        (Law::LogNormal, [0.3, 0.0], 1.7),
        (Law::Student, [0.3, 4.5], 1.7),
        (Law::Student, [0.3, 2.3], 1.7),
    ];
    /// A limit well below the prediction, one beside it and one above it.
    const LIMITS: [f64; 4] = [f64::NEG_INFINITY, 1.3, 1.6, 2.1];

    fn at(law: Law, observed: Observed, arguments: [f64; 3], information: Information) -> Density {
        law.density(observed, arguments[0], [arguments[1].exp(), arguments[2].exp()], information)
    }

    /// The arguments of a law; a parameter that is zero has a logarithm all the same.
    fn arguments([a, b]: [f64; 2], z: f64) -> [f64; 3] {
        [z, a.max(1e-200).ln(), b.max(1e-200).ln()]
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        for (law, parameters, z) in LAWS {
            for (value, limit) in
                [(1.9, f64::NEG_INFINITY), (1.2, f64::NEG_INFINITY), (1.9, 1.3), (1.0, 1.3), (0.0, 2.1)]
            {
                let observed = Observed { value, limit };
                let arguments = arguments(parameters, z);
                let found = at(law, observed, arguments, Information::OfOutcome);
                for k in 0..ARGUMENTS {
                    let moved = |by: f64| {
                        let mut moved = arguments;
                        moved[k] += by;
                        at(law, observed, moved, Information::OfOutcome).value
                    };
                    let slope = (moved(1e-5) - moved(-1e-5)) / 4e-5;
                    assert!(
                        (found.gradient[k] - slope).abs() < 2e-6 * (1.0 + slope.abs()),
                        "{law:?} {value} {limit} {k}"
                    );
                }
            }
        }
    }

    /// The likelihoods of all outcomes add up to one.
    #[test]
    fn densities_are_those_of_probabilities() {
        for (law, parameters, z) in LAWS {
            for limit in LIMITS {
                let probability = |value: f64| {
                    (-0.5 * at(law, Observed { value, limit }, arguments(parameters, z), Information::Expected).value)
                        .exp()
                };
                let lowest = match law {
                    Law::LogNormal => limit.max(0.0),
                    _ => limit,
                };
                // Over `lowest + e^x`, or `z + sinh x` where there is no limit.
                let count = 40_000;
                let sum: f64 = (0..count)
                    .map(|i| {
                        let x = -40.0 + 80.0 * (f64::from(i) + 0.5) / f64::from(count);
                        let (value, slope) =
                            if lowest.is_finite() { (lowest + x.exp(), x.exp()) } else { (z + x.sinh(), x.cosh()) };
                        if value <= lowest { 0.0 } else { probability(value) * slope * 80.0 / f64::from(count) }
                    })
                    .sum();
                let below = if limit.is_finite() { probability(limit) } else { 0.0 };
                assert!((sum + below - 1.0).abs() < 1e-6, "{law:?} {limit}: {sum} and {below}");
            }
        }
    }

    /// The information is the covariance of the derivatives over outcomes, by the midpoint rule in `u`: `y = z + a tan(pi (u - 1/2))`, or for
    /// values above zero its logarithm.
    #[test]
    fn information_is_expected() {
        const POINTS: u32 = 40_000;
        for (law, parameters, z) in LAWS {
            let arguments = arguments(parameters, z);
            let whole = |value: f64| Observed { value, limit: f64::NEG_INFINITY };
            for limit in LIMITS {
                let expected = at(law, Observed { value: z.max(limit + 1.0), limit }, arguments, Information::Expected)
                    .information;
                let mut found = [[0.0; 3]; 3];
                for k in 0..POINTS {
                    let angle = std::f64::consts::PI * ((f64::from(k) + 0.5) / f64::from(POINTS) - 0.5);
                    let spread = 0.3 * angle.tan();
                    let slope = 0.3 * std::f64::consts::PI / angle.cos().powi(2) / f64::from(POINTS);
                    let (value, slope) = match law {
                        Law::LogNormal => (z * spread.exp(), slope * z * spread.exp()),
                        _ => (z + spread, slope),
                    };
                    let density = (-0.5 * at(law, whole(value), arguments, Information::OfOutcome).value).exp();
                    let weight = density * slope;
                    if !(weight > 0.0 && weight.is_finite()) {
                        continue;
                    }
                    let gradient = at(law, Observed { value, limit }, arguments, Information::OfOutcome).gradient;
                    for i in 0..3 {
                        (0..3).for_each(|j| found[i][j] += gradient[i] * gradient[j] * weight);
                    }
                }
                for i in 0..3 {
                    for j in 0..3 {
                        let size = (expected[i][i] * expected[j][j]).sqrt();
                        let error = (found[i][j] - expected[i][j]).abs();
                        assert!(
                            error < 1e-3 * size + 1e-9,
                            "{law:?} {limit} {i} {j}: {} {}",
                            found[i][j],
                            expected[i][j]
                        );
                    }
                }
            }
        }
    }

    /// The formula of the normalising constant against that of `n = 5`: `8 / (3 pi sqrt 5)`.
    #[test]
    fn the_constant_of_student_is_known() {
        let density = Law::Student.density(
            Observed { value: 2.0, limit: f64::NEG_INFINITY },
            2.0,
            [1.0, 5.0],
            Information::OfOutcome,
        );
        let expected = 8.0 / (3.0 * std::f64::consts::PI * 5.0_f64.sqrt());
        approx::assert_relative_eq!((-0.5 * density.value).exp(), expected, max_relative = 1e-12);
    }
}
