//! Where a joint fit begins: values of what all share, and every environment at its minimum for them.
//!
//! Each environment is first fitted alone. Where enough of them determine what all share, the fit begins at the mean of their estimates, each
//! weighed by its information, or at their median; else at the best of values spread between the bounds. Noise that all share begins as their fits
//! alone have it, and as the residuals of all show it, with several shares of two parts. Candidates are compared on some of the environments.

use std::borrow::Cow;

use rayon::prelude::*;

use super::batch::Batch;
use super::descent::Joint;
use super::member::{At, Member};
use crate::estimate::physics::coordinates::Coordinate;
use crate::estimate::physics::experiment::{Experiment, Unknowns};
use crate::estimate::physics::fitting::Fitting;
use crate::estimate::physics::likelihood::measured::{Measured, SharedTerm};
use crate::estimate::physics::profile::Held;
use crate::estimate::physics::result::Fit;
use crate::estimate::physics::starts::spread;
use crate::estimate::stream::Observed;
use crate::estimate::table::row::Status;

/// Candidates are compared on so many environments at most.
const COMPARED: usize = 16;
/// Values spread between the bounds that are tried where the environments alone do not say enough,
const SPREAD: usize = 12;
/// and how many of them are descended from.
const DESCENDED: usize = 3;
/// Share of the environments whose own estimates are enough.
const ENOUGH: f64 = 0.25;
/// What share of the spread of a channel, or of its values, its noise begins at where nothing says more.
const NOISE: f64 = 0.1;

/// An environment alone: with nothing shared.
pub(crate) struct Alone {
    fit: Fit,
}

impl Alone {
    /// Its unknowns, and the values that they are fitted to.
    pub(crate) fn counts(&self) -> (f64, f64) {
        let points = self.fit.points as f64;
        (points - self.fit.degrees_of_freedom.min(points), points)
    }

    /// Why it takes no part in the joint fit, where it is known by now.
    pub(crate) fn refusal(&self) -> Option<LeftOut> {
        let Fit { status, reason, .. } = &self.fit;
        let is_refused = matches!(status, Status::NoData | Status::Misfit);
        is_refused.then(|| LeftOut { status: *status, why: format!("alone it is `{}` ({reason})", status.name()) })
    }
}

/// Why an environment takes no part in the joint fit.
pub(crate) struct LeftOut {
    /// Of its fit alone, or of the last one with what all share.
    pub status: Status,
    pub why: String,
}

impl LeftOut {
    /// Of one that has no fit with what all share.
    pub(crate) fn without_fit(why: String) -> Self {
        LeftOut { status: Status::NotConverged, why }
    }
}

/// Every environment fitted alone.
pub(crate) fn alone(fitting: &Fitting, environments: &[Observed]) -> Vec<Alone> {
    let fit = |it: &Observed| Alone { fit: fitting.fit(&it.parameters, &it.trajectories).1 };
    environments.par_iter().map(fit).collect()
}

/// An environment fitted with what all share held at `z`, which was fitted `elsewhere`, from its own parameters `start`, where these are given.
pub(crate) fn fit_given<'a>(
    fitting: &Fitting<'a>,
    batch: &Batch,
    z: &[f64],
    environment: &Observed,
    (start, elsewhere): (Option<Vec<f64>>, Option<&Held>),
) -> (Experiment<'a>, Fit) {
    let (mut experiment, end) = fitting.experiment(&environment.parameters, &environment.trajectories);
    experiment.model = Cow::Owned(batch.held(&experiment.model, z));
    if let Some(end) = end {
        let fit = Fit::none(&experiment, end, 0);
        return (experiment, fit);
    }
    let measured: Option<Measured> = batch.measured_at(z);
    let equations = fitting.equations;
    let names: Vec<String> = batch.own.iter().map(|&place| equations.names[place].clone()).collect();
    let of_own = |all: &Vec<f64>| batch.own.iter().map(|&place| all[place]).collect::<Vec<f64>>();
    let known = || equations.starts.iter().map(of_own).collect::<Vec<_>>();
    let start = start.filter(|start| start.iter().all(|value| value.is_finite()));
    let starts = match start {
        // Without parameters of its own there is one place to start from.
        None if names.is_empty() => vec![Vec::new()],
        Some(start) => vec![start],
        None => known(),
    };
    let fit = fitting.fit_experiment(
        &experiment,
        (&names, &starts),
        &environment.trajectories,
        (measured.as_ref(), elsewhere),
    );
    (experiment, fit)
}

