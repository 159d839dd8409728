//! Parameters of one environment by nonlinear least squares on the true equations.
//!
//! ```text
//! minimise  sum_i (w_i (y_i(theta, y_0) - z_i))^2        over theta [d] within its bounds, and initial states y_0
//! (J'J + lambda diag(J'J)) s = -J'r,     w = 1 / sigma,     sigma^2 = sum r^2 / (n - m) of each channel
//! ```
//!
//! `z` observed values, `n` of them, `m` unknowns, `J` derivatives of the weighted residuals `r` by forward sensitivities, `sigma` the noise
//! of a channel, `lambda` the [damping](crate::least_squares::damping). A [rough pass](super::pass) at a loose tolerance comes first. Weights are the
//! reciprocal spread of each channel until the residuals show its noise. Bounds are met by projection: a parameter at an active bound is
//! left out of the step. Covariance: `s^2 (J'J)^-1`, `s^2 = |r|^2 / (n - m)` (G. Seber, C. Wild, Nonlinear Regression, 1989, section 2.1).
//! Under [Huber's loss](crate::least_squares::robust) residuals beyond `1.345 sigma` count linearly, `sigma` is estimated from the median of
//! a channel, and the covariance is that of Huber's estimates.
//!
//! Where noise, limits or priors are named, the minimum is where the [likelihood](super::likelihood) is maximised from.

use super::budget::Budget;
use super::descent::{GROWING, WHOLE};
use super::experiment::{Experiment, Rollout, Unknowns};
use super::fitter::{End, Fitter};
use super::likelihood::measured::Measured;
use super::likelihood::objective::Objective;
use super::pass::Pass;
use super::profile::Held;
use super::result::{Fit, Names};
use super::search::{Best, Search};
use crate::estimate::settings::{Intervals, PhysicsSettings, Settings};
use crate::estimate::table::row::Status;
use crate::progress::Interrupt;

/// Fits the parameters of one environment, from `starts` and others, where something may be held that was fitted `elsewhere`.
pub(crate) fn fit(
    experiment: &Experiment,
    names: Names,
    starts: &[Vec<f64>],
    estimate: &Settings,
    physics: &PhysicsSettings,
    (measured, elsewhere): (Option<&Measured>, Option<&Held>),
    interrupt: &Interrupt,
) -> Fit {
    let no_fit = |end: End, iterations: usize| Fit::none(experiment, end, iterations);
    if let Some(end) = too_few_values(experiment) {
        return no_fit(end, 0);
    }
    let objective = measured.map(|measured| Objective::new(experiment, measured, names.channels, physics.rtol));
    let objective = match objective.transpose() {
        Ok(objective) => objective,
        Err(reason) => return no_fit((Status::NoData, reason), 0),
    };
    let (mut rough, mut fine) = match passes(experiment, estimate, physics) {
        Ok(passes) => passes,
        Err(error) => return no_fit((Status::Diverged, error.to_string()), 0),
    };
    let mut fitter = Fitter::new(experiment, estimate, physics, Budget::new(physics.max_evaluations, interrupt));
    fitter.measured = measured;
    let best = fitter.search(&mut rough, &mut fine, starts);
    let best = match objective {
        Some(objective) => best.and_then(|(best, search)| fitter.maximise(&mut fine, best, search, objective)),
        None => best,
    };
    match best {
        Ok((best, search)) => {
            let minimum = (estimate.intervals == Intervals::Profile).then(|| best.iterate.clone());
            let mut fit = fitter.result(best, search, names);
            if let Some(minimum) = minimum.filter(|_| !fit.status.is_failure()) {
                fitter.profile(&mut fine, &minimum, &mut fit, (names, elsewhere));
            }
            fit
        }
        Err(end) => no_fit(end, fitter.iterations),
    }
}

/// Trajectories whose initial states were fitted under given parameters.
pub(crate) struct Settled {
    pub unknowns: Unknowns,
    pub rollout: Rollout,
    /// By how much residuals that are correlated raise the variance of each fitted initial value, of each trajectory.
    pub widening: Vec<Vec<f64>>,
}

/// The trajectories of an experiment without parameters to estimate, with fitted initial states: by least squares, or where it is said how channels
/// were `measured` with noise of known size, by maximum likelihood. None where these cannot be fitted. Nothing says how good the fit is.
pub(crate) fn trajectories<'a>(
    experiment: &'a Experiment<'a>,
    estimate: &'a Settings,
    physics: &'a PhysicsSettings,
    measured: Option<(&'a Measured, &[String])>,
    interrupt: &'a Interrupt,
) -> Option<Settled> {
    if experiment.cells.len() < experiment.unknown_count() {
        return None;
    }
    let (mut rough, mut fine) = passes(experiment, estimate, physics).ok()?;
    let mut fitter = Fitter::new(experiment, estimate, physics, Budget::new(physics.max_evaluations, interrupt));
    let minima = [WHOLE, GROWING].map(|parts| fitter.grow(&mut rough, experiment.start(&[]), parts));
    let best =
        minima.into_iter().flatten().min_by(|a, b| fitter.weighted_size(a).total_cmp(&fitter.weighted_size(b)))?;
    fitter.fit_limit(&best.rollout);
    let (mut iterate, _) = fitter.refine(&mut fine, best.unknowns).ok()?;
    if let Some((measured, channels)) = measured {
        let objective = Objective::new(experiment, measured, channels, physics.rtol).ok()?;
        fitter.measured = Some(measured);
        let best = Best { iterate, end: None, rival: None, others: Vec::new() };
        iterate = fitter.maximise(&mut fine, best, Search::default(), objective).ok()?.0.iterate;
    }
    let serial = fitter.serial_correlation(&iterate.rollout);
    let factors =
        |(trajectory, own)| (0..own).map(|index| fitter.own_factor(&iterate, (trajectory, index), &serial)).collect();
    let widening = experiment.own_counts().enumerate().map(factors).collect();
    Some(Settled { unknowns: iterate.unknowns, rollout: iterate.rollout, widening })
}

fn passes(
    experiment: &Experiment,
    estimate: &Settings,
    physics: &PhysicsSettings,
) -> Result<(Pass, Pass), crate::solve::Error> {
    let rough = Pass::rough(experiment, physics, estimate.tolerance)?;
    Ok((rough, Pass::fine(experiment, physics, estimate.tolerance)?))
}

/// Status and reason of an experiment with too few observed values for a fit.
fn too_few_values(experiment: &Experiment) -> Option<End> {
    let is_observed = |skipped: usize| {
        let mut values = experiment.series.iter().flat_map(|series| series.observed().iter().skip(skipped));
        values.any(|value| !value.is_nan())
    };
    let (points, unknowns) = (experiment.cells.len(), experiment.unknown_count());
    if !is_observed(experiment.model.size()) {
        return Some(match is_observed(0) {
            true => (Status::TooFewPoints, "no value is observed after the first sample of a trajectory".to_owned()),
            false => (Status::NoData, "no value is observed".to_owned()),
        });
    }
    (points < unknowns).then(|| (Status::TooFewPoints, format!("{points} observed values for {unknowns} unknowns")))
}
