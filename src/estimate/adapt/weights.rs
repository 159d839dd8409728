//! How much each residual counts.
//!
//! ```text
//! w_bkc = g / (s_c a_bkc)^2        s_c^2 = mean over b, k of (r_bkc / a_bkc)^2
//! ```
//!
//! `r` residuals of a fit that weighed all values alike, in the model's own units; `a` what the noise is in proportion to: 1 where it is
//! constant, the fitted value where it is a share of that; `s_c` noise of channel `c`. `g` makes the mean of the weights 1.
//!
//! Huber's loss is quadratic up to `k s` and linear beyond: as weighed squares, each residual weighs `min(1, k s / |r|)` more, with
//! `s = 1.4826 median |r|` over the environment. Source: P. J. Huber, Robust Estimation of a Location Parameter, Annals of Mathematical
//! Statistics 35 (1964) 73-101; `k` leaves 95 % of the efficiency under Gaussian noise.

use super::{Adaptation, Support};
use crate::checkpoint::ChannelScale;
use crate::engine::Batch;
use crate::estimate::physics::Noise;

/// Values of a channel below which its noise is not told from that of the others.
const FEW: usize = 10;
/// Least noise of a channel relative to the greatest: residuals of next to nothing tell little.
const LEAST_NOISE: f64 = 1e-3;
/// A value counts as at least this share of the greatest of its channel.
const LEAST_SHARE: f64 = 1e-3;

/// Huber's `k`.
const HUBER: f64 = 1.345;
/// Standard deviation of a Gaussian over the median of its absolute values.
const DEVIATION_OVER_MEDIAN: f64 = 1.4826;

/// Weights of the residuals of a batch.
pub struct Weights {
    /// Of the targets `[E, B, L, C]`; zero where the mask is.
    pub later: Vec<f64>,
    /// Of the first samples `[E][B C]`.
    pub first: Vec<Vec<f64>>,
}

impl Weights {
    /// One for every observed value.
    pub fn even(batch: &Batch, supports: &[Support]) -> Self {
        let first = supports.iter().map(|support| vec![1.0; support.trajectories.len() * batch.channels]);
        Weights { later: batch.mask.clone(), first: first.collect() }
    }

    /// By the noise that `fitted` shows of each environment. `scales` has one a value of a state.
    pub fn of(
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

    /// These times Huber's, by the residuals of `fitted`.
    pub fn huber(&self, batch: &Batch, supports: &[Support], fitted: &[Adaptation]) -> Self {
        let mut weights = Weights { later: self.later.clone(), first: self.first.clone() };
        let (of_environment, of_row) = (batch.values_per_environment(), batch.steps * batch.channels);
        let later = weights.later.chunks_exact_mut(of_environment).zip(&mut weights.first);
        for ((later, first), (support, fitted)) in later.zip(supports.iter().zip(fitted)) {
            let mut residuals = Vec::new();
            for (b, (trajectory, prediction)) in support.trajectories.iter().zip(&fitted.predictions).enumerate() {
                let (start, targets) = trajectory.states.split_at(batch.channels);
                let of_start = fitted.initial_states[b].iter().zip(start).enumerate();
                residuals.extend(of_start.map(|(c, (z, y))| (false, b * batch.channels + c, z - y)));
                let of_rollout = prediction.iter().zip(targets).enumerate();
                residuals.extend(of_rollout.map(|(i, (z, y))| (true, b * of_row + i, z - y)));
            }
            residuals.retain(|(_, _, residual)| residual.is_finite());
            let weigh = |later: &[f64], first: &[f64], &(is_later, place, residual): &(bool, usize, f64)| {
                let weight = if is_later { later[place] } else { first[place] };
                weight.sqrt() * f64::abs(residual)
            };
            let sizes: Vec<f64> = residuals.iter().map(|it| weigh(later, first, it)).collect();
            // A start that was observed and is not estimated has no residual.
            let mut sorted: Vec<f64> = sizes.iter().copied().filter(|size| *size > 0.0).collect();
            sorted.sort_by(f64::total_cmp);
            let Some(median) = sorted.get(sorted.len() / 2) else { continue };
            let limit = HUBER * DEVIATION_OVER_MEDIAN * median;
            for ((is_later, place, _), size) in residuals.iter().zip(sizes).filter(|(_, size)| *size > limit) {
                let weight = if *is_later { &mut later[*place] } else { &mut first[*place] };
                *weight *= limit / size;
            }
        }
        weights
    }
}

/// Multiplies the weights of one environment, `later [B, L, C]` and `first [B C]`.
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
    let in_units = |c: usize, value: f64| (value * scales[c].scale + scales[c].centre).abs();
    let mut greatest = vec![0.0; channels];
    for (i, value) in support.trajectories.iter().flat_map(|it| it.states.iter().enumerate()) {
        greatest[i % channels] = f64::max(greatest[i % channels], in_units(i % channels, *value)); // NaN is no maximum
    }
    let size = |c: usize, value: f64| match noise {
        Noise::Constant => 1.0,
        Noise::Proportional => in_units(c, value).max(LEAST_SHARE * greatest[c]) / scales[c].scale,
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