/// The environment as a part of the batch, from a fit at `z`.
///
/// # Errors
/// Why it can be none.
pub(crate) fn member<'a>(
    fitting: &Fitting<'a>,
    batch: &Batch,
    z: &[f64],
    environment: &Observed,
    start: Option<Vec<f64>>,
) -> Result<(Member<'a>, At, f64), String> {
    let (held, fit) = fit_given(fitting, batch, z, environment, (start, None));
    let is_lost = matches!(fit.status, Status::NotConverged | Status::Diverged | Status::NoData);
    if is_lost || fit.initial.is_empty() {
        return Err(format!("`{}` ({})", fit.status.name(), fit.reason));
    }
    let (experiment, _) = fitting.experiment(&environment.parameters, &environment.trajectories);
    let mut coordinates = vec![0.0; experiment.model.coordinates.len()];
    for ((&place, value), coordinate) in batch.own.iter().zip(&fit.values).zip(&held.model.coordinates) {
        coordinates[place] = coordinate.theta(if value.is_nan() { coordinate.middle() } else { *value });
    }
    let mut own = vec![Vec::new(); experiment.series.len()];
    for it in &fit.own {
        let coordinate = experiment.model.own[it.at.parameter].coordinate;
        own[it.at.trajectory].push(coordinate.theta(if it.at.value.is_nan() {
            coordinate.middle()
        } else {
            it.at.value
        }));
    }
    let unknowns = Unknowns { coordinates, initial: fit.initial, own };
    let member = Member::new(environment.id.clone(), experiment);
    let at = member.settle(fitting, batch, z, (unknowns, Vec::new()))?;
    let cost = fit.likelihood.map_or(0.0, |it| it.minus_two_log);
    Ok((member, at, cost))
}

/// Values `z [s]` to begin at.
pub(crate) fn beginning(fitting: &Fitting, batch: &Batch, environments: &[Observed], alone: &[Alone]) -> Vec<f64> {
    let known: Vec<&Fit> = alone.iter().map(|it| &it.fit).filter(|fit| is_known(batch, fit)).collect();
    let mut candidates = Vec::new();
    if !known.is_empty() {
        candidates.extend([mean(batch, &known), median(batch, &known)]);
    }
    let is_enough = known.len() as f64 >= ENOUGH * environments.len() as f64;
    if !is_enough {
        let noise = noise_of_spread(fitting, batch, environments);
        candidates.extend(spread(&batch.coordinates, 0..SPREAD).into_iter().map(|values| {
            let thetas = values.iter().zip(&batch.coordinates).map(|(value, coordinate)| coordinate.theta(*value));
            thetas.chain(noise.iter().copied()).collect()
        }));
    }
    let usable: Vec<(&Observed, &Alone)> =
        environments.iter().zip(alone).filter(|(_, alone)| alone.refusal().is_none()).collect();
    let stride = usable.len().div_ceil(COMPARED).max(1);
    let some: Vec<(&Observed, &Alone)> = usable.into_iter().step_by(stride).collect();
    // Environments that fail there, and the sum of `-2 log L` of the others.
    let judged = |z: &Vec<f64>| {
        let members = members(fitting, batch, z, &some);
        let failed = members.iter().filter(|it| it.is_err()).count();
        (failed, members.iter().flatten().map(|it| it.2).sum::<f64>())
    };
    let by_cost = |a: &(usize, f64), b: &(usize, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    let mut judgements: Vec<((usize, f64), Vec<f64>)> = candidates.into_iter().map(|z| (judged(&z), z)).collect();
    judgements.sort_by(|a, b| by_cost(&a.0, &b.0));
    let joint = |z: Vec<f64>| {
        let pairs = members(fitting, batch, &z, &some).into_iter().flatten();
        let (members, at): (Vec<Member>, Vec<At>) = pairs.map(|(member, at, _)| (member, at)).unzip();
        Joint { fitting, batch, members, at, z, left_out: Vec::new(), held: None, is_stopped: false }
    };
    let descended = |(judged_before, z): ((usize, f64), Vec<f64>)| {
        let mut joint = joint(z);
        match joint.members.is_empty() || joint.fit().is_err() {
            true => (judged_before, joint.z),
            false => (judged(&joint.z), joint.z),
        }
    };
    let best = |all: Vec<((usize, f64), Vec<f64>)>| all.into_iter().min_by(|a, b| by_cost(&a.0, &b.0)).map(|it| it.1);
    let first = judgements.first().map(|it| it.1.clone()).unwrap_or_default();
    let z = if is_enough { None } else { best(judgements.into_iter().take(DESCENDED).map(descended).collect()) };
    let z = z.unwrap_or(first);
    // What each environment alone takes for noise may be far from what all show: it may have met its values too closely, or have taken one part of
    // the noise for the other.
    if batch.noise == 0 {
        return z;
    }
    let of_noise = joint(z.clone()).noise_starts();
    let tried = std::iter::once(z.clone()).chain(of_noise).map(|z| descended((judged(&z), z)));
    best(tried.collect()).unwrap_or(z)
}

/// Environments as parts of the batch at `z`, in their order.
pub(crate) fn members<'a>(
    fitting: &Fitting<'a>,
    batch: &Batch,
    z: &[f64],
    environments: &[(&Observed, &Alone)],
) -> Vec<Result<(Member<'a>, At, f64), String>> {
    let of_environment = |(environment, alone): &(&Observed, &Alone)| {
        let own = batch.own.iter().map(|&place| alone.fit.values[place]).collect();
        // What it came to alone may be far off where it does not determine it.
        let own = Some(own).filter(|_| !alone.fit.status.is_failure());
        member(fitting, batch, z, environment, own)
    };
    environments.par_iter().map(of_environment).collect()
}

