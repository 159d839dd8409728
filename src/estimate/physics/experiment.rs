//! The trajectories of one environment, and what the equations make of given unknowns.
//!
//! Unknown are the coordinates `theta [d]` of the estimated parameters, and of each trajectory those entries of its initial state
//! that are not given, in units of the spread of their channel.

use std::sync::Arc;

use super::budget::{Halt, Meter};
use super::coordinates::Coordinate;
use super::differences::{Differences, Integrator};
use super::normal::{Normal, Step};
use super::series::Series;
use super::settings::Settings;
use crate::estimate::residuals;
use crate::estimate::settings::{InitialState, Loss};
use crate::least_squares::robust;
use crate::schema::Between;
use crate::signals::Drive;
use crate::solve;
use crate::solve::{DOP853, Tableau, Tolerance};
use crate::systems::{Dynamics, Sensitivities, Start, TangentField};

/// The equations, and which of their parameters are estimated.
#[derive(Clone)]
pub(crate) struct Model {
    pub law: Law,
    pub channels: usize,
    /// Values of each channel in a state: the points of a grid, or one.
    pub points: usize,
    /// What its inputs `[U]` are between samples.
    pub between: Vec<Between>,
    /// All parameters of the system; those estimated are replaced.
    pub parameters: Vec<f64>,
    /// The places of those estimated among all.
    pub estimated: Vec<usize>,
    /// One an estimated parameter.
    pub coordinates: Vec<Coordinate>,
    /// The values of the state that are given where the system starts; empty where none is.
    pub given: Vec<Option<f64>>,
    /// When the system starts, where that is not the first sample or event.
    pub start: Option<f64>,
}

impl Model {
    /// Values of a state.
    pub fn size(&self) -> usize {
        self.channels * self.points
    }

    /// The channel of a cell of `[T, C, n_1, .., n_k]`.
    pub fn channel(&self, cell: usize) -> usize {
        cell % self.size() / self.points
    }

    /// The same equations with these values `[d]` of the estimated parameters, and none to estimate.
    pub fn with(&self, values: &[f64]) -> Model {
        let mut parameters = self.parameters.clone();
        self.estimated.iter().zip(values).for_each(|(&place, value)| parameters[place] = *value);
        Model { parameters, estimated: Vec::new(), coordinates: Vec::new(), ..self.clone() }
    }

    /// The value of the state that is given where the system starts.
    pub fn given(&self, value: usize) -> Option<f64> {
        self.given.get(value).copied().flatten()
    }
}

/// How derivatives of trajectories are found.
#[derive(Clone)]
pub(crate) enum Law {
    /// Those of the equations are written: by forward sensitivities.
    Differentiated(TangentField),
    /// By differences of simulations; with the step of the data where the integrator has fixed ones.
    Simulated(Dynamics, f64),
}

/// What is to be explained.
pub(crate) struct Experiment<'a> {
    pub model: &'a Model,
    pub series: Vec<Series>,
    /// Values of the initial state of each trajectory that are unknown.
    own: Vec<Vec<usize>>,
    /// Spread of each channel `[C]`.
    pub scales: Vec<f64>,
    /// The places `(trajectory, cell)` of the values that enter the fit, cells of `[T, C]`.
    pub cells: Vec<(usize, usize)>,
    initial_state: InitialState,
    loss: Loss,
}

/// What the fit moves.
#[derive(Clone, Debug)]
pub(crate) struct Unknowns {
    /// `theta [d]`.
    pub coordinates: Vec<f64>,
    /// The initial state `[C]` of each trajectory.
    pub initial: Vec<Vec<f64>>,
}

/// The trajectories at some unknowns, with their derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Rollout {
    /// `[T, C]` of each trajectory.
    pub states: Vec<Vec<f64>>,
    /// `[T, C, k]` of each trajectory: by `theta [d]`, then by its own unknowns.
    pub sensitivities: Vec<Vec<f64>>,
}

/// The weight `[T, C]` of each residual of each trajectory; zero where none counts.
pub(crate) type Weights = Vec<Vec<f64>>;

