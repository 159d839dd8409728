//! Contexts of new environments by damped Gauss-Newton, many environments side by side.
//!
//! For each environment, with residuals `r = x(xi) - y [n]` over its observed values and tangents `J = dr/dxi [n, d]`,
//! minimises `f(xi) = |r|^2 / n + mu |xi|^2` from `xi = 0` by the steps
//! `(J'J/n + mu I + lambda D) s = -(J'r/n + mu xi)`, `D = diag(J'J/n + mu I)`; shared weights stay as they are.
//!
//! The damping `lambda` of each environment follows its own gain ratio (Nielsen 1999, "Damping parameter in Marquardt's
//! method"). Where the model takes several steps from sample to sample, a rough fit with one comes first, and the fit goes
//! on from there. With the l2 norm this iterates the closed form of CoDA's Proposition 2 (Kirchmeyer et al., ICML 2022).

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::{Settings, Status};
use crate::checkpoint::{ChannelScale, StoredModel};
use crate::engine::{Batch, Compute, ComputeError, Engine, Segment, Tangents};
use crate::schema::Trajectory;
use crate::train;

/// Damping at the start, relative to the diagonal.
const INITIAL_DAMPING: f64 = 1e-3;
/// Damping beyond which no step can help any more.
const GREATEST_DAMPING: f64 = 1e12;
/// Tolerance of a rough fit, at least.
const COARSE_TOLERANCE: f64 = 1e-2;

/// The observed trajectories of one environment, in the model's own units, each from a complete sample on.
#[derive(Clone, Debug, Default)]
pub struct Support {
    pub trajectories: Vec<Trajectory>,
}

impl Support {
    /// Scales `trajectories` by `scales` (one a value of a state). Each starts at its first complete sample; those that have none that
    /// another sample follows are left out.
    pub fn new(trajectories: impl IntoIterator<Item = Trajectory>, scales: &[ChannelScale]) -> Self {
        let started = trajectories.into_iter().filter_map(|mut trajectory| {
            trajectory.start_at(trajectory.start()?);
            train::scale(&mut trajectory, scales);
            Some(trajectory)
        });
        Support { trajectories: started.collect() }
    }

    /// Observed values that enter the fit: all but the initial states and what is missing.
    pub fn points(&self) -> usize {
        self.trajectories.iter().map(|it| it.states.len() - it.channels() - it.missing()).sum()
    }

    pub(super) fn segments(&self) -> Vec<Segment<'_>> {
        self.trajectories.iter().map(|it| Segment { times: &it.times, states: &it.states }).collect()
    }
}

/// The fitted context of one environment.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// `[d]`; NaN where the status says why.
    pub context: Vec<f64>,
    /// Covariance of the context `[d, d]`: `s^2 (J'J)^-1`, `s^2 = |r|^2 / (n - d)`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// Predictions of the support trajectories at the fitted context: one `[T - 1, C]` a trajectory.
    pub predictions: Vec<Vec<f64>>,
    pub status: Status,
    pub reason: String,
    pub iterations: usize,
}

/// A batch of `supports`, padded to `environments`.
fn padded_batch(channels: usize, supports: &[Support], environments: usize) -> Batch {
    let mut segments: Vec<Vec<Segment>> = supports.iter().map(Support::segments).collect();
    segments.resize(environments, Vec::new());
    Batch::new(channels, &segments, (1, 1))
}

/// What contexts are fitted with.
pub struct Adapter<'a> {
    settings: &'a Settings,
    pub engine: Box<dyn Engine>,
    /// One step from sample to sample, where the model takes several: it finds where to start.
    coarse: Option<Box<dyn Engine>>,
    /// `[1 + d, P]`.
    basis: Vec<f64>,
    d: usize,
    /// Values of a state.
    values: usize,
}

impl<'a> Adapter<'a> {
    /// For the contexts of `model`.
    ///
    /// # Errors
    /// If there is no such engine or device.
    pub fn new(settings: &'a Settings, compute: Compute, model: &StoredModel) -> Result<Self, ComputeError> {
        Ok(Adapter {
            settings,
            engine: model.engine(compute)?.0,
            coarse: model.coarse_engine(compute)?,
            basis: model.rule().basis(&model.shared),
            d: model.manifest.context_dimension,
            values: model.manifest.state_shape().size(),
        })
    }

