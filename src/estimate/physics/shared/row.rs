//! The fit of one environment beside what all share: values, covariance and status of both.

use nalgebra::DMatrix;

use super::batch::Batch;
use super::beginning::{LeftOut, fit_given, member};
use super::errors::contribution;
use super::profile::Profiles;
use super::together::{OfEnvironment, SharedFit};
use crate::estimate::physics::coordinates::Coordinate;
use crate::estimate::physics::experiment::Experiment;
use crate::estimate::physics::fitter::End;
use crate::estimate::physics::fitting::Fitting;
use crate::estimate::physics::profile::Held;
use crate::estimate::physics::result::{Fit, Profile};
use crate::estimate::settings::{Intervals, Settings};
use crate::estimate::stream::Observed;
use crate::estimate::table::interval::{LEVEL, of_share, quantile};
use crate::estimate::table::row::{ParameterEstimate, Row, Status};

impl SharedFit {
    /// The problem of an environment, and its fit with what all share.
    pub(crate) fn fit<'a>(&self, fitting: &Fitting<'a>, environment: &Observed) -> (Experiment<'a>, Fit) {
        let (experiment, end) = fitting.experiment(&environment.parameters, &environment.trajectories);
        if self.environments.is_empty() {
            let fit = Fit::none(&experiment, end.unwrap_or_else(|| self.nothing_shared(&environment.id)), 0);
            return (experiment, fit);
        }
        let apart = match self.environments.contains_key(&environment.id) {
            true => None,
            false => self.apart(fitting, environment),
        };
        let joined = self.environments.get(&environment.id).or(apart.as_ref());
        let held = self.held(joined, &fitting.equations.model.coordinates);
        let own = joined.map(|it| it.own.clone());
        let (_, fit) = fit_given(fitting, &self.batch, &self.z, environment, (own, Some(&held)));
        let fit = self.complete((&environment.id, joined), &experiment.model.coordinates, fit);
        (experiment, fit)
    }

    /// Status and reason where no environment could take part.
    fn nothing_shared(&self, id: &str) -> End {
        let what = self.batch.in_words();
        match self.left_out.get(id) {
            Some(LeftOut { status, why }) => {
                let status = if status.is_failure() { *status } else { Status::NotConverged };
                (
                    status,
                    format!("no environment can take part in the fit of what all share ({what}); of this one: {why}"),
                )
            }
            None => {
                (Status::NotConverged, format!("no environment can take part in the fit of what all share ({what})"))
            }
        }
    }

    /// An environment that took no part: how it follows what the others share. None where it has no fit with that.
    fn apart(&self, fitting: &Fitting, environment: &Observed) -> Option<OfEnvironment> {
        // Profiles are made when its errors are known.
        let wald = Settings { intervals: Intervals::Wald, ..fitting.settings.clone() };
        let fitting = &Fitting { settings: &wald, ..*fitting };
        let (mut member, mut at, _) = member(fitting, &self.batch, &self.z, environment, None).ok()?;
        if self.batch.measured.is_none() {
            member.weigh(fitting, &self.batch, (&at, 0.0)).ok()?;
            at = member.settle(fitting, &self.batch, &self.z, (at.unknowns, at.noise)).ok()?;
        }
        let contribution = contribution(fitting, &self.batch, &member, (&at, self.free_share)).ok()?;
        let values = member.experiment.parameters(&at.unknowns.coordinates);
        Some(OfEnvironment {
            own: self.batch.own.iter().map(|&place| values[place].0).collect(),
            follow: contribution.follow.rows(0, values.len()).into_owned(),
            of_trajectories: contribution.of_trajectories,
            bounds: Vec::new(),
        })
    }

    /// How much less certain the own parameters of an environment are than where what all share is known.
    fn held(&self, joined: Option<&OfEnvironment>, coordinates: &[Coordinate]) -> Held {
        let added = self.batch.own.iter().enumerate().map(|(index, &place)| {
            let Some(it) = joined else { return f64::NAN };
            let slope = coordinates[place].value(coordinates[place].theta(it.own[index])).1;
            let row = it.follow.row(place);
            slope * slope * (row * &self.covariance * row.transpose())[(0, 0)]
        });
        let has_noise = self.batch.noise > 0;
        Held {
            added: added.collect(),
            times: self.times(),
            degrees_of_freedom: if has_noise { self.degrees_of_freedom } else { f64::INFINITY },
        }
    }

    /// Noise that all share is less well known than where it is given.
    fn times(&self) -> f64 {
        if self.batch.noise > 0 { 1.0 / self.free_share } else { 1.0 }
    }

    /// Adds what all share to the `fit` of an environment with it held; `coordinates [d]` are those of all parameters.
    fn complete(&self, (id, joined): (&str, Option<&OfEnvironment>), coordinates: &[Coordinate], mut fit: Fit) -> Fit {
        let (d, batch) = (coordinates.len(), &self.batch);
        let mut values = vec![f64::NAN; d];
        batch.own.iter().zip(&fit.values).for_each(|(&place, value)| values[place] = *value);
        let shared = batch.values(&self.z);
        batch.places.iter().zip(&shared).for_each(|(&place, it)| values[place] = it.0);
        let undetermined: Vec<&str> = self.names_where(|k| !self.covariance[(k, k)].is_finite());
        let at_bound: Vec<&str> = self.names_where(|k| self.active[k]);
        let unconstrained: Vec<&str> =
            self.names_where(|k| !self.active[k] && shared.get(k).is_some_and(|it| self.covers_its_range(k, *it)));
        let covariance = self.covariance_of(joined, (coordinates, &values), &fit);
        self.widen_trajectories(joined, &mut fit);
        let mut shares = vec![1.0; d];
        batch.own.iter().zip(&fit.shares).for_each(|(&place, share)| shares[place] = *share);
        (fit.values, fit.covariance, fit.shares) = (values, covariance, shares);
        self.place_profiles(&mut fit);
        if fit.degrees_of_freedom.is_infinite() && batch.noise > 0 {
            fit.degrees_of_freedom = self.degrees_of_freedom;
        }
        let share = batch.size() as f64 / self.environments.len().max(1) as f64;
        if let Some(likelihood) = &mut fit.likelihood {
            likelihood.aic += 2.0 * share;
            likelihood.bic += share * (fit.points as f64).ln();
        }
        if !fit.status.is_failure() {
            if self.is_stopped {
                let reason = format!(
                    "the fit of what all environments share ({}) stopped at its limit of iterations",
                    batch.in_words()
                );
                fit.turn(Status::NotConverged, reason);
            } else if !undetermined.is_empty() {
                let reason = format!("the data of all environments do not determine {}", undetermined.join(", "));
                fit.turn(Status::Unidentifiable, reason);
            } else if !unconstrained.is_empty() {
                let names = unconstrained.join(", ");
                let reason = format!(
                    "the data of all environments do not narrow down {names}: any value within the bounds may be"
                );
                fit.turn(Status::Unidentifiable, reason);
            } else if !at_bound.is_empty() {
                let reason = format!("{}, which all environments share, at a bound", at_bound.join(", "));
                let status = if fit.status == Status::Ok { Status::AtBound } else { fit.status };
                fit.turn(status, reason);
            }
        }
        let with_prior = self.names_where(|k| batch.priors[k].is_some());
        if !with_prior.is_empty() && !fit.status.is_failure() {
            fit.turn(fit.status, format!("prior: {}", with_prior.join(", ")));
        }
        if let Some(LeftOut { why, .. }) = self.left_out.get(id) {
            let what = batch.in_words();
            let without = if joined.is_none() { "; its own parameters have no standard errors" } else { "" };
            let said = format!("it took no part in the fit of what all environments share ({what}): {why}{without}");
            fit.turn(fit.status, said);
        }
        fit
    }

    /// Puts the profiles of the shared parameters beside its own, where it has any.
    fn place_profiles(&self, fit: &mut Fit) {
        let Profiles { of_each, notes } = &self.profiles;
        let (own, d) = (std::mem::take(&mut fit.profiles), fit.values.len());
        if fit.status.is_failure() || own.len() + of_each.len() < d {
            return;
        }
        let mut placed: Vec<Option<Profile>> = vec![None; d];
        self.batch.own.iter().zip(own).for_each(|(&place, profile)| placed[place] = Some(profile));
        self.batch.places.iter().zip(of_each).for_each(|(&place, it)| placed[place] = Some(it.clone()));
        fit.profiles = placed.into_iter().flatten().collect();
        notes.iter().for_each(|note| fit.turn(fit.status, note.clone()));
    }

    /// Whether the interval of the shared unknown `k`, of this value and slope by its coordinate, covers all that lies between its bounds.
    fn covers_its_range(&self, k: usize, (value, slope): (f64, f64)) -> bool {
        let (Some(coordinate), Some(share)) = (self.batch.coordinates.get(k), self.shares.get(k)) else { return false };
        let standard_error = slope.abs() * self.covariance[(k, k)].sqrt();
        let half = quantile(LEVEL, of_share(self.degrees_of_freedom, *share)) * standard_error;
        value - half <= coordinate.lower && value + half >= coordinate.upper
    }

    fn names_where(&self, is_meant: impl Fn(usize) -> bool) -> Vec<&str> {
        let names = self.batch.names.iter().enumerate();
        names.filter(|(k, _)| is_meant(*k)).map(|(_, name)| name.as_str()).collect()
    }

    /// The covariance `[d, d]` of all parameters, from that of its own with the shared ones held.
    fn covariance_of(
        &self,
        joined: Option<&OfEnvironment>,
        (coordinates, values): (&[Coordinate], &[f64]),
        fit: &Fit,
    ) -> DMatrix<f64> {
        let (d, batch) = (coordinates.len(), &self.batch);
        let mut covariance = DMatrix::zeros(d, d);
        let wider = self.times();
        for (i, &row) in batch.own.iter().enumerate() {
            for (j, &column) in batch.own.iter().enumerate() {
                covariance[(row, column)] = wider * fit.covariance[(i, j)];
            }
        }
        let follow = match joined {
            Some(it) => it.follow.clone(),
            // Nothing says how its own parameters would follow.
            None => {
                batch.own.iter().for_each(|&place| covariance[(place, place)] = f64::NAN);
                let mut follow = DMatrix::zeros(d, batch.size());
                batch.places.iter().enumerate().for_each(|(k, &place)| follow[(place, k)] = 1.0);
                follow
            }
        };
        let slopes: Vec<f64> = coordinates.iter().zip(values).map(|(it, value)| it.value(it.theta(*value)).1).collect();
        let of_shared = &follow * &self.covariance * follow.transpose();
        DMatrix::from_fn(d, d, |i, j| covariance[(i, j)] + slopes[i] * slopes[j] * of_shared[(i, j)])
    }

    /// Adds the uncertainty of what all share to the variances of what trajectories have of their own.
    fn widen_trajectories(&self, joined: Option<&OfEnvironment>, fit: &mut Fit) {
        let wider = self.times();
        let Some(of_environment) = joined else {
            fit.own.iter_mut().for_each(|it| it.variance = f64::NAN);
            fit.starts.iter_mut().for_each(|it| it.variance = f64::NAN);
            return;
        };
        let of_shared = |trajectory: usize, place: usize, slope: f64| {
            of_environment.of_trajectories.get(trajectory).map_or(f64::NAN, |follow| {
                let row = follow.row(place);
                slope * slope * (row * &self.covariance * row.transpose())[(0, 0)]
            })
        };
        for it in &mut fit.own {
            it.variance = wider * it.variance + of_shared(it.at.trajectory, it.at.place, it.at.slope);
        }
        for it in &mut fit.starts {
            it.variance = wider * it.variance + of_shared(it.trajectory, it.place, it.slope);
        }
    }

    /// Sets the Cramér-Rao bounds of a row, and the intervals of its shared parameters: they have the degrees of freedom of all environments. Those of
    /// profiles are there.
    pub(crate) fn complete_row(&self, row: &mut Row) {
        let bounds = self.environments.get(&row.environment).map_or(&[][..], |it| &it.bounds);
        row.set_bounds(bounds.iter().map(|bound| Some(*bound).filter(|it| it.is_finite() && *it > 0.0)).collect());
        if !self.profiles.of_each.is_empty() {
            return;
        }
        let shared = self.batch.places.iter().zip(&self.batch.coordinates).zip(&self.shares);
        for ((&place, coordinate), share) in shared {
            let parameter = &mut row.parameters[place];
            let half = quantile(LEVEL, of_share(self.degrees_of_freedom, *share)) * parameter.standard_error;
            parameter.lower = (parameter.value - half).max(coordinate.lower);
            parameter.upper = (parameter.value + half).min(coordinate.upper);
        }
    }
}

