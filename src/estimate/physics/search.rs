//! Which minimum a fit ends at: the best of those that several starts lead to, and whether another explains the data as well.
//!
//! Starts are the known parameters of training environments, then parameters spread over the orders of magnitude inside the bounds. A minimum is convincing if its residuals are small beside the spread of the data, and no more than ten times their
//! [noise](crate::estimate::residuals). A start from known parameters may then be the only one; where nothing is known beforehand, several
//! starts are compared all the same, as far as they cost little.

use super::coordinates::{Coordinate, halton};
use super::experiment::Experiment;
use super::fit::{End, Fitter, Point};
use super::stage::Stage;
use crate::estimate::settings::{InitialState, Loss};
use crate::estimate::table::row::Status;

/// Residuals below this share of the spread of the data are good enough not to look for a better minimum; those below the other are,
/// if a second start leads to the same. Two minima are the same if their residuals differ by no more than this share.
const GOOD: f64 = 0.05;
const FAIR: f64 = 0.3;
/// The same of their median: beside wrong values more minima look fair.
const FAIR_BY_MEDIAN: f64 = 0.15;
pub(crate) const SAME: f64 = 0.01;
/// Residuals beyond this share are no fit at all.
const NOTHING: f64 = 0.9;
/// Unless all that varies is noise, as of a system at rest: then they are about as large as the spread, and no larger.
const CONSTANT: f64 = 1.1;
/// Residuals beyond so many times the noise of the data are not noise; those below the other may be.
pub(crate) const FAR: f64 = 10.0;
const NEAR: f64 = 3.0;
/// Shares of the trajectories that a start is tried on where the first part comes first.
pub(crate) const PARTS: &[f64] = &[0.25, 0.5, 1.0];
/// Samples of the pieces that trajectories are cut into first; later ones are twice as long.
const PIECE: usize = 6;
/// Times that the best minimum is met before it is believed though its residuals are more than noise.
const OFTEN: usize = 4;
/// Starts inside the bounds, and how many of them are tried at least where no parameters are known.
const SPREAD_STARTS: usize = 24;
const FEWEST: usize = 8;
/// Share of the evaluations that may be spent on starts after a convincing one.
const COMPARING: f64 = 0.02;
/// Share of the evaluations that looking for minima may take, so that enough is left for a close look.
const EXPLORING: f64 = 0.5;
/// Minima that are looked at closely at most.
const CLOSELY: usize = 5;
/// A minimum whose residuals are larger by no more than this share may be as good, as far as a rough fit tells; so may all that are smaller.
const RIVALLING: f64 = 0.3;
const ROUGHLY_NOTHING: f64 = 0.01;
/// Squared residuals in units of the noise that two minima differ by at least if the data prefer one: a likelihood ratio of `e^3`.
const DECISIVE: f64 = 6.0;
/// Two sets of parameters are different if one lies so many standard errors, and such a share of itself, beside the other.
const APART: f64 = 5.0;
const VISIBLY: f64 = 0.01;
/// A difference by this share of the range of a parameter is none, even beside zero.
const NEXT_TO_NOTHING: f64 = 1e-6;

/// How a start is led to a minimum.
#[derive(Clone, Copy)]
enum Way {
    /// On all samples at once.
    Direct,
    /// On the first part of the trajectories, then on more of them: over a short time no oscillation is missed by a whole period.
    Growing,
    /// On short pieces of the trajectories, each from an initial state of its own: what is far off there is far off everywhere.
    Pieces,
}

/// The minimum that a search ended at.
#[derive(Clone)]
pub(crate) struct Best {
    pub point: Point,
    /// Why it is none, where that is so.
    pub end: Option<End>,
    /// Parameters `[d]` elsewhere that explain the data as well.
    pub rival: Option<Vec<f64>>,
}

