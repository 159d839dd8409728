//! Forecasts by known equations: from the end or the start of a fitted trajectory, from a sample, or from a given state.
//!
//! A band knows the covariance of the parameters, and with it the error of the start: of a fitted one jointly, of a measured one by the noise of its
//! sample, of a given one not, as it is exact. A new measurement also has its noise.

use std::borrow::Cow;

use super::curve::Curve;
use super::estimator::Estimator;
use super::everything::Kind;
use super::experiment::{Experiment, Unknowns};
use super::model::Model;
use super::resumed::Resumed;
use super::scatter::Scatter;
use super::series::Series;
use super::uncertainty::Uncertainty;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::{InitialState, Loss, Settings};
use crate::estimate::table::interval::{LEVEL, quantile};
use crate::estimate::table::row::Row;
use crate::progress::Run;
use crate::schema::{Quantity, Trajectory};
use crate::systems::InitialValue;

/// Where a forecast starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum From<'a> {
    /// At the end of the fitted trajectory.
    Fitted,
    /// Where the fitted trajectory starts.
    Initial,
    /// At the last sample that has all states, as it was measured.
    Observed,
    /// At values of states by name; the others are what the equations give.
    Given(&'a [(String, f64)]),
}

/// A forecast that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Where it starts.
    pub from: From<'a>,
    /// `[T]`, ascending, the first that of the start.
    pub times: &'a [f64],
    /// Inputs of the system `[T, U]`; doses, resets and intervals of steady states as the sum of what is given since the start. Up to the last sample of a
    /// fitted trajectory signals are those of the dataset, and doses are given more than those of the dataset.
    pub inputs: &'a [f64],
}

/// A forecast.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// `[T]`.
    pub times: Vec<f64>,
    /// Why some band is unknown; none where all are known.
    pub unknown: Option<String>,
    /// What the equations compute: channels of the dataset, then states and outputs that nobody measures.
    pub quantities: Vec<Predicted>,
}

/// One quantity of a forecast.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Name and unit.
    pub quantity: Quantity,
    /// What it is.
    pub kind: Kind,
    /// `[T]`.
    pub values: Vec<f64>,
    /// Ends of the band that holds the trajectory with 95 % `[T]`; NaN where it is unknown.
    pub band: Vec<(f64, f64)>,
    /// Ends of the band that holds a new measurement with 95 % `[T]`, of a channel whose noise is known.
    pub measured: Option<Vec<(f64, f64)>>,
}

/// Forecasts by the equations that are fitted to a dataset.
pub struct Forecaster<'a> {
    estimator: Estimator<'a>,
}

impl<'a> Forecaster<'a> {
    /// By the equations that `settings` name.
    ///
    /// # Errors
    /// If settings, system and dataset disagree.
    pub fn new(settings: &'a Settings, dataset: &'a Dataset, run: &Run<'a>) -> Result<Self, Error> {
        Ok(Forecaster { estimator: Estimator::new(settings, dataset, run.interrupt)? })
    }

    /// The indices among the inputs of the dataset of those of the system `[U]`, and whether each is a sum of what was given.
    pub fn inputs(&self) -> Vec<(usize, bool)> {
        let sums = sums(&self.estimator.equations.model);
        self.estimator.equations.input_indices.iter().copied().zip(sums).collect()
    }

    /// The trajectories that are fitted, of those of an environment.
    pub fn usable(&self, trajectories: Vec<Trajectory>) -> Vec<Trajectory> {
        self.estimator.usable(trajectories)
    }

    /// The time at which a forecast of a trajectory starts; none where the start is given.
    ///
    /// # Errors
    /// If no sample has all states, where one is to be the start.
    pub fn start_time(&self, trajectory: &Trajectory, from: From) -> Result<Option<f64>, Error> {
        let equations = &self.estimator.equations;
        Ok(match from {
            From::Fitted => trajectory.times.last().copied(),
            From::Initial => {
                let series = equations.series(trajectory).started(&equations.model, self.estimator.initial_state);
                series.times().first().copied()
            }
            From::Observed => Some(last_complete(&self.estimator, trajectory, &equations.model)?.0),
            From::Given(_) => None,
        })
    }

