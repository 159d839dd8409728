//! Levenberg-Marquardt descents of what all environments share, each step with all own unknowns at their minimum.

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::batch::Batch;
use super::member::{At, Member};
use crate::estimate::physics::descent::{LONGEST, PROMISING};
use crate::estimate::physics::fitting::Fitting;
use crate::estimate::settings::Loss;
use crate::least_squares::damping::Damping;

/// Rounds of estimating weights from residuals.
const ROUNDS: usize = 6;
/// Steps that an environment may fail at, one after the other, before it is left out.
const FAILURES: usize = 4;
/// The longest step of the logarithm of a parameter of the noise.
const LONGEST_OF_NOISE: f64 = 2.0;
/// A promise that does not fall to this share of the one before is rounding.
const FALLING: f64 = 0.5;

/// A batch of environments at some `z`.
pub(crate) struct Joint<'f, 'a> {
    pub fitting: &'f Fitting<'a>,
    pub batch: &'f Batch,
    pub members: Vec<Member<'a>>,
    /// Where each of them is.
    pub at: Vec<At>,
    /// `z [s]`.
    pub z: Vec<f64>,
    /// Environments that were given up on the way: id and why.
    pub left_out: Vec<(String, String)>,
    /// The place in `z` of what descents leave as it is, for a profile, which gives up no environment.
    pub held: Option<usize>,
    /// Whether the last descent was still on its way at the limit of iterations.
    pub is_stopped: bool,
}

/// The normal equations of `z` over all environments.
pub(super) struct Sum {
    pub squares: f64,
    gradient: DVector<f64>,
    information: DMatrix<f64>,
    /// Errors of integration in `F`.
    resolution: f64,
}

impl Sum {
    /// The step of `(H + damping diag H) dz = -g` with the unknowns at `active` bounds kept.
    fn step(&self, damping: f64, active: &[bool]) -> Option<DVector<f64>> {
        let (mut matrix, mut gradient) = (self.information.clone(), self.gradient.clone());
        for k in 0..gradient.len() {
            matrix[(k, k)] *= 1.0 + damping;
            if active[k] {
                matrix.row_mut(k).fill(0.0);
                matrix.column_mut(k).fill(0.0);
                matrix[(k, k)] = 1.0;
                gradient[k] = 0.0;
            }
        }
        Some(-matrix.cholesky()?.solve(&gradient)).filter(|step| step.iter().all(|by| by.is_finite()))
    }

    /// The decrease of `F` by a step, if residuals are linear.
    fn predicted(&self, step: &DVector<f64>) -> f64 {
        -(2.0 * self.gradient.dot(step) + (&self.information * step).dot(step))
    }
}

