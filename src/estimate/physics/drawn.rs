//! All trajectories of an environment beside what was fitted to them, for drawings.

use super::curve::Curve;
use super::estimator::Estimator;
use super::function::Function;
use super::model::Model;
use super::replicates::{Draws, Replicates};
use super::resumed::Resumed;
use super::scatter::Scatter;
use crate::estimate::error::Error;
use crate::estimate::table::interval::{LEVEL, quantile};
use crate::estimate::table::row::Row;
use crate::schema::{Between, Quantity, Trajectory};
use crate::signals::Drive;
use crate::systems::Rise;

/// Times of a fine grid, beside those of the samples.
const FINE: usize = 400;
/// A jump is drawn over this share of the trajectory.
const JUMP: f64 = 1e-6;

/// An environment beside what was fitted to it.
pub struct Drawn {
    /// Those that have samples, in the order of the dataset.
    pub trajectories: Vec<DrawnTrajectory>,
    /// What the equations compute and nobody measures `[H]`: hidden states, then outputs that are no channel.
    pub hidden: Vec<Quantity>,
    /// The noise of each channel `[C]`; none of channels that the equations do not have.
    pub(crate) scatter: Vec<Option<Scatter>>,
    /// Draws of parameters and starts, where they are asked for and possible.
    pub draws: usize,
    /// What could not be drawn, in words; empty where everything was.
    pub held: Vec<String>,
}

/// A trajectory beside what was fitted to it.
pub struct DrawnTrajectory {
    /// What was observed.
    pub trajectory: Trajectory,
    /// The fitted channels `[T, C]`, on a grid `[T, C, n_1, .., n_k]`.
    pub states: Vec<f64>,
    /// The residuals `[T, C]`, observed less fitted, standardised by the noise of the fit: standard normal where the equations hold, NaN where nothing
    /// entered the fit. Of a value below its limit of quantification, the median of what its residual may be.
    pub residuals: Vec<f64>,
    /// Which values `[T, C]` lie below their limit of quantification.
    pub below: Vec<bool>,
    /// The limit of quantification of each value `[T, C]`, minus infinity where it has none; NaN where nothing entered the fit.
    pub(crate) limits: Vec<f64>,
    /// The standard deviation of each value `[T, C]` that has its own.
    pub(crate) beside: Vec<f64>,
    /// The channels for draws of parameters and starts `[R, T, C]`; NaN where nothing was computed.
    pub replicates: Vec<f64>,
    /// The fit between the samples; none of fields.
    pub fine: Option<Fine>,
    /// Times at which amounts were given at once or states reset, with the index of the input, and how much it rises by.
    pub events: Vec<(f64, usize, f64)>,
}

/// A fit along a fine grid of times.
pub struct Fine {
    /// `[F]`, the times of the samples among them.
    pub times: Vec<f64>,
    /// `[F, C + H]`: the channels of the dataset, then what nobody measures; NaN in channels that the equations do not have.
    pub values: Vec<f64>,
    /// Half the width of the band in which the trajectory lies with 95 %, by what is not known of parameters and starts `[F, C + H]`; NaN where it is
    /// unknown.
    pub half_widths: Vec<f64>,
    /// Why, where any is unknown; else empty.
    pub unknown: String,
}

/// All trajectories of an environment beside what was fitted to them, and replicates where `draws` are asked for; without a fit where it failed, none
/// where nothing can be drawn.
///
/// # Errors
/// At an interrupt.
pub(crate) fn drawn(
    estimator: &Estimator,
    row: &Row,
    trajectories: Vec<Trajectory>,
    draws: Option<Draws>,
) -> Result<Option<Drawn>, Error> {
    let trajectories = estimator.usable(trajectories);
    let drawn = match row.status.is_failure() {
        true => Some(without_fit(estimator, trajectories)),
        false => of_environment(estimator, row, trajectories, draws),
    };
    match estimator.interrupt.requested() {
        Some(signal) => Err(Error::Interrupted { signal }),
        None => Ok(drawn.filter(|it| it.trajectories.iter().any(DrawnTrajectory::is_visible))),
    }
}

impl DrawnTrajectory {
    /// Whether there is something to draw.
    pub fn is_visible(&self) -> bool {
        self.trajectory.len() > 1 && self.trajectory.missing() < self.trajectory.states.len()
    }
}

