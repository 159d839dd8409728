//! The state of the fit of one environment: weights, budget, and how large the residuals of an iterate are.

use std::cell::OnceCell;

use nalgebra::DMatrix;

use super::budget::Budget;
use super::experiment::{Experiment, Rollout, Unknowns, Weights};
use super::likelihood::measured::Measured;
use super::likelihood::objective::Objective;
use super::normal::Normal;
use crate::estimate::measurement::{ChannelNoise, Noise};
use crate::estimate::settings::{Loss, PhysicsSettings, Settings};
use crate::estimate::table::row::Status;
use crate::least_squares::robust;

/// Residuals of more than this many times the noise of the data are not noise.
pub(crate) const FAR: f64 = 10.0;
/// A first sample that differs from a given initial value by more than this many times the noise contradicts it.
const CONTRADICTORY: f64 = 5.0;
/// Degrees of freedom below which the noise of a channel is estimated from all channels together.
const FEW: f64 = 8.0;

/// Status and reason of a fit that did not end at a minimum.
pub(crate) type End = (Status, String);

/// Unknowns of a fit, with the trajectories and normal equations there.
#[derive(Clone)]
pub(crate) struct Iterate {
    pub unknowns: Unknowns,
    pub rollout: Rollout,
    pub normal: Normal,
}

/// Where the likelihood is greatest.
pub(crate) struct Maximum<'a> {
    pub objective: Objective<'a>,
    /// `phi [q]`, logarithms of the parameters of the noise.
    pub noise: Vec<f64>,
}

/// The fit of one environment.
pub(crate) struct Fitter<'a> {
    pub experiment: &'a Experiment<'a>,
    pub estimate: &'a Settings,
    pub physics: &'a PhysicsSettings,
    pub iterations: usize,
    pub budget: Budget<'a>,
    pub weights: Weights,
    /// Size of a weighted residual beyond which it counts by Huber's loss; infinite for least squares.
    pub limit: f64,
    /// How channels were measured, where that is said.
    pub measured: Option<&'a Measured>,
    /// The end of a fit by maximum likelihood; none of one by least squares.
    pub maximum: Option<Maximum<'a>>,
    /// The least noise of each channel `[C]` in its unit: [rounding](crate::estimate::resolution), or where that is hidden, the noise of the others.
    least: Vec<f64>,
    /// Which parameters `[d]` descents leave as they are; empty where they move all.
    pub held: Vec<bool>,
    /// The noise of each channel `[C]` by its own samples, infinite where it is unknown; computed when it is first asked for.
    noise: OnceCell<Vec<f64>>,
}

impl<'a> Fitter<'a> {
    /// A fit with weights by the spread of each channel.
    pub(crate) fn new(
        experiment: &'a Experiment<'a>,
        estimate: &'a Settings,
        physics: &'a PhysicsSettings,
        budget: Budget<'a>,
    ) -> Self {
        let weights = experiment.weights(|_, _, channel| 1.0 / experiment.scales[channel]);
        let limit = huber_limit(estimate.loss, 1.0);
        Fitter {
            experiment,
            estimate,
            physics,
            iterations: 0,
            budget,
            weights,
            limit,
            measured: None,
            maximum: None,
            least: experiment.resolutions.iter().map(|it| it.std_dev).collect(),
            held: Vec::new(),
            noise: OnceCell::new(),
        }
    }
}

