//! Fits what an environment owns where that is weights, thousands of them, in place of a context of a few numbers; or nothing.
//!
//! With residuals `r = x(xi) - y [n]` over the observed values and `J = dr/dxi [n, d]`, minimises
//!
//! ```text
//! f(xi) = |r|^2 / n + mu |xi|^2        steps  (J'J/n + (mu + lambda c) 1) s = -(J'r/n + mu xi)
//! ```
//!
//! from what the rule starts with. There are more unknowns than observations, so no matrix is formed: conjugate gradients solve for a step, each
//! of their iterations a product `J v` by forward mode and `J'u` by reverse mode. The damping `lambda` is relative to the curvature `c` along the
//! gradient. The unknowns are not determined one by one, so there is no covariance; observed values are all counted as degrees of freedom. Rules
//! that adapt by steps of gradient descent make these, and nothing else.

use super::adaptation::Adaptation;
use super::support::Support;
use crate::engine::{Batch, Engine};
use crate::estimate::settings::Settings;
use crate::estimate::table::row::Status;
use crate::least_squares::damping::Damping;
use crate::rules::{ContextFit, Rule};
use nalgebra::DMatrix;

/// Most iterations of conjugate gradients for one step.
const INNER_STEPS: usize = 100;
/// Relative residual at which they end.
const INNER_TOLERANCE: f64 = 1e-2;

/// One environment's fit.
pub(crate) struct OwnedWeights<'a> {
    rule: &'a dyn Rule,
    /// `[S]`.
    shared: &'a [f64],
    /// `P`.
    weights: usize,
    engine: &'a dyn Engine,
    settings: &'a Settings,
    batch: Batch,
    /// Sum of the weights of the observed values: their number `n`, where all weights are one.
    count: f64,
}

/// Unknowns with their rollout.
struct Iterate {
    xi: Vec<f64>,
    weights: Vec<f64>,
    predictions: Vec<f64>,
    /// `f`.
    cost: f64,
    /// `J'r/n + mu xi`, half the gradient of `f`.
    gradient: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `a + scale b`.
fn sum(a: &[f64], scale: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + scale * b).collect()
}

impl<'a> OwnedWeights<'a> {
    /// The fit to a batch of one environment, whose values have their weights in the loss, of a model of `weights` weights with these `shared` values.
    pub(crate) fn new(
        (rule, shared, weights): (&'a dyn Rule, &'a [f64], usize),
        engine: &'a dyn Engine,
        settings: &'a Settings,
        batch: Batch,
    ) -> Self {
        let count = batch.count();
        OwnedWeights { rule, shared, weights, engine, settings, batch, count }
    }

    /// Fits the environment of `support`.
    pub(crate) fn adapt(&self, support: &Support) -> Adaptation {
        if support.points() == 0 {
            let reason = "no observed value follows a complete sample, which a rollout starts from";
            return self.adaptation(support, None, (Status::NoData, reason.to_owned()), 0);
        }
        let start = self.iterate(self.rule.initial_context(), self.penalty());
        if !start.cost.is_finite() {
            let reason = "the rollout before adaptation is not finite".to_owned();
            return self.adaptation(support, None, (Status::Diverged, reason), 0);
        }
        if self.rule.context_size() == 0 {
            return self.adaptation(support, Some(start), (Status::Ok, String::new()), 0);
        }
        match self.rule.context_fit() {
            ContextFit::GradientSteps { steps, rate } => self.descend(support, start, steps, rate),
            ContextFit::GaussNewton => self.minimize(support, start),
        }
    }

    /// `mu`: steps of a rule that was trained through them know no penalty.
    fn penalty(&self) -> f64 {
        match self.rule.context_fit() {
            ContextFit::GaussNewton => self.settings.context_penalty,
            ContextFit::GradientSteps { .. } => 0.0,
        }
    }

    fn iterate(&self, xi: Vec<f64>, penalty: f64) -> Iterate {
        let mut weights = vec![0.0; self.weights];
        self.rule.decode(self.shared, &xi, &mut weights);
        let predictions = self.engine.predict(&weights, &self.batch);
        let observed = predictions.iter().zip(&self.batch.targets).zip(&self.batch.mask);
        let residuals: Vec<f64> = observed.map(|((x, y), m)| if *m > 0.0 { m * (x - y) } else { 0.0 }).collect();
        let cost = dot(&residuals, &residuals) / self.count + penalty * dot(&xi, &xi);
        let mut iterate = Iterate { xi, weights, predictions, cost, gradient: Vec::new() };
        let gradient = self.pull_back(&iterate, &residuals);
        iterate.gradient = gradient.iter().zip(&iterate.xi).map(|(g, xi)| g / self.count + penalty * xi).collect();
        if iterate.gradient.iter().any(|g| !g.is_finite()) {
            iterate.cost = f64::INFINITY;
        }
        iterate
    }

    /// `J'u`, for `u` zero where nothing is observed.
    fn pull_back(&self, at: &Iterate, u: &[f64]) -> Vec<f64> {
        let cotangents: Vec<f64> = u.iter().zip(&self.batch.mask).map(|(u, m)| u * m).collect();
        let d_weights = self.engine.pull_back(&at.weights, &cotangents, &self.batch);
        let (mut d_shared, mut d_xi) = (vec![0.0; self.shared.len()], vec![0.0; at.xi.len()]);
        self.rule.pull_back(self.shared, &at.xi, &d_weights, &mut d_shared, &mut d_xi);
        d_xi
    }