    /// Fits the context `[d]` of every environment. The result of an environment depends on no other one.
    pub fn adapt(&self, supports: &[Support]) -> Vec<Adaptation> {
        let together = self.engine.environments_per_batch();
        let tangents = self.engine.tangents(&self.basis, self.d);
        let coarse = self.coarse.as_ref().map(|coarse| coarse.tangents(&self.basis, self.d));
        let rough =
            Settings { tolerance: f64::max(self.settings.tolerance, COARSE_TOLERANCE), ..self.settings.clone() };
        supports
            .par_chunks(together)
            .flat_map_iter(|supports| {
                let batch = &padded_batch(self.values, supports, together);
                let chunk = Chunk { tangents: tangents.as_ref(), d: self.d, batch, settings: self.settings };
                let zero = vec![0.0; together * self.d];
                let Some(coarse) = &coarse else { return chunk.fit(supports, &zero) };
                let rough = Chunk { tangents: coarse.as_ref(), settings: &rough, ..chunk }.fit(supports, &zero);
                chunk.go_on(supports, &zero, rough)
            })
            .collect()
    }
}

#[derive(Clone, Copy)]
struct Chunk<'a> {
    tangents: &'a dyn Tangents,
    d: usize,
    batch: &'a Batch,
    settings: &'a Settings,
}

/// Cost, gradient and normal matrix at one context.
#[derive(Clone)]
struct Point {
    context: DVector<f64>,
    /// `f(xi)`; infinite where the rollout is not finite.
    cost: f64,
    /// `|r|^2`.
    squares: f64,
    /// `J'r/n + mu xi`.
    gradient: DVector<f64>,
    /// `J'J/n`.
    normal: DMatrix<f64>,
}

/// One environment on its way.
struct Walk {
    points: usize,
    best: Point,
    damping: f64,
    /// Factor of the next increase of the damping.
    growth: f64,
    iterations: usize,
    /// Length of the step that led here, if one did.
    length: Option<f64>,
    end: Option<(Status, String)>,
}