/// The fit of an environment with what all share as its `row` has it, from several starts. Profiles of its own parameters know how uncertain the
/// row says these to be; those of the shared ones are `of_all`, in the order of the batch, without points where these are none.
pub(crate) fn beside(fitting: &Fitting, batch: &Batch, row: &Row, environment: &Observed, of_all: &[Profile]) -> Fit {
    let z = batch.of_row(row);
    let mut fit = if batch.own.is_empty() || z.iter().any(|it| !it.is_finite()) {
        let (experiment, _) = fitting.experiment(&environment.parameters, &environment.trajectories);
        Fit::none(&experiment, (Status::Ok, String::new()), 0)
    } else {
        let variance = |&place: &usize| row.parameters[place].standard_error.powi(2);
        let added = batch.own.iter().map(variance).collect();
        let held = Held { times: 0.0, added, degrees_of_freedom: row.degrees_of_freedom };
        fit_given(fitting, batch, &z, environment, (None, Some(&held))).1
    };
    let are_made = !(fit.profiles.is_empty() && of_all.is_empty());
    if fit.profiles.len() == batch.own.len() && are_made {
        let of_row = |it: &ParameterEstimate| Profile {
            lower: it.lower,
            upper: it.upper,
            points: Vec::new(),
            limit: quantile(LEVEL, f64::INFINITY).powi(2),
        };
        let mut placed: Vec<Profile> = row.parameters.iter().map(of_row).collect();
        batch.own.iter().zip(fit.profiles).for_each(|(&place, profile)| placed[place] = profile);
        batch.places.iter().zip(of_all).for_each(|(&place, profile)| placed[place] = profile.clone());
        fit.profiles = placed;
    }
    fit
}
