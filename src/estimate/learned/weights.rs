//! Weights of the residuals.
//!
//! ```text
//! w_bkc = g / (s_c a_bkc)^2        s_c^2 = mean over b, k of (r_bkc / a_bkc)^2
//! ```
//!
//! `r` are the residuals of a fit with equal weights, in the model's own units; `a` is the size that the noise is
//! proportional to: 1 for constant noise, the fitted value for proportional noise; `s_c` is the noise of channel `c`.
//! `g` makes the mean of the weights 1.
//!
//! Under [Huber's loss](robust) each weight is multiplied by `min(1, k s / |r|)`, with one `s` per environment.

use super::adaptation::Adaptation;
use super::support::Support;
use crate::checkpoint::ChannelScale;
use crate::engine::Batch;
use crate::estimate::measurement::Noise;
use crate::estimate::settings::Loss;
use crate::least_squares::robust;

/// If a channel has fewer observed values than this, one noise is used for all channels.
const FEW: usize = 10;
/// Least noise of a channel relative to the greatest, because residuals near zero tell little about it.
const LEAST_NOISE: f64 = 1e-3;
/// For proportional noise, a value counts as at least this share of the greatest of its channel.
const LEAST_SHARE: f64 = 1e-3;

/// Weights of the residuals of a batch.
pub(crate) struct Weights {
    /// Weights of the targets `[E, B, L, C]`; zero where the mask is.
    pub later: Vec<f64>,
    /// Weights of the first samples `[E][B C]`.
    pub first: Vec<Vec<f64>>,
}

impl Weights {
    /// Weight one for every observed value.
    pub(crate) fn even(batch: &Batch, supports: &[Support]) -> Self {
        let first = supports.iter().map(|support| vec![1.0; support.trajectories.len() * batch.channels]);
        Weights { later: batch.mask.clone(), first: first.collect() }
    }

    /// Weights by the noise that the residuals of `fitted` show, separately for each environment. `scales` has one for
    /// each value of a state.
    pub(crate) fn of(
        noise: Noise,
        scales: &[ChannelScale],
        batch: &Batch,
        supports: &[Support],
        fitted: &[Adaptation],
    ) -> Self {
        let mut weights = Weights::even(batch, supports);
        let of_environment = batch.values_per_environment();
        let later = weights.later.chunks_exact_mut(of_environment).zip(&mut weights.first);
        for ((later, first), (support, fitted)) in later.zip(supports.iter().zip(fitted)) {
            weigh(noise, scales, batch.steps, support, fitted, later, first);
        }
        weights
    }

    /// These weights times Huber's, from the residuals of `fitted`.
    pub(crate) fn huber(&self, batch: &Batch, supports: &[Support], fitted: &[Adaptation]) -> Self {
        let mut weights = Weights { later: self.later.clone(), first: self.first.clone() };
        let later = weights.later.chunks_exact_mut(batch.values_per_environment()).zip(&mut weights.first);
        for ((later, first), (support, fitted)) in later.zip(supports.iter().zip(fitted)) {
            let residuals = residuals(batch, support, fitted, later, first);
            let Some(limit) = limit(&residuals) else { continue };
            for it in &residuals {
                let weight = if it.is_later { &mut later[it.place] } else { &mut first[it.place] };
                *weight *= robust::weight(it.size, limit);
            }
        }
        weights
    }

    /// The noise variance of every value, from the residuals of `fitted`: `s^2 / w` where these weights `w` are
    /// `by_noise`; where they are equal, one variance per channel. A state has `points` values of each channel.
    pub(crate) fn variances(
        &self,
        by_noise: bool,
        loss: Loss,
        points: usize,
        batch: &Batch,
        supports: &[Support],
        fitted: &[Adaptation],
    ) -> Self {
        let mut weights = Weights { later: self.later.clone(), first: self.first.clone() };
        let later = weights.later.chunks_exact_mut(batch.values_per_environment()).zip(&mut weights.first);
        for ((later, first), (support, fitted)) in later.zip(supports.iter().zip(fitted)) {
            let residuals = residuals(batch, support, fitted, later, first);
            let degrees = fitted.degrees;
            let sizes = || residuals.iter().map(|it| it.size);
            let limit = if loss == Loss::Huber { limit(&residuals) } else { None };
            let together = robust::variance(sizes(), limit.unwrap_or(f64::INFINITY), degrees);
            let mut own = vec![(0.0, 0); batch.channels / points];
            for it in &residuals {
                let (squares, count) = &mut own[it.place % batch.channels / points];
                (*squares, *count) = (*squares + it.size * it.size, *count + 1);
            }
            let is_pooled = by_noise || loss == Loss::Huber || own.iter().any(|(_, count)| (1..FEW).contains(count));
            let variance = |place: usize| match own[place % batch.channels / points] {
                (squares, count) if !is_pooled && count > 0 => {
                    squares / count as f64 * residuals.len() as f64 / degrees
                }
                _ => together,
            };
            let cells = later.iter_mut().enumerate().chain(first.iter_mut().enumerate());
            cells.filter(|(_, it)| **it > 0.0).for_each(|(place, it)| *it = variance(place) / *it);
        }
        weights
    }

