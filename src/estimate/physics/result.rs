//! The result of a fit: parameters, their covariance, and a status with its reason.

use nalgebra::DMatrix;

use super::coordinates::Coordinate;
use super::experiment::Experiment;
use super::fitter::{End, FAR, Fitter, Iterate, Maximum};
use super::search::{Best, Search};
use super::unknowns::OwnValue;
use crate::estimate::bounds::Bounds;
use crate::estimate::serial_correlation::SerialCorrelation;
use crate::estimate::table::interval::{LEVEL, of_share, quantile};
use crate::estimate::table::row::{LogLikelihood, ParameterEstimate, Status};

/// Residuals below this share of the standard deviation of a channel explain more than its mean does.
const UNEXPLAINED: f64 = 0.7;
/// Residuals below this many times the noise of a channel may be noise.
const NOISE: f64 = 3.0;

/// The fit of one environment.
pub(crate) struct Fit {
    /// Estimated parameters `[d]` in their units; NaN where there is none.
    pub values: Vec<f64>,
    /// Their covariance `[d, d]`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// The initial state `[N]` of each trajectory; empty where there are none.
    pub initial: Vec<Vec<f64>>,
    /// The fitted channels `[T, C]` of each trajectory; empty where there are none.
    pub states: Vec<Vec<f64>>,
    /// The states `[T, N]` of each trajectory, where channels are not just these; else empty.
    pub beneath: Vec<Vec<f64>>,
    /// The initial values that were fitted between bounds; empty where there are none.
    pub starts: Vec<FreeStart>,
    /// The parameters of trajectories; empty where there are none.
    pub own: Vec<FittedOwn>,
    /// The likelihood; none where the fit failed, or is none.
    pub likelihood: Option<LogLikelihood>,
    /// The parameters of the noise of each channel `[C]`; empty where no kind is named.
    pub noise_terms: Vec<Vec<f64>>,
    /// Degrees of freedom of the noise; infinite where it is known.
    pub degrees_of_freedom: f64,
    /// The [share](super::freedom) of the variance of each parameter `[d]` that depends on them.
    pub shares: Vec<f64>,
    /// The values that count as below their limits, among those that entered the fit; empty where there are no limits.
    pub below: Vec<bool>,
    pub status: Status,
    pub reason: String,
    /// Observed values that entered the fit.
    pub points: usize,
    /// What the starts led to; none where none was tried.
    pub search: Option<Search>,
    /// Of each parameter; empty where intervals are not by profiles.
    pub profiles: Vec<Profile>,
    /// How many independent values say as much.
    pub effective_points: f64,
    /// The correlation of successive residuals of each channel `[C]`; NaN where it was not measured.
    pub autocorrelation: Vec<f64>,
    pub iterations: usize,
}

/// An initial value that was fitted between bounds.
pub(crate) struct FreeStart {
    /// Index of the trajectory.
    pub trajectory: usize,
    /// Index of the state, and its place among the unknowns of the trajectory.
    pub state: usize,
    pub place: usize,
    /// How far one unit of the unknown moves it.
    pub slope: f64,
    pub value: f64,
    /// Its variance; NaN where it is not determined.
    pub variance: f64,
    /// See [`Fit::shares`].
    pub share: f64,
}

/// A parameter of one trajectory.
#[derive(Clone)]
pub(crate) struct FittedOwn {
    /// With the value NaN where the data do not determine it.
    pub at: OwnValue,
    /// Its variance; NaN where it is not determined.
    pub variance: f64,
    /// See [`Fit::shares`].
    pub share: f64,
}

/// The profile of the likelihood over one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Ends of the interval, in the unit of the parameter; NaN where it is open, or was not found.
    pub lower: f64,
    /// See `lower`.
    pub upper: f64,
    /// Values, ascending, with the increase of `-2 log L` there.
    pub points: Vec<(f64, f64)>,
    /// The increase at which the interval ends.
    pub limit: f64,
}

impl Fit {
    /// A fit without an estimate.
    pub(crate) fn none(experiment: &Experiment, (status, reason): End, iterations: usize) -> Self {
        let d = experiment.model.coordinates.len();
        Fit {
            values: vec![f64::NAN; d],
            covariance: DMatrix::from_element(d, d, f64::NAN),
            initial: Vec::new(),
            states: Vec::new(),
            beneath: Vec::new(),
            starts: Vec::new(),
            own: Vec::new(),
            likelihood: None,
            noise_terms: Vec::new(),
            degrees_of_freedom: experiment.cells.len() as f64 - experiment.unknown_count() as f64,
            shares: vec![1.0; d],
            below: Vec::new(),
            status,
            reason,
            points: experiment.cells.len(),
            search: None,
            profiles: Vec::new(),
            effective_points: experiment.cells.len() as f64,
            autocorrelation: vec![f64::NAN; experiment.model.channels],
            iterations,
        }
    }
}

