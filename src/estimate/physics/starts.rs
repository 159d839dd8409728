//! The parameters that fits start from, beside known ones: spread inside the bounds, those with the smallest error first.

use super::coordinates::{Coordinate, halton};
use super::experiment::Experiment;
use super::fitter::{Fitter, Iterate};
use super::pass::Pass;

/// Starts that are compared at least where no parameters are known.
pub(crate) const FEWEST: usize = 8;
/// Spread parameters whose error is computed where the first starts lead to no convincing minimum,
const SCREENED: usize = 60;
/// and how many of them are started from.
const KEPT: usize = 6;
/// Starts around the best minimum so far that are tried with them,
const AROUND: usize = 6;
/// so far from it: by a factor of `e` to this, or by this share of the value.
const NEARBY: f64 = 0.25;
const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// How a minimum is reached from a start.
#[derive(Clone, Copy)]
pub(crate) enum Strategy {
    /// On all samples at once.
    Direct,
    /// On the first part of the trajectories, then on more of them.
    Growing,
    /// On short segments of the trajectories, each with an initial state of its own, which keeps errors from growing; then on longer ones.
    Segments,
}

/// One start, and how.
pub(crate) type Attempt = (Vec<f64>, Strategy);

/// Every start by each of the strategies.
pub(crate) fn each_by(starts: &[Vec<f64>], strategies: &[Strategy]) -> Vec<Attempt> {
    starts.iter().flat_map(|start| strategies.iter().map(|strategy| (start.clone(), *strategy))).collect()
}

/// Parameters inside their bounds, evenly spread over the orders of magnitude: those at `places` of the sequence.
pub(crate) fn spread(coordinates: &[Coordinate], places: std::ops::Range<usize>) -> Vec<Vec<f64>> {
    let share = |index: usize, k: usize| if index == 0 { 0.5 } else { halton(index, PRIMES[k % PRIMES.len()]) };
    let start = |index| coordinates.iter().enumerate().map(|(k, it)| it.at_share(share(index, k))).collect();
    places.map(start).collect()
}

impl Fitter<'_> {
    /// The best of many spread parameters beyond the first [`FEWEST`], each `round` of others.
    pub(crate) fn screened(&mut self, rough: &mut Pass, round: usize) -> Vec<Vec<f64>> {
        let first = FEWEST + round * SCREENED;
        let all = spread(&self.experiment.model.searched(), first..first + SCREENED);
        let mut best = self.by_error(rough, all);
        best.truncate(KEPT);
        best
    }

    /// Parameters `[d]` around those of a minimum, as minima often lie beside each other along a valley; each `round` others.
    pub(crate) fn around(&self, minimum: &Iterate, round: usize) -> Vec<Vec<f64>> {
        let pairs = || minimum.unknowns.coordinates.iter().zip(&self.experiment.model.coordinates).enumerate();
        let near = |index: usize| {
            let moved = pairs().map(|(k, (theta, coordinate))| {
                let (low, high) = coordinate.ends();
                let (value, slope) = coordinate.value(*theta);
                let reach = NEARBY * value.abs() / slope;
                let by = reach * (2.0 * halton(index, PRIMES[k % PRIMES.len()]) - 1.0);
                coordinate.value((theta + by).clamp(low, high)).0
            });
            moved.collect()
        };
        (1 + round * AROUND..=(round + 1) * AROUND).map(near).collect()
    }

    /// Parameters in ascending order of the error there; last those from which the trajectories cannot be integrated.
    pub(crate) fn by_error(&mut self, rough: &mut Pass, starts: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let experiment: &Experiment = self.experiment;
        let mut sized: Vec<(f64, Vec<f64>)> = Vec::new();
        // Errors alone need no derivatives.
        let mut plain = rough.integrator.along(0).ok().flatten();
        for start in starts {
            if self.budget.ensure_left().is_err() {
                break;
            }
            let unknowns = experiment.start(&start);
            let rollout = match &mut plain {
                Some(plain) => experiment.roll_out_along(0, plain, &unknowns, &mut self.budget),
                None => experiment.roll_out(&mut rough.integrator, &unknowns, &mut self.budget),
            };
            let squares = rollout.map(|it| experiment.squares(&it, &self.weights, self.limit));
            sized.push((squares.ok().filter(|it| it.is_finite()).unwrap_or(f64::INFINITY), start));
        }
        if let Some(plain) = &plain {
            rough.integrator.begin_as(plain);
        }
        sized.sort_by(|a, b| a.0.total_cmp(&b.0));
        sized.into_iter().map(|it| it.1).collect()
    }
}
