//! Terms of a library of products that the data do not ask for are dropped, and the others fitted again.
//!
//! The size of a term is its greatest coefficient over the environments, as a share of the greatest of the same rate. Thresholds fall from a
//! tenth by half powers of ten; terms below one are dropped in all environments together, Gauss-Newton fits the others on whole
//! trajectories, and the first threshold with which the error on the validation split is at most a tenth greater than with all
//! terms, or negligible beside the states, stays.
//!
//! Source, of thresholds and fits in turn: S. Brunton, J. Proctor, N. Kutz, PNAS 113, 2016 (there least squares on derivatives, and a
//! threshold that the user gives).

use super::curriculum::Outcome;
use super::error::Error;
use super::fit::Fit;
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
/// Most steps of Gauss-Newton after terms are dropped.
const STEPS: usize = 10;

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
        let sizes = self.sizes(&best.trained);
        let most = f64::max(GREATEST * best.validation, NEGLIGIBLE * self.mean_square()?);
        let mut tried = 0;
        let total = Some(THRESHOLDS.count() as u64);
        run.emit(Event::Begin { what: "drop terms".to_owned(), total, unit: "thresholds" });
        for (done, half) in (1..).zip(THRESHOLDS) {
            let threshold = 10_f64.powf(-0.5 * f64::from(half));
            let is_dropped: Vec<bool> = sizes.iter().map(|size| *size < threshold).collect();
            let count = is_dropped.iter().filter(|it| **it).count();
            if count == 0 || count == tried {
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
                    Outcome::NextStage | Outcome::Stationary => break,
                    Outcome::Interrupted => {}
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
        run.emit(Event::Note(
            "no coefficient is dropped: without the smallest, validation errors are greater".to_owned(),
        ));
        Ok(state)
    }

    /// Mean square of the states of the validation split.
    fn mean_square(&self) -> Result<f64, Error> {
        let (mut squares, mut count) = (0.0, 0.0);
        self.validation.each_part(|batch| {
            squares += batch.targets.iter().zip(&batch.mask).map(|(y, m)| m * m * y * y).sum::<f64>();
            count += batch.count();
        })?;
        Ok(squares / count)
    }

    /// The size of each weight `[P]`. Those of a denominator are not dropped: theirs is one.
    fn sizes(&self, trained: &[f64]) -> Vec<f64> {
        let layout = self.model.layout();
        let size = layout.size();
        let weights = self.decode(trained);
        let mut sizes = vec![1.0; size];
        for block in layout.blocks.iter().filter(|block| block.shape.len() == 2) {
            for rate in block.range().collect::<Vec<usize>>().chunks_exact(block.shape[1]) {
                let of = |p: usize| weights.iter().skip(p).step_by(size).fold(0.0, |most: f64, w| most.max(w.abs()));
                let greatest = rate.iter().map(|&p| of(p)).fold(f64::MIN_POSITIVE, f64::max);
                rate.iter().for_each(|&p| sizes[p] = of(p) / greatest);
            }
        }
        sizes
    }
}