/// The trajectories of an environment and their fits; none where they cannot be fitted.
fn of_environment(
    estimator: &Estimator,
    row: &Row,
    trajectories: Vec<Trajectory>,
    draws: Option<Draws>,
) -> Option<Drawn> {
    let resumed = Resumed::new(estimator, row, &trajectories)?;
    let fine = if resumed.experiment.model.points == 1 { fine(&resumed, row) } else { None };
    let mut fine = fine.into_iter().flatten();
    let states = estimator.in_dataset_order(&resumed.experiment, &resumed.states);
    let Residuals { scores, below, limits, beside } = residuals(&resumed);
    let events: Vec<_> = resumed.experiment.series.iter().map(|series| events(&resumed, &series.rises())).collect();
    let channels = estimator.equations.channel_indices.iter().zip(resumed.scatter());
    let mut scatter = vec![None; trajectories.first()?.channels()];
    channels.for_each(|(&index, it)| scatter[index] = Some(it));
    let Replicates { states: all, held } = draws.map(|draws| resumed.replicates(row, draws)).unwrap_or_default();
    let draws = all.len();
    let mut replicates = vec![Vec::new(); trajectories.len()];
    for states in all {
        let in_order = estimator.in_dataset_order(&resumed.experiment, &states);
        replicates.iter_mut().zip(in_order).for_each(|(all, states)| all.extend(states));
    }
    let mut replicates = replicates.into_iter();
    let mut drawn: Vec<DrawnTrajectory> = Vec::new();
    let (mut states, mut scores) = (states.into_iter(), scores.into_iter());
    let (mut below, mut limits, mut beside) = (below.into_iter(), limits.into_iter(), beside.into_iter());
    for (trajectory, events) in trajectories.into_iter().zip(events) {
        drawn.push(DrawnTrajectory {
            trajectory,
            states: states.next()?,
            residuals: scores.next()?,
            below: below.next()?.into_iter().map(|it| it == 1.0).collect(),
            limits: limits.next()?,
            beside: beside.next()?,
            replicates: replicates.next()?,
            fine: fine.next(),
            events,
        });
    }
    let hidden = estimator.equations.everything.hidden.iter().map(|(_, it)| it.clone()).collect();
    Some(Drawn { trajectories: drawn, hidden, scatter, draws, held })
}

/// Trajectories of an environment whose fit failed.
fn without_fit(estimator: &Estimator, trajectories: Vec<Trajectory>) -> Drawn {
    let drawn = |trajectory: Trajectory| {
        let nowhere = vec![f64::NAN; trajectory.states.len()];
        DrawnTrajectory {
            states: nowhere.clone(),
            residuals: nowhere.clone(),
            below: vec![false; nowhere.len()],
            limits: nowhere.clone(),
            beside: nowhere,
            replicates: Vec::new(),
            fine: None,
            events: Vec::new(),
            trajectory,
        }
    };
    let hidden = estimator.equations.everything.hidden.iter().map(|(_, it)| it.clone()).collect();
    let trajectories = trajectories.into_iter().map(drawn).collect();
    Drawn { trajectories, hidden, scatter: Vec::new(), draws: 0, held: Vec::new() }
}

/// Amounts and resets among the rises of inputs.
fn events(resumed: &Resumed, rises: &[Rise]) -> Vec<(f64, usize, f64)> {
    let equations = &resumed.estimator.equations;
    let Some(doses) = &resumed.experiment.model.doses else { return Vec::new() };
    let is_event = |input: usize| doses.reset == Some(input) || doses.ways.iter().any(|way| way.input == input);
    let events = rises.iter().filter(|rise| is_event(rise.input));
    events.map(|rise| (rise.time, equations.input_indices[rise.input], rise.by)).collect()
}

/// The lags of doses that act later than they are given.
fn lags(model: &Model) -> Vec<f64> {
    let Some(doses) = &model.doses else { return Vec::new() };
    let inputs = vec![0.0; model.between.len()];
    let drive = Drive { times: &[0.0], inputs: &inputs, between: &model.between };
    let function = Function { field: &doses.field, parameters: &model.parameters, directions: &[], k: 0 };
    let of_ways = function.along(&drive, 1, (&[], &[]), 2 * doses.ways.len()).values;
    of_ways.into_iter().skip(1).step_by(2).filter(|lag| *lag > 0.0).collect()
}

