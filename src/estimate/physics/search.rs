//! The search for the best of the minima that several starts lead to, and for a rival that explains the data as well.
//!
//! Starts are the known parameters of training environments, then parameters spread over the orders of magnitude inside the bounds. A minimum
//! is convincing if its residuals are small beside the spread of the data, and at most ten times their [noise](crate::estimate::noise). Known
//! parameters may then be the only start; without them several starts are compared all the same, as long as that is cheap.

use std::borrow::Cow;

use super::coordinates::{Coordinate, halton};
use super::descent::{GROWING, SAME, WHOLE};
use super::experiment::{Experiment, Unknowns};
use super::fitter::{End, FAR, Fitter, Iterate};
use super::pass::Pass;
use crate::estimate::settings::{InitialState, Loss};
use crate::estimate::table::row::Status;

/// With residuals below this share of the spread of the data no better minimum is looked for.
const GOOD: f64 = 0.05;
/// The same if a second start leads to the same minimum.
const FAIR: f64 = 0.3;
/// The same under Huber's loss, where wrong values make more minima look fair.
const FAIR_BY_MEDIAN: f64 = 0.15;
/// Residuals above this share of the spread of the data explain nothing.
const UNEXPLAINED: f64 = 0.9;
/// Unless they are noise and all variation is, as of a system at rest: then they reach this share.
const CONSTANT: f64 = 1.1;
/// Residuals below this many times the noise of the data may be noise.
const NEAR: f64 = 3.0;
/// Samples of the first segments that trajectories are cut into; the next ones are twice as long.
const SEGMENT: usize = 6;
/// Times that the best minimum is met before it is accepted though its residuals are more than noise.
const OFTEN: usize = 4;
/// Starts spread inside the bounds.
const SPREAD_STARTS: usize = 24;
/// How many of them are tried at least where no parameters are known.
const FEWEST: usize = 8;
/// Share of the budget that may be spent on starts after a convincing one.
const COMPARING: f64 = 0.02;
/// Share of the budget that may be spent on finding minima, so that enough is left to refine them.
const EXPLORING: f64 = 0.5;
/// Minima that are refined at most.
const REFINED: usize = 5;
/// A rough minimum whose residuals are larger than those of the best by no more than this share may be as good.
const RIVALLING: f64 = 0.3;
/// So may one with residuals below this share of the spread of the data.
const ROUGHLY_ZERO: f64 = 0.01;
/// The data prefer one of two minima if their squared residuals, in units of the noise, differ by this: a likelihood ratio of `e^3`.
pub(crate) const DECISIVE: f64 = 6.0;
/// Two parameters differ if they are this many standard errors apart,
const APART: f64 = 5.0;
/// and this share of their value,
const VISIBLY: f64 = 0.01;
/// and this share of the range between their bounds.
const SHARE_OF_RANGE: f64 = 1e-6;

/// How a minimum is reached from a start.
#[derive(Clone, Copy)]
enum Strategy {
    /// On all samples at once.
    Direct,
    /// On the first part of the trajectories, then on more of them.
    Growing,
    /// On short segments of the trajectories, each with an initial state of its own, which keeps errors from growing; then on longer ones.
    Segments,
}

/// The minimum that a search ended at.
pub(crate) struct Best {
    pub iterate: Iterate,
    /// Status and reason if it is no minimum.
    pub end: Option<End>,
    /// Other parameters `[d]` that explain the data as well.
    pub rival: Option<Vec<f64>>,
    /// The unknowns of the other minima that were compared with it.
    pub others: Vec<Unknowns>,
}

