//! Terms of a library of products that the data do not ask for are dropped, and the others fitted again.
//!
//! The size of a term is what it adds to its rate, the coefficient times the root mean square of the product over training samples, in the
//! environment where that is greatest, as a share of the greatest of the same rate: no unit changes it. Thresholds fall from a tenth by half
//! powers of ten; terms below one are dropped in all environments together, Gauss-Newton fits the others on whole
//! trajectories, and the first threshold with which the error on the validation split is at most a tenth greater than with all
//! terms, or negligible beside the states, stays.
//!
//! Source, of thresholds and fits in turn: S. Brunton, J. Proctor, N. Kutz, PNAS 113, 2016 (there least squares on derivatives, and a
//! threshold that the user gives).

use super::curriculum::Outcome;
use super::data::even_restarts;
use super::error::Error;
use super::fit::Fit;
use super::term_sizes;
use crate::checkpoint::{Stage, TrainingState};
use crate::models;
use crate::progress::{Event, Run};
use crate::rules::Restricted;

/// Half powers of ten: thresholds are `10^(-k/2)`.
const THRESHOLDS: std::ops::RangeInclusive<i32> = 2..=12;
/// Greatest mean squared error on the validation split without terms, over that with all.
const GREATEST: f64 = 1.1;
/// Mean squared error that is negligible, over the mean square of the states: the solver between samples is seldom more exact, and small
/// terms make up for it.
const NEGLIGIBLE: f64 = 1e-12;
/// Most steps of Gauss-Newton after terms are dropped; two in a row that bring little end them.
const STEPS: usize = 10;
const SLOW_STEPS: u64 = 2;
/// Trajectories of each environment over whose samples the size of a product is taken.
const TRAJECTORIES: usize = 4;

impl Fit<'_> {
    /// Drops terms from the best model of `state`, if it is a library and settings ask for it.
    ///
    /// # Errors
    /// [`Error::Interrupted`] with a checkpoint of `state` as it was; errors of reading.
    pub(super) fn drop_terms(&self, state: TrainingState, run: &Run) -> Result<TrainingState, Error> {
        let settings = &self.settings.gauss_newton;
        let is_library = matches!(self.settings.model, models::Settings::Library { .. });
        let Some(best) = state.best.clone().filter(|_| is_library && settings.drop_terms && settings.steps > 0) else {
            return Ok(state);
        };
        let sizes = self.shares(&best.trained)?;
        // Without a coefficient that is zero already, the model is the same.
        let zeros = sizes.iter().filter(|size| **size == 0.0).count();
        let mut tried = zeros;
        let most = f64::max(GREATEST * best.validation, NEGLIGIBLE * self.mean_square()?);
        let total = Some(THRESHOLDS.count() as u64);
        run.emit(Event::Begin { what: "drop terms".to_owned(), total, unit: "thresholds" });
        for (done, half) in (1..).zip(THRESHOLDS) {
            let threshold = 10_f64.powf(-0.5 * f64::from(half));
            let is_dropped: Vec<bool> = sizes.iter().map(|size| *size < threshold).collect();
            let count = is_dropped.iter().filter(|it| **it).count();
            if count == tried || count == zeros {
                continue;
            }
            tried = count;
            let rule = Restricted::dropped(self.rule, is_dropped);
            let fit = Fit { rule: &rule, initial_contexts: self.initial_contexts.clone(), ..*self };
            let mut candidate = TrainingState { best: None, damping: None, window: (0.0, 0), ..state.clone() };
            candidate.trained.clone_from(&best.trained);
            rule.clear(&mut candidate.trained[..self.rule.shared_size()]);
            candidate.stage = Some(Stage { steps: 1, ..Stage::default() });
            for _ in 0..STEPS {
                match fit.gauss_newton_step(&mut candidate, run)? {
                    Outcome::Moved => {
                        fit.look(&mut candidate, run)?;
                    }
                    Outcome::Stationary => break,
                    Outcome::NextStage | Outcome::Interrupted => {}
                }
                if candidate.stage.is_some_and(|stage| stage.slow >= SLOW_STEPS) {
                    break;
                }
                if let Some(signal) = run.interrupt.requested() {
                    let checkpoint = self.store.save(&state)?;
                    run.emit(Event::End);
                    return Err(Error::Interrupted { signal, step: state.step, checkpoint });
                }
            }
            run.emit(Event::Advance { done, note: format!("{count} coefficients") });
            let error = candidate.best.as_ref().map_or(f64::INFINITY, |found| found.validation);
            if error <= most {
                let places = sizes.len();
                run.emit(Event::End);
                run.emit(Event::Note(format!(
                    "{count} of {places} coefficients are dropped, those below {threshold:.0e} of the greatest of their rate: validation \
                     {:.2e} with all, {error:.2e} without",
                    best.validation
                )));
                return Ok(candidate);
            }
        }
        run.emit(Event::End);
        let places = sizes.len();
        run.emit(Event::Note(match zeros {
            0 => "no coefficient is dropped: without the smallest, validation errors are greater".to_owned(),
            _ => format!("{zeros} of {places} coefficients are zero; without the smallest of the others, validation errors are greater"),
        }));
        Ok(state)
    }

    /// Mean square of the states of the validation split.
    pub(super) fn mean_square(&self) -> Result<f64, Error> {
        let (mut squares, mut count) = (0.0, 0.0);
        self.validation.each_part(|batch| {
            squares += batch.targets.iter().zip(&batch.mask).map(|(y, m)| m * m * y * y).sum::<f64>();
            count += batch.count();
        })?;
        Ok(squares / count)
    }

    /// The share of each weight `[P]` in its rate, in the environment where its size is greatest.
    fn shares(&self, trained: &[f64]) -> Result<Vec<f64>, Error> {
        let layout = self.model.layout();
        let mut most = vec![0.0_f64; layout.size()];
        let batch = self.train.batch(0, TRAJECTORIES, |_, trajectory| even_restarts(trajectory, 1))?;
        for (e, weights) in self.decode(trained).chunks_exact(layout.size()).enumerate() {
            let sizes = term_sizes::sizes(layout, self.reference, weights, &batch.environment(e));
            most.iter_mut().zip(sizes).for_each(|(most, size)| *most = most.max(size));
        }
        term_sizes::to_shares(layout, &mut most);
        Ok(most)
    }
}
