//! Gauss-Newton (Levenberg-Marquardt) on whole training trajectories, or on their segments.
//!
//! Minimises `|r|^2 + n lambda Omega + n lambda_xi sum_e |xi_e|^2`, `r [n]` the residuals, by the steps of a [`LinearModel`] in the
//! space of the residuals, of [`NormalEquations`] in that of the weights, or of a [`MatrixFree`] one. The damping follows the gain ratio, the
//! decrease found over the decrease expected (Nielsen 1999). Steps of the first two are corrected by the [`Curvature`] of the residuals.

use super::conjugate_gradients::{MatrixFree, Point};
use super::curriculum;
use super::curriculum::Outcome;
use super::curvature::Curvature;
use super::data::even_restarts;
use super::error::Error;
use super::fit::Fit;
use super::linear_model::LinearModel;
use super::local_model::{LocalModel, Step};
use super::normal_equations::NormalEquations;
use super::parts::Parts;
use super::settings::{Contexts, Method};
use crate::checkpoint::{Stage, TrainingState};
use crate::engine::Batch;
use crate::least_squares::damping::Damping;
use crate::progress::{Event, Run};
use crate::random::Stream;
use crate::rules::Restricted;

/// Most dampings tried in one step, each greater than the one before.
const TRIALS: usize = 12;
/// Most values of a batch row, times rows, whose Jacobian is held at once for the normal equations; one row at least.
const VALUES: usize = 2048;

