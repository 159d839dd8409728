//! Noise of known size: the measurements that it leaves around a prediction.
//!
//! ```text
//! Gaussian      y = z + s e,  s^2 = a^2 + b^2 (z^2 + least^2)        log-normal    log y = log z + a e        Student    y = z + a t_n
//! ```
//!
//! `z` predicted, `y` measured, `e` standard normal, `t_n` of Student's distribution. A residual is standardised to what is standard normal.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::likelihood::objective::LEAST_SHARE;
use crate::estimate::measurement::ChannelNoise;
use crate::estimate::table::interval::{LEVEL, quantile};
use crate::random::Stream;

/// Probabilities of a tail below this count as this: a score beyond eight standard deviations says no more.
const LEAST: f64 = 1e-15;

/// The noise of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scatter {
    /// Constant part, proportional part, and the least size of a prediction for it.
    Gaussian {
        absolute: f64,
        relative: f64,
        least: f64,
    },
    /// Standard deviation of the logarithm.
    LogNormal {
        std_dev: f64,
    },
    Student {
        scale: f64,
        degrees_of_freedom: f64,
    },
    /// Each sample has its own standard deviation.
    Beside,
}

impl Scatter {
    /// Noise that is known, of a channel that varies by `spread`; NaN where a size is unknown.
    pub(crate) fn new(noise: &ChannelNoise, spread: f64) -> Self {
        let gaussian = |absolute: Option<f64>, relative: Option<f64>, least: f64| Scatter::Gaussian {
            absolute: absolute.unwrap_or(f64::NAN),
            relative: relative.unwrap_or(f64::NAN),
            least,
        };
        match *noise {
            ChannelNoise::Constant { absolute } => gaussian(absolute, Some(0.0), 0.0),
            ChannelNoise::Proportional { relative } => gaussian(Some(0.0), relative, LEAST_SHARE * spread),
            ChannelNoise::Combined { absolute, relative } => gaussian(absolute, relative, 0.0),
            ChannelNoise::Known { value: Some(value), .. } => gaussian(Some(value), Some(0.0), 0.0),
            ChannelNoise::Known { value: None, .. } => Scatter::Beside,
            ChannelNoise::LogNormal { std_dev } => Scatter::LogNormal { std_dev: std_dev.unwrap_or(f64::NAN) },
            ChannelNoise::Student { scale, degrees_of_freedom } => Scatter::Student {
                scale: scale.unwrap_or(f64::NAN),
                degrees_of_freedom: degrees_of_freedom.unwrap_or(f64::NAN),
            },
        }
    }

    /// The standard deviation of Gaussian noise of about this size around `z`; `beside` is that of the sample, where each has its own.
    pub(crate) fn std_dev(&self, z: f64, beside: f64) -> f64 {
        match *self {
            Scatter::Gaussian { absolute, relative, least } => {
                (absolute * absolute + relative * relative * (z * z + least * least)).sqrt()
            }
            Scatter::LogNormal { std_dev } => std_dev * z.abs(),
            Scatter::Student { scale, .. } => scale,
            Scatter::Beside => beside,
        }
    }

    /// The interval that holds a new measurement with 95 %, where the prediction `z` itself lies within `half` of it with 95 % and the quantile of
    /// that is `of_band`: both as independent Gaussians.
    pub(crate) fn around(&self, z: f64, half: f64, of_band: f64) -> (f64, f64) {
        match *self {
            Scatter::LogNormal { std_dev } if z > 0.0 => {
                let factor = (half / z).hypot(of_band * std_dev).exp();
                (z / factor, z * factor)
            }
            Scatter::Student { scale, degrees_of_freedom } => {
                let whole = half.hypot(quantile(LEVEL, degrees_of_freedom) * scale);
                (z - whole, z + whole)
            }
            _ => {
                let whole = half.hypot(of_band * self.std_dev(z, f64::NAN));
                (z - whole, z + whole)
            }
        }
    }