    /// The forecast of an environment by the fit of its `row` to its `trajectories`, from the one at an index.
    ///
    /// # Errors
    /// If the fit has failed or cannot be taken up again, or the trajectory cannot be integrated.
    pub fn predict(
        &self,
        (row, trajectories): (&Row, &[Trajectory]),
        trajectory: usize,
        wanted: &Wanted,
    ) -> Result<Prediction, Error> {
        let estimator = &self.estimator;
        let resumed = if row.status.is_failure() { None } else { Resumed::new(estimator, row, trajectories) };
        let resumed = resumed.ok_or_else(|| Error::Unpredictable {
            found: format!("environment {} with the status {}: {}", row.environment, row.status.name(), row.reason),
            expected: "an environment whose parameters are estimated".to_owned(),
        })?;
        let quantile = quantile(LEVEL, row.degrees_of_freedom);
        let scatter = resumed.scatter();
        let curve = match wanted.from {
            From::Fitted | From::Initial => along_fit(&resumed, row, trajectory, wanted, quantile)?,
            From::Observed => from_sample(&resumed, row, (trajectory, &trajectories[trajectory]), wanted, quantile)?,
            From::Given(given) => {
                let fixed = resumed.of_trajectory(trajectory);
                let state = given_state(estimator, &fixed, given, wanted)?;
                let size = fixed.size();
                let observed = vec![f64::NAN; size * wanted.times.len()];
                let series = Series::new(wanted.times.to_vec(), observed, wanted.inputs.to_vec(), size);
                let mut model = resumed.experiment.model.starting_anywhere();
                model.initial = state.iter().map(|value| InitialValue::Number(*value)).collect();
                let experiment = ahead(model, series, resumed.experiment.scales.clone());
                let uncertainty = resumed.uncertainties(row).swap_remove(trajectory);
                let (d, u) = (resumed.unknowns.coordinates.len(), uncertainty.covariance.nrows());
                let own = (u - resumed.unknowns.own[trajectory].len())..u;
                let uncertainty = uncertainty.placed(&(0..d).chain(own).map(Some).collect::<Vec<_>>());
                let unknowns = resumed.starting_at(trajectory, state);
                along(estimator, (&experiment, &unknowns), uncertainty, wanted, quantile)?
            }
        };
        prediction(estimator, curve, Some(&scatter), (quantile, row.degrees_of_freedom))
    }

    /// The names of what a system is given by: its parameters, those of trajectories last, then its covariates.
    pub fn parameters(&self) -> Vec<String> {
        let equations = &self.estimator.equations;
        let estimated = equations.names.iter().chain(&equations.own_names).cloned();
        estimated.chain(equations.covariates.iter().map(|it| it.0.clone())).collect()
    }

    /// The trajectory of a system with `parameters`, as [`Forecaster::parameters`] lists them, from a given state.
    ///
    /// # Errors
    /// If a state is missing or unknown, or the trajectory cannot be integrated.
    pub fn simulate(&self, parameters: &[f64], wanted: &Wanted) -> Result<Prediction, Error> {
        let (estimator, equations) = (&self.estimator, &self.estimator.equations);
        let estimated = equations.names.len() + equations.own_names.len();
        let (values, covariates) = parameters.split_at(estimated.min(parameters.len()));
        let places = equations.covariates.iter().map(|it| it.1);
        let mut known = vec![None; 1 + places.clone().max().unwrap_or(0)];
        places.zip(covariates).for_each(|(index, value)| known[index] = Some(*value));
        let model = equations.model(&known).map_err(|unknown| Error::Unpredictable {
            found: format!("no value of {unknown}"),
            expected: format!("values of {}", self.parameters().join(", ")),
        })?;
        let given = if let From::Given(given) = wanted.from { given } else { &[] };
        let fixed = model.pooled().fixed_at(values);
        let state = given_state(estimator, &fixed, given, wanted)?;
        let size = fixed.size();
        let observed = vec![f64::NAN; size * wanted.times.len()];
        let series = Series::new(wanted.times.to_vec(), observed, wanted.inputs.to_vec(), size);
        let mut model = fixed.starting_anywhere();
        model.initial = state.iter().map(|value| InitialValue::Number(*value)).collect();
        let greatest = state.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
        let scales = vec![if greatest > 0.0 { greatest } else { 1.0 }; model.channels];
        let unknowns = Unknowns { coordinates: Vec::new(), initial: vec![state], own: vec![Vec::new()] };
        let experiment = ahead(model, series, scales);
        let curve = along(estimator, (&experiment, &unknowns), Uncertainty::none(0), wanted, 0.0)?;
        prediction(estimator, curve, None, (0.0, f64::INFINITY))
    }
}

/// The time and the state `[N]` of the last sample that has all states.
fn last_complete(estimator: &Estimator, trajectory: &Trajectory, model: &Model) -> Result<(f64, Vec<f64>), Error> {
    let size = model.size();
    let observed = estimator.equations.in_system_order(&trajectory.states);
    let cells: Option<Vec<usize>> = (0..model.state_size()).map(|value| model.cell_of(value)).collect();
    let cells = cells.ok_or_else(|| Error::Unpredictable {
        found: "states that nobody measures".to_owned(),
        expected: "a start at the fitted trajectory, or a given one".to_owned(),
    })?;
    let samples = trajectory.times.iter().zip(observed.chunks_exact(size)).rev();
    let mut complete = samples.filter(|(_, sample)| cells.iter().all(|&cell| !sample[cell].is_nan()));
    let (time, sample) = complete.next().ok_or_else(|| Error::Unpredictable {
        found: format!("no sample of trajectory {} with all states", trajectory.trajectory),
        expected: "a start at the fitted trajectory, or a given one".to_owned(),
    })?;
    Ok((*time, cells.into_iter().map(|cell| sample[cell]).collect()))
}

