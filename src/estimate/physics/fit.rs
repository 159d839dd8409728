//! Parameters of one environment by nonlinear least squares on the true equations.
//!
//! ```text
//! minimise  sum_i (w_i (y_i(theta, y_0) - z_i))^2        over theta [d] within its bounds, and initial states y_0
//! (J'J + lambda diag(J'J)) s = -J'r,     w = 1 / sigma,     sigma^2 = sum r^2 / (n - m) of each channel
//! ```
//!
//! `z` observed values, `n` of them, `m` unknowns, `J` derivatives of the weighted residuals `r` by forward sensitivities,
//! `sigma` the noise of a channel. A rough fit at a loose tolerance comes first. Weights are those of the spread of each
//! channel until the residuals tell its noise. Bounds are met by projection: a parameter at a bound that the gradient holds
//! there is left out of the step. The damping `lambda` follows the gain ratio (H. B. Nielsen, Damping parameter in Marquardt's
//! method, 1999). Covariance: `s^2 (J'J)^-1`, `s^2 = |r|^2 / (n - m)` (G. Seber, C. Wild, Nonlinear Regression, 1989, section 2.1).
//! Under [Huber's loss](robust) residuals beyond `1.345 sigma` count by their size, `sigma` is told from the median of a channel, and the
//! covariance is that of its estimates.

use nalgebra::DVector;

use super::budget::Meter;
use super::experiment::{Experiment, Rollout, Unknowns, Weights};
use super::normal::{Normal, Step};
use super::result::{Fit, Names};
use super::search::{PARTS, SAME};
use super::settings::Settings;
use super::stage::Stage;
use crate::estimate;
use crate::estimate::settings::{Loss, Noise};
use crate::estimate::table::row::Status;
use crate::least_squares::damping::Damping;
use crate::least_squares::robust;
use crate::progress::Interrupt;

/// The longest step of a parameter in its coordinate: a factor of `e`.
const LONGEST: f64 = 1.0;
/// A step that promises less than this share of the noise is the last one: it moves the estimate by a thousandth of its error.
const PROMISING: f64 = 1e-6;
/// A first sample that lies so many times the noise beside what the equations give there contradicts them.
const CONTRADICTORY: f64 = 5.0;
/// Times that a descent is taken up again where it was still going down at its limit of iterations.
const DESCENTS: usize = 5;
/// Times that weights are made anew from residuals.
const ROUNDS: usize = 5;
/// Degrees of freedom below which the noise of a channel is not told from that of the others.
const FEW: f64 = 8.0;

/// Why a fit ended.
pub(crate) type End = (Status, String);

/// Somewhere on the way.
#[derive(Clone)]
pub(crate) struct Point {
    pub unknowns: Unknowns,
    pub rollout: Rollout,
    pub normal: Normal,
}

/// Fits the parameters of one environment, from the first of `starts` that leads to a good minimum.
pub(crate) fn fit(
    experiment: &Experiment,
    names: Names,
    starts: &[Vec<f64>],
    estimate: &estimate::Settings,
    settings: &Settings,
    interrupt: &Interrupt,
) -> Fit {
    let tolerance = estimate.tolerance;
    let (points, unknowns) = (experiment.cells.len(), experiment.unknowns());
    let later = experiment
        .series
        .iter()
        .any(|series| series.observed.iter().skip(experiment.model.size()).any(|value| !value.is_nan()));
    let nothing = |end: End, iterations: usize| Fit::nothing(experiment, end, points, iterations);
    if !later {
        let is_observed = experiment.series.iter().any(|series| series.observed.iter().any(|value| !value.is_nan()));
        let (status, reason) = match is_observed {
            true => (Status::TooFewPoints, "no value is observed after the first sample of a trajectory"),
            false => (Status::NoData, "no value is observed"),
        };
        return nothing((status, reason.to_owned()), 0);
    }
    if points < unknowns {
        let reason = format!("{points} observed values for {unknowns} unknowns");
        return nothing((Status::TooFewPoints, reason), 0);
    }
    let rough = Stage::rough(experiment, settings, tolerance);
    let (mut rough, mut fine) = match rough.and_then(|rough| Ok((rough, Stage::fine(experiment, settings, tolerance)?)))
    {
        Ok(stages) => stages,
        Err(error) => return nothing((Status::Diverged, error.to_string()), 0),
    };
    let mut fitter = Fitter::new(experiment, estimate, settings, Meter::new(settings.max_evaluations, interrupt));
    match fitter.best(&mut rough, &mut fine, starts) {
        Ok(best) => fitter.finish(best, names),
        Err(end) => nothing(end, fitter.iterations),
    }
}

