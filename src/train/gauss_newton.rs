//! Gauss-Newton in the space of the residuals (Levenberg-Marquardt): few residuals `n`, many weights.
//!
//! Minimises `|r|^2 + n lambda Omega + n lambda_xi sum_e |xi_e|^2`, `r [n]` the residuals on whole training trajectories, by the
//! steps of a [`LinearModel`]. Its damping follows the gain ratio, the decrease found over the decrease expected (Nielsen 1999).

use super::error::Error;
use super::fit::Fit;
use super::linear_model::{LinearModel, Step};
use super::settings::Contexts;
use crate::checkpoint::TrainingState;
use crate::engine::{Batch, sum_of_squares};
use crate::least_squares::damping::Damping;

/// Most dampings tried in one step, each greater than the one before.
const TRIALS: usize = 12;

impl Fit<'_> {
    /// One step. False, and the weights unchanged, if none of the dampings tried decreases the loss.
    pub(crate) fn gauss_newton_step(&self, state: &mut TrainingState) -> Result<bool, Error> {
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
        let jacobian = self.reference.jacobian(&self.decode(&state.trained), &batch);
        let model = LinearModel::new(self.rule, settings, self.settings.contexts, &state.trained, jacobian);
        let mut damping = state.damping.map_or_else(
            || Damping::new(settings.damping * model.mean_diagonal()),
            |(value, growth)| Damping { value, growth },
        );
        let before = model.squares() + self.penalties(&state.trained, found);
        for _ in 0..TRIALS {
            if let Some(Step { trained, decrease }) = model.step(damping.value) {
                let squares = self.squares(&trained, &batch);
                let now = squares + self.penalties(&trained, found);
                if now < before {
                    damping.accept(before - now, decrease);
                    state.trained = trained;
                    state.step += 1;
                    state.damping = Some((damping.value, damping.growth));
                    state.window = (state.window.0 + squares / found as f64, state.window.1 + 1);
                    return Ok(true);
                }
            }
            damping.reject();
        }
        state.damping = Some((damping.value, damping.growth));
        Ok(false)
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
