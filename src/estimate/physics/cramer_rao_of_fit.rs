//! Cramér-Rao bounds beside the estimates of a fit by equations, where the true parameters are known.

use super::cramer_rao::{Noise, Place, bounds};
use super::equations::Equations;
use super::experiment::Experiment;
use super::fitted_noise::known_noise;
use super::likelihood::measured::Measured;
use super::result::FittedOwn;
use crate::estimate::settings::PhysicsSettings;
use crate::estimate::table::row::Row;
use crate::progress::Interrupt;
use crate::schema::Split;

/// What a fit ended at that no truth is known of.
pub(crate) struct Ended {
    /// The initial state `[N]` of each trajectory.
    pub initial: Vec<Vec<f64>>,
    /// Parameters of trajectories.
    pub own: Vec<FittedOwn>,
}

/// The bounds `[d]` at the `truth [d]`, for the noise that the data were simulated with, or else that which the fit found; none where a true parameter is
/// unknown. Priors do not count.
pub(crate) fn bounds_of_fit(
    equations: &Equations,
    experiment: &Experiment,
    (split, truth, row): (Split, &[Option<f64>], &Row),
    Ended { initial, own: fitted }: Ended,
    how: (&PhysicsSettings, &Interrupt),
) -> Option<Vec<f64>> {
    let parameters: Vec<f64> = truth.iter().copied().collect::<Option<_>>()?;
    let mut own = experiment.start(&parameters).own;
    for FittedOwn { at, .. } in fitted.iter().filter(|it| it.at.value.is_finite()) {
        own[at.trajectory][at.parameter] = experiment.model.own[at.parameter].coordinate.theta(at.value);
    }
    let place = Place { parameters: &parameters, initial: &initial, own };
    match equations.simulated_noise(split) {
        Some(noise) => bounds(experiment, place, &Noise::Levels(&noise), how),
        // Data that were simulated without noise have no bound.
        None if equations.is_simulated || row.status.is_failure() => None,
        None => {
            let found = known_noise(equations, row, (experiment, how.0.rtol));
            let measured = Measured { own_priors: Vec::new(), ..found };
            bounds(experiment, place, &Noise::Measured(&measured, &equations.channel_names), how)
        }
    }
}