/// The given state `[N]`; what is not given is what the equations say of the start, of whose parameters none is estimated.
fn given_state(
    estimator: &Estimator,
    fixed: &Model,
    given: &[(String, f64)],
    wanted: &Wanted,
) -> Result<Vec<f64>, Error> {
    let names = &estimator.equations.state_names;
    let expected = || format!("values of the states {}", names.join(", "));
    if let Some((name, _)) = given.iter().find(|it| !names.contains(&it.0)) {
        return Err(Error::Unpredictable { found: format!("the state {name}"), expected: expected() });
    }
    let (size, u) = (fixed.size(), fixed.between.len());
    let series = Series::new(wanted.times[..1].to_vec(), vec![f64::NAN; size], wanted.inputs[..u].to_vec(), size);
    let experiment = Experiment::new(Cow::Borrowed(fixed), vec![series], InitialState::Estimated, Loss::Squares);
    let mut start = experiment.computed_start(0, experiment.start(&[]).initial.remove(0));
    for (value, name) in names.iter().enumerate() {
        let of_equations = match fixed.initial(value) {
            InitialValue::Number(_) | InitialValue::Expression(_) => Some(start[value]),
            InitialValue::Free { guess, .. } => *guess,
            InitialValue::AsObserved => None,
        };
        let found = given.iter().find(|it| it.0 == *name).map(|it| it.1).or(of_equations);
        start[value] = found.ok_or_else(|| Error::Unpredictable {
            found: format!("no value of the state {name}"),
            expected: expected(),
        })?;
    }
    Ok(start)
}

/// The forecast that goes on with a fitted trajectory, or repeats it from its start.
fn along_fit(resumed: &Resumed, row: &Row, trajectory: usize, wanted: &Wanted, quantile: f64) -> Result<Curve, Error> {
    let (experiment, estimator) = (&resumed.experiment, resumed.estimator);
    let model = &experiment.model;
    let mut series = experiment.series.clone();
    series[trajectory] = series[trajectory].under(wanted.times, wanted.inputs, &model.between, &sums(model));
    let (everything, how) = (&estimator.equations.everything, (&estimator.physics, estimator.interrupt));
    let uncertainties = resumed.uncertainties(row);
    let curves = experiment.curves(&resumed.unknowns, series, everything, (&uncertainties, quantile), how);
    let curve = curves.map_err(|halt| stopped(&halt.to_string()))?.swap_remove(trajectory);
    Ok(at_wanted(estimator, curve, wanted))
}

/// The forecast from the last complete sample of a trajectory, as it was measured: what the dataset gives after it counts, and what it gave before it
/// that has not yet acted.
fn from_sample(
    resumed: &Resumed,
    row: &Row,
    (place, trajectory): (usize, &Trajectory),
    wanted: &Wanted,
    quantile: f64,
) -> Result<Curve, Error> {
    let (experiment, estimator, scatter) = (&resumed.experiment, resumed.estimator, resumed.scatter());
    let model = &experiment.model;
    let (time, state) = last_complete(estimator, trajectory, model)?;
    let whole = &experiment.series[place];
    let sample = whole.times().iter().position(|it| *it == time);
    let under = whole.under(wanted.times, wanted.inputs, &model.between, &sums(model)).going_on_from(time);
    let ahead = ahead(model.starting_anywhere(), under, experiment.scales.clone());
    let uncertainty = resumed.uncertainties(row).swap_remove(place);
    let (d, u) = (resumed.unknowns.coordinates.len(), uncertainty.covariance.nrows());
    let own = (u - resumed.unknowns.own[place].len())..u;
    let places: Vec<Option<usize>> = (0..d).map(Some).chain(state.iter().map(|_| None)).chain(own.map(Some)).collect();
    let mut uncertainty = uncertainty.placed(&places);
    for (value, at) in state.iter().enumerate() {
        let channel = model.channel(model.cell_of(value).unwrap_or_default());
        let beside = sample.map_or(f64::NAN, |sample| resumed.beside(place, sample, channel));
        let std_dev = scatter[channel].std_dev(*at, beside) / ahead.unit(value, *at);
        match std_dev.is_finite() {
            true => uncertainty.covariance[(d + value, d + value)] = std_dev * std_dev,
            false => {
                let name = &estimator.equations.channel_names[channel];
                uncertainty.leave_open(d + value, &format!("the noise of {name} is unknown"));
            }
        }
    }
    let unknowns = resumed.starting_at(place, state);
    along(estimator, (&ahead, &unknowns), uncertainty, wanted, quantile)
}

