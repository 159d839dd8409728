//! Levenberg-Marquardt descents to a minimum of the weighted squared error.

use super::experiment::{Rollout, Unknowns};
use super::fitter::{End, Fitter, Iterate};
use super::normal::{Normal, Step};
use super::pass::Pass;
use crate::estimate::table::row::Status;
use crate::least_squares::damping::Damping;

/// The longest step of a parameter in its coordinate: a factor of `e`.
pub(crate) const LONGEST: f64 = 1.0;
/// A step that would reduce the error by less than this share of the noise is the last one: it moves the estimate by a thousandth of its
/// standard error.
pub(crate) const PROMISING: f64 = 1e-6;
/// An undamped step that increases the error is cut to this share, as it still points down,
pub(crate) const CUT: f64 = 0.25;
/// so many times.
pub(crate) const CUTS: i32 = 5;
/// Descents that follow each other while the limit of iterations ends each on its way down.
pub(crate) const DESCENTS: usize = 5;
/// Rounds of estimating weights from residuals.
const ROUNDS: usize = 5;
/// Two minima are the same if their squared residuals differ by no more than this share.
pub(crate) const SAME: f64 = 0.01;
/// Shares of the samples of each trajectory that are fitted one after the other.
pub(crate) const GROWING: &[f64] = &[0.25, 0.5, 1.0];
/// All samples at once.
pub(crate) const WHOLE: &[f64] = &[1.0];

/// When a descent has converged.
struct Convergence {
    /// Reduction of the error below which a step is not worth its rollout.
    least_reduction: f64,
    shortest_step: f64,
}

impl Convergence {
    fn is_met(&self, predicted_reduction: f64, length: f64) -> bool {
        (0.0..=self.least_reduction).contains(&predicted_reduction) || length <= self.shortest_step
    }
}