impl<'a> Experiment<'a> {
    pub fn new(model: &'a Model, series: Vec<Series>, initial_state: InitialState, loss: Loss) -> Self {
        let c = model.size();
        let series: Vec<Series> = series.into_iter().map(|it| it.started(model, initial_state)).collect();
        let own = series.iter().map(|series| {
            let is_unknown = |value: &usize| {
                let is_measured = series.observed.get(*value).is_none_or(|value| !value.is_nan());
                model.given(*value).is_none() && (initial_state == InitialState::Estimated || !is_measured)
            };
            if series.times.is_empty() { Vec::new() } else { (0..c).filter(is_unknown).collect() }
        });
        let own: Vec<Vec<usize>> = own.collect();
        let scales = (0..model.channels).map(|channel| spread(model, &series, channel, loss)).collect();
        // What is given at the start, or as it was measured there, counts for nothing.
        let cells = series.iter().zip(&own).enumerate().flat_map(|(trajectory, (series, own))| {
            let observed = series.observed.iter().enumerate().filter(|(_, value)| !value.is_nan());
            let counted = observed.filter(move |(cell, _)| *cell >= c || own.contains(cell));
            counted.map(move |(cell, _)| (trajectory, cell))
        });
        let cells = cells.collect();
        Experiment { model, series, own, scales, cells, initial_state, loss }
    }

    /// A channel with values of such a size that squares of them, or of their reciprocals, are no numbers.
    pub fn beyond_squares(&self) -> Option<(usize, f64)> {
        (0..self.model.channels).map(|channel| (channel, self.scales[channel])).find_map(|(channel, scale)| {
            let greatest = self.values(channel).fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
            (greatest > GREATEST || scale < GREATEST.recip()).then_some((channel, greatest))
        })
    }

    /// What is left of a channel's observed values beside a rollout, a run a trajectory.
    pub fn residuals(&self, rollout: &Rollout, channel: usize) -> Vec<Vec<f64>> {
        let mut runs = vec![Vec::new(); self.series.len()];
        for &(trajectory, cell) in self.cells.iter().filter(|(_, cell)| self.model.channel(*cell) == channel) {
            runs[trajectory].push(rollout.states[trajectory][cell] - self.series[trajectory].observed[cell]);
        }
        runs
    }

    /// The noise of each channel `[C]` by its own samples, infinite where they do not tell it; of fields it is not looked for.
    pub fn noise(&self) -> Vec<f64> {
        let of_channel = |channel: usize| {
            let runs = self.series.iter().map(|series| {
                let values = series.observed.iter().skip(channel).step_by(self.model.channels);
                let samples = series.times.iter().copied().zip(values.copied());
                samples.filter(|(_, value)| !value.is_nan()).collect()
            });
            residuals::noise_of(&runs.collect::<Vec<_>>())
        };
        let told = (0..self.model.channels).map(|channel| Some(channel).filter(|_| self.model.points == 1));
        told.map(|channel| channel.and_then(of_channel).unwrap_or(f64::INFINITY)).collect()
    }

    /// What was observed of a channel.
    fn values(&self, channel: usize) -> impl Iterator<Item = f64> {
        values(self.model, &self.series, channel)
    }

    /// The trajectories in pieces of so many samples, each from the last sample of the one before, and the equations without a state that is
    /// given: a piece starts anywhere.
    pub fn pieces(&self, samples: usize) -> (Model, Vec<Series>) {
        let model = Model { given: Vec::new(), start: None, ..self.model.clone() };
        let pieces = self.series.iter().flat_map(|series| series.pieces(samples, self.model.size()));
        (model, pieces.collect())
    }

    /// What should be known of samples before the time at which the system starts; none where there are none.
    pub fn early(&self) -> Option<String> {
        let start = self.model.start?;
        let left_out: usize = self.series.iter().map(|series| series.left_out).sum();
        if left_out > 0 {
            return Some(format!("samples before t = {start}, where the equations start, are left out: {left_out}"));
        }
        let first = self.series.iter().filter_map(|series| series.times.first()).fold(f64::INFINITY, |a, b| a.min(*b));
        (first < start)
            .then(|| format!("time stands in the equations, and the samples begin before it does, at t = {first}"))
    }