/// The fits of all trajectories along fine times, in the order of the dataset; none where they cannot be integrated.
fn fine(resumed: &Resumed, row: &Row) -> Option<Vec<Fine>> {
    let (experiment, estimator) = (&resumed.experiment, resumed.estimator);
    let between: &[Between] = &experiment.model.between;
    let values: Vec<f64> = experiment.parameters(&resumed.unknowns.coordinates).into_iter().map(|it| it.0).collect();
    let lags = lags(&experiment.model.fixed_at(&values));
    let refined = experiment.series.iter().map(|series| {
        let times = series.times();
        let (first, last) = (*times.first().unwrap_or(&0.0), *times.last().unwrap_or(&0.0));
        let step = (last - first) / FINE as f64;
        let mut all: Vec<f64> = (1..FINE).map(|i| first + i as f64 * step).collect();
        let jump = JUMP * (last - first);
        all.extend(series.rises().iter().map(|rise| rise.time + jump));
        let lagged = series.rises().into_iter().flat_map(|rise| lags.iter().map(move |lag| rise.time + lag));
        all.extend(lagged.flat_map(|time| [time - jump, time + jump]));
        all.sort_by(f64::total_cmp);
        all.dedup();
        series.refined(&all, between)
    });
    let uncertainties = resumed.uncertainties(row);
    let everything = &estimator.equations.everything;
    let quantile = quantile(LEVEL, row.degrees_of_freedom);
    let how = (&estimator.physics, estimator.interrupt);
    let curves = experiment.curves(&resumed.unknowns, refined.collect(), everything, (&uncertainties, quantile), how);
    let hidden = everything.hidden.len();
    let in_order = |values: &[f64]| {
        let q = everything.observables.channels.len();
        let rows = values.chunks_exact(q.max(1));
        rows.flat_map(|row| {
            let (channels, beneath) = row.split_at(q - hidden);
            let mut ordered = estimator.equations.in_dataset_order(channels);
            ordered.extend(beneath);
            ordered
        })
        .collect()
    };
    let fine = |curve: Curve| Fine {
        unknown: curve.unknown_in_words(row.degrees_of_freedom).unwrap_or_default(),
        values: in_order(&curve.values),
        half_widths: in_order(&curve.half_widths),
        times: curve.times,
    };
    Some(curves.ok()?.into_iter().map(fine).collect())
}

/// Values `[T, C]` of each trajectory at all its samples, in the order of the dataset; NaN where nothing entered the fit.
struct Residuals {
    scores: Vec<Vec<f64>>,
    /// 1 below a limit, else 0.
    below: Vec<Vec<f64>>,
    limits: Vec<Vec<f64>>,
    beside: Vec<Vec<f64>>,
}

fn residuals(resumed: &Resumed) -> Residuals {
    let (experiment, scatter) = (&resumed.experiment, resumed.scatter());
    let size = experiment.model.size();
    let empty: Vec<Vec<f64>> = experiment.series.iter().map(|series| vec![f64::NAN; series.observed().len()]).collect();
    let mut all = [empty.clone(), empty.clone(), empty.clone(), empty];
    for &(trajectory, cell) in &experiment.cells {
        let channel = experiment.model.channel(cell);
        let (observed, z) = (experiment.series[trajectory].observed()[cell], resumed.states[trajectory][cell]);
        let beside = resumed.beside(trajectory, cell / size, channel);
        let limit = experiment.limits.get(trajectory).map_or(f64::NEG_INFINITY, |limits| limits[cell]);
        let score = match observed <= limit {
            true => scatter[channel].below(limit, z, beside),
            false => scatter[channel].standardised(observed, z, beside),
        };
        let values = [score, f64::from(observed <= limit), limit, beside];
        all.iter_mut().zip(values).for_each(|(all, value)| all[trajectory][cell] = value);
    }
    let [scores, below, limits, beside] = all.map(|all| resumed.estimator.in_dataset_order(experiment, &all));
    Residuals { scores, below, limits, beside }
}