impl Fit {
    /// Takes a status, with a reason after those that it has.
    pub(crate) fn turn(&mut self, status: Status, reason: String) {
        self.status = status;
        self.reason = if self.reason.is_empty() { reason } else { format!("{}; {reason}", self.reason) };
    }

    /// The interval of a value of this variance between the bounds of its `coordinate`, where a `share` of it depends on how well the noise is known.
    pub(crate) fn interval(
        &self,
        (value, variance, share): (f64, f64, f64),
        coordinate: Coordinate,
    ) -> ParameterEstimate {
        let bounds = Bounds { min: Some(coordinate.lower), max: Some(coordinate.upper) };
        let standard_error = if self.status.is_failure() { f64::NAN } else { variance.sqrt() };
        let degrees_of_freedom = of_share(self.degrees_of_freedom, share);
        let half = quantile(LEVEL, degrees_of_freedom) * standard_error;
        let [lower, upper] = [value - half, value + half].map(|end| bounds.cut(end));
        let (model_error, crlb, truth) = (None, None, None);
        ParameterEstimate { value, standard_error, degrees_of_freedom, lower, upper, model_error, crlb, truth }
    }
}

/// Names that reasons use.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    /// `[d]`.
    pub parameters: &'a [String],
    /// `[C]`.
    pub channels: &'a [String],
    /// `[N]`.
    pub states: &'a [String],
    /// `[o]`.
    pub own: &'a [String],
    pub trajectories: &'a [String],
}

impl Names<'_> {
    /// The names of the parameters that are `chosen [d]`.
    fn join(&self, chosen: &[bool]) -> String {
        let named = self.parameters.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(name, _)| name.as_str());
        named.collect::<Vec<_>>().join(", ")
    }

    /// A parameter of a trajectory.
    fn own(&self, value: &OwnValue) -> String {
        format!("{} of `{}`", self.own[value.parameter], self.trajectories[value.trajectory])
    }

    /// The names of all parameters with `values [d]`.
    pub(crate) fn with_values(&self, values: &[f64]) -> String {
        let all = self.parameters.iter().zip(values).map(|(name, value)| format!("{name} {value:.4e}"));
        all.collect::<Vec<_>>().join(", ")
    }
}

/// The parameters at a minimum, each list `[d]`.
pub(crate) struct Estimates {
    values: Vec<f64>,
    /// Of independent residuals, as long as it is not widened for others.
    pub covariance: DMatrix<f64>,
    /// See [`Fit::shares`].
    pub shares: Vec<f64>,
    /// Which lie at an active bound.
    active: Vec<bool>,
    /// Which the data do not determine.
    undetermined: Vec<bool>,
}

impl Estimates {
    /// The parameters that the data determine and whose standard errors are unknown all the same, in words.
    fn without_errors(&self, names: Names) -> Option<String> {
        let is_without = |k: usize| !self.undetermined[k] && !self.covariance[(k, k)].is_finite();
        let without: Vec<bool> = (0..self.values.len()).map(is_without).collect();
        without.contains(&true).then(|| {
            format!("no standard error of {}: what the data say of all together is singular", names.join(&without))
        })
    }
}

