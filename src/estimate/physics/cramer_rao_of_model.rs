//! The Cramér-Rao bounds of a learned model's estimates, where the equations of the data are known too.

use super::cramer_rao;
use super::cramer_rao::Deviation;
use super::equations::Equations;
use super::experiment::Experiment;
use super::settings::Settings;
use crate::dataset::Dataset;
use crate::estimate;
use crate::estimate::error::Error;
use crate::estimate::settings::{InitialState, Loss};
use crate::progress::Interrupt;
use crate::schema::{Split, Trajectory};

/// What no estimator can be better than, by the equations that `estimate.physics.system` names.
pub(crate) struct LeastErrors<'a> {
    equations: Equations,
    settings: Settings,
    initial_state: InitialState,
    interrupt: &'a Interrupt,
}

/// What a fit found of one environment, in the units and in the order of the dataset.
pub(crate) struct Fitted<'a> {
    pub split: Split,
    /// Parameters `[d_p]` as far as they are known, and as they were estimated.
    pub truth: &'a [Option<f64>],
    pub values: &'a [f64],
    /// Estimated deviation of the noise of each channel `[C]`.
    pub noise: &'a [f64],
    pub trajectories: Vec<Trajectory>,
    /// The state `[C]` that each starts from.
    pub initial: Vec<Vec<f64>>,
}

impl<'a> LeastErrors<'a> {
    /// None where the settings name no equations.
    ///
    /// # Errors
    /// [`Error::Physics`] with everything in which equations and dataset do not fit together.
    pub fn new(
        settings: &estimate::Settings,
        dataset: &Dataset,
        interrupt: &'a Interrupt,
    ) -> Result<Option<Self>, Error> {
        let Some(of_physics) = settings.physics.clone().filter(|it| it.system.is_some()) else { return Ok(None) };
        let mut equations = Equations::new(&of_physics, settings, dataset)?;
        // The model was fitted from the first complete samples, and knows nothing of what the equations give.
        (equations.model.given, equations.model.start) = (Vec::new(), None);
        Ok(Some(LeastErrors { equations, settings: of_physics, initial_state: settings.initial_state(), interrupt }))
    }

    /// The bound of each of the dataset's parameters `[d_p]` at its true value, at the estimate where that is unknown, with the noise that
    /// the data were simulated with, or else the estimated one. None where the equations have other parameters.
    pub fn of(&self, fitted: Fitted) -> Vec<Option<f64>> {
        self.in_system_order(&fitted).unwrap_or_else(|| vec![None; fitted.truth.len()])
    }

    fn in_system_order(&self, fitted: &Fitted) -> Option<Vec<Option<f64>>> {
        let equations = &self.equations;
        let best: Vec<Option<f64>> =
            fitted.truth.iter().zip(fitted.values).map(|(truth, value)| truth.or(Some(*value))).collect();
        let at: Vec<f64> = equations.truth(&best).into_iter().collect::<Option<_>>()?;
        let estimated =
            || equations.places.iter().map(|&place| Deviation { absolute: fitted.noise[place], relative: 0.0 });
        let noise = equations.noise(fitted.split).unwrap_or_else(|| estimated().collect());
        let series = fitted.trajectories.iter().map(|trajectory| equations.series(trajectory)).collect();
        let experiment = Experiment::new(&equations.model, series, self.initial_state, Loss::Squares);
        let initial: Vec<Vec<f64>> = fitted.initial.iter().map(|state| equations.in_system_order(state)).collect();
        let sound = at.iter().chain(initial.iter().flatten()).all(|value| value.is_finite());
        let bounds = Some(()).filter(|()| sound).and_then(|()| {
            cramer_rao::standard_errors(&experiment, &at, &initial, &noise, &self.settings, self.interrupt)
        })?;
        let of_dataset = |place: usize| {
            let of_system = equations.truths.iter().position(|it| *it == Some(place))?;
            Some(bounds[of_system])
        };
        Some((0..fitted.truth.len()).map(of_dataset).collect())
    }
}
