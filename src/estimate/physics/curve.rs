//! What was fitted along other times than those of the samples: everything that the equations compute, with its band.
//!
//! ```text
//! half_q(t) = t(0.975, n - m) sqrt(s' C s),    s = dz_q(t) / d(theta, y_0)  [d + u]
//! ```
//!
//! `z_q` a channel, a hidden state or an output, `C [d + u, d + u]` the covariance of parameters and unknown initial values together. Where a direction
//! that is not determined moves `z_q`, the band is [unknown](super::uncertainty).

use std::borrow::Cow;

use super::budget::{Budget, Halt};
use super::everything::Everything;
use super::experiment::{Experiment, Unknowns};
use super::function::Function;
use super::series::Series;
use super::uncertainty::Uncertainty;
use crate::estimate::settings::PhysicsSettings;
use crate::progress::Interrupt;
use crate::signals::Drive;
use crate::solve::DOP853;

/// One trajectory along some times.
pub(crate) struct Curve {
    /// `[T]` from where the system starts.
    pub times: Vec<f64>,
    /// `[T, Q]`: channels in the order of the equations, then what nobody measures.
    pub values: Vec<f64>,
    /// Half the width of the 95 % bands `[T, Q]`; NaN where they are unknown.
    pub half_widths: Vec<f64>,
    /// Why, where any is unknown: each reason once.
    pub unknown: Vec<String>,
}

impl Curve {
    /// Why some band is unknown, where intervals have these degrees of freedom; none where all are known.
    pub(crate) fn unknown_in_words(&self, degrees_of_freedom: f64) -> Option<String> {
        if !self.unknown.is_empty() {
            return Some(self.unknown.join("; "));
        }
        self.half_widths.iter().any(|half| half.is_nan()).then(|| match degrees_of_freedom > 0.0 {
            true => "its derivatives are not finite".to_owned(),
            false => "no degree of freedom is left to judge errors by: as many unknowns as observed values".to_owned(),
        })
    }
}

impl Experiment<'_> {
    /// The trajectories for `unknowns` along `series`, one for each of them, which start where those of the experiment do. `uncertainties` are those of
    /// parameters and unknown initial values of each, `quantile` half the width of a band in standard deviations.
    ///
    /// # Errors
    /// Why a trajectory was not integrated to its end.
    pub(crate) fn curves(
        &self,
        unknowns: &Unknowns,
        series: Vec<Series>,
        everything: &Everything,
        (uncertainties, quantile): (&[Uncertainty], f64),
        (physics, interrupt): (&PhysicsSettings, &Interrupt),
    ) -> Result<Vec<Curve>, Halt> {
        let mut integrator = self.integrator(&DOP853, physics.rtol, physics.max_steps)?;
        let along = self.along(series, everything);
        let mut budget = Budget::new(physics.max_evaluations, interrupt);
        let rollout = along.roll_out(&mut integrator, unknowns, &mut budget)?;
        let k = along.directions();
        let q = everything.observables.channels.len();
        let curve = |trajectory: usize, values: Vec<f64>| {
            let (uncertainty, slopes) = (&uncertainties[trajectory], &rollout.sensitivities[trajectory]);
            let size = |quantity: usize| {
                values.iter().skip(quantity).step_by(q).fold(0.0, |size: f64, value| size.max(value.abs()))
            };
            let sizes: Vec<f64> = (0..q).map(size).collect();
            let m = uncertainty.covariance.nrows();
            let (mut half_widths, mut unknown) = (Vec::with_capacity(values.len()), Vec::new());
            for cell in 0..values.len() {
                let (std_dev, reason) = uncertainty.std_dev(&slopes[cell * k..cell * k + m], sizes[cell % q]);
                half_widths.push(quantile * std_dev);
                if let Some(reason) = reason.filter(|reason| unknown.iter().all(|it| it != reason)) {
                    unknown.push(reason.to_owned());
                }
            }
            Curve { times: along.series[trajectory].times().to_vec(), values, half_widths, unknown }
        };
        Ok(rollout.states.into_iter().enumerate().map(|(trajectory, values)| curve(trajectory, values)).collect())
    }

    /// The `initial` state of a trajectory of which no parameter is estimated, with what the equations compute of it.
    pub(crate) fn computed_start(&self, trajectory: usize, mut initial: Vec<f64>) -> Vec<f64> {
        let Some(starts) = &self.model.starts else { return initial };
        let series = &self.series[trajectory];
        let drive = Drive { times: series.times(), inputs: series.inputs(), between: &self.model.between };
        let function = Function { field: starts, parameters: &self.model.parameters, directions: &[], k: 0 };
        let values = function.along(&drive, 1, (&[], &[]), initial.len()).values;
        self.computed_initial[trajectory].iter().for_each(|&value| initial[value] = values[value]);
        initial
    }

    /// The same unknowns along other samples, with everything that the equations compute as channels.
    fn along(&self, series: Vec<Series>, everything: &Everything) -> Experiment<'static> {
        let mut model = self.model.clone().into_owned();
        model.channels = everything.observables.channels.len();
        model.observables = Some(everything.observables.clone());
        // The unknown starts of hidden states are in units of their own.
        let mut scales = self.scales.clone();
        scales.resize(model.channels, 1.0);
        Experiment {
            model: Cow::Owned(model),
            series,
            unknown_initial: self.unknown_initial.clone(),
            computed_initial: self.computed_initial.clone(),
            scales,
            resolutions: Vec::new(),
            cells: Vec::new(),
            limits: Vec::new(),
            initial_state: self.initial_state,
            loss: self.loss,
        }
    }
}