    /// The residual of a measured value, standard normal where the equations hold.
    pub(crate) fn standardised(&self, observed: f64, z: f64, beside: f64) -> f64 {
        match *self {
            Scatter::LogNormal { std_dev } => (observed / z).ln() / std_dev,
            Scatter::Student { scale, degrees_of_freedom } => {
                let residual = (observed - z) / scale;
                let below = StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::NAN, |it| it.cdf(-residual.abs()));
                -normal_quantile(below).copysign(-residual)
            }
            _ => (observed - z) / self.std_dev(z, beside),
        }
    }

    /// The median score of what lies below a limit.
    pub(crate) fn below(&self, limit: f64, z: f64, beside: f64) -> f64 {
        normal_quantile(0.5 * Normal::standard().cdf(self.standardised(limit, z, beside)))
    }

    /// A measurement.
    pub(crate) fn draw(&self, z: f64, beside: f64, stream: &mut Stream) -> f64 {
        match *self {
            Scatter::LogNormal { std_dev } => z * (std_dev * stream.normal()).exp(),
            Scatter::Student { scale, degrees_of_freedom } => {
                let share = stream.unit().clamp(LEAST, 1.0 - LEAST);
                let student = StudentsT::new(0.0, 1.0, degrees_of_freedom);
                z + scale * student.map_or(f64::NAN, |it| it.inverse_cdf(share))
            }
            _ => z + self.std_dev(z, beside) * stream.normal(),
        }
    }
}

/// The standard normal quantile of a probability, which counts as [`LEAST`] at least.
fn normal_quantile(probability: f64) -> f64 {
    if probability.is_nan() { f64::NAN } else { Normal::standard().inverse_cdf(probability.max(LEAST)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 4000;

    /// Draws around a prediction are standardised to standard normal ones, and the interval of a new measurement holds 95 % of them.
    #[test]
    fn residuals_of_draws_are_standard_normal() {
        let of = |noise: ChannelNoise| Scatter::new(&noise, 2.0);
        for (place, scatter) in [
            of(ChannelNoise::Constant { absolute: Some(0.3) }),
            of(ChannelNoise::Proportional { relative: Some(0.2) }),
            of(ChannelNoise::Combined { absolute: Some(0.3), relative: Some(0.1) }),
            of(ChannelNoise::LogNormal { std_dev: Some(0.4) }),
            of(ChannelNoise::Student { scale: Some(0.3), degrees_of_freedom: Some(3.0) }),
            of(ChannelNoise::Known { value: None, input: Some("sd".to_owned()) }),
        ]
        .into_iter()
        .enumerate()
        {
            let mut stream = Stream::new(3, "scatter", &[place as u64]);
            let draws: Vec<f64> = (0..DRAWS).map(|_| scatter.draw(1.7, 0.25, &mut stream)).collect();
            let scores: Vec<f64> = draws.iter().map(|draw| scatter.standardised(*draw, 1.7, 0.25)).collect();
            let mean = scores.iter().sum::<f64>() / DRAWS as f64;
            let squares = scores.iter().map(|score| score * score).sum::<f64>() / DRAWS as f64;
            // Four standard errors of the mean and of the variance of normal draws.
            assert!(mean.abs() < 4.0 / (DRAWS as f64).sqrt(), "{scatter:?}: mean {mean}");
            assert!((squares - 1.0).abs() < 4.0 * (2.0 / DRAWS as f64).sqrt(), "{scatter:?}: variance {squares}");
            if scatter == Scatter::Beside {
                continue;
            }
            let (lower, upper) = scatter.around(1.7, 0.0, 1.959964);
            let held = draws.iter().filter(|draw| (lower..=upper).contains(draw)).count() as f64;
            let allowed = 4.0 * (DRAWS as f64 * 0.95 * 0.05).sqrt();
            assert!((held - 0.95 * DRAWS as f64).abs() < allowed, "{scatter:?}: {held} of {DRAWS}");
        }
    }

    #[test]
    fn a_value_below_its_limit_has_the_median_of_what_it_may_be() {
        let scatter = Scatter::Gaussian { absolute: 2.0, relative: 0.0, least: 0.0 };
        assert!((scatter.below(5.0, 5.0, 0.0) + 0.674490).abs() < 1e-5);
        assert!(scatter.below(-1e3, 5.0, 0.0) < -7.5);
    }
}