impl<'a> Joint<'_, 'a> {
    /// Descends to the minimum, with weights by the noise that residuals show where no likelihood is named.
    ///
    /// # Errors
    /// If no environment is left, or on an interrupt.
    pub(crate) fn fit(&mut self) -> Result<(), String> {
        if self.batch.measured.is_some() {
            return self.descend();
        }
        for _ in 0..ROUNDS {
            self.weigh()?;
            let sum = self.sum(self.at.iter(), &self.z);
            let step = sum.step(0.0, &self.active(&sum));
            self.descend()?;
            if step.is_some_and(|step| sum.predicted(&step) <= 100.0 * PROMISING) {
                break;
            }
        }
        Ok(())
    }

    /// `z` with the noise that residuals show where the environments are now, the median over them, and with other shares of two parts of it.
    pub(crate) fn noise_starts(&self) -> Vec<Vec<f64>> {
        let pairs = self.members.par_iter().zip(&self.at);
        let of_each: Vec<Vec<Vec<f64>>> =
            pairs.filter_map(|(member, at)| member.noise_starts(self.fitting, self.batch, at)).collect();
        let count = of_each.iter().map(Vec::len).min().unwrap_or(0);
        let start = |start: usize| {
            let median = |term: usize| {
                let mut logs: Vec<f64> = of_each.iter().map(|it| it[start][term]).collect();
                logs.sort_by(f64::total_cmp);
                logs[logs.len() / 2]
            };
            let of_parameters = self.z[..self.batch.places.len()].iter().copied();
            of_parameters.chain((0..self.batch.noise).map(median)).collect()
        };
        (0..count).map(start).collect()
    }

    /// Sorts the environments by id, in which order all sums are taken.
    pub(crate) fn in_order(&mut self) {
        let (members, at) = (std::mem::take(&mut self.members), std::mem::take(&mut self.at));
        let mut pairs: Vec<(Member, At)> = members.into_iter().zip(at).collect();
        pairs.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        (self.members, self.at) = pairs.into_iter().unzip();
    }

    pub(super) fn sum<'m>(&self, all: impl Iterator<Item = &'m At>, z: &[f64]) -> Sum {
        let s = self.batch.size();
        let (gradient, information) = (DVector::zeros(s), DMatrix::zeros(s, s));
        let mut sum = Sum { squares: 0.0, gradient, information, resolution: 0.0 };
        for at in all {
            sum.squares += at.part.squares;
            sum.gradient += &at.part.gradient;
            sum.information += &at.part.information;
            sum.resolution += at.resolution;
        }
        for (k, (prior, (value, slope))) in self.batch.priors.iter().zip(self.batch.values(z)).enumerate() {
            let Some(prior) = prior else { continue };
            let (residual, slope) = prior.residual(value, slope);
            sum.squares += residual * residual;
            sum.gradient[k] += residual * slope;
            sum.information[(k, k)] += slope * slope;
        }
        sum
    }

    /// Which of `z` lie at a bound that a step along the gradient would cross.
    fn active(&self, sum: &Sum) -> Vec<bool> {
        let of_parameters = self.batch.coordinates.iter().zip(&self.z).zip(sum.gradient.iter());
        let is_active = of_parameters.map(|((coordinate, theta), slope)| {
            let (low, high) = coordinate.ends();
            *theta <= low && *slope > 0.0 || *theta >= high && *slope < 0.0
        });
        let of_noise =
            self.z.iter().zip(sum.gradient.iter()).skip(self.batch.places.len()).zip(&self.batch.noise_bounds);
        let of_noise =
            of_noise.map(|((log, slope), (low, high))| *log <= *low && *slope > 0.0 || *log >= *high && *slope < 0.0);
        let is_held = (0..self.z.len()).map(|place| self.held == Some(place));
        is_active.chain(of_noise).zip(is_held).map(|(is_active, is_held)| is_active || is_held).collect()
    }

    /// Which shared parameters lie at an active bound.
    pub(crate) fn active_bounds(&self) -> Vec<bool> {
        self.active(&self.sum(self.at.iter(), &self.z))
    }

    /// `z` after a step that is shortened, and cut at bounds; and the step made. Noise that tends to nothing takes long steps, which leave the others
    /// as they are.
    fn after(&self, step: &DVector<f64>) -> (Vec<f64>, DVector<f64>) {
        let parameters = self.batch.places.len();
        let (of_parameters, of_noise) = step.as_slice().split_at(parameters);
        let share = (LONGEST / of_parameters.iter().fold(0.0, |a: f64, b| a.max(b.abs()))).min(1.0);
        let mut z = self.z.clone();
        let of_parameters = of_parameters.iter().map(|by| share * by);
        let of_noise = of_noise.iter().map(|by| by.clamp(-LONGEST_OF_NOISE, LONGEST_OF_NOISE));
        z.iter_mut().zip(of_parameters.chain(of_noise)).for_each(|(at, by)| *at += by);
        for (at, coordinate) in z.iter_mut().zip(&self.batch.coordinates) {
            let (low, high) = coordinate.ends();
            *at = at.clamp(low, high);
        }
        for (at, (low, high)) in z.iter_mut().skip(parameters).zip(&self.batch.noise_bounds) {
            *at = at.clamp(*low, *high);
        }
        let made = DVector::from_iterator(z.len(), z.iter().zip(&self.z).map(|(after, before)| after - before));
        (z, made)
    }

    /// Every environment at its minimum for `z`, from where it follows the step.
    pub(super) fn settled(&self, z: &[f64], step: &DVector<f64>) -> Vec<Result<At, String>> {
        let settle =
            |(member, at): (&Member<'a>, &At)| member.settle(self.fitting, self.batch, z, member.followed(at, step));
        self.members.par_iter().zip(&self.at).map(settle).collect()
    }

    pub(super) fn descend(&mut self) -> Result<(), String> {
        let (mut damping, mut failures, mut before) = (Damping::default(), 0, f64::INFINITY);
        self.is_stopped = false;
        for _ in 0..self.fitting.settings.iterations {
            let sum = self.sum(self.at.iter(), &self.z);
            let active = self.active(&sum);
            let whole = sum.step(0.0, &active).map(|step| self.after(&step));
            let promised = whole.as_ref().map_or(f64::INFINITY, |(_, step)| sum.predicted(step));
            // What errors of integration hide in the sum is still seen by its derivatives.
            let is_hidden = promised <= sum.resolution;
            if promised <= PROMISING || is_hidden && promised > FALLING * before {
                return Ok(());
            }
            let damped = sum.step(damping.value, &active).map(|step| self.after(&step));
            let Some((z, step)) = (if is_hidden { whole } else { damped }) else {
                damping.reject();
                if damping.is_exhausted() {
                    return Ok(());
                }
                continue;
            };
            let settled = self.settled(&z, &step);
            if self.fitting.interrupt.requested().is_some() {
                return Err("interrupted".to_owned());
            }
            if settled.iter().any(Result::is_err) {
                failures += 1;
                damping.reject();
                if failures >= FAILURES {
                    if self.held.is_some() {
                        let reason = settled.into_iter().find_map(Result::err);
                        return Err(reason.unwrap_or_default());
                    }
                    self.leave_out(settled)?;
                    (damping, failures) = (Damping::default(), 0);
                }
                continue;
            }
            failures = 0;
            let settled: Vec<At> = settled.into_iter().flatten().collect();
            let after = self.sum(settled.iter(), &z).squares;
            if is_hidden || after <= sum.squares {
                before = if is_hidden { promised } else { f64::INFINITY };
                damping.accept(sum.squares - after, sum.predicted(&step));
                (self.z, self.at) = (z, settled);
            } else {
                damping.reject();
                if damping.is_exhausted() {
                    return Ok(());
                }
            }
        }
        self.is_stopped = true;
        Ok(())
    }

    /// Leaves out the environments that failed.
    fn leave_out(&mut self, settled: Vec<Result<At, String>>) -> Result<(), String> {
        let (members, at) = (std::mem::take(&mut self.members), std::mem::take(&mut self.at));
        for ((member, at), settled) in members.into_iter().zip(at).zip(settled) {
            match settled {
                Ok(_) => {
                    self.members.push(member);
                    self.at.push(at);
                }
                Err(reason) => self.left_out.push((member.id, reason)),
            }
        }
        if self.members.is_empty() { Err("no environment is left".to_owned()) } else { Ok(()) }
    }

    /// Takes weights by the noise of each environment, or of the batch where an environment alone says too little of it.
    fn weigh(&mut self) -> Result<(), String> {
        let (fitting, batch) = (self.fitting, self.batch);
        let points: usize = self.members.iter().map(|member| member.experiment.cells.len()).sum();
        let share = batch.size() as f64 / points as f64;
        let sums: Vec<Result<Vec<(f64, f64)>, String>> = self
            .members
            .par_iter_mut()
            .zip(&self.at)
            .map(|(member, at)| member.weigh(fitting, batch, (at, share)))
            .collect();
        let sums = sums.into_iter().collect::<Result<Vec<_>, String>>()?;
        if fitting.settings.loss == Loss::Squares {
            let channels = sums.first().map_or(0, Vec::len);
            let of_batch: Vec<f64> = (0..channels)
                .map(|channel| {
                    let (squares, free) =
                        sums.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it[channel].0, sum.1 + it[channel].1));
                    (squares / f64::max(free, 1.0)).sqrt()
                })
                .collect();
            let pairs = self.members.iter_mut().zip(&sums);
            pairs.for_each(|(member, own)| member.weigh_by(&of_batch, own, fitting.physics.rtol));
        }
        let settled = self.settled(&self.z, &DVector::zeros(batch.size()));
        let kept: Vec<At> = settled.iter().flatten().cloned().collect();
        self.leave_out(settled)?;
        self.at = kept;
        Ok(())
    }
}
