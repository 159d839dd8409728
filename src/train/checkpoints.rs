//! When a training writes a checkpoint: after so many steps of Adam or of Gauss-Newton, after so much time, and where Adam ends.
//!
//! The clock decides when a checkpoint is written and nothing else: a training gives the same model whenever they were.

use std::time::Instant;

use super::error::Error;
use super::settings::Settings;
use crate::checkpoint::{TrainingState, TrainingStore};

/// Writes the checkpoints of one training as they fall due.
pub(super) struct Checkpoints<'a> {
    settings: &'a Settings,
    store: &'a TrainingStore,
    /// Step of the newest checkpoint, or the step that training began at.
    saved: u64,
    /// When that was.
    time: Instant,
}

impl<'a> Checkpoints<'a> {
    /// For a training that begins, or goes on, at `step`.
    pub(super) fn new(settings: &'a Settings, store: &'a TrainingStore, step: u64) -> Self {
        Checkpoints { settings, store, saved: step, time: Instant::now() }
    }

    /// Writes a checkpoint if one is due.
    pub(super) fn save_if_due(&mut self, state: &TrainingState) -> Result<(), Error> {
        let late = || self.time.elapsed().as_secs_f64() >= 60.0 * self.settings.checkpoint_minutes;
        if state.step > self.saved && (self.falls_on(state.step) || late()) {
            self.store.save(state)?;
            self.saved = state.step;
            self.time = Instant::now();
        }
        Ok(())
    }

    /// Whether one is due after `step` steps, whatever the time.
    fn falls_on(&self, step: u64) -> bool {
        match step.checked_sub(self.settings.steps) {
            None => step.is_multiple_of(self.settings.checkpoint_every),
            Some(of_gauss_newton) => of_gauss_newton.is_multiple_of(self.settings.gauss_newton.checkpoint_every),
        }
    }
}
