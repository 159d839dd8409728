//! The parts of a fit: a rough one, and one at the tolerances of the settings.

use super::differences::Integrator;
use super::experiment::Experiment;
use super::settings::Settings;
use crate::solve;
use crate::solve::{DOP853, TSIT5, Tableau};

/// Tolerance of the rough fit, and the length of its last step.
const ROUGH: f64 = 1e-4;
const ROUGH_STEP: f64 = 1e-2;

/// How trajectories are integrated in one part of a fit, and the length of its last step.
pub(crate) struct Stage {
    pub integrator: Integrator,
    pub rtol: f64,
    pub short: f64,
}

impl Stage {
    /// A first one, which finds where a minimum is.
    pub fn rough(experiment: &Experiment, settings: &Settings, tolerance: f64) -> Result<Self, solve::Error> {
        Stage::new(experiment, settings, &TSIT5, settings.rtol.max(ROUGH), tolerance.max(ROUGH_STEP))
    }

    /// The last one, at the tolerances of the settings.
    pub fn fine(experiment: &Experiment, settings: &Settings, tolerance: f64) -> Result<Self, solve::Error> {
        Stage::new(experiment, settings, &DOP853, settings.rtol, tolerance)
    }

    fn new(
        experiment: &Experiment,
        settings: &Settings,
        tableau: &'static Tableau,
        rtol: f64,
        short: f64,
    ) -> Result<Self, solve::Error> {
        Ok(Stage { integrator: experiment.integrator(tableau, rtol, settings.max_steps)?, rtol, short })
    }
}
