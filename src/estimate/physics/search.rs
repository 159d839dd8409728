//! The search for the best of the minima that several starts lead to, and for a rival that explains the data as well.
//!
//! Starts are the known parameters of training environments, then parameters spread over the orders of magnitude inside the bounds, at last also
//! parameters beside those of the best minimum. A minimum
//! is convincing if its residuals are small beside the spread of the data, and at most ten times their [noise](crate::estimate::noise). Known
//! parameters may then be the only start; without them several starts are compared all the same, as long as that is cheap.

use std::borrow::Cow;

use super::descent::{GROWING, SAME, WHOLE};
use super::experiment::{Experiment, Unknowns};
use super::fitter::{End, FAR, Fitter, Iterate};
use super::pass::Pass;
use super::starts::{FEWEST, Strategy, each_by, spread};
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
/// Share of the budget that may be spent on starts after a convincing minimum,
const COMPARING: f64 = 0.02;
/// and after one that two starts led to.
const COMPARING_AGREEING: f64 = 0.001;
/// Share of the budget that may be spent on finding minima, so that enough is left to refine them.
const EXPLORING: f64 = 0.6;
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

/// The minimum that a search ended at.
pub(crate) struct Best {
    pub iterate: Iterate,
    /// Status and reason if it is no minimum.
    pub end: Option<End>,
    /// Other parameters `[d]` that explain the data as well, and by how much they do so worse or better: see [`Search::rival`].
    pub rival: Option<(Vec<f64>, f64)>,
    /// The unknowns of the other minima that were compared with it.
    pub others: Vec<Unknowns>,
}

/// What the starts of a search led to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// `-2 log L` where each start ended, less that of the best one, ascending; infinite where a start led nowhere. The likelihood is that of
    /// Gaussian noise of the variance `s^2` that the best shows: `(|r|^2 - |r|_best^2) / s^2`.
    pub costs: Vec<f64>,
    /// The same of other parameters that explain the data as well, after both were refined.
    pub rival: Option<f64>,
}

impl Search {
    /// Of starts that ended with residuals of these sizes, infinite where a start led nowhere, and `degrees_of_freedom` there.
    fn new(mut sizes: Vec<f64>, degrees_of_freedom: f64) -> Self {
        sizes.sort_by(f64::total_cmp);
        let best = sizes.first().copied().unwrap_or(f64::NAN).max(f64::MIN_POSITIVE);
        let cost = |size: &f64| degrees_of_freedom * ((size / best).powi(2) - 1.0);
        Search {
            costs: sizes.iter().map(cost).map(|it| if it.is_nan() { f64::INFINITY } else { it }).collect(),
            rival: None,
        }
    }

    /// How many starts led to the best minimum.
    pub(crate) fn at_best(&self, degrees_of_freedom: f64) -> usize {
        self.costs.iter().filter(|cost| **cost <= SAME * degrees_of_freedom).count()
    }

    /// The cost of the second best minimum: of a rival, or the least that differs from the best.
    pub(crate) fn second(&self, degrees_of_freedom: f64) -> Option<f64> {
        let differs = |cost: &&f64| cost.is_finite() && **cost > 2.0 * SAME * degrees_of_freedom;
        self.rival.or_else(|| self.costs.iter().find(differs).copied())
    }
}

/// What the starts so far led to.
#[derive(Default)]
struct Explored {
    /// Different minima, the best first.
    minima: Vec<Iterate>,
    /// Times that the best was met.
    met: usize,
    /// The size of the residuals where each start ended; infinite where it led nowhere.
    sizes: Vec<f64>,
    /// Why the first start that led nowhere did not.
    failure: Option<String>,
}

impl Explored {
    fn fail(&mut self, reason: String) {
        self.sizes.push(f64::INFINITY);
        self.failure.get_or_insert(reason);
    }

    /// Minima and sizes; an error if there is no minimum.
    fn finish(self, failed: impl Fn(String) -> End) -> Result<(Vec<Iterate>, Vec<f64>), End> {
        match self.minima.is_empty() {
            true => Err(failed(self.failure.unwrap_or_default())),
            false => Ok((self.minima, self.sizes)),
        }
    }
}