    /// These weights times the weight of each value of a state; unchanged if there are none.
    pub(crate) fn with_channel_weights(&self, channel_weights: &[f64]) -> Self {
        let weigh = |weights: &Vec<f64>| match channel_weights {
            [] => weights.clone(),
            _ => weights.iter().zip(channel_weights.iter().cycle()).map(|(weight, by)| weight * by).collect(),
        };
        Weights { later: weigh(&self.later), first: self.first.iter().map(weigh).collect() }
    }

    /// Combines each weight with that of `other` by the function `of`.
    pub(crate) fn with(&self, other: &Weights, of: impl Fn(f64, f64) -> f64) -> Self {
        let each = |own: &[f64], others: &[f64]| -> Vec<f64> {
            own.iter().zip(others).map(|(own, other)| of(*own, *other)).collect()
        };
        Weights {
            later: each(&self.later, &other.later),
            first: self.first.iter().zip(&other.first).map(|(own, others)| each(own, others)).collect(),
        }
    }
}

/// The residual of one value.
struct Residual {
    /// Whether it belongs to the targets; else to the first samples.
    is_later: bool,
    /// Its index there, within the environment.
    place: usize,
    /// Its absolute value times the square root of its weight.
    size: f64,
}

/// The residuals of one environment with weights `later [B, L, C]` and `first [B C]`. An observed start that is not
/// estimated has none.
fn residuals(batch: &Batch, support: &Support, fitted: &Adaptation, later: &[f64], first: &[f64]) -> Vec<Residual> {
    let of_row = batch.steps * batch.channels;
    let mut residuals = Vec::new();
    for (b, (trajectory, prediction)) in support.trajectories.iter().zip(&fitted.predictions).enumerate() {
        let (start, targets) = trajectory.states.split_at(batch.channels);
        let of_start = fitted.initial_states[b].iter().zip(start).enumerate();
        residuals.extend(of_start.map(|(c, (z, y))| (false, b * batch.channels + c, z - y)));
        let of_rollout = prediction.iter().zip(targets).enumerate();
        residuals.extend(of_rollout.map(|(i, (z, y))| (true, b * of_row + i, z - y)));
    }
    let with_size = |(is_later, place, residual): (bool, usize, f64)| {
        let weight: f64 = if is_later { later[place] } else { first[place] };
        Residual { is_later, place, size: weight.sqrt() * residual.abs() }
    };
    residuals.into_iter().map(with_size).filter(|it| it.size > 0.0 && it.size.is_finite()).collect()
}

/// `k s` of Huber's loss; `None` where the residuals give no `s`.
fn limit(residuals: &[Residual]) -> Option<f64> {
    robust::std_dev(residuals.iter().map(|it| it.size)).map(|std_dev| robust::HUBER * std_dev)
}

/// Multiplies the weights of one environment, `later [B, L, C]` and `first [B C]`, by those of its noise.
fn weigh(
    noise: Noise,
    scales: &[ChannelScale],
    steps: usize,
    support: &Support,
    fitted: &Adaptation,
    later: &mut [f64],
    first: &mut [f64],
) {
    let channels = scales.len();
    let in_units = |c: usize, value: f64| scales[c].unscaled(value).abs();
    let mut greatest = vec![0.0; channels];
    for (i, value) in support.trajectories.iter().flat_map(|it| it.states.iter().enumerate()) {
        greatest[i % channels] = f64::max(greatest[i % channels], in_units(i % channels, *value)); // NaN is no maximum
    }
    let size = |c: usize, value: f64| match noise {
        Noise::Proportional => in_units(c, value).max(LEAST_SHARE * greatest[c]) / scales[c].scale,
        // The settings leave no other kind to a trained model.
        _ => 1.0,
    };
    let (mut squares, mut counts) = (vec![0.0; channels], vec![0; channels]);
    for (trajectory, prediction) in support.trajectories.iter().zip(&fitted.predictions) {
        let observed = trajectory.states[channels..].iter().zip(prediction).enumerate();
        for (i, (y, z)) in observed.filter(|(_, (y, _))| !y.is_nan()) {
            let c = i % channels;
            squares[c] += ((z - y) / size(c, *z)).powi(2);
            counts[c] += 1;
        }
    }
    let pooled = squares.iter().sum::<f64>() / counts.iter().sum::<usize>() as f64;
    if !(pooled.is_finite() && pooled > 0.0) {
        return;
    }
    let is_pooled = counts.iter().any(|count| (1..FEW).contains(count));
    let variance = |c: usize| if is_pooled || counts[c] == 0 { pooled } else { squares[c] / counts[c] as f64 };
    let least = LEAST_NOISE.powi(2) * (0..channels).map(variance).fold(0.0, f64::max);
    let weight = |c: usize, value: f64| 1.0 / (variance(c).max(least) * size(c, value).powi(2));
    for (row, prediction) in later.chunks_exact_mut(steps * channels).zip(&fitted.predictions) {
        for (i, (w, z)) in row.iter_mut().zip(prediction).enumerate() {
            *w *= weight(i % channels, *z);
        }
    }
    for (i, (w, z)) in first.iter_mut().zip(fitted.initial_states.iter().flatten()).enumerate() {
        *w *= weight(i % channels, *z);
    }
    let mean = later.iter().sum::<f64>() / counts.iter().sum::<usize>() as f64;
    later.iter_mut().chain(first).for_each(|w| *w /= mean);
}
