//! The Cramér-Rao bound: the smallest standard errors that an unbiased estimator can have on given data.
//!
//! ```text
//! I = sum_i s_i s_i' (1 / sigma_i^2 + 2 (sigma_i' / sigma_i)^2),     sigma_i^2 = a_c^2 + (r_c y_i)^2,     sigma_i' = dsigma_i/dy_i
//! bound_j = sqrt((I^-1)_jj)
//! ```
//!
//! `y_i` true values, `s_i` their derivatives by the unknowns, `a_c` and `r_c` the absolute and the relative noise of channel `c`; the
//! second term is the information in the size of the noise. Unknowns are the parameters, and the initial states where the fit
//! estimates them, and what trajectories have of their own. The true initial state is not in the data, so the sensitivities are those at the true
//! parameters and the fitted initial state; nor are true parameters of trajectories. Hidden states are integrated with the others, and outputs
//! differentiated through them. Source: S. Kay, Fundamentals of Statistical Signal Processing I (1993), section 3.9.

use super::budget::Budget;
use super::experiment::{Experiment, Rollout, Unknowns, Weights};
use super::likelihood::measured::Measured;
use super::likelihood::objective::Objective;
use super::normal::Normal;
use crate::estimate::settings::PhysicsSettings;
use crate::progress::Interrupt;
use crate::solve::DOP853;

/// Standard deviation of the noise of a channel: an absolute part, in its unit, and a share of the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoiseLevel {
    pub absolute: f64,
    pub relative: f64,
}

/// What the bounds are at.
pub(crate) struct Place<'a> {
    /// True parameters `[d]`.
    pub parameters: &'a [f64],
    /// The initial state `[N]` of each trajectory.
    pub initial: &'a [Vec<f64>],
    /// The coordinates `[o]` of the parameters of its own of each trajectory.
    pub own: Vec<Vec<f64>>,
}

impl Place<'_> {
    /// The unknowns there with their rollout; none where there is no start, or the rollout fails.
    fn roll_out(
        self,
        experiment: &Experiment,
        settings: &PhysicsSettings,
        interrupt: &Interrupt,
    ) -> Option<(Unknowns, Rollout)> {
        let Place { parameters, initial, own } = self;
        if initial.is_empty() {
            return None;
        }
        let unknowns = Unknowns { initial: initial.to_vec(), own, ..experiment.start(parameters) };
        let mut integrator = experiment.integrator(&DOP853, settings.rtol, settings.max_steps).ok()?;
        let mut budget = Budget::new(settings.max_evaluations, interrupt);
        let rollout = experiment.roll_out(&mut integrator, &unknowns, &mut budget).ok()?;
        Some((unknowns, rollout))
    }
}

/// The noise that the information is by.
pub(crate) enum Noise<'a> {
    /// Of each channel `[C]`.
    Levels(&'a [NoiseLevel]),
    /// Of known kind and size, of any [kind](super::likelihood), and values below their limits; with the names of the channels `[C]`.
    Measured(&'a Measured, &'a [String]),
    /// As residuals are weighed.
    Weights(&'a Weights),
}

/// The information there, with the unknowns that it is about; none where a trajectory cannot be integrated.
pub(crate) fn information(
    experiment: &Experiment,
    place: Place,
    noise: &Noise,
    (settings, interrupt): (&PhysicsSettings, &Interrupt),
) -> Option<(Unknowns, Normal)> {
    let (unknowns, rollout) = place.roll_out(experiment, settings, interrupt)?;
    let weighed = |weights: &Weights| experiment.normal(&rollout, weights, f64::INFINITY);
    let normal = match noise {
        Noise::Levels(levels) => weighed(&experiment.weights(|trajectory, cell, channel| {
            let NoiseLevel { absolute, relative } = levels[channel];
            let value = rollout.states[trajectory][cell];
            let variance = absolute.powi(2) + (relative * value).powi(2);
            (1.0 / variance + 2.0 * (relative.powi(2) * value / variance).powi(2)).sqrt()
        })),
        Noise::Weights(weights) => weighed(weights),
        Noise::Measured(measured, channels) => {
            let objective = Objective::new(experiment, measured, channels, settings.rtol).ok()?;
            objective.information(&rollout, &unknowns, &[], 1.0)
        }
    };
    Some((unknowns, normal))
}

/// The bounds `[d]` there; none where the data have no noise, or do not determine the parameters.
pub(crate) fn bounds(
    experiment: &Experiment,
    place: Place,
    noise: &Noise,
    how: (&PhysicsSettings, &Interrupt),
) -> Option<Vec<f64>> {
    let (unknowns, normal) = information(experiment, place, noise, how)?;
    let inverse = normal.information()?.cholesky()?.inverse();
    let slopes = experiment.parameters(&unknowns.coordinates);
    let bounds = slopes.iter().enumerate().map(|(j, (_, slope))| inverse[(j, j)].sqrt() * slope.abs());
    bounds.map(|bound| Some(bound).filter(|bound| bound.is_finite() && *bound > 0.0)).collect()
}