/// The states `[T, C]` of each trajectory of an experiment without parameters to estimate, at initial states that are fitted alone; none where
/// they cannot be. Whether they are as good as others are is not said.
pub(crate) fn states(
    experiment: &Experiment,
    estimate: &estimate::Settings,
    settings: &Settings,
    interrupt: &Interrupt,
) -> Option<Vec<Vec<f64>>> {
    if experiment.cells.len() < experiment.unknowns() {
        return None;
    }
    let mut rough = Stage::rough(experiment, settings, estimate.tolerance).ok()?;
    let mut fine = Stage::fine(experiment, settings, estimate.tolerance).ok()?;
    let mut fitter = Fitter::new(experiment, estimate, settings, Meter::new(settings.max_evaluations, interrupt));
    let points = [&PARTS[PARTS.len() - 1..], PARTS].map(|parts| fitter.grow(&mut rough, experiment.start(&[]), parts));
    let best = points.into_iter().flatten().min_by(|a, b| fitter.share(a).total_cmp(&fitter.share(b)))?;
    fitter.tighten(&best.rollout);
    fitter.refine(&mut fine, best.unknowns).ok().map(|(point, _)| point.rollout.states)
}

pub(crate) struct Fitter<'a> {
    pub experiment: &'a Experiment<'a>,
    pub estimate: &'a estimate::Settings,
    pub settings: &'a Settings,
    pub iterations: usize,
    pub meter: Meter<'a>,
    pub weights: Weights,
    /// The noise of each channel `[C]` by its own samples, infinite where they do not tell it.
    noise: Vec<f64>,
    /// Size of a weighted residual beyond which it counts by Huber's loss; infinite for least squares.
    pub limit: f64,
}

impl<'a> Fitter<'a> {
    /// Weights are those of the spread of each channel.
    pub fn new(
        experiment: &'a Experiment<'a>,
        estimate: &'a estimate::Settings,
        settings: &'a Settings,
        meter: Meter<'a>,
    ) -> Self {
        let weights = experiment.weights(|_, _, channel| 1.0 / experiment.scales[channel]);
        let mut fitter = Fitter {
            experiment,
            estimate,
            settings,
            iterations: 0,
            meter,
            weights,
            noise: experiment.noise(),
            limit: f64::INFINITY,
        };
        fitter.limit = fitter.limit_of(1.0);
        fitter
    }
}