impl Fitter<'_> {
    /// The result of the best minimum; its status is that of `best.end` where there is one.
    pub(crate) fn result(&self, best: Best, search: Search, names: Names) -> Fit {
        let Best { iterate, end, rival, .. } = best;
        let serial = self.serial_correlation(&iterate.rollout);
        let mut estimates = self.estimates(&iterate);
        estimates.covariance = self.widened(&iterate, estimates.covariance, &serial);
        let end = end
            .or_else(|| self.caution(&iterate, (&estimates, &serial), rival.as_ref().map(|it| it.0.as_slice()), names));
        let (status, reason) = end.unwrap_or((Status::Ok, String::new()));
        let notes = if status.is_failure() { Vec::new() } else { self.notes(&iterate, (&estimates, &serial), names) };
        let reason = std::iter::once(reason).chain(notes).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
        let undetermined = estimates.values.iter_mut().zip(&estimates.undetermined).filter(|(_, it)| **it);
        undetermined.for_each(|(value, _)| *value = f64::NAN);
        let starts = self.free_starts(&iterate, &serial);
        let own = self.own(&iterate, &serial);
        let likelihood = self.likelihood(&iterate.rollout).filter(|_| !status.is_failure());
        Fit {
            values: estimates.values,
            covariance: estimates.covariance,
            initial: iterate.unknowns.initial,
            states: iterate.rollout.states,
            beneath: iterate.rollout.beneath,
            starts,
            own,
            likelihood,
            noise_terms: self.noise_terms(),
            degrees_of_freedom: self.degrees_of_freedom() - serial.lost_points(),
            shares: estimates.shares,
            below: self.below(),
            status,
            reason,
            points: self.experiment.cells.len(),
            search: Some(search),
            profiles: Vec::new(),
            effective_points: serial.effective_points(),
            autocorrelation: serial.measured(),
            iterations: self.iterations,
        }
    }

    pub(crate) fn estimates(&self, iterate: &Iterate) -> Estimates {
        let active = self.experiment.active_bounds(&iterate.unknowns, &iterate.normal);
        let undetermined = iterate.normal.undetermined(&active);
        let parameters = self.experiment.parameters(&iterate.unknowns.coordinates);
        let values: Vec<f64> = parameters.iter().map(|it| it.0).collect();
        // A parameter at its bound is an estimate as well, and the others are no better known for it.
        let none = vec![false; values.len()];
        let (covariance, left_out) = match self.covariance(iterate, &none, &undetermined) {
            known if (0..values.len()).all(|k| undetermined[k] || known[(k, k)].is_finite()) => (known, &none),
            _ => (self.covariance(iterate, &active, &undetermined), &active),
        };
        let shares = self.shares(iterate, &covariance, (left_out, &undetermined));
        Estimates { values, covariance, shares, active, undetermined }
    }

    fn free_starts(&self, iterate: &Iterate, serial: &SerialCorrelation) -> Vec<FreeStart> {
        let free = self.experiment.free_starts(&iterate.unknowns);
        if free.is_empty() {
            return Vec::new();
        }
        let variance = self.variance(&iterate.rollout);
        let (normal, better) = (self.information(iterate, 1.0), self.better_information(iterate));
        let with_variance = |(trajectory, index, state, value, slope): (usize, usize, usize, f64, f64)| {
            let of_unit = normal.own_variance(trajectory, index).unwrap_or(f64::NAN);
            let wider = self.own_factor(iterate, (trajectory, index), serial);
            FreeStart {
                trajectory,
                state,
                place: index,
                slope,
                value,
                variance: variance * of_unit * slope * slope * wider,
                share: self.own_share(better.as_ref(), (trajectory, index), of_unit),
            }
        };
        free.into_iter().map(with_variance).collect()
    }

    fn own(&self, iterate: &Iterate, serial: &SerialCorrelation) -> Vec<FittedOwn> {
        if self.experiment.model.own.is_empty() {
            return Vec::new();
        }
        let (scale, normal) = (self.variance(&iterate.rollout), self.information(iterate, 1.0));
        let better = self.better_information(iterate);
        let fitted = |at: OwnValue| {
            let of_unit = normal.own_variance(at.trajectory, at.place);
            let of_unit = of_unit.filter(|variance| normal.is_own_determined(at.trajectory, at.place, *variance));
            let Some(of_unit) = of_unit else {
                return FittedOwn { at: OwnValue { value: f64::NAN, ..at }, variance: f64::NAN, share: 1.0 };
            };
            let wider = self.own_factor(iterate, (at.trajectory, at.place), serial);
            let share = self.own_share(better.as_ref(), (at.trajectory, at.place), of_unit);
            FittedOwn { at, variance: scale * of_unit * at.slope * at.slope * wider, share }
        };
        self.experiment.own_parameters(&iterate.unknowns).into_iter().map(fitted).collect()
    }

    /// The parameters of trajectories that the data do not determine, or do not narrow down, in words.
    fn unknown_own(&self, iterate: &Iterate, serial: &SerialCorrelation, names: Names) -> Option<String> {
        let free = self.degrees_of_freedom() - serial.lost_points();
        let is_unknown = |it: &FittedOwn| {
            let quantile = quantile(LEVEL, of_share(free, it.share));
            let (half, coordinate) =
                (quantile * it.variance.sqrt(), self.experiment.model.own[it.at.parameter].coordinate);
            half.is_nan() || it.at.value - half <= coordinate.lower && it.at.value + half >= coordinate.upper
        };
        let unknown: Vec<String> =
            self.own(iterate, serial).iter().filter(|it| is_unknown(it)).map(|it| names.own(&it.at)).collect();
        (!unknown.is_empty()).then(|| format!("the data do not narrow down {}", unknown.join(", ")))
    }

    /// Status and reason of a minimum that is not `ok`; `rival [d]` are parameters that explain the data as well.
    fn caution(
        &self,
        iterate: &Iterate,
        (estimates, serial): (&Estimates, &SerialCorrelation),
        rival: Option<&[f64]>,
        names: Names,
    ) -> Option<End> {
        let Estimates { values, undetermined, .. } = estimates;
        let (points, unknowns) = (self.experiment.cells.len(), self.experiment.unknown_count());
        if points == unknowns {
            let reason = format!("{points} observed values for {unknowns} unknowns leave nothing to judge the fit by");
            return Some((Status::TooFewPoints, reason));
        }
        if let Some(reason) = self.collapse(iterate, names) {
            return Some((Status::NotConverged, reason));
        }
        if undetermined.contains(&true) {
            return Some((Status::Unidentifiable, format!("the data do not determine {}", names.join(undetermined))));
        }
        if let Some(channel) = self.unknown_noise(&iterate.rollout) {
            return Some((
                Status::Unidentifiable,
                format!(
                    "{} has one value at all samples, with all its digits, so that nothing tells how exact it is; look for a sensor that is stuck, or \
                     name its noise (`estimate.noise`)",
                    names.channels[channel]
                ),
            ));
        }
        let misfit = self.misfit(iterate, serial, names);
        if let Some(rival) = rival {
            let (rival, values) = (names.with_values(rival), names.with_values(values));
            let reason = format!("{rival} explain the data as well as {values}; narrow the bounds, or fix a parameter");
            return Some(match misfit {
                Some(misfit) => (Status::Misfit, format!("{misfit}; {reason}")),
                None => (Status::Ambiguous, reason),
            });
        }
        let unknown: Vec<bool> =
            (0..values.len()).map(|k| !estimates.active[k] && !estimates.covariance[(k, k)].is_finite()).collect();
        if unknown.contains(&true) {
            let names = names.join(&unknown);
            let reason =
                format!("the information about {names} is singular: how well the data determine it cannot be told");
            return Some((Status::Unidentifiable, reason));
        }
        let unconstrained = self.unconstrained(estimates, serial);
        if unconstrained.contains(&true) {
            let names = names.join(&unconstrained);
            let reason = format!("the data do not narrow down {names}: any value within the bounds may be");
            return Some((Status::Unidentifiable, reason));
        }
        let at_bounds = self.at_bounds(iterate, estimates, names);
        if !at_bounds.is_empty() {
            let reasons = [Some(at_bounds), misfit];
            return Some((Status::AtBound, reasons.into_iter().flatten().collect::<Vec<_>>().join("; ")));
        }
        misfit.map(|reason| (Status::Misfit, reason))
    }

    /// Why the likelihood has no maximum, in words; none where it has one.
    fn collapse(&self, iterate: &Iterate, names: Names) -> Option<String> {
        let Maximum { objective, noise } = self.maximum.as_ref()?;
        let size = |channel: usize| {
            let residuals = self.experiment.residuals(&iterate.rollout, channel).concat();
            (residuals.iter().map(|it| it * it).sum::<f64>() / residuals.len().max(1) as f64).sqrt()
        };
        let (channel, _) =
            objective.collapsed(noise).into_iter().find(|(channel, scale)| size(*channel) > FAR * scale)?;
        Some(format!(
            "the likelihood of Student's noise in {} grows without end as its scale goes to zero: the unknowns meet so many of the values exactly that \
             the others do not tell it; give its `scale`, more `degrees_of_freedom`, or name another kind of noise",
            names.channels[channel]
        ))
    }

    /// Which parameters have an interval that covers the whole range between their bounds.
    fn unconstrained(&self, estimates: &Estimates, serial: &SerialCorrelation) -> Vec<bool> {
        let free = self.degrees_of_freedom() - serial.lost_points();
        let covers = |k: usize| {
            let half = quantile(LEVEL, of_share(free, estimates.shares[k])) * estimates.covariance[(k, k)].sqrt();
            let (value, coordinate) = (estimates.values[k], self.experiment.model.coordinates[k]);
            value - half <= coordinate.lower && value + half >= coordinate.upper
        };
        (0..estimates.values.len()).map(|k| !estimates.active[k] && covers(k)).collect()
    }

    /// Why the residuals, or the first samples, show that the equations do not fit; none where they do.
    fn misfit(&self, iterate: &Iterate, serial: &SerialCorrelation, names: Names) -> Option<String> {
        if let Some(it) = self.beyond_known_noise(&iterate.rollout, serial) {
            return Some(format!(
                "residuals of {:.2} times the known noise of {} (chi-squared {:.1} for {:.1} degrees of freedom)",
                it.times, names.channels[it.channel], it.chi_squared, it.degrees_of_freedom
            ));
        }
        let is_unknown = |channel: usize| !self.knows_noise(channel);
        if let Some((channel, excess)) = self.excess_among(iterate, self.physics.rtol, is_unknown)
            && excess > FAR * serial.noise_factor(channel)
        {
            let [size, noise] = [self.residual_size(&iterate.rollout, channel), self.noise(channel)];
            let name = &names.channels[channel];
            return Some(format!("residuals of {size:.3e} in {name}, whose samples show a noise of {noise:.3e}"));
        }
        // The noise of few samples is not well known, but equations must explain more than the mean does.
        for channel in (0..self.experiment.model.channels).filter(|&channel| is_unknown(channel)) {
            let [size, scale] = [self.residual_size(&iterate.rollout, channel), self.experiment.scales[channel]];
            if size > UNEXPLAINED * scale && size > NOISE * serial.noise_factor(channel) * self.noise(channel) {
                let name = &names.channels[channel];
                return Some(format!("residuals of {size:.3e} in {name}, which deviates by {scale:.3e}"));
            }
        }
        let (channel, given, first) = self.contradiction()?;
        let name = &names.channels[channel];
        Some(format!(
            "the equations give {name} = {given} where the first sample is {first}; widen its `initial`, or begin where it holds"
        ))
    }

    /// The parameters at active bounds, and the initial values at theirs, in words; empty where there are none.
    fn at_bounds(&self, iterate: &Iterate, estimates: &Estimates, names: Names) -> String {
        let side = |is_lower: bool| if is_lower { "lower" } else { "upper" };
        let parameters = (0..estimates.values.len()).filter(|&k| estimates.active[k]).map(|k| {
            let value = estimates.values[k];
            let side = side(value <= self.experiment.model.coordinates[k].lower);
            format!("{} at its {side} bound {value}", names.parameters[k])
        });
        let starts = self.experiment.starts_at_bounds(&iterate.unknowns).into_iter().map(|(state, value)| {
            let side = side(self.experiment.model.free(state).is_some_and(|(range, _)| value <= range.lower));
            format!("the start of {} at its {side} bound {value}", names.states[state])
        });
        let own = self
            .experiment
            .own_at_bounds(&iterate.unknowns)
            .into_iter()
            .map(|(it, is_lower)| format!("{} at its {} bound {}", names.own(&it), side(is_lower), it.value));
        parameters.chain(starts).chain(own).collect::<Vec<_>>().join(", ")
    }

    /// What the user should know of an estimate though the fit converged.
    fn notes(
        &self,
        iterate: &Iterate,
        (estimates, serial): (&Estimates, &SerialCorrelation),
        names: Names,
    ) -> Vec<String> {
        let correlated = serial.notes(names.channels).into_iter();
        let unknown = self.unknown_own(iterate, serial, names);
        correlated
            .chain(estimates.without_errors(names))
            .chain(unknown)
            .chain(self.experiment.early_samples())
            .chain(self.notes_of_likelihood(names))
            .collect()
    }

    /// What the user should know of the likelihood.
    fn notes_of_likelihood(&self, names: Names) -> Vec<String> {
        let (Some(measured), below) = (self.measured, self.below()) else { return Vec::new() };
        let coordinates = &self.experiment.model.coordinates;
        let with_prior: Vec<String> = names
            .parameters
            .iter()
            .zip(&measured.priors)
            .zip(coordinates)
            .filter_map(|((name, prior), coordinate)| {
                let middle = prior.as_ref()?.middle();
                let (lower, upper) = (coordinate.lower, coordinate.upper);
                let outside = format!("{name} (whose mean {middle} lies outside its bounds {lower} to {upper})");
                Some(if (lower..=upper).contains(&middle) { name.clone() } else { outside })
            })
            .collect();
        let prior = (!with_prior.is_empty()).then(|| format!("prior: {}", with_prior.join(", ")));
        let count = below.iter().filter(|below| **below).count();
        let below =
            (count > 0).then(|| format!("values below the limit of quantification: {count} of {}", below.len()));
        prior.into_iter().chain(below).collect()
    }
}