impl Chunk<'_> {
    /// Fits from where a rough fit ended, and from `zero` where that came to nothing.
    fn go_on(&self, supports: &[Support], zero: &[f64], rough: Vec<Adaptation>) -> Vec<Adaptation> {
        let mut start = zero.to_vec();
        for (start, rough) in start.chunks_exact_mut(self.d).zip(&rough) {
            if rough.context.iter().all(|xi| xi.is_finite()) {
                start.copy_from_slice(&rough.context);
            }
        }
        let mut fitted = self.fit(supports, &start);
        if fitted.iter().any(|it| it.status != Status::Ok) {
            for (it, again) in fitted.iter_mut().zip(self.fit(supports, zero)) {
                if it.status != Status::Ok {
                    *it = again;
                }
            }
        }
        fitted.iter_mut().zip(&rough).for_each(|(it, rough)| it.iterations += rough.iterations);
        fitted
    }

    /// Fits from the contexts `start [E, d]`.
    fn fit(&self, supports: &[Support], start: &[f64]) -> Vec<Adaptation> {
        let size = self.batch.values_per_environment();
        let (mut predictions, mut tangents) = self.tangents.roll_out(start, self.batch);
        let mut walks: Vec<Walk> = supports
            .iter()
            .enumerate()
            .map(|(e, support)| Walk::begin(self.point(e, start, &predictions, &tangents), support.points()))
            .collect();
        while walks.iter().any(|walk| walk.end.is_none()) {
            let mut contexts = start.to_vec();
            let mut steps = Vec::with_capacity(walks.len());
            for (e, walk) in walks.iter().enumerate() {
                let step = if walk.end.is_none() { walk.step(self.settings.context_penalty) } else { None };
                let candidate = step.as_ref().map_or(walk.best.context.clone(), |step| &walk.best.context + step);
                contexts[e * self.d..(e + 1) * self.d].copy_from_slice(candidate.as_slice());
                steps.push(step);
            }
            // A last step is so short that predictions follow their tangents: it needs no rollout.
            for (e, (walk, step)) in walks.iter_mut().zip(&steps).enumerate() {
                let Some(step) = step else { continue };
                if walk.is_last(step, self.settings) {
                    self.follow_tangents(e, step, &mut predictions, &tangents);
                    walk.finish_with(Some(self.point(e, &contexts, &predictions, &tangents)));
                } else if walk.promise(step, self.settings.context_penalty) <= self.settings.tolerance * walk.best.cost
                {
                    walk.finish_with(None);
                }
            }
            if walks.iter().all(|walk| walk.end.is_some()) {
                break;
            }
            let (candidates, of_candidates) = self.tangents.roll_out(&contexts, self.batch);
            for (e, (walk, step)) in walks.iter_mut().zip(steps).enumerate() {
                if walk.end.is_some() {
                    continue;
                }
                let candidate = self.point(e, &contexts, &candidates, &of_candidates);
                if walk.advance(step, candidate, self.settings) {
                    let range = e * size..(e + 1) * size;
                    predictions[range.clone()].copy_from_slice(&candidates[range]);
                    let range = e * size * self.d..(e + 1) * size * self.d;
                    tangents[range.clone()].copy_from_slice(&of_candidates[range]);
                }
            }
        }
        walks
            .into_iter()
            .zip(supports)
            .enumerate()
            .map(|(e, (walk, support))| walk.finish(support, &predictions[e * size..(e + 1) * size], self.batch))
            .collect()
    }

    /// Moves the predictions of environment `e` along their tangents.
    fn follow_tangents(&self, e: usize, step: &DVector<f64>, predictions: &mut [f64], tangents: &[f64]) {
        let size = self.batch.values_per_environment();
        let rows = tangents.chunks_exact(self.d).skip(e * size);
        for (prediction, row) in predictions[e * size..(e + 1) * size].iter_mut().zip(rows) {
            *prediction += row.iter().zip(step.iter()).map(|(tangent, step)| tangent * step).sum::<f64>();
        }
    }

    /// Reduces the residuals and tangents of environment `e`.
    fn point(&self, e: usize, contexts: &[f64], predictions: &[f64], tangents: &[f64]) -> Point {
        let (d, size) = (self.d, self.batch.values_per_environment());
        let context = DVector::from_column_slice(&contexts[e * d..(e + 1) * d]);
        let (mut squares, mut count) = (0.0, 0.0);
        let mut gradient = DVector::zeros(d);
        let mut normal = DMatrix::zeros(d, d);
        for i in e * size..(e + 1) * size {
            if self.batch.mask[i] == 0.0 {
                continue;
            }
            let residual = predictions[i] - self.batch.targets[i];
            let row = &tangents[i * d..(i + 1) * d];
            squares += residual * residual;
            count += 1.0;
            for a in 0..d {
                gradient[a] += row[a] * residual;
                for b in 0..=a {
                    normal[(a, b)] += row[a] * row[b];
                }
            }
        }
        let count = f64::max(count, 1.0);
        normal.fill_upper_triangle_with_lower_triangle();
        let penalty = self.settings.context_penalty;
        let cost = squares / count + penalty * context.norm_squared();
        let finite = cost.is_finite() && gradient.iter().chain(normal.iter()).all(|value: &f64| value.is_finite());
        Point {
            cost: if finite { cost } else { f64::INFINITY },
            squares,
            gradient: gradient / count + penalty * &context,
            normal: normal / count,
            context,
        }
    }
}

impl Walk {
    fn begin(start: Point, points: usize) -> Self {
        let d = start.context.len();
        let end = if points == 0 {
            let reason = "no observed value follows a complete sample, which a rollout starts from";
            Some((Status::NoData, reason.to_owned()))
        } else if points < d {
            let reason = format!("{points} observed values for {d} context dimensions");
            Some((Status::TooFewPoints, reason))
        } else if start.cost.is_infinite() {
            Some((Status::Diverged, "the rollout with the context that the fit starts from is not finite".to_owned()))
        } else {
            None
        };
        Walk { points, best: start, damping: INITIAL_DAMPING, growth: 2.0, iterations: 0, length: None, end }
    }

