//! Whether residuals are larger than noise that is known beforehand explains.
//!
//! ```text
//! X = sum_i e_i^2,     nu = n (1 - m / N),     g = (1 - rho^2) / (1 + rho^2)
//! X g > quantile of chi^2 with nu g degrees of freedom,   and   X > 1.5^2 nu
//! ```
//!
//! `e` the `n` residuals of a channel in units of their noise, standard normal where the equations hold; `m` unknowns of all `N` values; `rho` the
//! [correlation](crate::estimate::serial_correlation) of successive residuals, under which a sum of squares varies as one of `n g` values. Source:
//! W. H. Press et al., Numerical Recipes (2007), section 15.1; M. S. Bartlett, On the theoretical specification of sampling properties of
//! autocorrelated time series, Journal of the Royal Statistical Society Supplement 8 (1946) 27-41.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::experiment::Rollout;
use super::fitter::{FAR, Fitter};
use super::scatter::Scatter;
use crate::estimate::serial_correlation::SerialCorrelation;

/// Probability of residuals so large by chance.
const CHANCE: f64 = 1e-4;
/// Noise is rarely known better than by this factor.
const ROUGHLY: f64 = 1.5;

/// Residuals beside noise that is known.
pub(crate) struct Beyond {
    pub channel: usize,
    /// Root mean square of the residuals, in units of their noise.
    pub times: f64,
    pub chi_squared: f64,
    pub degrees_of_freedom: f64,
}

impl Fitter<'_> {
    /// Whether the noise of a channel is known beforehand: all of it, and not by other environments.
    pub(crate) fn knows_noise(&self, channel: usize) -> bool {
        let of_channel = self.measured.map(|measured| &measured.channels[channel]);
        of_channel.is_some_and(|it| !it.noise.is_estimated() && it.is_shared == [false; 2])
    }

    /// A channel of which nothing tells the noise, which is not named either.
    pub(crate) fn unknown_noise(&self, rollout: &Rollout) -> Option<usize> {
        // One whose own noise is to be estimated has no other channel to tell it.
        let is_alone = |channel: usize| self.measured.is_some_and(|it| it.channels[channel].noise.is_estimated());
        let resolutions = self.experiment.resolutions.iter().enumerate();
        let hidden = resolutions.filter(|(_, it)| it.is_hidden).map(|(channel, _)| channel);
        let mut alone = self.hidden_resolution().into_iter().chain(hidden.filter(|&channel| is_alone(channel)));
        let is_exact = |channel: usize| {
            let least = FAR * self.physics.rtol * self.experiment.scales[channel];
            self.residual_size(rollout, channel) <= least
        };
        alone.find(|&channel| !self.knows_noise(channel) && is_exact(channel))
    }

    /// The first channel of known noise whose residuals that noise does not explain.
    pub(crate) fn beyond_known_noise(&self, rollout: &Rollout, serial: &SerialCorrelation) -> Option<Beyond> {
        let experiment = self.experiment;
        let share = (1.0 - experiment.unknown_count() as f64 / experiment.cells.len() as f64).max(0.0);
        let below = self.below();
        let of_channel = |channel: usize| {
            let measured = &self.measured?.channels[channel];
            let scatter = Scatter::new(&measured.noise, experiment.scales[channel]);
            let cells = experiment.cells.iter().zip(below.iter().copied().chain(std::iter::repeat(false)));
            let cells = cells.filter(|&(&(_, cell), below)| !below && experiment.model.channel(cell) == channel);
            let (mut chi_squared, mut count) = (0.0, 0.0);
            for (&(trajectory, cell), _) in cells {
                let series = &experiment.series[trajectory];
                let beside = series.beside(cell / experiment.model.size());
                let std_dev = measured.std_devs.and_then(|place| beside.get(place).copied()).unwrap_or(f64::NAN);
                let (observed, predicted) = (series.observed()[cell], rollout.states[trajectory][cell]);
                chi_squared += scatter.standardised(observed, predicted, std_dev).powi(2);
                count += 1.0;
            }
            let degrees_of_freedom = count * share;
            let times = (chi_squared / degrees_of_freedom).sqrt();
            let rho = serial.counted(channel);
            let effective = (1.0 - rho * rho) / (1.0 + rho * rho);
            let distribution = ChiSquared::new(degrees_of_freedom * effective).ok()?;
            let is_chance = distribution.sf(chi_squared * effective) >= CHANCE;
            (times > ROUGHLY && !is_chance).then_some(Beyond { channel, times, chi_squared, degrees_of_freedom })
        };
        (0..experiment.model.channels).filter(|&channel| self.knows_noise(channel)).find_map(of_channel)
    }
}