impl Fitter<'_> {
    /// The minimum near `unknowns` with weights by the noise that its residuals show, and why it is none where that is so.
    pub fn refine(&mut self, fine: &mut Stage, unknowns: Unknowns) -> Result<(Point, Option<End>), End> {
        let point = self.point(fine, unknowns).map_err(|reason| self.failed(reason))?;
        let mut before = point.normal.squares;
        let (mut point, mut end) = self.descend(fine, point);
        // Far from any fit, along a bent valley, each limit of iterations is a new start.
        for _ in 0..DESCENTS {
            let goes_down = point.normal.squares < (1.0 - SAME) * before;
            if end.is_none() || !goes_down || !self.is_far(&point) || self.meter.check().is_err() {
                break;
            }
            before = point.normal.squares;
            (point, end) = self.descend(fine, point);
        }
        for _ in 0..ROUNDS {
            if end.is_some() {
                break;
            }
            self.weights = self.noise_weights(&point.rollout);
            self.limit = self.limit_of(1.0);
            point.normal = self.experiment.normal(&point.rollout, &self.weights, self.limit);
            let held = self.experiment.held(&point.unknowns, &point.normal);
            let Some(step) = point.normal.step(0.0, &held) else { break };
            if point.normal.promise(&step) <= 100.0 * PROMISING * self.variance(&point.rollout) {
                break;
            }
            (point, end) = self.descend(fine, point);
        }
        Ok((point, end))
    }

    /// Why there is no estimate: no work was left, or it led to nothing.
    pub fn failed(&self, reason: String) -> End {
        match self.meter.check() {
            Err(halt) => (Status::NotConverged, halt.to_string()),
            Ok(()) => (Status::Diverged, reason),
        }
    }

    /// Fits a first part of the trajectories, then more of them: over a short time no oscillation is missed by a whole period.
    pub fn grow(&mut self, stage: &mut Stage, start: Unknowns, parts: &[f64]) -> Result<Point, String> {
        let whole = self.weights.clone();
        let mut unknowns = Ok(start);
        let mut point = Err(String::new());
        for part in parts {
            for (weights, whole) in self.weights.iter_mut().zip(&whole) {
                let samples = whole.len() / self.experiment.model.size();
                let first = (part * samples as f64).ceil() as usize * self.experiment.model.size();
                weights[..first].copy_from_slice(&whole[..first]);
                weights[first..].fill(0.0);
            }
            point = unknowns.and_then(|unknowns| self.point(stage, unknowns)).map(|point| self.descend(stage, point).0);
            unknowns = point.as_ref().map(|point| point.unknowns.clone()).map_err(Clone::clone);
        }
        self.weights = whole;
        // A value far off pulls harder than those that are only not yet explained: what counts as far follows what is left.
        for _ in 0..ROUNDS {
            let Ok(found) = &mut point else { break };
            let before = self.limit;
            self.tighten(&found.rollout);
            if (self.limit / before - 1.0).abs() < SAME || self.limit.is_infinite() {
                break;
            }
            found.normal = self.experiment.normal(&found.rollout, &self.weights, self.limit);
            point = point.map(|point| self.descend(stage, point).0);
        }
        self.limit = self.limit_of(1.0);
        point
    }

    /// The limit of Huber's loss where residuals are as large as `deviation`.
    fn limit_of(&self, deviation: f64) -> f64 {
        match self.estimate.loss {
            Loss::Squares => f64::INFINITY,
            Loss::Huber => robust::HUBER * deviation,
        }
    }

    /// The limit by the residuals themselves, which those of integration alone do not tell.
    pub fn tighten(&mut self, rollout: &Rollout) {
        let deviation = robust::deviation(self.experiment.sizes(rollout, &self.weights)).unwrap_or(1.0);
        self.limit = self.limit_of(deviation.max(10.0 * self.settings.rtol));
    }

    fn point(&mut self, stage: &mut Stage, unknowns: Unknowns) -> Result<Point, String> {
        match self.experiment.roll_out(&mut stage.integrator, &unknowns, &mut self.meter) {
            Ok(rollout) => {
                let normal = self.experiment.normal(&rollout, &self.weights, self.limit);
                match normal.squares.is_finite() && normal.matrix.iter().all(|value| value.is_finite()) {
                    true => Ok(Point { unknowns, rollout, normal }),
                    false => Err("the squared error is not finite".to_owned()),
                }
            }
            Err(halt) => Err(halt.to_string()),
        }
    }

    /// Goes down to a minimum: where the undamped step promises nothing, or is short. The last step follows the derivatives, without a rollout.
    fn descend(&mut self, stage: &mut Stage, start: Point) -> (Point, Option<End>) {
        let mut point = start;
        let mut damping = Damping::relative();
        let stopped = |reason: &str| Some((Status::NotConverged, reason.to_owned()));
        let resolution = self.resolution(stage.rtol);
        let mut is_stuck = false;
        for _ in 0..self.estimate.iterations {
            self.iterations += 1;
            if let Err(halt) = self.meter.check() {
                return (point, stopped(&halt.to_string()));
            }
            let held = self.experiment.held(&point.unknowns, &point.normal);
            let step = point.normal.step(damping.value, &held).map(|step| bounded(step, &held));
            let Some((mut candidate, mut step)) = step.map(|step| self.experiment.moved(&point.unknowns, &step)) else {
                damping.refused();
                if damping.is_spent() {
                    return (point, stopped("the normal equations cannot be solved"));
                }
                continue;
            };
            let least = (PROMISING * self.variance(&point.rollout)).max(resolution + stage.rtol * point.normal.squares);
            let settles = |promise: f64, length: f64| (0.0..=least).contains(&promise) || length <= stage.short;
            if settles(point.normal.promise(&step), step.length()) {
                // What damping alone has made short or poor says nothing.
                let Some(further) = self.undamped(&point, &held, settles) else {
                    self.experiment.follow(&mut point.rollout, &step);
                    point.unknowns = candidate;
                    point.normal = self.experiment.normal(&point.rollout, &self.weights, self.limit);
                    return (point, None);
                };
                if is_stuck {
                    return (point, stopped("no step decreases the error any more, though this is no minimum"));
                }
                (candidate, step) = further;
                is_stuck = true;
            }
            let promise = point.normal.promise(&step);
            let tried = self.point(stage, candidate).ok().filter(|it| it.normal.squares <= point.normal.squares);
            match tried {
                Some(better) => {
                    if is_stuck {
                        damping = Damping::relative();
                    }
                    damping.taken(point.normal.squares - better.normal.squares, promise);
                    is_stuck = false;
                    point = better;
                }
                None => {
                    damping.refused();
                    if damping.is_spent() {
                        return (point, stopped("no step decreases the error any more"));
                    }
                }
            }
        }
        (point, stopped(&format!("stopped at the limit of {} iterations", self.estimate.iterations)))
    }

    /// Where the undamped step leads, and the step, unless it [settles](Fitter::descend) too, or the data determine none.
    fn undamped(&self, point: &Point, held: &[bool], settles: impl Fn(f64, f64) -> bool) -> Option<(Unknowns, Step)> {
        let whole = point.normal.step(0.0, held)?;
        let length = whole.length();
        let (candidate, step) = self.experiment.moved(&point.unknowns, &bounded(whole, held));
        let settled = settles(point.normal.promise(&step), length) || point.normal.undetermined(held).contains(&true);
        (!settled).then_some((candidate, step))
    }

    /// The channel with the largest residuals beside its noise, and how many times that they are; none where no noise is told.
    /// What integration at `rtol` errs by is no residual.
    pub fn excess(&self, point: &Point, rtol: f64) -> Option<(usize, f64)> {
        let of_channel = |channel: usize| {
            let floor = 10.0 * rtol * self.experiment.scales[channel];
            let size = self.size_of(&point.rollout, channel);
            (channel, size / self.noise[channel].max(floor))
        };
        let channels = (0..self.noise.len()).filter(|&channel| self.noise[channel].is_finite()).map(of_channel);
        channels.filter(|(_, excess)| !excess.is_nan()).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The size of a channel's residuals in its unit; under Huber's loss by their median.
    pub fn size_of(&self, rollout: &Rollout, channel: usize) -> f64 {
        let residuals = self.experiment.residuals(rollout, channel).concat();
        match self.estimate.loss {
            Loss::Squares => (residuals.iter().map(|it| it * it).sum::<f64>() / residuals.len().max(1) as f64).sqrt(),
            Loss::Huber => robust::deviation(residuals.iter().map(|it| it.abs())).unwrap_or(0.0),
        }
    }

    /// A channel whose given value at the start is not what was measured there, that value, and the sample.
    pub fn contradiction(&self) -> Option<(usize, f64, f64)> {
        let floors = self.experiment.scales.iter().map(|scale| 10.0 * self.settings.rtol * scale);
        let noise: Vec<f64> = self.noise.iter().zip(floors).map(|(noise, floor)| noise.max(floor)).collect();
        self.experiment.contradiction(&noise, CONTRADICTORY)
    }

    /// The noise of a channel by its own samples.
    pub fn noise_of(&self, channel: usize) -> f64 {
        self.noise[channel]
    }

    /// Whether the samples of every channel lie close enough to tell its noise from what it does.
    pub fn is_noise_told(&self) -> bool {
        self.noise.iter().zip(&self.experiment.scales).all(|(noise, scale)| *noise < 0.5 * scale)
    }

    /// How large the weighted residuals are: their root mean square, or under Huber's loss by their median.
    pub fn share(&self, point: &Point) -> f64 {
        let sizes = self.experiment.sizes(&point.rollout, &self.weights);
        match self.estimate.loss {
            Loss::Squares => (sizes.map(|size| size * size).sum::<f64>() / self.experiment.cells.len() as f64).sqrt(),
            Loss::Huber => robust::deviation(sizes).unwrap_or(0.0),
        }
    }

    /// `s^2`; zero where nothing is left to tell it from.
    pub fn variance(&self, rollout: &Rollout) -> f64 {
        let free = self.experiment.cells.len() - self.experiment.unknowns();
        if free == 0 {
            return 0.0;
        }
        robust::variance(self.experiment.sizes(rollout, &self.weights), self.limit, free as f64)
    }

    /// What integration at `rtol` adds to `|r|^2`: a smaller decrease cannot be told from it.
    fn resolution(&self, rtol: f64) -> f64 {
        let model = self.experiment.model;
        let error = |cell: usize, weight: f64| weight * rtol * self.experiment.scales[model.channel(cell)];
        let cells = self.experiment.cells.iter();
        cells.map(|&(trajectory, cell)| error(cell, self.weights[trajectory][cell]).powi(2)).sum()
    }

    /// Weights by the noise of each channel, as the residuals tell it.
    fn noise_weights(&self, rollout: &Rollout) -> Weights {
        let (experiment, c) = (self.experiment, self.experiment.model.channels);
        let size = |trajectory: usize, cell: usize, channel: usize| match self.estimate.noise {
            None | Some(Noise::Constant) => experiment.scales[channel],
            Some(Noise::Proportional) => {
                let value: f64 = rollout.states[trajectory][cell];
                value.abs().max(1e-3 * experiment.scales[channel])
            }
        };
        let mut residuals = vec![Vec::new(); c];
        for &(trajectory, cell) in &experiment.cells {
            let residual = rollout.states[trajectory][cell] - experiment.series[trajectory].observed[cell];
            let channel = experiment.model.channel(cell);
            residuals[channel].push((residual / size(trajectory, cell, channel)).abs());
        }
        let all = experiment.cells.len() as f64;
        let free = 1.0 - experiment.unknowns() as f64 / all;
        let deviation = |residuals: &[f64]| match self.estimate.loss {
            Loss::Squares => {
                let squares: f64 = residuals.iter().map(|size| size * size).sum();
                (squares / (residuals.len() as f64 * free).max(1.0)).sqrt()
            }
            Loss::Huber => robust::deviation(residuals.iter().copied()).unwrap_or(0.0) / free.max(1.0 / all).sqrt(),
        };
        let is_pooled = residuals.iter().any(|of| !of.is_empty() && (of.len() as f64) * free < FEW);
        if is_pooled {
            let pooled = residuals.concat();
            residuals.fill(pooled);
        }
        // Residuals of integration alone tell nothing.
        let floor = 10.0 * self.settings.rtol;
        let noise: Vec<f64> = residuals.iter().map(|residuals| deviation(residuals).max(floor)).collect();
        experiment.weights(|trajectory, cell, channel| 1.0 / (noise[channel] * size(trajectory, cell, channel)))
    }
}

/// The step, or as much of it as moves no parameter too far.
fn bounded(step: Step, held: &[bool]) -> Step {
    let of_free = step.parameters.iter().zip(held).filter(|(_, held)| !**held);
    let longest = of_free.fold(0.0, |longest: f64, (by, _)| longest.max(by.abs()));
    let share = if longest > LONGEST { LONGEST / longest } else { 1.0 };
    Step {
        parameters: step.parameters * share,
        initial: step.initial.into_iter().map(|own: DVector<f64>| own * share).collect(),
    }
}
