//! Fits the equations of a dataset to one environment at a time.

use std::borrow::Cow;

use super::equations::Equations;
use super::experiment::Experiment;
use super::fit::fit;
use super::fitter::End;
use super::likelihood::measured::Measured;
use super::profile::Held;
use super::result::{Fit, Names};
use crate::estimate::settings::{InitialState, PhysicsSettings, Settings};
use crate::estimate::table::row::Status;
use crate::progress::Interrupt;
use crate::schema::Trajectory;

/// How environments are fitted.
#[derive(Clone, Copy)]
pub(crate) struct Fitting<'a> {
    pub equations: &'a Equations,
    pub settings: &'a Settings,
    pub physics: &'a PhysicsSettings,
    pub initial_state: InitialState,
    pub interrupt: &'a Interrupt,
}

impl<'a> Fitting<'a> {
    /// The problem of an environment with these `parameters [d_p]` of the dataset; with status and reason where it cannot be fitted.
    pub(crate) fn experiment(
        &self,
        parameters: &[Option<f64>],
        trajectories: &[Trajectory],
    ) -> (Experiment<'a>, Option<End>) {
        let series = trajectories.iter().map(|trajectory| self.equations.series(trajectory)).collect();
        let (model, unknown) = match self.equations.model(parameters) {
            Ok(model) => (model, None),
            Err(unknown) => (Cow::Borrowed(&self.equations.model), Some(unknown)),
        };
        let mut experiment = Experiment::new(model, series, self.initial_state, self.settings.loss);
        if let Some(measured) = &self.equations.measured {
            experiment.limits = measured.limits(&experiment);
        }
        let unknown = unknown.map(|unknown| {
            let reason = format!("the equations need what is not known of this environment: {unknown}");
            (Status::NoData, reason)
        });
        let end = unknown.or_else(|| {
            experiment.overflowing_channel().map(|(channel, size)| {
                let name = &self.equations.channel_names[channel];
                let reason = format!(
                    "`{name}` has values of about {size:.0e}, whose sum of squares is not finite; correct them, or give them in another unit"
                );
                (Status::Diverged, reason)
            })
        });
        (experiment, end)
    }

    /// The problem of an environment, and its result.
    pub(crate) fn fit(&self, parameters: &[Option<f64>], trajectories: &[Trajectory]) -> (Experiment<'a>, Fit) {
        let (experiment, end) = self.experiment(parameters, trajectories);
        let Equations { starts, names, measured, .. } = self.equations;
        let fit = match end {
            Some(end) => Fit::none(&experiment, end, 0),
            None => self.fit_experiment(&experiment, (names, starts), trajectories, (measured.as_ref(), None)),
        };
        (experiment, fit)
    }

    /// Fits an experiment whose parameters have these `names [d]`, from `starts [n][d]` and others, where something may be held that was fitted
    /// `elsewhere`.
    pub(crate) fn fit_experiment(
        &self,
        experiment: &Experiment,
        (names, starts): (&[String], &[Vec<f64>]),
        trajectories: &[Trajectory],
        (measured, elsewhere): (Option<&Measured>, Option<&Held>),
    ) -> Fit {
        let of_trajectories: Vec<String> = trajectories.iter().map(|it| it.trajectory.clone()).collect();
        let names = Names {
            parameters: names,
            channels: &self.equations.channel_names,
            states: &self.equations.state_names,
            own: &self.equations.own_names,
            trajectories: &of_trajectories,
        };
        fit(experiment, names, starts, self.settings, self.physics, (measured, elsewhere), self.interrupt)
    }
}