/// Whether a fit alone says what all share.
fn is_known(batch: &Batch, fit: &Fit) -> bool {
    let is_known = |&place: &usize| fit.values[place].is_finite() && fit.covariance[(place, place)] > 0.0;
    !fit.status.is_failure() && fit.status != Status::Misfit && batch.places.iter().all(is_known)
}

/// The mean of `fits`, of parameters weighed by their information.
fn mean(batch: &Batch, fits: &[&Fit]) -> Vec<f64> {
    let parameter = |(&place, coordinate): (&usize, &Coordinate)| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for fit in fits {
            let theta = coordinate.theta(fit.values[place]);
            let weight = coordinate.value(theta).1.powi(2) / fit.covariance[(place, place)];
            sum += weight * theta;
            weights += weight;
        }
        sum / weights
    };
    let parameters = batch.places.iter().zip(&batch.coordinates).map(parameter);
    parameters.chain(noise_of_fits(batch, fits)).collect()
}

fn median(batch: &Batch, fits: &[&Fit]) -> Vec<f64> {
    let parameter = |(&place, coordinate): (&usize, &Coordinate)| {
        let mut thetas: Vec<f64> = fits.iter().map(|fit| coordinate.theta(fit.values[place])).collect();
        thetas.sort_by(f64::total_cmp);
        thetas[thetas.len() / 2]
    };
    let parameters = batch.places.iter().zip(&batch.coordinates).map(parameter);
    parameters.chain(noise_of_fits(batch, fits)).collect()
}

/// Logarithms of the shared parameters of the noise: the median over `fits`.
fn noise_of_fits(batch: &Batch, fits: &[&Fit]) -> Vec<f64> {
    let terms = batch.measured.iter().flat_map(|measured| measured.shared_terms());
    let of_term = |term: SharedTerm| {
        let logs = fits.iter().filter_map(|fit| fit.noise_terms.get(term.channel)?.get(term.term).map(|it| it.ln()));
        let mut logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
        logs.sort_by(f64::total_cmp);
        logs.get(logs.len() / 2).copied().unwrap_or(NOISE.ln())
    };
    terms.map(of_term).collect()
}

/// The same by the spread of the data.
fn noise_of_spread(fitting: &Fitting, batch: &Batch, environments: &[Observed]) -> Vec<f64> {
    let Some(measured) = &batch.measured else { return Vec::new() };
    let scales = |channel: usize| {
        let of_environment =
            environments.iter().map(|it| fitting.experiment(&it.parameters, &it.trajectories).0.scales[channel]);
        let mut scales: Vec<f64> = of_environment.filter(|it| it.is_finite()).collect();
        scales.sort_by(f64::total_cmp);
        scales.get(scales.len() / 2).copied().unwrap_or(1.0)
    };
    let terms = measured.shared_terms().into_iter();
    terms.map(|term| (term.usual * if term.has_unit { scales(term.channel) } else { 1.0 }).ln()).collect()
}
