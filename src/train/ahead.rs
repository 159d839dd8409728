//! Steps of Adam that are planned ahead, and made by an engine that keeps what is trained on its device.
//!
//! They are the steps of [`Fit`]: of the same trajectories, with restarts at the same samples and the same rates. What a rollout
//! restarts from is data, so all steps have one shape.

use super::data::{draw_restarts, restart_probability};
use super::error::Error;
use super::fit::Fit;
use super::settings::{Contexts, Labels};
use super::steps_on::StepsOn;
use crate::checkpoint::TrainingState;
use crate::engine::{Device, MOST_STEPS, Made, Moved, Objective, Plan, Resident};
use crate::problems::Problems;
use crate::progress::{Event, Run};

/// Steps that are made ahead of the host.
pub(super) struct Ahead<'a> {
    resident: Box<dyn Resident + 'a>,
    /// Rows `B` of each environment in a step.
    rows: usize,
    /// Steps `L` of a row.
    steps: usize,
}

impl<'a> Fit<'a> {
    /// Puts the data on the device, if steps are to be made there.
    ///
    /// # Errors
    /// [`Error::Settings`] if they are to be, and cannot be.
    pub(super) fn ahead(&self, run: &Run) -> Result<Option<Ahead<'a>>, Error> {
        let settings = self.settings;
        let wanted = match settings.steps_on {
            StepsOn::Auto => matches!(self.device, Device::Cuda(_)),
            StepsOn::Host => false,
            StepsOn::Device => true,
        };
        if !wanted || settings.steps == 0 {
            return Ok(None);
        }
        let found = Ahead::new(self);
        match &found {
            Ok(ahead) => run.emit(Event::Note(ahead.resident.how())),
            Err(problem) if settings.steps_on == StepsOn::Auto => {
                run.emit(Event::Note(format!("steps of Adam are made from the host: {problem}")));
            }
            Err(problem) => {
                let mut problems = Problems::default();
                let expected = "\"auto\" or \"host\": the device cannot make these steps by itself";
                problems.add("steps_on", format!("\"device\", but {problem}"), expected, "remove it");
                return Err(Error::Settings(problems.into_vec()));
            }
        }
        Ok(found.ok())
    }

    /// Makes a step of Adam, or several where they are made ahead. False if one was not made because its loss or its gradient is not finite.
    ///
    /// # Errors
    /// Any error of reading.
    pub(super) fn steps(&self, state: &mut TrainingState, ahead: Option<&mut Ahead>, run: &Run) -> Result<bool, Error> {
        match ahead {
            Some(ahead) => Ok(ahead.step(self, state, run)),
            None => self.step(state),
        }
    }
}

impl<'a> Ahead<'a> {
    /// Puts the data of `fit` on the device, or says why not.
    fn new(fit: &Fit<'a>) -> Result<Self, String> {
        let settings = fit.settings;
        let rule = settings.rule.name();
        if settings.rule.trains_through_adaptation() || settings.rule.trains_through_expansion() {
            return Err(format!("rule \"{rule}\" has an objective of its own"));
        }
        if settings.environments == Labels::Infer {
            return Err("environments are inferred".to_owned());
        }
        if !fit.train.is_held() {
            return Err("the train split exceeds `train.memory_budget_mib`".to_owned());
        }
        let size = fit.model.layout().size();
        let places =
            fit.rule.places(size).ok_or(format!("weights under rule \"{rule}\" are not sums of shared values"))?;
        let per_environment = settings.trajectories_per_environment.unwrap_or(usize::MAX);
        let data = fit.train.whole().map_err(|error| error.to_string())?;
        let objective = Objective {
            places: &places,
            shared: fit.rule.shared_size(),
            context_dimension: fit.rule.context_size(),
            context_penalty: (settings.contexts == Contexts::Learned).then_some(settings.context_penalty),
            locality_penalty: settings.locality_penalty,
            gradient_clip: settings.gradient_clip,
            data: &data,
            rows: per_environment.min(data.rows),
        };
        let (rows, steps) = (objective.rows, data.steps);
        let name = fit.engine.name();
        let resident = fit.engine.resident(&objective).ok_or(format!("the engine {name} makes none by itself"))?;
        Ok(Ahead { resident, rows, steps })
    }

    /// Makes steps until something else is due. False if one was not made because its loss or its gradient is not finite.
    fn step(&mut self, fit: &Fit, state: &mut TrainingState, run: &Run) -> bool {
        let count = steps_until_due(fit, state.step);
        let plan = self.plan(fit, state.step, count);
        let TrainingState { trained, first_moment, second_moment, .. } = state;
        let moved = Moved { trained, first_moment, second_moment };
        let Made { losses, diverged } = self.resident.run(&plan, moved, &|| run.interrupt.requested().is_none());
        state.step += losses.len() as u64;
        state.window = losses.iter().fold(state.window, |(sum, count), loss| (sum + loss, count + 1));
        !diverged
    }

    /// The steps `step..step + count`.
    fn plan(&self, fit: &Fit, step: u64, count: usize) -> Plan {
        let size = count * fit.environments * self.rows;
        let mut plan = Plan {
            first: step + 1,
            rates: (step..).take(count).map(|step| fit.learning_rate(step)).collect(),
            rows: Vec::with_capacity(size),
            restarts: vec![false; size * self.steps],
        };
        for step in (step..).take(count) {
            let probability = restart_probability(&fit.settings.teacher_forcing, step);
            for chosen in fit.train.turns(step, self.rows) {
                for place in 0..self.rows {
                    let row = chosen.get(place);
                    let first = plan.rows.len() * self.steps;
                    plan.rows.push(row.map(|row| row.place));
                    if let Some(row) = row {
                        let trajectory = fit.train.trajectory(row);
                        let restarts = draw_restarts(fit.seed, step, row.row, trajectory, probability);
                        restarts.into_iter().for_each(|sample| plan.restarts[first + sample] = true);
                    }
                }
            }
        }
        plan
    }
}

/// Steps from `step` until a look or a checkpoint is due, or Adam ends, and no more than are planned at once.
fn steps_until_due(fit: &Fit, step: u64) -> usize {
    let settings = fit.settings;
    let until = |every: u64| every - step % every;
    let left = settings.steps - step;
    let due = left.min(until(settings.validate_every)).min(until(settings.checkpoint_every));
    usize::try_from(due).unwrap_or(MOST_STEPS).min(MOST_STEPS)
}
