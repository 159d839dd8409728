//! The fit loop.

use super::checkpoints::Checkpoints;
use super::curriculum::Outcome;
use super::data::{SplitData, draw_restarts, restart_probability};
use super::descent::{Descent, Moving};
use super::error::Error;
use super::parts::{Cost, Parts};
use super::settings::{Contexts, Method, Schedule, Settings};
use crate::checkpoint::{Best, LogRecord, StopReason, TrainingState, TrainingStore};
use crate::engine::{Device, Engine};
use crate::models::Model;
use crate::problems::many;
use crate::progress::{Event, Look, Run};
use crate::random::Stream;
use crate::rules::Rule;

/// Initial standard deviation of the values that learned contexts multiply; with tied contexts, which are not zero,
/// these values start at zero.
const INITIAL_DEVIATION: f64 = 0.1;

/// The two parts of a training.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Adam,
    GaussNewton,
}

impl Part {
    /// The part that the next step belongs to.
    fn of(state: &TrainingState, settings: &Settings) -> Part {
        if state.step >= settings.steps && settings.gauss_newton.steps > 0 { Part::GaussNewton } else { Part::Adam }
    }

    fn begin(self, settings: &Settings, run: &Run) {
        let (what, total) = match self {
            Part::Adam => ("train", settings.steps),
            Part::GaussNewton => ("gauss-newton", settings.gauss_newton.steps),
        };
        run.emit(Event::Begin { what: what.to_owned(), total: Some(total), unit: "steps" });
    }

    /// Steps of this part that are done.
    fn done(self, state: &TrainingState, settings: &Settings) -> u64 {
        match self {
            Part::Adam => state.step,
            Part::GaussNewton => state.step - settings.steps,
        }
    }
}

/// Everything that the fit loop uses.
pub(super) struct Fit<'a> {
    pub settings: &'a Settings,
    pub seed: u64,
    /// Shared values `[S]` of the model that it starts from; drawn where there is none.
    pub start: Option<&'a [f64]>,
    pub engine: &'a dyn Engine,
    /// Where it computes.
    pub device: Device,
    /// The same in double precision, for Gauss-Newton.
    pub reference: &'a dyn Engine,
    /// `[E, d]`.
    pub initial_contexts: Vec<f64>,
    pub model: &'a dyn Model,
    pub rule: &'a dyn Rule,
    /// How Gauss-Newton steps are computed.
    pub method: Method,
    /// What a rollout costs.
    pub cost: Cost,
    /// `E`.
    pub environments: usize,
    pub train: &'a SplitData<'a>,
    pub validation: &'a SplitData<'a>,
    pub store: &'a TrainingStore,
}