impl Fitter<'_> {
    /// The best minimum from the known parameters `starts [n][d]` and others.
    ///
    /// # Errors
    /// Status and reason if no start leads to a minimum.
    pub(crate) fn search(&mut self, rough: &mut Pass, fine: &mut Pass, starts: &[Vec<f64>]) -> Result<Best, End> {
        let minima = self.explore(rough, starts)?;
        let [best, ..] = minima.as_slice() else { unreachable!("an exploration without any minimum is an error") };
        self.ensure_explained(best, rough.rtol)?;
        let degrees_of_freedom = self.experiment.cells.len().saturating_sub(self.experiment.unknown_count()).max(1);
        let most = self.weighted_size(best) * (1.0 + RIVALLING + DECISIVE / degrees_of_freedom as f64);
        let most = most.max(ROUGHLY_ZERO);
        let (mut found, mut failure): (Option<Best>, Option<End>) = (None, None);
        // Sizes as the rough pass weighs residuals: refining changes the weights.
        let minima: Vec<(f64, Iterate)> = minima.into_iter().map(|it| (self.weighted_size(&it), it)).collect();
        for (size, minimum) in minima.into_iter().take(REFINED) {
            let is_found = |best: &Best| best.end.is_none() && self.far_channel(&best.iterate).is_none();
            if size > most && found.as_ref().is_some_and(is_found) {
                continue;
            }
            let (weights, limit) = (self.weights.clone(), self.limit);
            self.fit_limit(&minimum.rollout);
            match (self.refine(fine, minimum.unknowns), &mut found) {
                (Ok((iterate, end)), None) => found = Some(Best { iterate, end, rival: None, others: Vec::new() }),
                (Ok((iterate, end)), Some(best)) => {
                    let own =
                        (std::mem::replace(&mut self.weights, weights), std::mem::replace(&mut self.limit, limit));
                    if self.compare(best, iterate, end) {
                        (self.weights, self.limit) = own;
                    }
                }
                (Err(end), None) if self.budget.ensure_left().is_err() => return Err(end),
                (Err(end), _) => {
                    failure = failure.or(Some(end));
                    (self.weights, self.limit) = (weights, limit);
                }
            }
        }
        found.ok_or_else(|| failure.unwrap_or_else(|| self.failed(String::new())))
    }

    /// # Errors
    /// If the best minimum explains no more than a constant would, though the data are more than noise.
    fn ensure_explained(&self, best: &Iterate, rtol: f64) -> Result<(), End> {
        let size = self.weighted_size(best);
        let is_at_bound = self.experiment.active_bounds(&best.unknowns, &best.normal).contains(&true);
        let is_noise = size < CONSTANT && self.excess(best, rtol).is_some_and(|(_, excess)| excess < NEAR);
        if size > UNEXPLAINED && !is_at_bound && !is_noise {
            let reason = match self.budget.ensure_left() {
                Err(halt) => halt.to_string(),
                Ok(()) => {
                    format!("every start ended no better than a constant (residuals of {size:.2} standard deviations)")
                }
            };
            return Err((Status::NotConverged, reason));
        }
        Ok(())
    }

    /// Replaces the best minimum by another one that is better, or notes the worse one as a rival where the data prefer neither. Both are
    /// judged by the noise that the best shows. Returns whether the other is now the best.
    fn compare(&self, best: &mut Best, other: Iterate, end: Option<End>) -> bool {
        let squares = self.experiment.normal(&other.rollout, &self.weights, self.limit).squares;
        let variance = self.variance(&best.iterate.rollout).max(f64::MIN_POSITIVE);
        let less = (best.iterate.normal.squares - squares) / variance;
        let is_better = match (&best.end, &end) {
            (Some(_), None) => less > -DECISIVE,
            (None, Some(_)) => less > DECISIVE,
            _ => less > 0.0,
        };
        let is_rival =
            less.abs() <= DECISIVE && best.end.is_none() && end.is_none() && self.are_apart(&best.iterate, &other);
        let worse = if is_better {
            let others = std::mem::take(&mut best.others);
            let replaced = std::mem::replace(best, Best { iterate: other, end, rival: None, others });
            replaced.iterate.unknowns
        } else {
            other.unknowns
        };
        if is_rival {
            best.rival = Some(self.experiment.parameters(&worse.coordinates).into_iter().map(|it| it.0).collect());
        }
        best.others.push(worse);
        is_better
    }

    /// The different minima of the rough pass, the best first.
    ///
    /// # Errors
    /// Status and reason if no start leads to a minimum.
    fn explore(&mut self, rough: &mut Pass, starts: &[Vec<f64>]) -> Result<Vec<Iterate>, End> {
        let mut minima: Vec<Iterate> = Vec::new();
        let (mut met, mut failure) = (0, None);
        let spread: Vec<Vec<f64>> = spread_starts(&self.experiment.model.coordinates).collect();
        let (first, later) = spread.split_at(if starts.is_empty() { FEWEST } else { 0 });
        let each_by = |starts: &[Vec<f64>], strategies: &[Strategy]| -> Vec<(Vec<f64>, Strategy)> {
            starts.iter().flat_map(|start| strategies.iter().map(|strategy| (start.clone(), *strategy))).collect()
        };
        let attempts = [
            each_by(starts, &[Strategy::Direct, Strategy::Growing]),
            each_by(first, &[Strategy::Direct]),
            each_by(first, &[Strategy::Segments]),
            each_by(first, &[Strategy::Growing]),
            each_by(starts, &[Strategy::Segments]),
            each_by(later, &[Strategy::Segments, Strategy::Direct, Strategy::Growing]),
        ];
        for (attempt, (start, strategy)) in attempts.concat().into_iter().enumerate() {
            match self.minimum(rough, &start, strategy) {
                Ok(minimum) => {
                    let ratio = minima
                        .first()
                        .map_or(0.0, |best| (self.weighted_size(&minimum) / self.weighted_size(best)).powi(2));
                    met = if ratio < 1.0 - SAME { 1 } else { met + usize::from(ratio <= 1.0 + SAME) };
                    self.insert(&mut minima, minimum);
                }
                Err(reason) => failure = failure.or(Some(reason)),
            }
            if self.budget.ensure_left().is_err() || self.budget.share_spent() > EXPLORING {
                break;
            }
            let compared = !starts.is_empty() || attempt + 1 >= FEWEST || self.budget.share_spent() > COMPARING;
            if compared && minima.first().is_some_and(|best| self.is_convincing(best, rough.rtol, met)) {
                break;
            }
        }
        if minima.is_empty() { Err(self.failed(failure.unwrap_or_default())) } else { Ok(minima) }
    }

    /// The minimum that a start leads to.
    ///
    /// # Errors
    /// Why there is none.
    fn minimum(&mut self, rough: &mut Pass, start: &[f64], strategy: Strategy) -> Result<Iterate, String> {
        match strategy {
            Strategy::Direct => self.grow(rough, self.experiment.start(start), WHOLE),
            Strategy::Growing => self.grow(rough, self.experiment.start(start), GROWING),
            Strategy::Segments if self.experiment.model.has_hidden() => {
                Err("hidden states start where the system does, and nowhere between".to_owned())
            }
            Strategy::Segments => {
                let mut parameters = start.to_vec();
                let longest = self.experiment.series.iter().map(|series| series.times().len()).max().unwrap_or(0);
                let lengths = std::iter::successors(Some(SEGMENT), |samples| Some(2 * samples));
                for samples in lengths.take_while(|samples| *samples < longest) {
                    let (model, series) = self.experiment.segments(samples);
                    let segments =
                        Experiment::new(Cow::Owned(model), series, InitialState::Estimated, self.estimate.loss);
                    let mut pass =
                        Pass::rough(&segments, self.physics, self.estimate.tolerance).map_err(|it| it.to_string())?;
                    let mut fitter = Fitter::new(&segments, self.estimate, self.physics, self.budget.clone());
                    let minimum = fitter.grow(&mut pass, segments.start(&parameters), WHOLE);
                    self.budget.catch_up(&fitter.budget);
                    self.iterations += fitter.iterations;
                    let minimum = minimum?;
                    if fitter.weighted_size(&minimum) > FAIR {
                        return Err("not even short pieces of the trajectories are explained".to_owned());
                    }
                    let coordinates = minimum.unknowns.coordinates;
                    parameters = self.experiment.parameters(&coordinates).into_iter().map(|it| it.0).collect();
                }
                self.grow(rough, self.experiment.start(&parameters), WHOLE)
            }
        }
    }

    /// Inserts a minimum in order, unless it is there already.
    fn insert(&self, minima: &mut Vec<Iterate>, minimum: Iterate) {
        let near = |a: f64, b: f64| (a - b).abs() < 0.05 * (1.0 + a.abs().min(b.abs()));
        let is_same = |other: &Iterate| {
            let pairs = other.unknowns.coordinates.iter().zip(&minimum.unknowns.coordinates);
            let ratio = self.weighted_size(other) / self.weighted_size(&minimum);
            (1.0 - 2.0 * SAME..1.0 + 2.0 * SAME).contains(&ratio) && pairs.clone().all(|(a, b)| near(*a, *b))
        };
        if minima.iter().any(is_same) {
            return;
        }
        let index = minima.partition_point(|other| self.weighted_size(other) <= self.weighted_size(&minimum));
        minima.insert(index, minimum);
    }

    /// Whether no better minimum need be looked for than this one, which `met` starts led to.
    fn is_convincing(&self, minimum: &Iterate, rtol: f64, met: usize) -> bool {
        let size = self.weighted_size(minimum);
        let excess = self.excess(minimum, rtol).map_or(0.0, |(_, excess)| excess);
        let fair = if self.estimate.loss == Loss::Huber { FAIR_BY_MEDIAN } else { FAIR };
        let is_fair = size < fair || self.is_noise_known() && excess < NEAR;
        excess < FAR && (excess < NEAR && (size < GOOD || met > 1 && is_fair) || met >= OFTEN && is_fair)
    }

    /// Whether the parameters of two minima differ by more than their errors.
    pub(crate) fn are_apart(&self, minimum: &Iterate, other: &Iterate) -> bool {
        let active = self.experiment.active_bounds(&minimum.unknowns, &minimum.normal);
        let undetermined = minimum.normal.undetermined(&active);
        let covariance = self.covariance(minimum, &active, &undetermined);
        let [a, b] = [minimum, other].map(|it| self.experiment.parameters(&it.unknowns.coordinates));
        (0..a.len()).filter(|&k| !undetermined[k]).any(|k| {
            let (distance, error) = ((a[k].0 - b[k].0).abs(), covariance[(k, k)].sqrt());
            let coordinate = self.experiment.model.coordinates[k];
            (error.is_nan() || distance > APART * error)
                && distance > VISIBLY * a[k].0.abs().max(b[k].0.abs())
                && distance > SHARE_OF_RANGE * (coordinate.upper - coordinate.lower)
        })
    }
}

/// Parameters inside their bounds, evenly spread over the orders of magnitude.
fn spread_starts(coordinates: &[Coordinate]) -> impl Iterator<Item = Vec<f64>> + use<'_> {
    const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    let share = |index: usize, k: usize| if index == 0 { 0.5 } else { halton(index, PRIMES[k % PRIMES.len()]) };
    (0..SPREAD_STARTS)
        .map(move |index| coordinates.iter().enumerate().map(|(k, it)| it.at_share(share(index, k))).collect())
}