/// Which inputs `[U]` are sums of what was given.
fn sums(model: &Model) -> Vec<bool> {
    let is_sum = |input: usize| {
        let of_doses = |doses: &crate::systems::Doses| {
            doses.reset == Some(input)
                || doses.ways.iter().any(|way| way.input == input)
                || doses.intervals().any(|interval| interval.0 == input)
        };
        model.doses.as_ref().is_some_and(of_doses)
    };
    (0..model.between.len()).map(is_sum).collect()
}

/// The problem of one trajectory of which nothing was observed, whose channels vary by `scales [C]`.
fn ahead(model: Model, series: Series, scales: Vec<f64>) -> Experiment<'static> {
    let ahead = Experiment::new(Cow::Owned(model), vec![series], InitialState::Estimated, Loss::Squares);
    Experiment { scales, ..ahead }
}

/// The forecast of one trajectory for `unknowns`.
fn along(
    estimator: &Estimator,
    (experiment, unknowns): (&Experiment, &Unknowns),
    uncertainty: Uncertainty,
    wanted: &Wanted,
    quantile: f64,
) -> Result<Curve, Error> {
    let (everything, how) = (&estimator.equations.everything, (&estimator.physics, estimator.interrupt));
    let series = experiment.series.clone();
    let curves = experiment.curves(unknowns, series, everything, (&[uncertainty], quantile), how);
    let curve = curves.map_err(|halt| stopped(&halt.to_string()))?.swap_remove(0);
    Ok(at_wanted(estimator, curve, wanted))
}

/// The curve at the times of a forecast alone.
fn at_wanted(estimator: &Estimator, mut curve: Curve, wanted: &Wanted) -> Curve {
    let q = estimator.equations.everything.observables.channels.len();
    let is_wanted = |t: &usize| wanted.times.binary_search_by(|time| time.total_cmp(&curve.times[*t])).is_ok();
    let kept: Vec<usize> = (0..curve.times.len()).filter(is_wanted).collect();
    let rows = |values: &[f64]| kept.iter().flat_map(|&t| values[t * q..(t + 1) * q].iter().copied()).collect();
    (curve.values, curve.half_widths) = (rows(&curve.values), rows(&curve.half_widths));
    curve.times = kept.iter().map(|&t| curve.times[t]).collect();
    curve
}

fn stopped(reason: &str) -> Error {
    Error::Unpredictable {
        found: reason.to_owned(),
        expected: "a trajectory that can be integrated; look less far ahead, or start elsewhere".to_owned(),
    }
}

/// A curve by quantities, channels in the order of the dataset.
fn prediction(
    estimator: &Estimator,
    curve: Curve,
    scatter: Option<&[Scatter]>,
    (quantile, degrees_of_freedom): (f64, f64),
) -> Result<Prediction, Error> {
    let equations = &estimator.equations;
    let q = equations.everything.observables.channels.len();
    if let Some(sample) = curve.values.chunks_exact(q).position(|row| row.iter().any(|value| !value.is_finite())) {
        return Err(Error::DivergedForecast { time: curve.times[sample] });
    }
    let unknown = curve.unknown_in_words(degrees_of_freedom);
    let channels = equations.channel_indices.len();
    let mut order: Vec<usize> = (0..channels).collect();
    order.sort_by_key(|&c| equations.channel_indices[c]);
    let of = |place: usize, quantity: Quantity, kind: Kind| {
        let column = |values: &[f64]| -> Vec<f64> { values.iter().skip(place).step_by(q).copied().collect() };
        let (values, halves) = (column(&curve.values), column(&curve.half_widths));
        let pairs = || values.iter().zip(&halves);
        let measured = scatter
            .and_then(|all| all.get(place).filter(|scatter| **scatter != Scatter::Beside))
            .map(|scatter| pairs().map(|(value, half)| scatter.around(*value, *half, quantile)).collect());
        let band = pairs().map(|(value, half)| (value - half, value + half)).collect();
        Predicted { quantity, kind, band, measured, values }
    };
    let named = |&c: &usize| of(c, estimator.channel(c), Kind::Channel);
    let hidden = equations.everything.hidden.iter().enumerate();
    let hidden = hidden.map(|(h, (kind, quantity))| of(channels + h, quantity.clone(), *kind));
    let quantities = order.iter().map(named).chain(hidden).collect();
    Ok(Prediction { times: curve.times, unknown, quantities })
}
