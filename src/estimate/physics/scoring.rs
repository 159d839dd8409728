//! Maximum likelihood by Fisher's scoring, from the minimum that least squares ended at.
//!
//! ```text
//! (I + lambda diag(I)) s = -g          over theta [d], initial states, and phi [q] of the noise
//! ```
//!
//! `g` half the gradient of `-2 log L`, `I` the information, `lambda` the [damping](crate::least_squares::damping). The determinant of the
//! noise's covariance is part of the likelihood, so that a better fit is not bought with less weight. It has converged where the undamped step
//! promises no more than rounding and errors of integration.
//! Source: G. Seber, C. Wild, Nonlinear Regression (1989), sections 2.2.1 and 14.4.

use super::descent::{CUT, CUTS, DESCENTS, LONGEST, PROMISING};
use super::experiment::{Rollout, Unknowns};
use super::fitter::{End, Fitter, Iterate, Maximum};
use super::likelihood::criteria::{criteria, of_constant_noise};
use super::likelihood::objective::Objective;
use super::normal::{Normal, Step};
use super::pass::Pass;
use super::search::{Best, DECISIVE, Search};
use crate::estimate::measurement::ChannelNoise;
use crate::estimate::settings::Loss;
use crate::estimate::table::row::{LogLikelihood, Status};
use crate::least_squares::damping::Damping;

/// The longest step of the logarithm of a parameter of the noise.
const LONGEST_OF_NOISE: f64 = 2.0;

/// Unknowns of the likelihood, with the trajectories and normal equations there.
pub(crate) struct Point {
    pub unknowns: Unknowns,
    /// `phi [q]`.
    pub noise: Vec<f64>,
    rollout: Rollout,
    pub normal: Normal,
}

impl<'a> Fitter<'a> {
    /// The greatest maximum of the likelihood near the minima that least squares ended at, of which `best` was the best there.
    ///
    /// # Errors
    /// If the likelihood is not finite at any of them.
    pub(crate) fn maximise(
        &mut self,
        fine: &mut Pass,
        best: Best,
        mut search: Search,
        objective: Objective<'a>,
    ) -> Result<(Best, Search), End> {
        let Best { iterate: Iterate { unknowns, rollout, .. }, others, .. } = best;
        let mut maxima = self.maxima(fine, &objective, &unknowns, rollout);
        for unknowns in others {
            if let Ok(rollout) = self.experiment.roll_out(&mut fine.integrator, &unknowns, &mut self.budget) {
                maxima.extend(self.maxima(fine, &objective, &unknowns, rollout));
            }
        }
        // Stable: of equal ones the first.
        maxima.sort_by(|a, b| a.0.normal.squares.total_cmp(&b.0.normal.squares));
        let parameters: Vec<usize> = (0..unknowns.coordinates.len()).collect();
        let to_iterate = |point: Point| Iterate {
            normal: point.normal.select(&parameters),
            unknowns: point.unknowns,
            rollout: point.rollout,
        };
        let mut maxima = maxima.into_iter();
        let Some((point, end)) = maxima.next() else {
            return Err((Status::Diverged, self.impossible()));
        };
        let least = point.normal.squares;
        // What counts as a residual from here on.
        self.weights = objective.weights(&point.rollout, &point.noise);
        self.limit = f64::INFINITY;
        self.maximum = Some(Maximum { objective, noise: point.noise.clone() });
        let iterate = to_iterate(point);
        let as_likely = maxima.filter(|(other, end)| end.is_none() && other.normal.squares - least <= DECISIVE);
        let rival = as_likely.map(|(other, _)| to_iterate(other)).find(|other| self.are_apart(&iterate, other));
        let values = |it: Iterate| {
            let parameters = self.experiment.parameters(&it.unknowns.coordinates).into_iter();
            (parameters.map(|it| it.0).collect(), it.normal.squares - least)
        };
        let rival = if end.is_none() { rival.map(values) } else { None };
        search.rival = rival.as_ref().map(|rival| rival.1);
        Ok((Best { iterate, end, rival, others: Vec::new() }, search))
    }

