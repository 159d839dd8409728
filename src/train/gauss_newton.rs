//! Gauss-Newton with damping (Levenberg-Marquardt).
//!
//! Minimises `|r|^2 + n lambda Omega + n lambda_xi sum_e |xi_e|^2`, `r [n]` the residuals on whole training trajectories, by the
//! steps of a [`LinearModel`] where residuals `n` are few, else of a [`MatrixFree`] one. The damping follows the gain ratio, the decrease found over the decrease expected (Nielsen 1999).

use super::conjugate_gradients::{MatrixFree, Point};
use super::error::Error;
use super::fit::{Fit, Outcome};
use super::linear_model::{LinearModel, Step};
use super::settings::{Contexts, NewtonMethod};
use crate::checkpoint::TrainingState;
use crate::engine::{Batch, sum_of_squares};
use crate::least_squares::damping::Damping;
use crate::progress::Run;
use crate::random::Stream;

/// Most dampings tried in one step, each greater than the one before.
const TRIALS: usize = 12;

/// The residuals, linearised, by one method or the other.
enum Linear<'a> {
    Dense(Box<LinearModel<'a>>),
    MatrixFree(Box<MatrixFree<'a>>),
}

impl Linear<'_> {
    fn squares(&self) -> f64 {
        match self {
            Linear::Dense(model) => model.squares(),
            Linear::MatrixFree(model) => model.squares(),
        }
    }

    fn mean_diagonal(&self) -> f64 {
        match self {
            Linear::Dense(model) => model.mean_diagonal(),
            Linear::MatrixFree(model) => model.mean_diagonal(),
        }
    }

    fn step(&self, damping: f64) -> Option<Step> {
        match self {
            Linear::Dense(model) => model.step(damping),
            Linear::MatrixFree(model) => model.step(damping),
        }
    }
}

impl Fit<'_> {
    /// One step. The weights are unchanged, if none of the dampings tried decreases the loss or a signal comes.
    pub(super) fn gauss_newton_step(&self, state: &mut TrainingState, run: &Run) -> Result<Outcome, Error> {
        let settings = &self.settings.gauss_newton;
        let all = self.train.trajectories_per_environment();
        let per_environment = settings.trajectories_per_environment.unwrap_or(all).min(all);
        let batch = self.train.batch(state.step, per_environment, |_, _| Vec::new())?;
        let found = batch.values();
        if state.damping.is_none() {
            if let Some(best) = &state.best {
                state.trained.clone_from(&best.trained);
            }
            state.looks_without_best = 0;
        }
        let (weights, contexts) = (self.decode(&state.trained), self.settings.contexts);
        let interrupted = || run.interrupt.requested().is_some();
        let most = self.train.most_residuals(settings.trajectories_per_environment);
        let model = if settings.method(most) == NewtonMethod::ConjugateGradients {
            let (rule, engine, trained) = (self.rule, self.reference, &state.trained);
            let point = Point { rule, engine, settings, contexts, trained, weights: &weights };
            let mut stream = Stream::new(self.seed, "gauss-newton", &[state.step]);
            match MatrixFree::new(point, &batch, &mut stream, &interrupted) {
                Some(model) => Linear::MatrixFree(Box::new(model)),
                None => return Ok(Outcome::Interrupted),
            }
        } else {
            let jacobian = self.reference.jacobian(&weights, &batch);
            Linear::Dense(Box::new(LinearModel::new(self.rule, settings, contexts, &state.trained, jacobian)))
        };
        let mut damping = state.damping.map_or_else(
            || Damping::new(settings.damping * model.mean_diagonal()),
            |(value, growth)| Damping { value, growth },
        );
        let before = model.squares() + self.penalties(&state.trained, found);
        for _ in 0..TRIALS {
            let step = model.step(damping.value);
            if step.is_none() && interrupted() {
                return Ok(Outcome::Interrupted);
            }
            if let Some(Step { trained, decrease }) = step {
                let squares = self.squares(&trained, &batch);
                let now = squares + self.penalties(&trained, found);
                if now < before {
                    damping.accept(before - now, decrease);
                    state.trained = trained;
                    state.step += 1;
                    state.damping = Some((damping.value, damping.growth));
                    state.window = (state.window.0 + squares / found as f64, state.window.1 + 1);
                    return Ok(Outcome::Moved);
                }
            }
            damping.reject();
        }
        state.damping = Some((damping.value, damping.growth));
        Ok(Outcome::Stationary)
    }

    /// `n lambda Omega + n lambda_xi sum_e |xi_e|^2` for `n` residuals; tied contexts have no penalty.
    fn penalties(&self, trained: &[f64], n: usize) -> f64 {
        let settings = &self.settings.gauss_newton;
        let (shared, contexts) = trained.split_at(self.rule.shared_size());
        let of_contexts = match self.settings.contexts {
            Contexts::Learned => settings.context_penalty * contexts.iter().map(|xi| xi * xi).sum::<f64>(),
            Contexts::Tied => 0.0,
        };
        n as f64 * (settings.locality_penalty * self.rule.penalty(shared) + of_contexts)
    }

    /// Sum of squared residuals; infinite where the rollout is not finite.
    fn squares(&self, trained: &[f64], batch: &Batch) -> f64 {
        let predictions = self.reference.predict(&self.decode(trained), batch);
        Some(sum_of_squares(&predictions, batch)).filter(|s| s.is_finite()).unwrap_or(f64::INFINITY)
    }
}
