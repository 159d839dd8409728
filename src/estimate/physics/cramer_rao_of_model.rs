//! Cramér-Rao bounds beside the estimates of a learned model, where the equations of the data are known as well.

use super::cramer_rao;
use super::cramer_rao::{Noise, NoiseLevel, Place};
use super::equations::Equations;
use super::experiment::Experiment;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::{InitialState, Loss, PhysicsSettings, Settings};
use crate::progress::Interrupt;
use crate::schema::{Split, Trajectory};

/// Computes Cramér-Rao bounds by the equations that `estimate.physics.system` names.
pub(crate) struct ModelBounds<'a> {
    equations: Equations,
    settings: PhysicsSettings,
    initial_state: InitialState,
    interrupt: &'a Interrupt,
}

/// The fit of a learned model to one environment, in the units and in the order of the dataset.
pub(crate) struct LearnedFit<'a> {
    pub split: Split,
    /// True parameters `[d_p]` where they are known.
    pub truth: &'a [Option<f64>],
    /// Estimated parameters `[d_p]`.
    pub values: &'a [f64],
    /// Estimated standard deviation of the noise of each channel `[C]`.
    pub noise: &'a [f64],
    pub trajectories: Vec<Trajectory>,
    /// The fitted initial state `[C]` of each trajectory.
    pub initial: Vec<Vec<f64>>,
}

impl<'a> ModelBounds<'a> {
    /// None where the settings name no equations.
    ///
    /// # Errors
    /// [`Error::Physics`] with every disagreement of equations and dataset.
    pub(crate) fn new(settings: &Settings, dataset: &Dataset, interrupt: &'a Interrupt) -> Result<Option<Self>, Error> {
        let Some(of_physics) = settings.physics.clone().filter(|it| it.system.is_some()) else { return Ok(None) };
        let mut equations = Equations::new(&of_physics, settings, dataset)?;
        // What the model starts from, and predicts, are states.
        if equations.model.observables.is_some() {
            return Ok(None);
        }
        // The model was fitted from the first complete samples, without the initial values that equations may give.
        equations.model = equations.model.starting_anywhere();
        Ok(Some(ModelBounds { equations, settings: of_physics, initial_state: settings.initial_state(), interrupt }))
    }

    /// The bounds of the dataset's parameters `[d_p]`: at the true values, or the estimates where these are unknown, for the noise that the
    /// data were simulated with, or else the estimated noise. None for parameters that the equations do not have.
    pub(crate) fn bounds(&self, fit: &LearnedFit) -> Vec<Option<f64>> {
        self.known_bounds(fit).unwrap_or_else(|| vec![None; fit.truth.len()])
    }

    fn known_bounds(&self, fit: &LearnedFit) -> Option<Vec<Option<f64>>> {
        let equations = &self.equations;
        let best: Vec<Option<f64>> =
            fit.truth.iter().zip(fit.values).map(|(truth, value)| truth.or(Some(*value))).collect();
        let parameters: Vec<f64> = equations.known_parameters(&best).into_iter().collect::<Option<_>>()?;
        let estimated = || {
            equations.channel_indices.iter().map(|&channel| NoiseLevel { absolute: fit.noise[channel], relative: 0.0 })
        };
        let noise = equations.simulated_noise(fit.split).unwrap_or_else(|| estimated().collect());
        let model = equations.model(fit.truth).ok()?;
        let series = fit.trajectories.iter().map(|trajectory| equations.series(trajectory)).collect();
        let experiment = Experiment::new(model, series, self.initial_state, Loss::Squares);
        let initial: Vec<Vec<f64>> = fit.initial.iter().map(|state| equations.in_system_order(state)).collect();
        let is_finite = parameters.iter().chain(initial.iter().flatten()).all(|value| value.is_finite());
        if !is_finite {
            return None;
        }
        let own = experiment.start(&parameters).own;
        let place = Place { parameters: &parameters, initial: &initial, own };
        let how = (&self.settings, self.interrupt);
        let bounds = cramer_rao::bounds(&experiment, place, &Noise::Levels(&noise), how)?;
        let bound_of = |parameter: usize| {
            let estimated = equations.parameter_indices.iter().position(|it| *it == Some(parameter))?;
            Some(bounds[estimated])
        };
        Some((0..fit.truth.len()).map(bound_of).collect())
    }
}