impl Fitter<'_> {
    /// The minimum near `unknowns` with weights by the noise that its residuals show; with status and reason if it is none.
    ///
    /// # Errors
    /// If the trajectories cannot be integrated with `unknowns`.
    pub(crate) fn refine(&mut self, fine: &mut Pass, unknowns: Unknowns) -> Result<(Iterate, Option<End>), End> {
        let start = self.evaluate(fine, unknowns).map_err(|reason| self.failed(reason))?;
        let mut before = start.normal.squares;
        let (mut iterate, mut end) = self.descend(fine, start);
        // Along a bent valley far from any fit, a descent that ran out of iterations may go on.
        for _ in 0..DESCENTS {
            let goes_down = iterate.normal.squares < (1.0 - SAME) * before;
            if end.is_none() || !goes_down || self.far_channel(&iterate).is_none() || self.budget.ensure_left().is_err()
            {
                break;
            }
            before = iterate.normal.squares;
            (iterate, end) = self.descend(fine, iterate);
        }
        for _ in 0..ROUNDS {
            if end.is_some() {
                break;
            }
            self.weigh_by_noise(&iterate.rollout);
            iterate.normal = self.normal_at(&iterate.unknowns, &iterate.rollout);
            let active = self.experiment.active_bounds(&iterate.unknowns, &iterate.normal);
            let Some(step) = iterate.normal.step(0.0, &active) else { break };
            if iterate.normal.predicted_reduction(&step) <= 100.0 * PROMISING * self.variance(&iterate.rollout) {
                break;
            }
            (iterate, end) = self.descend(fine, iterate);
        }
        Ok((iterate, end))
    }

    /// Fits the first samples of the trajectories, then more of them, up to the shares `parts`: over a short time no oscillation is missed
    /// by a whole period.
    ///
    /// # Errors
    /// Why the trajectories cannot be integrated.
    pub(crate) fn grow(&mut self, pass: &mut Pass, start: Unknowns, parts: &[f64]) -> Result<Iterate, String> {
        let whole = self.weights.clone();
        let mut unknowns = Ok(start);
        let mut iterate = Err(String::new());
        for part in parts {
            for (weights, whole) in self.weights.iter_mut().zip(&whole) {
                let samples = whole.len() / self.experiment.model.size();
                let first = (part * samples as f64).ceil() as usize * self.experiment.model.size();
                weights[..first].copy_from_slice(&whole[..first]);
                weights[first..].fill(0.0);
            }
            iterate = unknowns.and_then(|unknowns| self.evaluate(pass, unknowns)).map(|it| self.descend(pass, it).0);
            unknowns = iterate.as_ref().map(|iterate| iterate.unknowns.clone()).map_err(Clone::clone);
        }
        self.weights = whole;
        // Huber's limit follows the residuals down: a wrong value pulls harder than values that are only not yet explained.
        for _ in 0..ROUNDS {
            let Ok(found) = &mut iterate else { break };
            let before = self.limit;
            self.fit_limit(&found.rollout);
            if (self.limit / before - 1.0).abs() < SAME || self.limit.is_infinite() {
                break;
            }
            found.normal = self.normal_at(&found.unknowns, &found.rollout);
            iterate = iterate.map(|iterate| self.descend(pass, iterate).0);
        }
        self.reset_limit();
        iterate
    }

    pub(crate) fn evaluate(&mut self, pass: &mut Pass, unknowns: Unknowns) -> Result<Iterate, String> {
        let rollout = self.experiment.roll_out(&mut pass.integrator, &unknowns, &mut self.budget);
        let rollout = rollout.map_err(|halt| halt.to_string())?;
        let normal = self.normal_at(&unknowns, &rollout);
        let is_finite = normal.squares.is_finite() && normal.matrix.iter().all(|value| value.is_finite());
        if is_finite {
            Ok(Iterate { unknowns, rollout, normal })
        } else {
            Err("the squared error is not finite".to_owned())
        }
    }

    /// Descends to a minimum, where the undamped step would reduce nothing or is short. The last step follows the derivatives, without a
    /// rollout. Status and reason if it is no minimum.
    pub(crate) fn descend(&mut self, pass: &mut Pass, start: Iterate) -> (Iterate, Option<End>) {
        let mut iterate = start;
        let mut damping = Damping::default();
        let stopped = |reason: &str| Some((Status::NotConverged, reason.to_owned()));
        let resolution = self.resolution(pass.rtol);
        // How many undamped steps increased the error, where damped ones are too short though the undamped one is not.
        let mut cuts = 0;
        for _ in 0..self.estimate.iterations {
            self.iterations += 1;
            if let Err(halt) = self.budget.ensure_left() {
                return (iterate, stopped(&halt.to_string()));
            }
            let mut active = self.experiment.active_bounds(&iterate.unknowns, &iterate.normal);
            active.iter_mut().zip(&self.held).for_each(|(active, held)| *active |= held);
            let damped =
                iterate.normal.step(damping.value, &active).map(|step| self.experiment.bounded(step, &active, LONGEST));
            let Some(damped) = damped else {
                damping.reject();
                if damping.is_exhausted() {
                    return (iterate, stopped("the normal equations cannot be solved"));
                }
                continue;
            };
            let (mut candidate, mut step) = self.experiment.after_step(&iterate.unknowns, &damped);
            let convergence = Convergence {
                least_reduction: (PROMISING * self.variance(&iterate.rollout))
                    .max(resolution + pass.rtol * iterate.normal.squares),
                shortest_step: pass.shortest_step,
            };
            if convergence.is_met(iterate.normal.predicted_reduction(&step), step.length()) {
                // Damping may have shortened the step.
                let share = CUT.powi(cuts);
                let Some(undamped) = self.undamped_step(&iterate, &active, &convergence, share) else {
                    self.experiment.extrapolate(&mut iterate.rollout, &step);
                    iterate.unknowns = candidate;
                    iterate.normal = self.normal_at(&iterate.unknowns, &iterate.rollout);
                    return (iterate, None);
                };
                if cuts > CUTS {
                    // A decrease that errors of integration hide is as little as none.
                    let hidden = 2.0 * (resolution * iterate.normal.squares).sqrt();
                    let promised = iterate.normal.predicted_reduction(&undamped.1);
                    let end = "no step decreases the error any more, though this is no minimum";
                    return (iterate, if promised > hidden { stopped(end) } else { None });
                }
                (candidate, step) = undamped;
                cuts += 1;
            }
            let predicted = iterate.normal.predicted_reduction(&step);
            let tried = self.evaluate(pass, candidate).ok().filter(|it| it.normal.squares <= iterate.normal.squares);
            match tried {
                Some(better) => {
                    if cuts > 0 {
                        damping = Damping::default();
                    }
                    damping.accept(iterate.normal.squares - better.normal.squares, predicted);
                    cuts = 0;
                    iterate = better;
                }
                None => {
                    damping.reject();
                    if damping.is_exhausted() {
                        return (iterate, stopped("no step decreases the error any more"));
                    }
                }
            }
        }
        (iterate, stopped(&format!("stopped at the limit of {} iterations", self.estimate.iterations)))
    }

    /// The unknowns after a `share` of the undamped step, and that step; none where the whole one meets the convergence as well, or the data do
    /// not determine it.
    fn undamped_step(
        &self,
        iterate: &Iterate,
        active: &[bool],
        convergence: &Convergence,
        share: f64,
    ) -> Option<(Unknowns, Step)> {
        let whole = iterate.normal.step(0.0, active)?;
        let length = whole.length();
        let bounded = self.experiment.bounded(whole, active, LONGEST);
        let (_, step) = self.experiment.after_step(&iterate.unknowns, &bounded);
        let is_last = convergence.is_met(iterate.normal.predicted_reduction(&step), length)
            || iterate.normal.undetermined(active).contains(&true);
        (!is_last).then(|| self.experiment.after_step(&iterate.unknowns, &bounded.scaled(share)))
    }

    fn normal_at(&self, unknowns: &Unknowns, rollout: &Rollout) -> Normal {
        self.experiment.normal_at(unknowns, rollout, &self.weights, self.limit)
    }

    /// What errors of integration at `rtol` add to `|r|^2`: a smaller decrease says nothing.
    pub(crate) fn resolution(&self, rtol: f64) -> f64 {
        let model = &self.experiment.model;
        let error = |cell: usize, weight: f64| weight * rtol * self.experiment.scales[model.channel(cell)];
        let cells = self.experiment.cells.iter();
        cells.map(|&(trajectory, cell)| error(cell, self.weights[trajectory][cell]).powi(2)).sum()
    }
}