impl Fit<'_> {
    /// One step. The weights are unchanged if none of the dampings tried decreases the loss, or a signal comes.
    pub(super) fn gauss_newton_step(&self, state: &mut TrainingState, run: &Run) -> Result<Outcome, Error> {
        let settings = &self.settings.gauss_newton;
        let longest = self.train.longest();
        let stage = match state.stage {
            Some(stage) => stage,
            None => {
                if let Some(best) = &state.best {
                    state.trained.clone_from(&best.trained);
                }
                curriculum::first(settings, self.settings.steps == 0 && self.start.is_none(), longest)
            }
        };
        state.stage = Some(stage);
        if stage.steps == 0 {
            state.looks_without_best = 0;
        }
        match self.left_out(&state.trained) {
            None => self.step_of(stage, state, run),
            Some(is_dropped) => {
                let rule = Restricted::dropped(self.rule, is_dropped);
                Fit { rule: &rule, initial_contexts: self.initial_contexts.clone(), ..*self }.step_of(stage, state, run)
            }
        }
    }

    fn step_of(&self, stage: Stage, state: &mut TrainingState, run: &Run) -> Result<Outcome, Error> {
        let settings = &self.settings.gauss_newton;
        let train = self.train_of(state);
        let all = train.trajectories_per_environment();
        let per_environment = settings.trajectories_per_environment.unwrap_or(all).min(all);
        // The same ones in every step: the damping and the ends of stages compare steps.
        let batch = train.batch(0, per_environment, |_, trajectory| {
            stage.segment.map_or_else(Vec::new, |segment| even_restarts(trajectory, segment))
        })?;
        let found = batch.values();
        let start = state.trained.clone();
        let weights = self.decode(&start);
        let Some(model) = self.local_model((&start, &weights), &batch, state.step, run) else {
            return Ok(Outcome::Interrupted);
        };
        let before = model.squares() + self.penalties(&start, found);
        if !before.is_finite() {
            return Ok(self.shorten(stage, state, run));
        }
        let mut damping = state.damping.map_or_else(
            || Damping::new(settings.damping * model.mean_diagonal()),
            |(value, growth)| Damping { value, growth },
        );
        let is_bent = settings.acceleration.unwrap_or(self.denominator().is_some());
        let bends = is_bent && self.method != Method::ConjugateGradients;
        let curvature = bends.then(|| Curvature::new(self.rule, self.reference, &batch, &start, &weights));
        for _ in 0..TRIALS {
            let step = model.step(damping.value, curvature.as_ref());
            if step.is_none() && run.interrupt.requested().is_some() {
                return Ok(Outcome::Interrupted);
            }
            if let Some(Step { trained, decrease }) = step {
                let Some(squares) = self.squares(&trained, &batch, run) else { return Ok(Outcome::Interrupted) };
                let now = squares + self.penalties(&trained, found);
                if now < before {
                    damping.accept(before - now, decrease);
                    state.trained = trained;
                    state.step += 1;
                    state.damping = Some((damping.value, damping.growth));
                    state.window = (state.window.0 + squares / found as f64, state.window.1 + 1);
                    let stage = curriculum::after_step(settings, stage, before, now);
                    state.stage = Some(stage);
                    if curriculum::has_ended(settings, stage) {
                        self.begin_next_stage(state);
                    }
                    return Ok(Outcome::Moved);
                }
            }
            damping.reject();
        }
        state.damping = Some((damping.value, damping.growth));
        if stage.segment.is_none() {
            return Ok(Outcome::Stationary);
        }
        self.begin_next_stage(state);
        Ok(Outcome::NextStage)
    }

    /// Goes on from the values at hand, with the damping anew.
    fn begin_next_stage(&self, state: &mut TrainingState) {
        let next = |segment| curriculum::next(&self.settings.gauss_newton, segment, self.train.longest());
        state.stage = state.stage.and_then(|stage| stage.segment).map(next);
        state.damping = None;
    }

    /// Begins shorter segments than those of `stage`, whose rollouts are not finite; no step can be computed from them.
    fn shorten(&self, stage: Stage, state: &mut TrainingState, run: &Run) -> Outcome {
        let longest = self.train.longest();
        let found = match stage.segment {
            Some(segment) => format!("rollouts over {segment} intervals are not finite at step {}", state.step),
            None => format!("rollouts over whole trajectories are not finite at step {}", state.step),
        };
        match curriculum::shorter(stage, longest) {
            Some(shorter) => {
                let segment = shorter.segment.unwrap_or(longest);
                run.emit(Event::Note(format!("{found}: segments of {segment} are fitted first")));
                (state.stage, state.damping) = (Some(shorter), None);
                Outcome::NextStage
            }
            None => {
                run.emit(Event::Note(format!("{found}, and those over {} were fitted: training ends", stage.fitted)));
                Outcome::Stationary
            }
        }
    }

    /// The model around `trained`, which gives `weights [E, P]`, for step `step`; `None` where a signal came.
    fn local_model<'t>(
        &'t self,
        (trained, weights): (&'t [f64], &'t [f64]),
        batch: &'t Batch,
        step: u64,
        run: &'t Run<'t>,
    ) -> Option<Box<dyn LocalModel + 't>> {
        let (rule, settings, contexts) = (self.rule, &self.settings.gauss_newton, self.settings.contexts);
        Some(match self.method {
            Method::Auto | Method::Residuals => {
                let jacobian = self.reference.jacobian(weights, batch);
                Box::new(LinearModel::new(rule, settings, contexts, trained, jacobian, run.interrupt))
            }
            Method::Weights => {
                let together = (VALUES / (batch.steps * batch.channels).max(1)).max(1);
                let width = weights.len() / self.environments;
                let moving = &rule.moving_weights(width);
                let parts = weights.chunks_exact(width).enumerate().flat_map(|(e, weights)| {
                    let starts = (0..batch.rows).step_by(together);
                    let part = move |row: usize| batch.part(e..e + 1, row..batch.rows.min(row + together));
                    starts.map(move |row| (e, self.reference.jacobian_of(moving, weights, &part(row))))
                });
                let interrupted = || run.interrupt.requested().is_some();
                let parts = parts.take_while(|_| !interrupted());
                let sizes = (batch.values(), width);
                let equations = NormalEquations::new(rule, settings, contexts, trained, sizes, parts, run.interrupt);
                // Some parts are missing then.
                if interrupted() {
                    return None;
                }
                Box::new(equations)
            }
            Method::ConjugateGradients => {
                let point =
                    Point { rule, engine: self.reference, settings, contexts, trained, weights, cost: self.cost };
                let mut stream = Stream::new(self.seed, "gauss-newton", &[step]);
                Box::new(MatrixFree::new(point, batch, &mut stream, run)?)
            }
        })
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

    /// Sum of squared residuals; infinite where the rollout is not finite. `None` if a signal comes.
    fn squares(&self, trained: &[f64], batch: &Batch, run: &Run) -> Option<f64> {
        let squares = Parts::new(batch, self.cost).squares(self.reference, &self.decode(trained), run)?;
        Some(if squares.is_finite() { squares } else { f64::INFINITY })
    }
}