    /// Why the likelihood is finite at no minimum of least squares, in words.
    fn impossible(&self) -> String {
        let channels = || self.measured.into_iter().flat_map(|measured| measured.names.iter().zip(&measured.channels));
        let is_log_normal = |noise: &ChannelNoise| matches!(noise, ChannelNoise::LogNormal { .. });
        if let Some((name, _)) = channels().find(|(_, it)| is_log_normal(&it.noise)) {
            return format!(
                "the least-squares fit predicts values that the noise of a channel leaves no probability: the log-normal noise of {name} needs \
                 predictions above zero"
            );
        }
        let sizes = channels().filter_map(|(name, it)| Some((name, it.noise.given()[0]?)));
        match sizes.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((name, size)) => format!(
                "the least-squares fit leaves residuals that the noise of a channel leaves no probability: that of {name} is given as {size:e}, in \
                 the unit of the channel; correct it, or leave its size to be estimated"
            ),
            None => "the likelihood is not finite where least squares end; give another kind of noise".to_owned(),
        }
    }

    /// The maximum near `unknowns`, with the noise of another one to begin with.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn score_from(
        &mut self,
        fine: &mut Pass,
        from: &Maximum,
        unknowns: Unknowns,
    ) -> Result<Iterate, String> {
        let start = self.evaluate_at(fine, &from.objective, (unknowns, from.noise.clone()))?;
        let (point, _) = self.score(fine, &from.objective, start);
        let parameters: Vec<usize> = (0..point.unknowns.coordinates.len()).collect();
        let normal = point.normal.select(&parameters);
        Ok(Iterate { normal, unknowns: point.unknowns, rollout: point.rollout })
    }

    /// The maxima from `unknowns`, with `rollout` there, and from each start of the noise; with status and reason of those that are none.
    fn maxima(
        &mut self,
        fine: &mut Pass,
        objective: &Objective,
        unknowns: &Unknowns,
        rollout: Rollout,
    ) -> Vec<(Point, Option<End>)> {
        let mut maxima = Vec::new();
        for noise in objective.starts(&rollout) {
            // Not yet the noise that suits the trajectories of least squares, which all starts may lead to.
            let start = self.point(objective, unknowns.clone(), noise, rollout.clone());
            if start.normal.squares.is_finite() {
                maxima.push(self.score_on(fine, objective, start));
            }
        }
        maxima
    }

    /// As [`Fitter::score`], again and again while the limit of iterations ends it on its way up: where noise is small at a few values, these
    /// make a narrow bent valley, along which steps are short.
    fn score_on(&mut self, fine: &mut Pass, objective: &Objective, start: Point) -> (Point, Option<End>) {
        let mut before = start.normal.squares;
        let (mut point, mut end) = self.score(fine, objective, start);
        for _ in 1..DESCENTS {
            let has_gained = point.normal.squares < before;
            if end.is_none() || !has_gained || self.budget.ensure_left().is_err() {
                break;
            }
            before = point.normal.squares;
            (point, end) = self.score(fine, objective, point);
        }
        (point, end)
    }

    /// Scores from `start` to the maximum; with status and reason if it is none.
    pub(crate) fn score(&mut self, fine: &mut Pass, objective: &Objective, start: Point) -> (Point, Option<End>) {
        let mut point = start;
        let mut damping = Damping::default();
        let mut cuts = 0;
        let stopped = |reason: &str| Some((Status::NotConverged, reason.to_owned()));
        let least = PROMISING + self.resolution(fine.rtol) + fine.rtol * self.experiment.cells.len() as f64;
        for _ in 0..self.estimate.iterations {
            self.iterations += 1;
            if let Err(halt) = self.budget.ensure_left() {
                return (point, stopped(&halt.to_string()));
            }
            let active = self.active(objective, &point);
            let Some(damped) = point.normal.step(damping.value, &active).map(|step| self.shortened(step, &active))
            else {
                damping.reject();
                if damping.is_exhausted() {
                    return (point, stopped("the equations of the likelihood cannot be solved"));
                }
                continue;
            };
            let (mut candidate, mut step) = self.after(objective, &point, &damped);
            if point.normal.predicted_reduction(&step) <= least {
                // Damping may have shortened the step.
                let whole = point.normal.step(0.0, &active).map(|step| self.shortened(step, &active));
                let whole = whole.unwrap_or(damped);
                let (last, made) = self.after(objective, &point, &whole);
                let promised = point.normal.predicted_reduction(&made);
                let d = point.unknowns.coordinates.len();
                let parameters: Vec<usize> = (0..d).collect();
                let is_determined = || !point.normal.select(&parameters).undetermined(&active[..d]).contains(&true);
                if promised <= least || !is_determined() {
                    let end = self.evaluate_at(fine, objective, last);
                    let better = end.ok().filter(|it| it.normal.squares <= point.normal.squares);
                    return (better.unwrap_or(point), None);
                }
                if cuts > CUTS {
                    // A gain that errors of integration hide is as little as none.
                    let hidden = 2.0 * (least * self.experiment.cells.len() as f64).sqrt();
                    let end = "no step raises the likelihood any more, though this is no maximum";
                    return (point, if promised > hidden { stopped(end) } else { None });
                }
                (candidate, step) = self.after(objective, &point, &whole.scaled(CUT.powi(cuts)));
                cuts += 1;
            }
            let predicted = point.normal.predicted_reduction(&step);
            let tried = self.evaluate_at(fine, objective, candidate);
            match tried.ok().filter(|it| it.normal.squares <= point.normal.squares) {
                Some(better) => {
                    if cuts > 0 {
                        damping = Damping::default();
                    }
                    damping.accept(point.normal.squares - better.normal.squares, predicted);
                    cuts = 0;
                    point = better;
                }
                None => {
                    damping.reject();
                    if damping.is_exhausted() {
                        return (point, stopped("no step raises the likelihood any more"));
                    }
                }
            }
        }
        (point, stopped(&format!("stopped at the limit of {} iterations", self.estimate.iterations)))
    }

    fn point(&self, objective: &Objective, unknowns: Unknowns, noise: Vec<f64>, rollout: Rollout) -> Point {
        let mut normal = objective.normal(&rollout, &unknowns, &noise);
        self.experiment.hold_at_bounds(&mut normal, &unknowns);
        Point { unknowns, noise, rollout, normal }
    }

    /// The unknowns after a step, with the noise that suits their trajectories best.
    ///
    /// # Errors
    /// Why there is no likelihood there.
    pub(crate) fn evaluate_at(
        &mut self,
        pass: &mut Pass,
        objective: &Objective,
        (unknowns, noise): (Unknowns, Vec<f64>),
    ) -> Result<Point, String> {
        let rollout = self.experiment.roll_out(&mut pass.integrator, &unknowns, &mut self.budget);
        let rollout = rollout.map_err(|halt| halt.to_string())?;
        let noise = objective.settled(&rollout, noise);
        let point = self.point(objective, unknowns, noise, rollout);
        let is_finite = point.normal.squares.is_finite() && point.normal.matrix.iter().all(|value| value.is_finite());
        if is_finite { Ok(point) } else { Err("the likelihood is not finite".to_owned()) }
    }

    /// The step, shortened so that no parameter moves too far. Noise that tends to nothing takes long steps, which leave the others as they are.
    fn shortened(&self, mut step: Step, active: &[bool]) -> Step {
        let d = self.experiment.model.coordinates.len();
        let of_noise: Vec<f64> =
            step.parameters.iter().skip(d).map(|by| by.clamp(-LONGEST_OF_NOISE, LONGEST_OF_NOISE)).collect();
        step.parameters.as_mut_slice()[d..].fill(0.0);
        let mut step = self.experiment.bounded(step, active, LONGEST);
        step.parameters.as_mut_slice()[d..].copy_from_slice(&of_noise);
        step
    }

    /// Which of the parameters `[d]` and of `phi [q]` lie at an active bound.
    pub(crate) fn active(&self, objective: &Objective, point: &Point) -> Vec<bool> {
        let of_noise = &point.normal.gradient.as_slice()[point.unknowns.coordinates.len()..];
        let of_noise = objective.active(&point.noise, of_noise);
        let mut active = self.experiment.active_bounds(&point.unknowns, &point.normal);
        active.iter_mut().zip(&self.held).for_each(|(active, held)| *active |= held);
        active.into_iter().chain(of_noise).collect()
    }

    /// The unknowns and `phi [q]` after a step that is cut at their bounds, and the cut step.
    fn after(&self, objective: &Objective, point: &Point, step: &Step) -> ((Unknowns, Vec<f64>), Step) {
        let (unknowns, mut made) = self.experiment.after_step(&point.unknowns, step);
        let of_noise = made.parameters.as_mut_slice().iter_mut().skip(point.unknowns.coordinates.len());
        let noise = objective.clamped(
            point
                .noise
                .iter()
                .zip(&step.parameters.as_slice()[point.unknowns.coordinates.len()..])
                .map(|(phi, by)| phi + by),
        );
        for ((by, after), before) in of_noise.zip(&noise).zip(&point.noise) {
            *by = after - before;
        }
        ((unknowns, noise), made)
    }

    /// How likely the data are: at the maximum, or by constant noise where none is named. None under Huber's loss.
    pub(crate) fn likelihood(&self, rollout: &Rollout) -> Option<LogLikelihood> {
        match &self.maximum {
            Some(Maximum { objective, noise }) => {
                let unknowns = self.experiment.unknown_count() + objective.noise_count();
                criteria(objective.minus_two_log(rollout, noise), unknowns, self.experiment.cells.len())
            }
            None if self.estimate.loss == Loss::Squares => of_constant_noise(self.experiment, rollout),
            None => None,
        }
    }

    /// Degrees of freedom of the intervals. A channel that hides its [resolution](crate::estimate::resolution) has the noise of the others, and
    /// tells none.
    pub(crate) fn degrees_of_freedom(&self) -> f64 {
        match &self.maximum {
            Some(maximum) => maximum.objective.degrees_of_freedom(),
            None => {
                let (experiment, all) = (self.experiment, self.experiment.cells.len() as f64);
                let is_hidden = |cell: usize| experiment.resolutions[experiment.model.channel(cell)].is_hidden;
                let telling = experiment.cells.iter().filter(|it| !is_hidden(it.1)).count() as f64;
                (all - experiment.unknown_count() as f64) * if telling > 0.0 { telling / all } else { 1.0 }
            }
        }
    }

    /// The parameters of the noise of each channel `[C]`; empty where no kind is named.
    pub(crate) fn noise_terms(&self) -> Vec<Vec<f64>> {
        let Some(Maximum { objective, noise }) = &self.maximum else { return Vec::new() };
        (0..self.experiment.model.channels).map(|channel| objective.terms(channel, noise)).collect()
    }

    /// Which values count as below their limits; empty where no kind of noise is named.
    pub(crate) fn below(&self) -> Vec<bool> {
        self.maximum.as_ref().map_or_else(Vec::new, |maximum| maximum.objective.below())
    }
}