impl Fitter<'_> {
    /// The best minimum that `starts` lead to.
    ///
    /// # Errors
    /// If there is none.
    pub fn best(&mut self, rough: &mut Stage, fine: &mut Stage, starts: &[Vec<f64>]) -> Result<Best, End> {
        let (minima, mut failure) = (self.explore(rough, starts)?, None);
        let [best, ..] = minima.as_slice() else { unreachable!("an exploration without any minimum is an error") };
        let share = self.share(best);
        let is_held = self.experiment.held(&best.unknowns, &best.normal).contains(&true);
        let is_noise = share < CONSTANT && self.excess(best, rough.rtol).is_some_and(|(_, excess)| excess < NEAR);
        if share > NOTHING && !is_held && !is_noise {
            if let Err(halt) = self.meter.check() {
                return Err((Status::NotConverged, halt.to_string()));
            }
            let reason =
                format!("every start ended no better than a constant (residuals of {share:.2} standard deviations)");
            return Err((Status::NotConverged, reason));
        }
        let degrees = self.experiment.cells.len().saturating_sub(self.experiment.unknowns()).max(1) as f64;
        let most = (share * (1.0 + RIVALLING + DECISIVE / degrees)).max(ROUGHLY_NOTHING);
        let mut found: Option<Best> = None;
        // Shares as the rough fits left them: a close look weighs anew.
        let minima: Vec<(f64, Point)> = minima.into_iter().map(|minimum| (self.share(&minimum), minimum)).collect();
        for (share, minimum) in minima.into_iter().take(CLOSELY) {
            let is_done = found.as_ref().is_some_and(|best| best.end.is_none() && !self.is_far(&best.point));
            if is_done && share > most {
                continue;
            }
            let (weights, limit) = (self.weights.clone(), self.limit);
            self.tighten(&minimum.rollout);
            match (self.refine(fine, minimum.unknowns), &mut found) {
                (Ok((point, end)), None) => found = Some(Best { point, end, rival: None }),
                (Ok((point, end)), Some(best)) => {
                    let own =
                        (std::mem::replace(&mut self.weights, weights), std::mem::replace(&mut self.limit, limit));
                    if self.compare(best, point, end) {
                        (self.weights, self.limit) = own;
                    }
                }
                (Err(end), None) if self.meter.check().is_err() => return Err(end),
                (Err(end), _) => {
                    failure = failure.or(Some(end));
                    (self.weights, self.limit) = (weights, limit);
                }
            }
        }
        found.ok_or_else(|| failure.unwrap_or_else(|| self.failed(String::new())))
    }

    /// Takes another minimum in place of the best where it is better, or notes it as a rival where the data do not prefer either. Both are
    /// judged by the noise that the best shows. Whether the other is now the best.
    fn compare(&self, best: &mut Best, other: Point, end: Option<End>) -> bool {
        let squares = self.experiment.normal(&other.rollout, &self.weights, self.limit).squares;
        let less = (best.point.normal.squares - squares) / self.variance(&best.point.rollout).max(f64::MIN_POSITIVE);
        let is_better = match (&best.end, &end) {
            (Some(_), None) => less > -DECISIVE,
            (None, Some(_)) => less > DECISIVE,
            _ => less > 0.0,
        };
        let is_rival =
            less.abs() <= DECISIVE && best.end.is_none() && end.is_none() && self.are_apart(&best.point, &other);
        let (kept, left) = match is_better {
            true => (Best { point: other, end, rival: None }, best.point.unknowns.clone()),
            false => (Best { rival: best.rival.take(), ..best.clone() }, other.unknowns),
        };
        *best = kept;
        if is_rival {
            best.rival = Some(self.experiment.parameters(&left.coordinates).into_iter().map(|it| it.0).collect());
        }
        is_better
    }

    /// Whether residuals are more than noise.
    pub fn is_far(&self, point: &Point) -> bool {
        self.excess(point, self.settings.rtol).is_some_and(|(_, excess)| excess > FAR)
    }

    /// Rough minima that differ, the best first.
    ///
    /// # Errors
    /// If no start leads to any.
    fn explore(&mut self, rough: &mut Stage, starts: &[Vec<f64>]) -> Result<Vec<Point>, End> {
        let mut minima: Vec<Point> = Vec::new();
        let (mut met, mut failure) = (0, None);
        let spread: Vec<Vec<f64>> = spread_starts(&self.experiment.model.coordinates).collect();
        let (first, later) = spread.split_at(if starts.is_empty() { FEWEST } else { 0 });
        let on = |starts: &[Vec<f64>], ways: &[Way]| -> Vec<(Vec<f64>, Way)> {
            starts.iter().flat_map(|start| ways.iter().map(|way| (start.clone(), *way))).collect()
        };
        let attempts = [
            on(starts, &[Way::Direct, Way::Growing]),
            on(first, &[Way::Direct]),
            on(first, &[Way::Pieces]),
            on(first, &[Way::Growing]),
            on(starts, &[Way::Pieces]),
            on(later, &[Way::Pieces, Way::Direct, Way::Growing]),
        ];
        for (attempt, (start, way)) in attempts.concat().into_iter().enumerate() {
            match self.led(rough, &start, way) {
                Ok(point) => {
                    let ratio = minima.first().map_or(0.0, |best| (self.share(&point) / self.share(best)).powi(2));
                    met = if ratio < 1.0 - SAME { 1 } else { met + usize::from(ratio <= 1.0 + SAME) };
                    self.add(&mut minima, point);
                }
                Err(reason) => failure = failure.or(Some(reason)),
            }
            if self.meter.check().is_err() || self.meter.share() > EXPLORING {
                break;
            }
            let compared = !starts.is_empty() || attempt + 1 >= FEWEST || self.meter.share() > COMPARING;
            if compared && minima.first().is_some_and(|best| self.is_convincing(best, rough.rtol, met)) {
                break;
            }
        }
        if minima.is_empty() { Err(self.failed(failure.unwrap_or_default())) } else { Ok(minima) }
    }

    /// The minimum that a start leads to.
    fn led(&mut self, rough: &mut Stage, start: &[f64], way: Way) -> Result<Point, String> {
        match way {
            Way::Direct => self.grow(rough, self.experiment.start(start), &PARTS[PARTS.len() - 1..]),
            Way::Growing => self.grow(rough, self.experiment.start(start), PARTS),
            Way::Pieces => {
                let mut parameters = start.to_vec();
                let longest = self.experiment.series.iter().map(|series| series.times.len()).max().unwrap_or(0);
                let lengths = std::iter::successors(Some(PIECE), |samples| Some(2 * samples));
                for samples in lengths.take_while(|samples| *samples < longest) {
                    let (model, series) = self.experiment.pieces(samples);
                    let pieces = Experiment::new(&model, series, InitialState::Estimated, self.estimate.loss);
                    let mut stage =
                        Stage::rough(&pieces, self.settings, self.estimate.tolerance).map_err(|it| it.to_string())?;
                    let mut fitter = Fitter::new(&pieces, self.estimate, self.settings, self.meter.clone());
                    let point = fitter.grow(&mut stage, pieces.start(&parameters), &PARTS[PARTS.len() - 1..]);
                    self.meter.evaluations = fitter.meter.evaluations;
                    self.iterations += fitter.iterations;
                    let point = point?;
                    if fitter.share(&point) > FAIR {
                        return Err("not even short pieces of the trajectories are explained".to_owned());
                    }
                    let coordinates = point.unknowns.coordinates;
                    parameters = self.experiment.parameters(&coordinates).into_iter().map(|it| it.0).collect();
                }
                self.grow(rough, self.experiment.start(&parameters), &PARTS[PARTS.len() - 1..])
            }
        }
    }

    /// Keeps the minima in order, each once.
    fn add(&self, minima: &mut Vec<Point>, point: Point) {
        let near = |a: f64, b: f64| (a - b).abs() < 0.05 * (1.0 + a.abs().min(b.abs()));
        let is_same = |other: &Point| {
            let pairs = other.unknowns.coordinates.iter().zip(&point.unknowns.coordinates);
            let ratio = self.share(other) / self.share(&point);
            (1.0 - 2.0 * SAME..1.0 + 2.0 * SAME).contains(&ratio) && pairs.clone().all(|(a, b)| near(*a, *b))
        };
        if minima.iter().any(is_same) {
            return;
        }
        let place = minima.partition_point(|other| self.share(other) <= self.share(&point));
        minima.insert(place, point);
    }

    /// Whether no better minimum need be looked for than one that so many starts led to.
    fn is_convincing(&self, point: &Point, rtol: f64, met: usize) -> bool {
        let share = self.share(point);
        let excess = self.excess(point, rtol).map_or(0.0, |(_, excess)| excess);
        let fair = if self.estimate.loss == Loss::Huber { FAIR_BY_MEDIAN } else { FAIR };
        let is_fair = share < fair || self.is_noise_told() && excess < NEAR;
        excess < FAR && (excess < NEAR && (share < GOOD || met > 1 && is_fair) || met >= OFTEN && is_fair)
    }

    /// Whether the parameters of two minima differ by more than their errors.
    fn are_apart(&self, point: &Point, other: &Point) -> bool {
        let held = self.experiment.held(&point.unknowns, &point.normal);
        let lost = point.normal.undetermined(&held);
        let covariance = self.covariance(point, &held, &lost);
        let [a, b] = [point, other].map(|it| self.experiment.parameters(&it.unknowns.coordinates));
        let pairs = a.iter().zip(&b).zip(&lost).enumerate();
        pairs.filter(|(_, (_, lost))| !**lost).any(|(k, ((a, b), _))| {
            let (distance, error) = ((a.0 - b.0).abs(), covariance[(k, k)].sqrt());
            (error.is_nan() || distance > APART * error)
                && distance > VISIBLY * a.0.abs().max(b.0.abs())
                && distance
                    > NEXT_TO_NOTHING
                        * (self.experiment.model.coordinates[k].upper - self.experiment.model.coordinates[k].lower)
        })
    }
}

/// Parameters inside their bounds, evenly over the orders of magnitude there.
fn spread_starts(coordinates: &[Coordinate]) -> impl Iterator<Item = Vec<f64>> + use<'_> {
    const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    let share = |index: usize, k: usize| if index == 0 { 0.5 } else { halton(index, PRIMES[k % PRIMES.len()]) };
    (0..SPREAD_STARTS)
        .map(move |index| coordinates.iter().enumerate().map(|(k, it)| it.spread(share(index, k))).collect())
}