impl Fitter<'_> {
    /// The best minimum from the known parameters `starts [n][d]` and others, and what each start led to.
    ///
    /// # Errors
    /// Status and reason if no start leads to a minimum.
    pub(crate) fn search(
        &mut self,
        rough: &mut Pass,
        fine: &mut Pass,
        starts: &[Vec<f64>],
    ) -> Result<(Best, Search), End> {
        let (minima, sizes) = self.explore(rough, starts)?;
        fine.integrator.begin_as(&rough.integrator);
        let mut between = match rough.integrator.is_stiff() {
            true => Pass::between(self.experiment, self.physics, self.estimate.tolerance).ok(),
            false => None,
        };
        between.iter_mut().for_each(|it| it.integrator.begin_as(&rough.integrator));
        let [best, ..] = minima.as_slice() else { unreachable!("an exploration without any minimum is an error") };
        self.ensure_explained(best, rough.rtol)?;
        let degrees_of_freedom = self.experiment.cells.len().saturating_sub(self.experiment.unknown_count()).max(1);
        let mut search = Search::new(sizes, degrees_of_freedom as f64);
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
            let unknowns = self.approach(between.as_mut(), minimum.unknowns);
            match (self.refine(fine, unknowns), &mut found) {
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
        let best = found.ok_or_else(|| failure.unwrap_or_else(|| self.failed(String::new())))?;
        search.rival = best.rival.as_ref().map(|rival| rival.1);
        Ok((best, search))
    }

    /// The unknowns of the minimum by the pass between the rough and the fine one, with weights by the noise there; as they were where there is none.
    fn approach(&mut self, between: Option<&mut Pass>, unknowns: Unknowns) -> Unknowns {
        let Some(between) = between else { return unknowns };
        let (weights, limit) = (self.weights.clone(), self.limit);
        match self.refine(between, unknowns.clone()) {
            Ok((iterate, None)) => iterate.unknowns,
            _ => {
                (self.weights, self.limit) = (weights, limit);
                unknowns
            }
        }
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
        let serial = self.serial_correlation(&best.iterate.rollout);
        // Residuals that go with those before say less against the other.
        let independent = self.experiment.cells.len() as f64 / serial.effective_points();
        let variance = (self.variance(&best.iterate.rollout) * independent).max(f64::MIN_POSITIVE);
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
            let parameters = self.experiment.parameters(&worse.coordinates).into_iter().map(|it| it.0).collect();
            best.rival = Some((parameters, less.abs()));
        }
        best.others.push(worse);
        is_better
    }

    /// The different minima of the rough pass, the best first, and the sizes of the residuals where each start ended.
    ///
    /// # Errors
    /// Status and reason if no start leads to a minimum.
    fn explore(&mut self, rough: &mut Pass, starts: &[Vec<f64>]) -> Result<(Vec<Iterate>, Vec<f64>), End> {
        const PHASES: usize = 7;
        const ROUNDS: usize = 4;
        let asked = self.physics.starts.unwrap_or(0);
        let coordinates = &self.experiment.model.searched();
        let fewest = if starts.is_empty() { FEWEST } else { 0 };
        let first = spread(coordinates, 0..fewest.max(asked.saturating_sub(starts.len())));
        let first = self.by_error(rough, first);
        let known = &starts[..starts.len().min(asked)];
        let few = &first[..first.len().min(FEWEST)];
        // With known parameters first their neighbourhood is searched.
        let screening = if starts.is_empty() { 2 } else { PHASES - 1 };
        let (mut explored, mut screened) = (Explored::default(), Vec::new());
        for phase in 0..PHASES + ROUNDS {
            if phase == screening {
                screened = self.screened(rough, 0);
            }
            let attempts = match phase {
                0 if asked > 0 => each_by(&[known, first.as_slice()].concat(), &[Strategy::Direct]),
                0 => each_by(starts, &[Strategy::Direct, Strategy::Growing]),
                1 if asked == 0 => each_by(few, &[Strategy::Direct]),
                1 => each_by(starts, &[Strategy::Growing]),
                // Narrow valleys are hit by many starts only.
                2 => each_by(&screened, &[Strategy::Direct]),
                3 => each_by(few, &[Strategy::Segments]),
                4 => each_by(few, &[Strategy::Growing]),
                5 => each_by(starts, &[Strategy::Segments]),
                _ if screening == phase => {
                    each_by(&screened, &[Strategy::Segments, Strategy::Direct, Strategy::Growing])
                }
                _ if phase < PHASES => each_by(&screened, &[Strategy::Segments, Strategy::Growing]),
                // Others, and beside the best so far, as long as it explains too little.
                _ => {
                    let round = phase - PHASES;
                    let mut more: Vec<Vec<f64>> =
                        explored.minima.first().map_or_else(Vec::new, |best| self.around(best, round));
                    more.extend(self.screened(rough, round + 1));
                    each_by(&more, &[Strategy::Direct])
                }
            };
            for (start, strategy) in attempts {
                match self.minimum(rough, &start, strategy) {
                    Ok(minimum) => self.note(&mut explored, minimum),
                    Err(reason) => explored.fail(reason),
                }
                let is_over = self.budget.ensure_left().is_err() || self.budget.share_spent() > EXPLORING;
                if is_over || self.is_enough(&explored, (starts.is_empty(), asked), rough.rtol) {
                    return explored.finish(|failure| self.failed(failure));
                }
            }
        }
        explored.finish(|failure| self.failed(failure))
    }

    /// Notes the minimum that a start led to.
    fn note(&self, explored: &mut Explored, minimum: Iterate) {
        let size = self.weighted_size(&minimum);
        let ratio = explored.minima.first().map_or(0.0, |best| (size / self.weighted_size(best)).powi(2));
        explored.met = if ratio < 1.0 - SAME { 1 } else { explored.met + usize::from(ratio <= 1.0 + SAME) };
        explored.sizes.push(size);
        self.insert(&mut explored.minima, minimum);
    }

    /// Whether no more starts are needed: without known parameters several are compared as long as that is cheap, or two agree.
    fn is_enough(&self, explored: &Explored, (is_unknown, asked): (bool, usize), rtol: f64) -> bool {
        let (tried, spent) = (explored.sizes.len(), self.budget.share_spent());
        let agree = explored.met > 1 && spent > COMPARING_AGREEING;
        let compared = asked > 0 || !is_unknown || tried >= FEWEST || spent > COMPARING || agree;
        let is_convincing = |best: &Iterate| self.is_convincing(best, rtol, explored.met);
        tried >= asked && compared && explored.minima.first().is_some_and(is_convincing)
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
                    parameters = segments.parameters(&coordinates).into_iter().map(|it| it.0).collect();
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
        let covariance = self.widened(minimum, covariance, &self.serial_correlation(&minimum.rollout));
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