impl Fitter<'_> {
    /// Status and reason where there is no estimate: the budget is spent, or else `reason`.
    pub(crate) fn failed(&self, reason: String) -> End {
        match self.budget.ensure_left() {
            Err(halt) => (Status::NotConverged, halt.to_string()),
            Ok(()) => (Status::Diverged, reason),
        }
    }

    /// The noise of a channel by its own samples; infinite where it is unknown.
    pub(crate) fn noise(&self, channel: usize) -> f64 {
        self.all_noise()[channel]
    }

    fn all_noise(&self) -> &[f64] {
        self.noise.get_or_init(|| self.experiment.noise())
    }

    /// Whether the samples of every channel are close enough to separate its noise from its motion.
    pub(crate) fn is_noise_known(&self) -> bool {
        self.all_noise().iter().zip(&self.experiment.scales).all(|(noise, scale)| *noise < 0.5 * scale)
    }

    /// The noise that is said of a channel.
    fn said_noise(&self, channel: usize) -> Option<&ChannelNoise> {
        self.measured.map(|measured| &measured.channels[channel].noise)
    }

    /// The size of a channel's residuals in its unit: their root mean square; under Huber's loss, and Student's noise, a robust standard
    /// deviation.
    pub(crate) fn residual_size(&self, rollout: &Rollout, channel: usize) -> f64 {
        let residuals = self.experiment.residuals(rollout, channel).concat();
        let has_tails = matches!(self.said_noise(channel), Some(ChannelNoise::Student { .. }));
        match if has_tails { Loss::Huber } else { self.estimate.loss } {
            Loss::Squares => (residuals.iter().map(|it| it * it).sum::<f64>() / residuals.len().max(1) as f64).sqrt(),
            Loss::Huber => robust::std_dev(residuals.iter().map(|it| it.abs())).unwrap_or(0.0),
        }
    }

    /// The size of all weighted residuals, by the same measures.
    pub(crate) fn weighted_size(&self, iterate: &Iterate) -> f64 {
        let sizes = self.experiment.weighted_sizes(&iterate.rollout, &self.weights);
        match self.estimate.loss {
            Loss::Squares => (sizes.map(|size| size * size).sum::<f64>() / self.experiment.cells.len() as f64).sqrt(),
            Loss::Huber => robust::std_dev(sizes).unwrap_or(0.0),
        }
    }

    /// The channel with the largest residuals in relation to its noise, and that ratio; none where no noise is known. Errors of integration
    /// at the tolerance `rtol` count as noise.
    pub(crate) fn excess(&self, iterate: &Iterate, rtol: f64) -> Option<(usize, f64)> {
        self.excess_among(iterate, rtol, |_| true)
    }

    /// The same of the channels that are meant.
    pub(crate) fn excess_among(
        &self,
        iterate: &Iterate,
        rtol: f64,
        is_meant: impl Fn(usize) -> bool,
    ) -> Option<(usize, f64)> {
        let noise = self.all_noise();
        let of_channel = |channel: usize| {
            let floor = 10.0 * rtol * self.experiment.scales[channel];
            (channel, self.residual_size(&iterate.rollout, channel) / noise[channel].max(floor))
        };
        let channels =
            (0..noise.len()).filter(|&channel| noise[channel].is_finite() && is_meant(channel)).map(of_channel);
        channels.filter(|(_, excess)| !excess.is_nan()).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The channel with the largest residuals in relation to its noise, where they are too large to be noise.
    pub(crate) fn far_channel(&self, iterate: &Iterate) -> Option<usize> {
        let excess = self.excess(iterate, self.physics.rtol);
        excess.filter(|(_, excess)| *excess > FAR).map(|(channel, _)| channel)
    }

    /// A channel whose given initial value contradicts the first sample, with both values.
    pub(crate) fn contradiction(&self) -> Option<(usize, f64, f64)> {
        let floors = self.experiment.scales.iter().map(|scale| 10.0 * self.physics.rtol * scale);
        let noise: Vec<f64> = self.all_noise().iter().zip(floors).map(|(noise, floor)| noise.max(floor)).collect();
        self.experiment.contradiction(&noise, CONTRADICTORY)
    }

    /// `s^2`, the variance of the weighted residuals; zero where no degree of freedom is left. One at the maximum of a likelihood, which knows
    /// the noise. The residuals of a channel together count as no less than its least noise.
    pub(crate) fn variance(&self, rollout: &Rollout) -> f64 {
        if self.maximum.is_some() {
            return 1.0;
        }
        let free = self.experiment.cells.len().saturating_sub(self.experiment.unknown_count());
        if free == 0 {
            return 0.0;
        }
        // The share of its variance that the unknowns leave to residuals.
        let share = free as f64 / self.experiment.cells.len() as f64;
        let (experiment, c) = (self.experiment, self.experiment.model.channels);
        let (mut squares, mut least) = (vec![0.0; c], vec![0.0; c]);
        let sizes: Vec<f64> = experiment.weighted_sizes(rollout, &self.weights).collect();
        let of_cell = |&(trajectory, cell): &(usize, usize)| {
            let channel = experiment.model.channel(cell);
            (channel, share.sqrt() * self.weights[trajectory][cell] * self.least[channel])
        };
        for (cell, size) in experiment.cells.iter().zip(&sizes) {
            let (channel, of_least) = of_cell(cell);
            squares[channel] += size.min(self.limit).powi(2);
            least[channel] += of_least * of_least;
        }
        let counted = experiment.cells.iter().zip(sizes).map(|(cell, size)| match of_cell(cell) {
            (channel, of_least) if squares[channel] < least[channel] => of_least,
            _ => size,
        });
        robust::variance(counted, self.limit, free as f64)
    }

    /// The channels whose [resolution](crate::estimate::resolution) is hidden, where no other channel tells any noise.
    pub(crate) fn hidden_resolution(&self) -> Option<usize> {
        let is_hidden = |&channel: &usize| self.experiment.resolutions[channel].is_hidden;
        let mut observed: Vec<usize> =
            self.experiment.cells.iter().map(|it| self.experiment.model.channel(it.1)).collect();
        observed.sort_unstable();
        observed.dedup();
        observed.iter().all(is_hidden).then(|| observed.first().copied()).flatten()
    }

    /// The information that standard errors are by, in units of [`Fitter::variance`]: about the parameters `[d]`, and those of the noise that
    /// follow them where they are estimated. What is known by values whose noise is estimated is taken `times` as well known.
    pub(crate) fn information(&self, iterate: &Iterate, times: f64) -> Normal {
        let Some(Maximum { objective, noise }) = &self.maximum else {
            // Without Huber's weights: `variance` accounts for them.
            return self.experiment.normal(&iterate.rollout, &self.weights, f64::INFINITY);
        };
        let d = iterate.unknowns.coordinates.len();
        let kept: Vec<usize> = (0..d).chain(objective.inside(noise).into_iter().map(|index| d + index)).collect();
        objective.information(&iterate.rollout, &iterate.unknowns, noise, times).select(&kept)
    }

    /// The covariance `[d, d]` of the parameters; NaN where it is unknown. Parameters at `active` bounds count as known, `undetermined` ones
    /// are left out.
    pub(crate) fn covariance(&self, iterate: &Iterate, active: &[bool], undetermined: &[bool]) -> DMatrix<f64> {
        self.covariance_by(&self.information(iterate, 1.0), iterate, active, undetermined)
    }

    /// The same by this information.
    pub(crate) fn covariance_by(
        &self,
        normal: &Normal,
        iterate: &Iterate,
        active: &[bool],
        undetermined: &[bool],
    ) -> DMatrix<f64> {
        let experiment = self.experiment;
        let slopes: Vec<f64> = experiment.parameters(&iterate.unknowns.coordinates).iter().map(|it| it.1).collect();
        let d = slopes.len();
        let free: Vec<usize> = (0..d).filter(|&k| !active[k] && !undetermined[k]).collect();
        let mut covariance = DMatrix::from_element(d, d, f64::NAN);
        let with_noise: Vec<usize> = free.iter().copied().chain(d..normal.gradient.len()).collect();
        let information = normal.information().map(|all| all.select_rows(&with_noise).select_columns(&with_noise));
        if let Some(inverse) = information.and_then(|information| Some(information.cholesky()?.inverse()))
            && experiment.cells.len() > experiment.unknown_count()
        {
            let variance = self.variance(&iterate.rollout);
            for (i, &row) in free.iter().enumerate() {
                for (j, &column) in free.iter().enumerate() {
                    covariance[(row, column)] = variance * inverse[(i, j)] * slopes[row] * slopes[column];
                }
            }
        }
        covariance
    }

    /// Huber's limit for residuals of the size that they have at `rollout`, which is more than errors of integration.
    pub(crate) fn fit_limit(&mut self, rollout: &Rollout) {
        let std_dev = robust::std_dev(self.experiment.weighted_sizes(rollout, &self.weights)).unwrap_or(1.0);
        self.limit = huber_limit(self.estimate.loss, std_dev.max(10.0 * self.physics.rtol));
    }

    /// Huber's limit for residuals in units of their noise.
    pub(crate) fn reset_limit(&mut self) {
        self.limit = huber_limit(self.estimate.loss, 1.0);
    }

    /// Takes weights by the noise of each channel, estimated from the residuals of `rollout`.
    pub(crate) fn weigh_by_noise(&mut self, rollout: &Rollout) {
        let (experiment, c) = (self.experiment, self.experiment.model.channels);
        let is_proportional: Vec<bool> = (0..c)
            .map(|channel| match self.said_noise(channel) {
                Some(noise) => matches!(noise, ChannelNoise::Proportional { .. } | ChannelNoise::LogNormal { .. }),
                None => self.estimate.weighting() == Some(Noise::Proportional),
            })
            .collect();
        let size = |trajectory: usize, cell: usize, channel: usize| match is_proportional[channel] {
            false => experiment.scales[channel],
            true => {
                let value: f64 = rollout.states[trajectory][cell];
                value.abs().max(1e-3 * experiment.scales[channel])
            }
        };
        let mut residuals = vec![Vec::new(); c];
        for &(trajectory, cell) in &experiment.cells {
            let channel = experiment.model.channel(cell);
            let residual = experiment.residual(rollout, trajectory, cell);
            residuals[channel].push((residual / size(trajectory, cell, channel)).abs());
        }
        let all = experiment.cells.len() as f64;
        let free = 1.0 - experiment.unknown_count() as f64 / all;
        let std_dev = |residuals: &[f64]| match self.estimate.loss {
            Loss::Squares => {
                let squares: f64 = residuals.iter().map(|size| size * size).sum();
                (squares / (residuals.len() as f64 * free).max(1.0)).sqrt()
            }
            Loss::Huber => robust::std_dev(residuals.iter().copied()).unwrap_or(0.0) / free.max(1.0 / all).sqrt(),
        };
        let is_pooled = residuals.iter().any(|of| !of.is_empty() && (of.len() as f64) * free < FEW);
        if is_pooled {
            // Residuals that are rounding alone say nothing of the others.
            let is_rounding = |channel: &usize| {
                let least = (FAR * self.physics.rtol * experiment.scales[*channel])
                    .max(experiment.resolutions[*channel].std_dev);
                self.residual_size(rollout, *channel) <= least
            };
            let of_noise: Vec<usize> = (0..c).filter(|channel| !is_rounding(channel)).collect();
            let of_noise = if of_noise.is_empty() { (0..c).collect() } else { of_noise };
            let pooled: Vec<f64> = of_noise.into_iter().flat_map(|channel| residuals[channel].clone()).collect();
            residuals.fill(pooled);
        }
        // Residuals may be errors of integration alone.
        let floor = 10.0 * self.physics.rtol;
        let mut noise: Vec<f64> = residuals.iter().map(|residuals| std_dev(residuals).max(floor)).collect();
        // One value at all samples, with all digits, says nothing of how exact it is: no more than the others are.
        let hidden: Vec<bool> = experiment.resolutions.iter().map(|it| it.is_hidden).collect();
        let of_others = noise.iter().zip(&hidden).filter(|(_, hidden)| !**hidden).map(|it| *it.0).fold(0.0, f64::max);
        for channel in (0..c).filter(|&channel| hidden[channel] && of_others > 0.0) {
            noise[channel] = noise[channel].max(of_others);
            self.least[channel] = of_others * experiment.scales[channel];
        }
        let least = &self.least;
        self.weights = experiment.weights(|trajectory, cell, channel| {
            1.0 / (noise[channel] * size(trajectory, cell, channel)).max(least[channel])
        });
        self.reset_limit();
    }
}

/// The limit of Huber's loss for residuals with the standard deviation `std_dev`.
fn huber_limit(loss: Loss, std_dev: f64) -> f64 {
    match loss {
        Loss::Squares => f64::INFINITY,
        Loss::Huber => robust::HUBER * std_dev,
    }
}
