//! `-2 log L` of an experiment with its derivatives: normal equations whose unknowns are followed by those of the noise.
//!
//! The parameters `[d]` of the normal equations are joined by `phi [q]`. With `g` half the gradient of `-2 log L` and `I` the information of
//! all values, `I s = -g` is a step of Fisher's scoring, as `J'J s = -J'r` is one of Gauss and Newton.

use super::cell::{Cell, cells};
use super::density::{ARGUMENTS, Density, Information, Observed};
use super::law::Law;
use super::measured::Measured;
use crate::estimate::measurement::{ChannelNoise, Prior};
use crate::estimate::physics::experiment::{Experiment, Rollout, Unknowns, Weights};
use crate::estimate::physics::normal::Normal;

/// Residuals may be errors of integration alone: noise is no less than this many times the tolerance.
const ABOVE_INTEGRATION: f64 = 10.0;
/// Noise is no more than this many times the spread of its channel, or its value.
const GREATEST: f64 = 1e3;
/// The least and the greatest degrees of freedom that are estimated: more are a Gaussian.
const DEGREES_OF_FREEDOM: [f64; 2] = [2.0, 200.0];
/// Proportional noise is no less than that of this share of the spread of its channel.
pub(crate) const LEAST_SHARE: f64 = 1e-3;
/// Student's noise has this many times the degrees of freedom with which its likelihood has no maximum.
const BOUNDED: f64 = 2.0;
/// Degrees of freedom below which values do not tell how heavy the tails of Student's noise are: fits would believe a few of them. It then has
/// so many of its own.
const TOLD: f64 = 30.0;
const USUAL: f64 = 8.0;
/// A part of the noise that starts small has this share of its usual size.
const LITTLE: f64 = 0.1;
/// Degrees of freedom below which channels with the same kind of noise have it in common, as they have where one value at all samples tells none.
const FEW: f64 = 8.0;

/// A parameter of the noise of a channel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameter {
    Known(f64),
    /// `unit exp(phi_index)`.
    Estimated {
        index: usize,
        unit: f64,
    },
}

/// The noise of a channel.
pub(super) struct Noise {
    law: Law,
    pub(super) parameters: [Parameter; 2],
}

/// The likelihood of an experiment.
pub(crate) struct Objective<'a> {
    experiment: &'a Experiment<'a>,
    pub(super) noise: Vec<Noise>,
    pub(super) cells: Vec<Cell>,
    priors: &'a [Option<Prior>],
    own_priors: &'a [Option<Prior>],
    /// Bounds of `phi [q]`.
    bounds: Vec<(f64, f64)>,
    /// The index and the logarithm of the unit of each parameter that all environments share.
    pub shared: Vec<(usize, f64)>,
    /// Which of `phi [q]` are held.
    held: Vec<bool>,
    /// Which channels `[C]` tell nothing of the noise, which is that of others: those with one value at all samples, with all its digits.
    is_mute: Vec<bool>,
    /// The share of the variance that the unknowns of all environments leave to residuals, where they share noise.
    pub free_share: Option<f64>,
}