impl Fit<'_> {
    /// Makes steps until there is a reason to stop. The state then holds the best weights.
    pub(super) fn run(&self, run: &Run) -> Result<(TrainingState, StopReason), Error> {
        let mut state = self.resume(run)?;
        let last = self.settings.steps.saturating_add(self.settings.gauss_newton.steps);
        if state.step > 0 {
            run.emit(Event::Note(format!("going on from the checkpoint at step {}", state.step)));
            let mut best = None;
            for record in &state.log {
                best = [best, record.validation].into_iter().flatten().reduce(f64::min);
                run.emit(Event::Look(self.seen(record, best)));
            }
        }
        if self.start.is_none() && self.settings.steps == 0 && state.step == 0 && state.stage.is_none() {
            self.start_alone(&mut state, run)?;
        }
        // A Gauss-Newton step costs far more than one of Adam, so each part has its own progress bar.
        let mut part = Part::of(&state, self.settings);
        part.begin(self.settings, run);
        let mut ahead = if part == Part::Adam { self.ahead(run)? } else { None };
        let mut checkpoints = Checkpoints::new(self.settings, self.store, state.step);
        let stop_reason = loop {
            if let Some(signal) = run.interrupt.requested() {
                let checkpoint = self.store.save(&state)?;
                run.emit(Event::End);
                return Err(Error::Interrupted { signal, step: state.step, checkpoint });
            }
            if state.look_is_due {
                if self.look(&mut state, run)? {
                    if let Some(record) = state.log.last() {
                        let best = state.best.as_ref().map(|best| best.validation);
                        let damping = state.damping.map(|(damping, _)| damping);
                        run.emit(Event::Look(Look { damping, ..self.seen(record, best) }));
                    }
                    run.emit(Event::Advance { done: part.done(&state, self.settings), note: self.phase(&state) });
                }
                continue;
            }
            if state.step >= last {
                break StopReason::Completed;
            }
            if state.stage.is_none() && state.looks_without_best >= self.settings.patience {
                if self.settings.gauss_newton.steps == 0 {
                    break StopReason::NoImprovement;
                }
                state.step = self.settings.steps;
            }
            let fits_whole = state.stage.is_some_and(|stage| stage.segment.is_none() && stage.steps > 0);
            if fits_whole && state.looks_without_best >= self.settings.gauss_newton.patience {
                break StopReason::NoImprovement;
            }
            checkpoints.save_if_due(&state)?;
            let gauss_newton = Part::of(&state, self.settings) == Part::GaussNewton;
            if gauss_newton {
                if part == Part::Adam {
                    run.emit(Event::End);
                    part = Part::GaussNewton;
                    part.begin(self.settings, run);
                }
                match self.gauss_newton_step(&mut state, run)? {
                    Outcome::Moved => {}
                    Outcome::NextStage | Outcome::Interrupted => continue,
                    Outcome::Stationary => break StopReason::Stationary,
                }
                // What Adam held on the device is not needed any more.
                ahead = None;
            } else if !self.steps(&mut state, ahead.as_mut(), run)? {
                run.emit(Event::End);
                // A checkpoint of this very step has the weights that gave the bad loss.
                let checkpoint = self.store.last_before(state.step)?;
                return Err(Error::Diverged { step: state.step + 1, checkpoint });
            }
            state.look_is_due = gauss_newton
                || state.step.is_multiple_of(self.settings.validate_every)
                || state.step == self.settings.steps;
            if !state.look_is_due {
                run.emit(Event::Advance { done: part.done(&state, self.settings), note: self.phase(&state) });
            }
        };
        run.emit(Event::End);
        Ok((state, stop_reason))
    }

    fn resume(&self, run: &Run) -> Result<TrainingState, Error> {
        let size = self.rule.shared_size() + self.initial_contexts.len();
        let (state, broken) = self.store.load(size)?;
        for error in &broken {
            run.emit(Event::Warn(format!("a checkpoint is not used: {error}")));
        }
        if state.is_none() && !broken.is_empty() {
            // Hours of work may be worth mending, and are no longer once training has started again.
            let directory = self.store.directory().to_owned();
            return Err(Error::NoSoundCheckpoint { directory, count: broken.len() });
        }
        Ok(state.unwrap_or_else(|| {
            let mut trained = self.start.map_or_else(|| self.drawn(), <[f64]>::to_vec);
            trained.extend(&self.initial_contexts);
            TrainingState {
                step: 0,
                first_moment: vec![0.0; size],
                second_moment: vec![0.0; size],
                trained,
                best: None,
                looks_without_best: 0,
                damping: None,
                stage: None,
                window: (0.0, 0),
                assignments: Vec::new(),
                // No step may leave a model that is worse than the one it started from.
                look_is_due: self.start.is_some(),
                log: Vec::new(),
            }
        }))
    }

    /// Random shared values `[S]`.
    fn drawn(&self) -> Vec<f64> {
        let weights = self.model.initial_weights(&mut Stream::new(self.seed, "initial-weights", &[]));
        let deviation = if self.settings.contexts == Contexts::Learned { INITIAL_DEVIATION } else { 0.0 };
        self.rule.initial_shared(weights, deviation, &mut Stream::new(self.seed, "initial-shared", &[]))
    }

    /// One optimiser step. False, and the state unchanged, if the loss or its gradient is not finite.
    pub(super) fn step(&self, state: &mut TrainingState) -> Result<bool, Error> {
        let settings = self.settings;
        self.assign(state)?;
        let train = self.train_of(state);
        let probability = restart_probability(&settings.teacher_forcing, state.step);
        let per_environment = settings.trajectories_per_environment.unwrap_or_else(|| train.held_per_environment());
        let batch = train.batch(state.step, per_environment, |row, trajectory| {
            draw_restarts(self.seed, state.step, row, trajectory, probability)
        })?;
        let rate = self.learning_rate(state.step);
        let TrainingState { trained, first_moment, second_moment, .. } = state;
        let moving = Moving { trained, first_moment, second_moment };
        let Some(loss) = self.descent().step(&batch, rate, state.step + 1, moving) else { return Ok(false) };
        state.step += 1;
        state.window = (state.window.0 + loss, state.window.1 + 1);
        Ok(true)
    }

    /// Computes the validation loss, writes a record, and keeps the weights if they are the best so far. False, and the state
    /// unchanged, if a signal comes.
    pub(super) fn look(&self, state: &mut TrainingState, run: &Run) -> Result<bool, Error> {
        run.emit(Event::Underway("the validation split".to_owned()));
        let trained = self.adapted(&state.trained)?;
        let weights = self.decode(&trained);
        let (mut squares, mut values) = (Some(0.0), 0.0);
        self.validation_under(&weights)?.each_part(|batch| {
            let of_batch = || Parts::new(batch, self.cost).squares(self.reference, &weights, run);
            squares = squares.and_then(|sum| Some(sum + of_batch()?));
            values += batch.count();
        })?;
        let Some(squares) = squares else { return Ok(false) };
        state.look_is_due = false;
        let validation = Some(squares / values).filter(|mse| mse.is_finite());
        let (sum, count) = std::mem::take(&mut state.window);
        if count == 0 && state.step == 0 {
            let found = validation.map_or("not finite".to_owned(), |mse| format!("{mse:.3e}"));
            run.emit(Event::Note(format!("the model it starts from has the error {found} on the validation split")));
        } else {
            state.log.push(LogRecord {
                step: state.step,
                train: sum / count.max(1) as f64,
                validation,
                learning_rate: self.learning_rate(state.step),
                teacher_forcing: restart_probability(&self.settings.teacher_forcing, state.step),
            });
        }
        match validation {
            Some(mse) if state.best.as_ref().is_none_or(|best| mse < best.validation) => {
                state.best = Some(Best { step: state.step, validation: mse, trained });
                state.looks_without_best = 0;
            }
            _ => state.looks_without_best += 1,
        }
        Ok(true)
    }

    /// What is trained, with the contexts that follow from the train split where the rule is trained through its adaptation.
    fn adapted(&self, trained: &[f64]) -> Result<Vec<f64>, Error> {
        let descent = self.descent();
        let Some(through) = descent.through_adaptation() else { return Ok(trained.to_vec()) };
        let mut read = Ok(());
        let adapted = through.adapted(&trained[..self.rule.shared_size()], |take| read = self.train.each_part(take));
        read.map(|()| adapted).map_err(Error::from)
    }

    /// The weights `[E, P]` of every environment.
    pub(crate) fn decode(&self, trained: &[f64]) -> Vec<f64> {
        self.descent().decode(trained)
    }

    fn descent(&self) -> Descent<'_> {
        Descent {
            settings: self.settings,
            seed: self.seed,
            engine: self.engine,
            rule: self.rule,
            weights: self.model.layout().size(),
            environments: self.environments,
        }
    }

    /// What was seen at the look that left `record`, when `best` was the least error on the validation split.
    fn seen(&self, record: &LogRecord, best: Option<f64>) -> Look {
        let &LogRecord { step, train, validation, learning_rate, .. } = record;
        let learning_rate = Some(learning_rate).filter(|_| step <= self.settings.steps);
        Look { step, train, validation, best, learning_rate, damping: None }
    }

    /// What the next step is of, in words.
    fn phase(&self, state: &TrainingState) -> String {
        if Part::of(state, self.settings) == Part::Adam {
            return format!("Adam at {:.1e}", self.learning_rate(state.step));
        }
        let fitted = match state.stage.and_then(|stage| stage.segment) {
            Some(segment) => format!("segments of {}", many(segment as u64, "interval")),
            None => "whole trajectories".to_owned(),
        };
        let damping = state.damping.map_or_else(String::new, |(damping, _)| format!(", damping {damping:.1e}"));
        format!("{fitted}{damping}")
    }

    /// Adam's learning rate; its last one in the steps that follow.
    pub(super) fn learning_rate(&self, step: u64) -> f64 {
        let (start, step) = (self.settings.learning_rate, step.min(self.settings.steps));
        match self.settings.schedule {
            Schedule::Constant => start,
            Schedule::Cosine => {
                let end = start * 1e-3;
                let phase = std::f64::consts::PI * step as f64 / self.settings.steps.max(1) as f64;
                end + (start - end) * 0.5 * (1.0 + phase.cos())
            }
        }
    }
}
