//! The passes of a fit: a rough one that finds minima, and a fine one at the tolerances of the settings; of stiff systems, whose fine trajectories
//! take many times as long as rough ones, one between them.

use super::differences::Integrator;
use super::experiment::Experiment;
use crate::estimate::settings::PhysicsSettings;
use crate::solve::{self, DOP853, TSIT5, Tableau};

/// Tolerance of integration in the rough pass.
const ROUGH_RTOL: f64 = 1e-4;
/// Length of a step below which the rough pass has converged.
const ROUGH_STEP: f64 = 1e-2;

/// How trajectories are integrated in one pass of a fit, and when it has converged.
pub(crate) struct Pass {
    pub integrator: Integrator,
    /// Relative tolerance of integration.
    pub rtol: f64,
    /// Length of a step below which a descent has converged.
    pub shortest_step: f64,
}

impl Pass {
    /// The first pass, which finds minima.
    ///
    /// # Errors
    /// As [`Experiment::integrator`].
    pub(crate) fn rough(
        experiment: &Experiment,
        settings: &PhysicsSettings,
        tolerance: f64,
    ) -> Result<Self, solve::Error> {
        Pass::new(experiment, settings, &TSIT5, settings.rtol.max(ROUGH_RTOL), tolerance.max(ROUGH_STEP))
    }

    /// The pass between the two, after which little is left for the last one.
    ///
    /// # Errors
    /// As [`Experiment::integrator`].
    pub(crate) fn between(
        experiment: &Experiment,
        settings: &PhysicsSettings,
        tolerance: f64,
    ) -> Result<Self, solve::Error> {
        let rtol = (settings.rtol * settings.rtol.max(ROUGH_RTOL)).sqrt();
        Pass::new(experiment, settings, &DOP853, rtol, tolerance)
    }

    /// The last pass, at the tolerances of the settings.
    ///
    /// # Errors
    /// As [`Experiment::integrator`].
    pub(crate) fn fine(
        experiment: &Experiment,
        settings: &PhysicsSettings,
        tolerance: f64,
    ) -> Result<Self, solve::Error> {
        Pass::new(experiment, settings, &DOP853, settings.rtol, tolerance)
    }

    fn new(
        experiment: &Experiment,
        settings: &PhysicsSettings,
        tableau: &'static Tableau,
        rtol: f64,
        shortest_step: f64,
    ) -> Result<Self, solve::Error> {
        Ok(Pass { integrator: experiment.integrator(tableau, rtol, settings.max_steps)?, rtol, shortest_step })
    }
}