impl<'a> Objective<'a> {
    /// The likelihood of `experiment`, as it was `measured`, where trajectories are integrated with the tolerance `rtol`.
    ///
    /// # Errors
    /// What is wrong with a value, or with what stands beside it.
    pub(crate) fn new(
        experiment: &'a Experiment<'a>,
        measured: &'a Measured,
        channel_names: &[String],
        rtol: f64,
    ) -> Result<Self, String> {
        let cells = cells(experiment, measured, channel_names)?;
        let share = 1.0 - experiment.unknown_count() as f64 / cells.len().max(1) as f64;
        let mut counts = vec![0.0; measured.channels.len()];
        cells.iter().for_each(|it| counts[it.channel] += share);
        let is_hidden = |channel: usize| counts[channel] > 0.0 && experiment.resolutions[channel].is_hidden;
        let is_common = counts.iter().any(|free| *free > 0.0 && *free < FEW) || (0..counts.len()).any(is_hidden);
        // What tells the noise of a channel, where channels of one kind have it in common.
        let told = |channel: usize| {
            let kind = |it: usize| std::mem::discriminant(&measured.channels[it].noise);
            let is_counted = |&it: &usize| it == channel || is_common && kind(it) == kind(channel) && !is_hidden(it);
            (0..counts.len()).filter(is_counted).map(|it| counts[it]).sum::<f64>()
        };
        let mut kinds: Vec<(std::mem::Discriminant<ChannelNoise>, usize, usize)> = Vec::new();
        let (mut noise, mut bounds, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for (channel, measured) in measured.channels.iter().enumerate() {
            let (law, scale) = (law(&measured.noise, experiment.scales[channel]), experiment.scales[channel]);
            let kind = std::mem::discriminant(&measured.noise);
            let mut parameter = |which: usize, given: Option<f64>, unit: f64, (low, high): (f64, f64)| {
                if let Some(value) = given {
                    return Parameter::Known(value);
                }
                if measured.is_shared[which] {
                    bounds.push((low.ln(), high.ln()));
                    shared.push((bounds.len() - 1, unit.ln()));
                    return Parameter::Estimated { index: bounds.len() - 1, unit };
                }
                // One value at all samples says nothing of the noise of the others.
                let joins = is_common && (!experiment.resolutions[channel].is_constant || is_hidden(channel));
                let of_others = kinds.iter().find(|it| joins && (it.0, it.1) == (kind, which)).map(|it| it.2);
                let index = of_others.unwrap_or_else(|| {
                    bounds.push((low.ln(), high.ln()));
                    if !experiment.resolutions[channel].is_constant || is_hidden(channel) {
                        kinds.push((kind, which, bounds.len() - 1));
                    }
                    bounds.len() - 1
                });
                Parameter::Estimated { index, unit }
            };
            // Of the spread of the channel, and of its greatest value: no noise is less than rounding.
            let rounding = experiment.resolutions[channel].std_dev;
            let bounds_above = |unit: f64| {
                let least = (ABOVE_INTEGRATION * rtol).max(rounding / unit.max(f64::MIN_POSITIVE));
                (least.min(LITTLE * GREATEST), GREATEST)
            };
            let (sizes, shares) = (bounds_above(scale), bounds_above(experiment.greatest(channel)));
            let parameters = match measured.noise {
                ChannelNoise::Constant { absolute } => [parameter(0, absolute, scale, sizes), Parameter::Known(0.0)],
                ChannelNoise::Proportional { relative } => [Parameter::Known(0.0), parameter(1, relative, 1.0, shares)],
                ChannelNoise::Combined { absolute, relative } => [
                    parameter(0, absolute, scale, sizes),
                    parameter(1, relative, 1.0, (ABOVE_INTEGRATION * rtol, GREATEST)),
                ],
                ChannelNoise::LogNormal { std_dev } => [parameter(0, std_dev, 1.0, shares), Parameter::Known(0.0)],
                ChannelNoise::Student { scale: given, degrees_of_freedom } => {
                    let bounds = degrees_of_freedom_of(experiment.unknown_count() as f64, cells.len() as f64);
                    let is_told = measured.is_shared[1] || told(channel) >= TOLD;
                    let given_tails = degrees_of_freedom.or_else(|| (!is_told).then(|| USUAL.max(bounds.0)));
                    [parameter(0, given, scale, sizes), parameter(1, given_tails, 1.0, bounds)]
                }
                ChannelNoise::Known { value, .. } => {
                    [Parameter::Known(value.unwrap_or(f64::NAN)), Parameter::Known(0.0)]
                }
            };
            noise.push(Noise { law, parameters });
        }
        let indices = |channel: usize| {
            let noise: &Noise = &noise[channel];
            noise.parameters.iter().filter_map(|it| match it {
                Parameter::Estimated { index, .. } => Some(*index),
                Parameter::Known(_) => None,
            })
        };
        let tells = |index: usize| (0..noise.len()).any(|it| !is_hidden(it) && indices(it).any(|own| own == index));
        let is_mute =
            |channel: usize| is_hidden(channel) && indices(channel).next().is_some() && indices(channel).all(tells);
        let is_mute = (0..noise.len()).map(is_mute).collect();
        Ok(Objective {
            experiment,
            is_mute,
            noise,
            cells,
            priors: &measured.priors,
            own_priors: &measured.own_priors,
            held: vec![false; bounds.len()],
            bounds,
            shared,
            free_share: None,
        })
    }

    /// Holds the parameters that all environments share at these logarithms `[s]`, and sets them in `phi [q]`.
    pub(crate) fn hold_shared(&mut self, logs: &[f64], phi: &mut [f64]) {
        for (&(index, unit), log) in self.shared.iter().zip(logs) {
            (self.held[index], self.bounds[index]) = (true, (f64::NEG_INFINITY, f64::INFINITY));
            if let Some(phi) = phi.get_mut(index) {
                *phi = log - unit;
            }
        }
    }

    /// The number `q` of parameters of the noise that are estimated.
    pub(crate) fn noise_count(&self) -> usize {
        self.bounds.len()
    }

    /// `phi [q]` within its bounds.
    pub(crate) fn clamped(&self, phi: impl Iterator<Item = f64>) -> Vec<f64> {
        phi.zip(&self.bounds).map(|(phi, (low, high))| phi.clamp(*low, *high)).collect()
    }

    /// Which of `phi [q]` are held, or lie at a bound that a step along `-gradient [q]` would cross.
    pub(crate) fn active(&self, phi: &[f64], gradient: &[f64]) -> Vec<bool> {
        let all = phi.iter().zip(gradient).zip(&self.bounds).zip(&self.held);
        let is_active = all.map(|(((phi, slope), (low, high)), held)| {
            *held || *phi <= *low && *slope > 0.0 || *phi >= *high && *slope < 0.0
        });
        is_active.collect()
    }

    /// The channels whose Student's noise has come to its least scale at `phi [q]`, which is this.
    pub(crate) fn collapsed(&self, phi: &[f64]) -> Vec<(usize, f64)> {
        let collapsed = |(channel, noise): (usize, &Noise)| match (noise.law, noise.parameters[0]) {
            (Law::Student, Parameter::Estimated { index, unit }) if phi[index] <= self.bounds[index].0 => {
                Some((channel, unit * phi[index].exp()))
            }
            _ => None,
        };
        self.noise.iter().enumerate().filter_map(collapsed).collect()
    }

    /// Which of `phi [q]` lie between their bounds.
    pub(crate) fn inside(&self, phi: &[f64]) -> Vec<usize> {
        let is_inside = |&index: &usize| self.bounds[index].0 < phi[index] && phi[index] < self.bounds[index].1;
        (0..phi.len()).filter(is_inside).collect()
    }

    /// Where `phi [q]` may start: by the residuals of `rollout`; where noise has two parts, also with little of either, as more than one share may
    /// be a maximum.
    pub(crate) fn starts(&self, rollout: &Rollout) -> Vec<Vec<f64>> {
        let even = self.start(rollout);
        let mut starts = vec![even.clone()];
        for part in 0..2 {
            let mut start = even.clone();
            for noise in &self.noise {
                let is_two = matches!(noise.parameters, [Parameter::Estimated { .. }, Parameter::Estimated { .. }]);
                if let (Law::Gaussian { .. }, true, Parameter::Estimated { index, .. }) =
                    (noise.law, is_two, noise.parameters[part])
                {
                    start[index] = even[index] + LITTLE.ln();
                }
            }
            let start = self.clamped(start.into_iter());
            if start != even {
                starts.push(start);
            }
        }
        starts
    }

    /// `phi [q]` by the residuals of `rollout`.
    fn start(&self, rollout: &Rollout) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.bounds.len()];
        for (channel, noise) in self.noise.iter().enumerate() {
            let scale = self.experiment.scales[channel];
            let own = self.cells.iter().filter(|it| it.channel == channel && !it.observed.is_below());
            let pairs: Vec<(f64, f64)> =
                own.map(|it| (it.observed.value, rollout.states[it.trajectory][it.cell])).collect();
            if pairs.is_empty() {
                continue;
            }
            let mean_square = |of: &dyn Fn(f64, f64) -> f64| {
                (pairs.iter().map(|(y, z)| of(*y, *z).powi(2)).sum::<f64>() / pairs.len() as f64).sqrt()
            };
            let share = |least: f64| mean_square(&|y, z| (y - z) / (z * z + least * least).sqrt());
            // Half of the variance each, where there are two parts.
            let half = std::f64::consts::FRAC_1_SQRT_2;
            let starts = match (noise.law, noise.parameters) {
                (Law::LogNormal, _) => [mean_square(&|y, z| if z > 0.0 { (y / z).ln() } else { 0.5 }), 0.0],
                (Law::Student, _) => {
                    let mut sizes: Vec<f64> = pairs.iter().map(|(y, z)| (y - z).abs()).collect();
                    sizes.sort_by(f64::total_cmp);
                    [1.4 * sizes[sizes.len() / 2], 5.0]
                }
                (Law::Gaussian { .. }, [Parameter::Estimated { .. }, Parameter::Estimated { .. }]) => {
                    [half * mean_square(&|y, z| y - z), half * share(0.1 * scale)]
                }
                (Law::Gaussian { .. }, _) => [mean_square(&|y, z| y - z), share(LEAST_SHARE * scale)],
            };
            for (parameter, start) in noise.parameters.iter().zip(starts) {
                if let Parameter::Estimated { index, unit } = *parameter {
                    sums[index].0 += (start / unit).max(f64::MIN_POSITIVE).ln();
                    sums[index].1 += 1.0;
                }
            }
        }
        self.clamped(sums.into_iter().map(|(sum, count): (f64, f64)| sum / count.max(1.0)))
    }

    /// The parameters of the noise of a channel at `phi [q]`; NaN where its samples have their own.
    fn parameters(&self, channel: usize, phi: &[f64]) -> [f64; 2] {
        self.noise[channel].parameters.map(|parameter| match parameter {
            Parameter::Known(value) => value,
            Parameter::Estimated { index, unit } => unit * phi[index].exp(),
        })
    }

    /// The same in the order in which the settings name them.
    pub(crate) fn terms(&self, channel: usize, phi: &[f64]) -> Vec<f64> {
        let [a, b] = self.parameters(channel, phi);
        match self.noise[channel].law {
            Law::Gaussian { .. } => [a, b].into_iter().filter(|it| *it > 0.0).collect(),
            Law::LogNormal => vec![a],
            Law::Student => vec![a, b],
        }
    }

    /// Which values of the experiment lie below their limits, in the order of its cells.
    pub(crate) fn below(&self) -> Vec<bool> {
        self.cells.iter().map(|it| it.observed.is_below()).collect()
    }

    /// Degrees of freedom of the noise: values above their limits, less unknowns; infinite where nothing of the noise is estimated. Where the
    /// unknowns are more, all values count; where the noise of some channels is known, the others' share of them.
    pub(crate) fn degrees_of_freedom(&self) -> f64 {
        let (above, estimated) = (self.above(), self.telling());
        match self.bounds.is_empty() {
            true => f64::INFINITY,
            false => (above as f64 - self.experiment.unknown_count() as f64) * (estimated as f64 / above as f64),
        }
    }

    /// The number of values above their limits, if it is more than that of the unknowns, else of all.
    fn above(&self) -> usize {
        self.counted(|_| true)
    }

    /// The number of these that tell noise which is estimated.
    pub(crate) fn telling(&self) -> usize {
        self.counted(|cell| self.tells(cell))
    }

    fn counted(&self, is_meant: impl Fn(&Cell) -> bool) -> usize {
        let above = self.cells.iter().filter(|it| !it.observed.is_below());
        match above.clone().count() > self.experiment.unknown_count() {
            true => above.filter(|it| is_meant(it)).count(),
            false => self.cells.iter().filter(|it| is_meant(it)).count(),
        }
    }

    /// Whether something of the noise of a value is estimated.
    fn is_estimated(&self, cell: &Cell) -> bool {
        self.noise[cell.channel].parameters.iter().any(|it| matches!(it, Parameter::Estimated { .. }))
    }

    /// Whether a value tells noise that is estimated.
    fn tells(&self, cell: &Cell) -> bool {
        self.is_estimated(cell) && !self.is_mute[cell.channel]
    }

    /// Whether all that is known is known by the noise that is estimated: no noise is known, and no parameter beforehand.
    pub(crate) fn is_all_estimated(&self) -> bool {
        let has_prior = self.priors.iter().chain(self.own_priors).any(Option::is_some);
        !has_prior && self.cells.iter().all(|cell| self.is_estimated(cell))
    }

    /// The share of the variance that is left to residuals by the unknowns.
    pub(crate) fn free_share(&self) -> f64 {
        self.free_share.unwrap_or((1.0 - self.experiment.unknown_count() as f64 / self.above() as f64).max(0.0))
    }

    pub(super) fn density(&self, cell: &Cell, rollout: &Rollout, phi: &[f64], information: Information) -> Density {
        let [a, b] = self.parameters(cell.channel, phi);
        let predicted = rollout.states[cell.trajectory][cell.cell];
        let law = self.noise[cell.channel].law;
        let density =
            |observed: Observed| law.density(observed, predicted, [cell.std_dev.unwrap_or(a), b], information);
        match self.is_mute[cell.channel] {
            false => density(cell.observed),
            // That it is met exactly makes no noise more likely.
            true => density(cell.observed).beyond(density(Observed { value: predicted, ..cell.observed })),
        }
    }

    /// The square root of the information of each value about the predicted one, as weights of residuals.
    pub(crate) fn weights(&self, rollout: &Rollout, phi: &[f64]) -> Weights {
        let mut weights = self.experiment.weights(|_, _, _| 0.0);
        for cell in &self.cells {
            let density = self.density(cell, rollout, phi, Information::Expected);
            weights[cell.trajectory][cell.cell] = density.information[0][0].sqrt();
        }
        weights
    }

    /// `-2 log L` of the data alone.
    pub(crate) fn minus_two_log(&self, rollout: &Rollout, phi: &[f64]) -> f64 {
        self.cells.iter().map(|cell| self.density(cell, rollout, phi, Information::OfOutcome).value).sum()
    }

    /// Normal equations of all unknowns, priors included: `squares` is `-2 log L`, the parameters are followed by `phi [q]`.
    pub(crate) fn normal(&self, rollout: &Rollout, unknowns: &Unknowns, phi: &[f64]) -> Normal {
        self.assemble(rollout, unknowns, phi, (Information::OfOutcome, 1.0))
    }

    /// The same with the information that standard errors are by: expected over all outcomes, and that of channels whose noise is estimated
    /// less by the degrees of freedom that the unknowns use, as for `s^2 = |r|^2 / (n - m)`, and `times` as much.
    pub(crate) fn information(&self, rollout: &Rollout, unknowns: &Unknowns, phi: &[f64], times: f64) -> Normal {
        self.assemble(rollout, unknowns, phi, (Information::Expected, times * self.free_share()))
    }

    /// Values whose noise is estimated count as often as `share` says.
    fn assemble(
        &self,
        rollout: &Rollout,
        unknowns: &Unknowns,
        phi: &[f64],
        (information, share): (Information, f64),
    ) -> Normal {
        let (d, q, k) = (self.experiment.model.coordinates.len(), self.bounds.len(), self.experiment.directions());
        let mut normal = Normal::new(d + q, self.experiment.own_counts());
        let mut row = vec![0.0; k + q];
        for cell in &self.cells {
            let density = self.density(cell, rollout, phi, information);
            normal.squares += density.value;
            let slopes = &rollout.sensitivities[cell.trajectory][cell.cell * k..(cell.cell + 1) * k];
            let parameters = &self.noise[cell.channel].parameters;
            let weight = if self.is_estimated(cell) { share.sqrt() } else { 1.0 };
            let fill = |row: &mut [f64], of: [f64; ARGUMENTS]| {
                row.fill(0.0);
                for (place, slope) in row[..d].iter_mut().zip(slopes) {
                    *place = of[0] * slope;
                }
                for (place, slope) in row[d + q..].iter_mut().zip(&slopes[d..]) {
                    *place = of[0] * slope;
                }
                for (parameter, by) in parameters.iter().zip(&of[1..]) {
                    if let Parameter::Estimated { index, .. } = *parameter {
                        row[d + index] += by;
                    }
                }
            };
            fill(&mut row, density.gradient);
            normal.add_gradient(cell.trajectory, &row);
            for factor in density.factors() {
                if factor != [0.0; ARGUMENTS] {
                    fill(&mut row, factor);
                    normal.add(cell.trajectory, weight, 0.0, &row);
                }
            }
        }
        let values = self.experiment.parameters(&unknowns.coordinates);
        for (index, (prior, (value, slope))) in self.priors.iter().zip(values).enumerate() {
            let Some(prior) = prior else { continue };
            let (residual, slope) = prior.residual(value, slope);
            normal.squares += residual * residual;
            normal.gradient[index] += residual * slope;
            normal.matrix[(index, index)] += slope * slope;
        }
        for own in self.experiment.own_parameters(unknowns) {
            let Some(prior) = self.own_priors.get(own.parameter).copied().flatten() else { continue };
            let (residual, slope) = prior.residual(own.value, own.slope);
            normal.squares += residual * residual;
            normal.add_own(own.trajectory, own.place, (slope * slope, residual * slope));
        }
        normal.complete();
        normal
    }
}

/// The least and the greatest degrees of freedom of Student's noise of `points` values and a fit of `unknowns`, which can meet as many of them exactly.
///
/// Each of these adds `1 / s` to the likelihood at a small scale `s`, and each of the others `s^n` with `n` degrees of freedom: with fewer than
/// `unknowns / (points - unknowns)` the likelihood grows without end as the scale goes to zero.
pub(crate) fn degrees_of_freedom_of(unknowns: f64, points: f64) -> (f64, f64) {
    let [least, greatest] = DEGREES_OF_FREEDOM;
    let unbounded = unknowns / (points - unknowns).max(f64::MIN_POSITIVE);
    ((BOUNDED * unbounded).clamp(least, 0.5 * greatest), greatest)
}

fn law(noise: &ChannelNoise, scale: f64) -> Law {
    match noise {
        ChannelNoise::Proportional { .. } => Law::Gaussian { least: LEAST_SHARE * scale },
        ChannelNoise::Constant { .. } | ChannelNoise::Combined { .. } | ChannelNoise::Known { .. } => {
            Law::Gaussian { least: 0.0 }
        }
        ChannelNoise::LogNormal { .. } => Law::LogNormal,
        ChannelNoise::Student { .. } => Law::Student,
    }
}
