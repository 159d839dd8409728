//! A step of Gauss-Newton without a Jacobian: any number of residuals and of weights.
//!
//! The objective, `z`, `J_z` and the parabolas `h` of the penalties are those of the [`LinearModel`](super::LinearModel), and so is the
//! step with damping `mu`, here from its normal equations `(J_z' J_z + H + mu I) dz = -(J_z' r + H z)`. They are solved by conjugate
//! gradients, which need products alone: `J_z v` by forward mode and `J_z' u` by reverse mode, each chained with the rule. The
//! preconditioner is `diag(J_z' J_z) + H + mu`, the first estimated as the mean of `(J_z' s)^2` over random signs `s`.
//!
//! An inexact step is enough far from a minimum: the solution ends when the norm of its own residual has fallen by the factor
//! `min(t, max(1e-6, sqrt(|J_z' r + H z| / (|J_z| |r|))))`, `t` being `inner_tolerance` and `|J_z|` the Frobenius norm. The fraction
//! is at most about one and tends to zero towards a minimum. It depends on `z` alone, so that a resumed training takes the same steps.

use super::curvature::Curvature;
use super::local_model::{LocalModel, Step, shared_majorizer};
use super::parts::{Cost, Part, Parts};
use super::settings::{Contexts, GaussNewton};
use crate::engine::{Batch, Engine, sum_of_squares};
use crate::progress::{Event, Run};
use crate::random::Stream;
use crate::rules::Rule;

/// Products with random signs that the diagonal is estimated from.
const PROBES: usize = 8;

/// The tightest tolerance that is chosen without being asked for.
const LEAST_TOLERANCE: f64 = 1e-6;

/// Where the residuals are linearised.
#[derive(Clone, Copy)]
pub struct Point<'a> {
    /// Gives an environment's weights from shared values and its context.
    pub rule: &'a dyn Rule,
    /// Computes predictions and their derivatives.
    pub engine: &'a dyn Engine,
    /// Penalties, inner tolerance and most inner steps.
    pub settings: &'a GaussNewton,
    /// Whether contexts move.
    pub contexts: Contexts,
    /// `z`: shared values `[S]`, then contexts `[E, d]`.
    pub trained: &'a [f64],
    /// The weights `[E, P]` that follow from `z`.
    pub weights: &'a [f64],
    /// What a rollout costs, by which a batch is cut into parts.
    pub cost: Cost,
}

/// Residuals, linearised, and penalties around `z`, known by their products with vectors.
pub struct MatrixFree<'a> {
    point: Point<'a>,
    parts: Parts,
    run: &'a Run<'a>,
    /// `n`.
    residuals: usize,
    /// `|r|^2`.
    squares: f64,
    /// `J_z' r + H z`.
    gradient: Vec<f64>,
    /// An estimate of the diagonal of `J_z' J_z`.
    diagonal: Vec<f64>,
    /// `h`, zero where a value is held.
    majorizer: Vec<f64>,
    /// Values that do not move: tied contexts, and what a penalty holds at zero.
    held: Vec<bool>,
}

impl<'a> MatrixFree<'a> {
    /// The model around a point for the residuals on `batch`; `stream` draws the signs. `None` if a signal comes, which is looked for
    /// before each pass over a part of the batch, here and in [`step`](MatrixFree::step).
    pub fn new(point: Point<'a>, batch: &Batch, stream: &mut Stream, run: &'a Run<'a>) -> Option<Self> {
        let (shared, contexts) = point.trained.split_at(point.rule.shared_size());
        let residuals = batch.values();
        let mut majorizer = shared_majorizer(point.rule, point.settings, shared, residuals);
        let of_contexts = match point.contexts {
            Contexts::Learned => residuals as f64 * point.settings.context_penalty,
            Contexts::Tied => f64::INFINITY,
        };
        majorizer.extend(contexts.iter().map(|_| of_contexts));
        let held: Vec<bool> = majorizer.iter().map(|h| h.is_infinite()).collect();
        majorizer.iter_mut().filter(|h| h.is_infinite()).for_each(|h| *h = 0.0);
        let zeros = vec![0.0; point.trained.len()];
        let mut model = MatrixFree {
            parts: Parts::new(batch, point.cost),
            point,
            run,
            residuals,
            squares: 0.0,
            gradient: Vec::new(),
            diagonal: zeros,
            majorizer,
            held,
        };
        model.tell("the gradient");
        let residuals = model.parts.map(run, |_, part| {
            let predictions = point.engine.predict(model.weights(part), &part.batch);
            let values = predictions.iter().zip(&part.batch.targets).zip(&part.batch.mask);
            let residuals = values.map(|((x, y), m)| if *m > 0.0 { m * m * (x - y) } else { 0.0 });
            (sum_of_squares(&predictions, &part.batch), residuals.collect::<Vec<f64>>())
        })?;
        let squares = residuals.iter().map(|of_part| of_part.0).sum();
        let mut gradient = model.pull_back(|i, _| residuals[i].1.clone())?;
        for (((g, z), h), held) in gradient.iter_mut().zip(point.trained).zip(&model.majorizer).zip(&model.held) {
            *g = if *held { 0.0 } else { *g + h * z };
        }
        for probe in 0..PROBES {
            model.tell(&format!("the diagonal, {probe} of {PROBES} probes"));
            let mut sign = || if stream.unit() < 0.5 { -1.0 } else { 1.0 };
            let signed = |part: &Part| part.batch.mask.iter().map(|m| m * sign()).collect();
            let signs: Vec<Vec<f64>> = model.parts.iter().map(signed).collect();
            let pulled = model.pull_back(|i, _| signs[i].clone())?;
            model.diagonal.iter_mut().zip(&pulled).for_each(|(sum, p)| *sum += p * p / PROBES as f64);
        }
        (model.squares, model.gradient) = (squares, gradient);
        Some(model)
    }