    /// The damped step, or none where the equations are singular even so.
    fn step(&self, penalty: f64) -> Option<DVector<f64>> {
        let mut matrix = self.best.normal.clone();
        let floor = matrix.diagonal().max() * 1e-12 + f64::MIN_POSITIVE;
        for k in 0..matrix.nrows() {
            let diagonal = matrix[(k, k)] + penalty;
            matrix[(k, k)] = diagonal + self.damping * diagonal.max(floor);
        }
        Some(-matrix.cholesky()?.solve(&self.best.gradient)).filter(|step| step.iter().all(|s| s.is_finite()))
    }

    /// Decrease of the cost that the quadratic model promises: `-(2 g's + s'H s)`.
    fn promise(&self, step: &DVector<f64>, penalty: f64) -> f64 {
        let curvature = (&self.best.normal * step + penalty * step).dot(step);
        -(2.0 * self.best.gradient.dot(step) + curvature)
    }

    /// Whether the step is short, or makes the next one short, which shrinks by as much as this one did.
    fn is_last(&self, step: &DVector<f64>, settings: &Settings) -> bool {
        let short = settings.tolerance * ((&self.best.context + step).norm() + settings.tolerance);
        let length = step.norm();
        let next = self.length.map_or(length, |before| length * (length / before).min(1.0));
        length <= short || next <= short
    }

    /// Ends at `last`, or where it is: no step is worth its rollout.
    fn finish_with(&mut self, last: Option<Point>) {
        self.iterations += 1;
        self.best = last.unwrap_or_else(|| self.best.clone());
        self.end = Some((Status::Ok, String::new()));
    }

    /// Takes the candidate or stays, and decides whether this was the end. True if the candidate was taken.
    fn advance(&mut self, step: Option<DVector<f64>>, candidate: Point, settings: &Settings) -> bool {
        self.iterations += 1;
        let Some(step) = step else {
            self.end = Some((Status::NotConverged, "the trajectories do not determine the context".to_owned()));
            return false;
        };
        let promised = self.promise(&step, settings.context_penalty);
        let decrease = self.best.cost - candidate.cost;
        let taken = decrease >= 0.0;
        self.length = taken.then(|| step.norm());
        if taken {
            let gain = decrease / promised.max(f64::MIN_POSITIVE);
            self.damping *= f64::max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0).powi(3));
            self.growth = 2.0;
            self.best = candidate;
        } else {
            self.damping *= self.growth;
            self.growth *= 2.0;
        }
        if self.damping > GREATEST_DAMPING {
            self.end = Some((Status::NotConverged, "no step decreases the error any more".to_owned()));
        } else if self.iterations >= settings.iterations {
            let reason = format!("stopped at the limit of {} iterations", settings.iterations);
            self.end = Some((Status::NotConverged, reason));
        }
        taken
    }

    fn finish(self, support: &Support, predictions: &[f64], batch: &Batch) -> Adaptation {
        let d = self.best.context.len();
        let (status, reason) = self.end.unwrap_or((Status::Ok, String::new()));
        let usable = matches!(status, Status::Ok | Status::NotConverged);
        let degrees = self.points as f64 - d as f64;
        let covariance = (self.best.normal * self.points as f64)
            .cholesky()
            .filter(|_| usable && degrees > 0.0)
            .map_or(DMatrix::from_element(d, d, f64::NAN), |factor| factor.inverse() * (self.best.squares / degrees));
        let row = batch.steps * batch.channels;
        let predictions = support.trajectories.iter().enumerate().map(|(b, trajectory)| {
            predictions[b * row..b * row + trajectory.len().saturating_sub(1) * batch.channels].to_vec()
        });
        Adaptation {
            context: if usable { self.best.context.as_slice().to_vec() } else { vec![f64::NAN; d] },
            covariance,
            predictions: predictions.collect(),
            status,
            reason,
            iterations: self.iterations,
        }
    }
}
