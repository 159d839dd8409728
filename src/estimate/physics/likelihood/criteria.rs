//! How likely the data are under a fit, and the criteria by which models are compared.
//!
//! ```text
//! AIC = -2 log L + 2 k          BIC = -2 log L + k log n
//! ```
//!
//! `k` unknowns, those of the noise included, `n` observed values. Where no noise is named it is taken as constant in each channel, and its
//! size as the residuals have it: `-2 log L = sum_c n_c (log(2 pi |r_c|^2 / n_c) + 1)`.

use std::f64::consts::TAU;

use crate::estimate::physics::experiment::{Experiment, Rollout};
use crate::estimate::table::row::LogLikelihood;

/// The criteria of a likelihood that was reached with so many `unknowns`; none where it is not finite.
pub(crate) fn criteria(minus_two_log: f64, unknowns: usize, points: usize) -> Option<LogLikelihood> {
    let (k, n) = (unknowns as f64, points as f64);
    let all = LogLikelihood { minus_two_log, aic: minus_two_log + 2.0 * k, bic: minus_two_log + k * n.ln() };
    Some(all).filter(|_| minus_two_log.is_finite())
}

/// Those of constant noise in each channel, of the size that the residuals have.
pub(crate) fn of_constant_noise(experiment: &Experiment, rollout: &Rollout) -> Option<LogLikelihood> {
    let (mut sum, mut sizes) = (0.0, 0);
    for channel in 0..experiment.model.channels {
        let residuals = experiment.residuals(rollout, channel).concat();
        if residuals.is_empty() {
            continue;
        }
        let count = residuals.len() as f64;
        // Where all are rounding, they say nothing for one model against another.
        let least = count * experiment.resolutions[channel].std_dev.powi(2);
        let squares = residuals.iter().map(|it| it * it).sum::<f64>().max(least);
        sum += count * ((TAU * squares / count).ln() + 1.0);
        sizes += 1;
    }
    criteria(sum, experiment.unknown_count() + sizes, experiment.cells.len())
}