    /// The norm at which the solution ends, relative to that of `J_z' r + H z`.
    fn tolerance(&self) -> f64 {
        let frobenius = self.diagonal.iter().sum::<f64>().sqrt();
        let fraction = norm(&self.gradient) / (frobenius * self.squares.sqrt());
        // Not finite where there is nothing to move; a comparison with NaN then leaves the other.
        fraction.sqrt().max(LEAST_TOLERANCE).min(self.point.settings.inner_tolerance)
    }

    /// `(J_z' J_z + H + mu I) v`; `v` is zero where values are held.
    fn product(&self, v: &[f64], damping: f64) -> Option<Vec<f64>> {
        let (rule, d) = (self.point.rule, self.point.rule.context_size());
        let (shared, contexts) = self.point.trained.split_at(rule.shared_size());
        let (v_shared, v_contexts) = v.split_at(shared.len());
        let size = self.size();
        let mut image = self.pull_back(|_, part| {
            let of_environment = |e: usize| {
                let (own, mut direction) = (e * d..(e + 1) * d, vec![0.0; size]);
                rule.push_forward(shared, &contexts[own.clone()], v_shared, &v_contexts[own], &mut direction);
                direction
            };
            let directions: Vec<f64> = part.environments.clone().flat_map(of_environment).collect();
            let mut pushed = self.point.engine.push_forward(self.weights(part), &directions, &part.batch);
            // Values without weight may be anything, padding being among them.
            let values = pushed.iter_mut().zip(&part.batch.mask);
            values.for_each(|(value, m)| *value = if *m > 0.0 { *value * m * m } else { 0.0 });
            pushed
        })?;
        for ((image, v), h) in image.iter_mut().zip(v).zip(&self.majorizer) {
            *image += (h + damping) * v;
        }
        Some(image)
    }

    /// `J_x' u`, for the predictions `x` of all parts and the `u [E, B, L, C]` of each, given its index; zero where values are held.
    fn pull_back(&self, cotangents: impl Fn(usize, &Part) -> Vec<f64> + Sync) -> Option<Vec<f64>> {
        let (rule, d) = (self.point.rule, self.point.rule.context_size());
        let (shared, contexts) = self.point.trained.split_at(rule.shared_size());
        let mut pulled = vec![0.0; self.point.trained.len()];
        let (d_shared, d_contexts) = pulled.split_at_mut(shared.len());
        let of_parts = self.parts.map(self.run, |i, part| {
            self.point.engine.pull_back(self.weights(part), &cotangents(i, part), &part.batch)
        })?;
        for (part, of_weights) in self.parts.iter().zip(of_parts) {
            for (e, of_weights) in part.environments.clone().zip(of_weights.chunks_exact(self.size())) {
                let own = e * d..(e + 1) * d;
                rule.pull_back(shared, &contexts[own.clone()], of_weights, d_shared, &mut d_contexts[own]);
            }
        }
        pulled.iter_mut().zip(&self.held).filter(|(_, held)| **held).for_each(|(value, _)| *value = 0.0);
        Some(pulled)
    }

    /// `P`.
    fn size(&self) -> usize {
        self.point.cost.weights
    }

    /// The weights of the environments of `part`.
    fn weights(&self, part: &Part) -> &[f64] {
        self.parts.weights(self.point.weights, part)
    }

    /// Says what the step does now.
    fn tell(&self, what: &str) {
        self.run.emit(Event::Underway(what.to_owned()));
    }
}

impl LocalModel for MatrixFree<'_> {
    fn squares(&self) -> f64 {
        self.squares
    }

    /// An estimate of the mean diagonal of `J_z J_z'`.
    fn mean_diagonal(&self) -> f64 {
        self.diagonal.iter().sum::<f64>() / self.residuals.max(1) as f64
    }

    /// The step with damping `mu`; `None` where a product is not finite, or if interrupted.
    fn step(&self, damping: f64, _: Option<&Curvature>) -> Option<Step> {
        let mut moved_by = vec![0.0; self.gradient.len()];
        let mut rest: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let target = self.tolerance() * norm(&rest);
        let scale: Vec<f64> = self.diagonal.iter().zip(&self.majorizer).map(|(d, h)| d + h + damping).collect();
        let precondition = |rest: &[f64]| -> Vec<f64> { rest.iter().zip(&scale).map(|(r, s)| r / s).collect() };
        let mut direction = precondition(&rest);
        let mut energy = dot(&rest, &direction);
        let most = self.point.settings.inner_steps;
        for inner in 0..most {
            if norm(&rest) <= target {
                break;
            }
            let above = norm(&rest) / target;
            self.tell(&format!(
                "conjugate gradients, {inner} of {most} steps, residual {above:.1} times the tolerance"
            ));
            let image = self.product(&direction, damping)?;
            let length = energy / dot(&direction, &image);
            if !length.is_finite() {
                return None;
            }
            moved_by.iter_mut().zip(&direction).for_each(|(z, d)| *z += length * d);
            rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= length * i);
            let next = precondition(&rest);
            let last = std::mem::replace(&mut energy, dot(&rest, &next));
            direction.iter_mut().zip(next).for_each(|(d, next)| *d = next + energy / last * *d);
        }
        // |r|^2 + z'Hz less its value after the step, with what the solution left over.
        let decrease = dot(&rest, &moved_by) + damping * dot(&moved_by, &moved_by) - dot(&self.gradient, &moved_by);
        let trained: Vec<f64> = self.point.trained.iter().zip(&moved_by).map(|(z, dz)| z + dz).collect();
        let is_finite = decrease.is_finite() && trained.iter().all(|value| value.is_finite());
        is_finite.then_some(Step { trained, decrease })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}