    /// `(J'J/n + penalty) v`.
    fn curvature(&self, at: &Iterate, v: &[f64], penalty: f64) -> Vec<f64> {
        let (still, mut direction) = (vec![0.0; self.shared.len()], vec![0.0; at.weights.len()]);
        self.rule.push_forward(self.shared, &at.xi, &still, v, &mut direction);
        let moved = self.engine.push_forward(&at.weights, &direction, &self.batch);
        let observed = moved.iter().zip(&self.batch.mask);
        let moved: Vec<f64> = observed.map(|(moved, m)| if *m > 0.0 { m * moved } else { 0.0 }).collect();
        self.pull_back(at, &moved).iter().zip(v).map(|(g, v)| g / self.count + penalty * v).collect()
    }

    /// The step with this penalty, by conjugate gradients from zero.
    fn step(&self, at: &Iterate, penalty: f64) -> Vec<f64> {
        let mut step = vec![0.0; at.xi.len()];
        let mut residual: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
        let mut direction = residual.clone();
        let mut squares = dot(&residual, &residual);
        let enough = squares * INNER_TOLERANCE * INNER_TOLERANCE;
        for _ in 0..INNER_STEPS.min(at.xi.len()) {
            let bent = self.curvature(at, &direction, penalty);
            let along = dot(&direction, &bent);
            if along.is_nan() || along <= 0.0 {
                break;
            }
            let length = squares / along;
            step = sum(&step, length, &direction);
            residual = sum(&residual, -length, &bent);
            let before = std::mem::replace(&mut squares, dot(&residual, &residual));
            if squares <= enough {
                break;
            }
            direction = sum(&residual, squares / before, &direction);
        }
        step
    }

    fn minimize(&self, support: &Support, start: Iterate) -> Adaptation {
        let penalty = self.penalty();
        let (mut best, mut damping) = (start, Damping::default());
        for iteration in 1..=self.settings.iterations {
            let squared = dot(&best.gradient, &best.gradient);
            if squared == 0.0 {
                return self.adaptation(support, Some(best), (Status::Ok, String::new()), iteration);
            }
            let scale = dot(&best.gradient, &self.curvature(&best, &best.gradient, penalty)) / squared;
            let step = self.step(&best, penalty + damping.value * scale);
            // `-(2 g's + s'H s)`, which is `lambda c |s|^2 - g's` where the equations are solved, and no less where they nearly are.
            let predicted = damping.value * scale * dot(&step, &step) - dot(&best.gradient, &step);
            if predicted <= self.settings.tolerance * best.cost {
                return self.adaptation(support, Some(best), (Status::Ok, String::new()), iteration);
            }
            let candidate = self.iterate(sum(&best.xi, 1.0, &step), penalty);
            if candidate.cost <= best.cost {
                damping.accept(best.cost - candidate.cost, predicted);
                best = candidate;
            } else {
                damping.reject();
            }
            if damping.is_exhausted() {
                let reason = "no step decreases the error any more".to_owned();
                return self.adaptation(support, Some(best), (Status::NotConverged, reason), iteration);
            }
        }
        let limit = self.settings.iterations;
        let reason = format!("stopped at the limit of {limit} iterations");
        self.adaptation(support, Some(best), (Status::NotConverged, reason), limit)
    }

    fn descend(&self, support: &Support, start: Iterate, steps: usize, rate: f64) -> Adaptation {
        let mut at = start;
        for step in 1..=steps {
            // The gradient of `f` is twice what an iterate holds.
            at = self.iterate(sum(&at.xi, -2.0 * rate, &at.gradient), 0.0);
            if !at.cost.is_finite() {
                let reason = format!("step {step} of the descent is not finite");
                return self.adaptation(support, None, (Status::Diverged, reason), step);
            }
        }
        self.adaptation(support, Some(at), (Status::Ok, String::new()), steps)
    }

    /// The result at an iterate; values are NaN where there is none.
    fn adaptation(
        &self,
        support: &Support,
        at: Option<Iterate>,
        (status, reason): (Status, String),
        iterations: usize,
    ) -> Adaptation {
        let (channels, of_row) = (self.batch.channels, self.batch.steps * self.batch.channels);
        let (xi, predictions, cost) = match at {
            Some(at) => (at.xi, at.predictions, at.cost),
            None => (vec![f64::NAN; self.rule.context_size()], vec![f64::NAN; self.batch.targets.len()], f64::NAN),
        };
        let of_trajectory = |(b, it): (usize, &crate::schema::Trajectory)| {
            predictions[b * of_row..][..it.len().saturating_sub(1) * channels].to_vec()
        };
        Adaptation {
            context: xi,
            covariance: DMatrix::zeros(0, 0),
            degrees: support.points() as f64,
            initial_states: support.trajectories.iter().map(|it| it.states[..channels].to_vec()).collect(),
            predictions: support.trajectories.iter().enumerate().map(of_trajectory).collect(),
            cost,
            status,
            reason,
            iterations,
        }
    }
}