    /// A channel whose given value lies more than so many times its `noise [C]` beside the first sample, that value, and the sample.
    pub fn contradiction(&self, noise: &[f64], times: f64) -> Option<(usize, f64, f64)> {
        let measured = self.series.iter().filter(|series| !series.starts_apart);
        let pairs = measured.flat_map(|series| {
            let first = series.observed.iter().take(self.model.size()).enumerate();
            first.filter_map(|(value, measured)| Some((self.model.channel(value), self.model.given(value)?, *measured)))
        });
        let obeyed = pairs.filter(|_| self.initial_state == InitialState::Estimated);
        obeyed.into_iter().find(|(channel, given, measured)| (measured - given).abs() > times * noise[*channel])
    }

    /// How many unknowns there are.
    pub fn unknowns(&self) -> usize {
        self.model.coordinates.len() + self.own.iter().map(Vec::len).sum::<usize>()
    }

    /// Directions along which a trajectory is differentiated.
    fn directions(&self) -> usize {
        self.model.coordinates.len() + self.own.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// An integrator for these trajectories.
    ///
    /// # Errors
    /// As [`Sensitivities::new`].
    pub fn integrator(&self, tableau: &'static Tableau, rtol: f64, max_steps: u64) -> Result<Integrator, solve::Error> {
        let smallest = self.scales.iter().fold(f64::INFINITY, |least, scale| least.min(*scale));
        let tolerance = Tolerance { rtol, atol: rtol * smallest, max_steps };
        let (size, directions) = (self.model.size(), self.directions());
        Ok(match &self.model.law {
            Law::Differentiated(field) => Integrator::Sensitivities(Box::new(Sensitivities::new(
                Arc::clone(field),
                size,
                directions,
                tableau,
                tolerance,
            )?)),
            Law::Simulated(dynamics, step) => {
                let shape = (size, directions);
                Integrator::Differences(Differences::new(dynamics, *step, shape, tableau, tolerance)?)
            }
        })
    }

    /// The unknowns with these parameters `[d]`, and initial states: as given, or guessed from the first observations.
    pub fn start(&self, parameters: &[f64]) -> Unknowns {
        let c = self.model.size();
        let coordinates = parameters.iter().zip(&self.model.coordinates);
        let guess = |series: &Series, channel: usize| {
            let mut values = series.observed.iter().skip(channel).step_by(c).filter(|value| !value.is_nan());
            let mut first = match self.loss {
                Loss::Squares => values.next().into_iter().copied().collect::<Vec<f64>>(),
                Loss::Huber => values.take(3).copied().collect(), // of which one may be wrong
            };
            first.sort_by(f64::total_cmp);
            first.get(first.len() / 2).copied().unwrap_or(0.0)
        };
        let initial = self.series.iter().zip(&self.own).map(|(series, own)| {
            let value = |value: usize| match own.contains(&value) {
                true => guess(series, value),
                false => {
                    let (given, first) = (self.model.given(value), series.observed.get(value).copied());
                    let measured = first.filter(|value| !value.is_nan());
                    let known = match self.initial_state {
                        InitialState::Estimated => given.or(measured),
                        InitialState::Observed => measured.or(given),
                    };
                    known.unwrap_or(0.0)
                }
            };
            (0..c).map(value).collect()
        });
        Unknowns {
            coordinates: coordinates.map(|(value, it)| it.of(value.clamp(it.lower, it.upper))).collect(),
            initial: initial.collect(),
        }
    }

    /// The estimated parameters `[d]` at their coordinates, and their derivatives.
    pub fn parameters(&self, coordinates: &[f64]) -> Vec<(f64, f64)> {
        self.model.coordinates.iter().zip(coordinates).map(|(it, theta)| it.value(*theta)).collect()
    }

    /// The trajectories at `unknowns`; `meter` counts what they take.
    ///
    /// # Errors
    /// Why one cannot be followed to its end.
    pub fn roll_out(
        &self,
        integrator: &mut Integrator,
        unknowns: &Unknowns,
        meter: &mut Meter,
    ) -> Result<Rollout, Halt> {
        let (c, k) = (self.model.size(), self.directions());
        let mut parameters = self.model.parameters.clone();
        let mut parameter_directions = vec![0.0; parameters.len() * k];
        let estimated = self.model.estimated.iter().zip(self.parameters(&unknowns.coordinates));
        for (direction, (&place, (value, slope))) in estimated.enumerate() {
            parameters[place] = value;
            parameter_directions[place * k + direction] = slope;
        }
        let mut rollout = Rollout { states: Vec::new(), sensitivities: Vec::new() };
        for ((series, initial), own) in self.series.iter().zip(&unknowns.initial).zip(&self.own) {
            let mut state_directions = vec![0.0; c * k];
            for (index, &channel) in own.iter().enumerate() {
                let scale = self.scales[self.model.channel(channel)];
                state_directions[channel * k + self.model.coordinates.len() + index] = scale;
            }
            let start = Start {
                parameters: &parameters,
                parameter_directions: &parameter_directions,
                state: initial,
                state_directions: &state_directions,
            };
            let cells = series.observed.len();
            let (mut states, mut sensitivities) = (vec![0.0; cells], vec![0.0; cells * k]);
            meter.check()?;
            let drive = Drive { times: &series.times, inputs: &series.inputs, between: &self.model.between };
            let integrated = integrator.integrate(&drive, start, &mut states, &mut sensitivities, meter.interrupt);
            meter.evaluations += integrator.evaluations();
            integrated?;
            rollout.states.push(states);
            rollout.sensitivities.push(sensitivities);
        }
        Ok(rollout)
    }

    /// The states `[T, C]` of each trajectory where nothing is unknown; none where one cannot be followed to its end.
    pub fn states(&self, settings: &Settings, meter: &mut Meter) -> Option<Vec<Vec<f64>>> {
        let mut integrator = self.integrator(&DOP853, settings.rtol, settings.max_steps).ok()?;
        self.roll_out(&mut integrator, &self.start(&[]), meter).ok().map(|rollout| rollout.states)
    }

    /// The sizes of the weighted residuals.
    pub fn sizes(&self, rollout: &Rollout, weights: &Weights) -> impl Iterator<Item = f64> {
        self.cells.iter().map(|&(trajectory, cell)| {
            let residual = rollout.states[trajectory][cell] - self.series[trajectory].observed[cell];
            (weights[trajectory][cell] * residual).abs()
        })
    }

    /// The normal equations of the weighted residuals. Those beyond `limit` count by Huber's loss; an infinite one makes all least squares.
    pub fn normal(&self, rollout: &Rollout, weights: &Weights, limit: f64) -> Normal {
        let mut normal = Normal::new(self.model.coordinates.len(), self.own.iter().map(Vec::len));
        let k = self.directions();
        for &(trajectory, cell) in &self.cells {
            let residual = rollout.states[trajectory][cell] - self.series[trajectory].observed[cell];
            let row = &rollout.sensitivities[trajectory][cell * k..(cell + 1) * k];
            let weight = weights[trajectory][cell];
            let size = (weight * residual).abs();
            normal.add(trajectory, weight * robust::weight(size, limit).sqrt(), residual, row);
            if size > limit {
                // Twice the loss is `limit (2 size - limit)`, of which the weighed square is `limit size`.
                normal.squares += limit * (size - limit);
            }
        }
        normal.complete();
        normal
    }

    /// Weights by a function of trajectory, cell and channel.
    pub fn weights(&self, of: impl Fn(usize, usize, usize) -> f64) -> Weights {
        let mut weights: Weights = self.series.iter().map(|series| vec![0.0; series.observed.len()]).collect();
        for &(trajectory, cell) in &self.cells {
            weights[trajectory][cell] = of(trajectory, cell, self.model.channel(cell));
        }
        weights
    }

    /// `unknowns` after a step, the parameters held inside their bounds, and the step that was made of it.
    pub fn moved(&self, unknowns: &Unknowns, step: &Step) -> (Unknowns, Step) {
        let (mut unknowns, mut made) = (unknowns.clone(), step.clone());
        for (k, (theta, coordinate)) in unknowns.coordinates.iter_mut().zip(&self.model.coordinates).enumerate() {
            let (low, high) = coordinate.ends();
            let after = (*theta + step.parameters[k]).clamp(low, high);
            made.parameters[k] = after - *theta;
            *theta = after;
        }
        for ((initial, own), step) in unknowns.initial.iter_mut().zip(&self.own).zip(&step.initial) {
            let scale = |value: usize| self.scales[self.model.channel(value)];
            own.iter().zip(step.iter()).for_each(|(&value, by)| initial[value] += by * scale(value));
        }
        (unknowns, made)
    }

    /// Moves the states along their derivatives.
    pub fn follow(&self, rollout: &mut Rollout, step: &Step) {
        let k = self.directions();
        for ((states, sensitivities), own) in rollout.states.iter_mut().zip(&rollout.sensitivities).zip(&step.initial) {
            for (state, row) in states.iter_mut().zip(sensitivities.chunks_exact(k.max(1))) {
                let steps = step.parameters.iter().chain(own.iter());
                *state += row.iter().zip(steps).map(|(slope, by)| slope * by).sum::<f64>();
            }
        }
    }

    /// Which parameters lie at a bound that `-gradient` would have them cross.
    pub fn held(&self, unknowns: &Unknowns, normal: &Normal) -> Vec<bool> {
        let coordinates = unknowns.coordinates.iter().zip(&self.model.coordinates).zip(normal.gradient.iter());
        let held = coordinates.map(|((theta, coordinate), slope)| {
            let (low, high) = coordinate.ends();
            (*theta <= low && *slope > 0.0) || (*theta >= high && *slope < 0.0)
        });
        held.collect()
    }
}

/// Size beyond which a value, and below whose reciprocal a spread, is refused: sums of squares still have room.
const GREATEST: f64 = 1e140;
/// Distance of the quantiles of 5 and 95 % of a Gaussian, in standard deviations.
const GAUSSIAN_WIDTH: f64 = 3.29;

/// Standard deviation of a channel over all that was observed of it, under Huber's loss by its quantiles of 5 and 95 %; its size where it does
/// not change, and 1 where it is zero.
fn spread(model: &Model, series: &[Series], channel: usize, loss: Loss) -> f64 {
    let values = || values(model, series, channel);
    let count = values().count() as f64;
    let greatest = values().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    if greatest == 0.0 {
        return 1.0;
    }
    if loss == Loss::Huber {
        let mut sorted: Vec<f64> = values().collect();
        sorted.sort_by(f64::total_cmp);
        // The wings are left out, and no more: short peaks are what tells parameters apart.
        let wing = (sorted.len() / 20).max(1).min((sorted.len() - 1) / 2);
        let (low, high) = (sorted[wing], sorted[sorted.len() - 1 - wing]);
        if high - low > 1e-9 * low.abs().max(high.abs()) {
            return (high - low) / GAUSSIAN_WIDTH;
        }
    }
    // In units of the greatest value, so that squares neither overflow nor vanish.
    let mean = values().map(|value| value / greatest).sum::<f64>() / count;
    let variance = values().map(|value| (value / greatest - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    greatest * if deviation > 1e-9 { deviation } else { 1.0 }
}

/// What was observed of a channel, over all trajectories.
fn values(model: &Model, series: &[Series], channel: usize) -> impl Iterator<Item = f64> {
    // Every trajectory has whole states.
    let fields = series.iter().flat_map(|series| series.observed.chunks_exact(model.points));
    fields.skip(channel).step_by(model.channels).flatten().copied().filter(|value| !value.is_nan())
}
