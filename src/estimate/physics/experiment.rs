//! The least-squares problem of one environment: its trajectories, their rollouts and derivatives, residuals and normal equations.
//!
//! Unknowns are the coordinates `theta [d]` of the estimated parameters and, for each trajectory, the entries of its initial state that are
//! not given, in units of the spread of their channel or in the [coordinate](super::coordinates) of their bounds, then the coordinates `[o]` of
//! parameters of its own.

use std::borrow::Cow;
use std::sync::Arc;

use super::budget::{Budget, Halt};
use super::differences::{Differences, Integrator};
use super::dosing;
use super::function::{Along, Function};
use super::model::{Derivatives, Model, OwnParameter};
use super::normal::{Normal, Step};
use super::observables::Observable;
use super::series::Series;
use super::spread::{spread, values};
use crate::estimate::noise;
use crate::estimate::resolution::{Resolution, resolution};
use crate::estimate::settings::{InitialState, Loss, PhysicsSettings};
use crate::least_squares::robust;
use crate::signals::Drive;
use crate::solve;
use crate::solve::{DOP853, Tableau, Tolerance};
use crate::systems::{Sensitivities, Start};

/// The trajectories of one environment, and the equations that should explain them.
pub(crate) struct Experiment<'a> {
    pub model: Cow<'a, Model>,
    pub series: Vec<Series>,
    /// The indices of the unknown values of the initial state, for each trajectory.
    pub unknown_initial: Vec<Vec<usize>>,
    /// The indices of the values of the initial state that are expressions, for each trajectory.
    pub(super) computed_initial: Vec<Vec<usize>>,
    /// Spread of each channel `[C]`.
    pub scales: Vec<f64>,
    /// How finely each channel `[C]` was recorded.
    pub resolutions: Vec<Resolution>,
    /// The values `(trajectory, cell)` that enter the fit, cells of `[T, C]`.
    pub cells: Vec<(usize, usize)>,
    /// The limit of quantification of each cell `[T, C]` of each trajectory; empty where there are none.
    pub limits: Vec<Vec<f64>>,
    pub(super) initial_state: InitialState,
    pub(super) loss: Loss,
}

/// The unknowns of a fit.
#[derive(Clone, Debug)]
pub(crate) struct Unknowns {
    /// `theta [d]`.
    pub coordinates: Vec<f64>,
    /// The initial state `[N]` of each trajectory, known values included; those that are expressions are computed with each rollout.
    pub initial: Vec<Vec<f64>>,
    /// The coordinates `[o]` of the parameters of its own of each trajectory.
    pub own: Vec<Vec<f64>>,
}

/// The trajectories for some unknowns, with their derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Rollout {
    /// The channels `[T, C]` of each trajectory.
    pub states: Vec<Vec<f64>>,
    /// `[T, C, k]` of each trajectory: derivatives by `theta [d]`, then by its unknown initial values.
    pub sensitivities: Vec<Vec<f64>>,
    /// The states `[T, N]` of each trajectory, where channels are not just these; else empty.
    pub beneath: Vec<Vec<f64>>,
}

/// The weights `[T, C]` of the residuals of each trajectory; zero where there is no residual.
pub(crate) type Weights = Vec<Vec<f64>>;

impl<'a> Experiment<'a> {
    /// The problem of fitting `model` to `series`, each from where the system starts.
    pub(crate) fn new(model: Cow<'a, Model>, series: Vec<Series>, initial_state: InitialState, loss: Loss) -> Self {
        let c = model.size();
        let series: Vec<Series> = series.into_iter().map(|it| it.started(&model, initial_state)).collect();
        let (mut unknown_initial, mut computed_initial) = (Vec::new(), Vec::new());
        for series in &series {
            // Whether the start is what the first sample says.
            let is_taken = |value: usize| {
                let measured = model.cell_of(value).filter(|_| !model.hides(value));
                let measured = measured.and_then(|cell| series.observed().get(cell));
                initial_state == InitialState::Observed && measured.is_some_and(|value| !value.is_nan())
            };
            let values = if series.times().is_empty() { 0 } else { model.state_size() };
            let open: Vec<usize> = (0..values).filter(|&value| !is_taken(value)).collect();
            let (computed, others): (Vec<usize>, Vec<usize>) =
                open.into_iter().partition(|&value| model.is_expression(value));
            computed_initial.push(computed);
            unknown_initial.push(others.into_iter().filter(|&value| model.given(value).is_none()).collect::<Vec<_>>());
        }
        let scales = (0..model.channels).map(|channel| spread(&model, &series, channel, loss)).collect();
        let resolutions = (0..model.channels).map(|channel| {
            // Values are gone through again and again.
            let values: Vec<f64> = values(&model, &series, channel).collect();
            resolution(values.iter().copied())
        });
        let resolutions = resolutions.collect();
        // A first sample that the rollout starts from has no residuals; one that follows from unknowns has.
        let mut cells = Vec::new();
        for (trajectory, (own, computed)) in unknown_initial.iter().zip(&computed_initial).enumerate() {
            let is_counted = |cell: usize| {
                cell >= c
                    || model.rest.is_some()
                    || match model.observable(cell) {
                        Observable::State(value) => own.contains(&value) || computed.contains(&value),
                        Observable::Output(_) => true,
                    }
            };
            let observed = series[trajectory].observed().iter().enumerate().filter(|(_, value)| !value.is_nan());
            cells.extend(observed.filter(|it| is_counted(it.0)).map(|(cell, _)| (trajectory, cell)));
        }
        let limits = Vec::new();
        Experiment {
            model,
            series,
            unknown_initial,
            computed_initial,
            scales,
            resolutions,
            cells,
            limits,
            initial_state,
            loss,
        }
    }

    /// A channel, with its greatest absolute value, that is so large or small that sums of squares are not finite.
    pub(crate) fn overflowing_channel(&self) -> Option<(usize, f64)> {
        (0..self.model.channels).map(|channel| (channel, self.scales[channel])).find_map(|(channel, scale)| {
            let greatest = self.greatest(channel);
            (greatest > GREATEST || scale < GREATEST.recip()).then_some((channel, greatest))
        })
    }

    /// The residuals of a channel, fitted less observed, one list per trajectory.
    pub(crate) fn residuals(&self, rollout: &Rollout, channel: usize) -> Vec<Vec<f64>> {
        let mut runs = vec![Vec::new(); self.series.len()];
        for &(trajectory, cell) in self.cells.iter().filter(|(_, cell)| self.model.channel(*cell) == channel) {
            runs[trajectory].push(self.residual(rollout, trajectory, cell));
        }
        runs
    }

    /// The [noise](noise::upper_estimate) of each channel `[C]`, no less than [rounding](crate::estimate::resolution); infinite where there are too few
    /// samples, and for fields.
    pub(crate) fn noise(&self) -> Vec<f64> {
        let of_channel = |channel: usize| {
            let runs = self.series.iter().map(|series| {
                let values = series.observed().iter().skip(channel).step_by(self.model.channels);
                let samples = series.times().iter().copied().zip(values.copied());
                samples.filter(|(_, value)| !value.is_nan()).collect()
            });
            noise::upper_estimate(&runs.collect::<Vec<_>>())
        };
        let is_field = self.model.points > 1;
        let noise = |channel| if is_field { None } else { of_channel(channel) };
        let rounding = self.resolutions.iter().map(|it| it.std_dev);
        rounding.enumerate().map(|(channel, least)| noise(channel).unwrap_or(f64::INFINITY).max(least)).collect()
    }

    /// The greatest absolute value of a channel.
    pub(crate) fn greatest(&self, channel: usize) -> f64 {
        self.values(channel).fold(0.0, |greatest: f64, value| greatest.max(value.abs()))
    }

    /// The observed values of a channel.
    fn values(&self, channel: usize) -> impl Iterator<Item = f64> {
        values(&self.model, &self.series, channel)
    }

    /// The trajectories in segments of `samples` samples, each starting at the last sample of the one before, and the equations without
    /// given initial values, as segments start anywhere, nor parameters of trajectories.
    pub(crate) fn segments(&self, samples: usize) -> (Model, Vec<Series>) {
        let model = self.model.starting_anywhere().pooled();
        let segments = self.series.iter().flat_map(|series| series.segments(samples, self.model.doses.is_some()));
        (model, segments.collect())
    }

    /// A note on samples before the time at which the system starts; none where there are none.
    pub(crate) fn early_samples(&self) -> Option<String> {
        let start = self.model.start?;
        let left_out: usize = self.series.iter().map(Series::left_out).sum();
        if left_out > 0 {
            return Some(format!("samples before t = {start}, where the equations start, are left out: {left_out}"));
        }
        let first =
            self.series.iter().filter_map(|series| series.times().first()).fold(f64::INFINITY, |a, b| a.min(*b));
        (first < start)
            .then(|| format!("time stands in the equations, and the samples begin before it does, at t = {first}"))
    }

    /// A channel whose given initial value differs from the first sample by more than `times` its `noise [C]`, with both values.
    pub(crate) fn contradiction(&self, noise: &[f64], times: f64) -> Option<(usize, f64, f64)> {
        if self.initial_state == InitialState::Observed || self.model.rest.is_some() {
            return None;
        }
        let mut pairs = self.series.iter().filter_map(Series::first_observed).flat_map(|state| {
            let with_given = |(cell, measured): (usize, &f64)| match self.model.observable(cell) {
                Observable::State(value) => Some((self.model.channel(cell), self.model.given(value)?, *measured)),
                Observable::Output(_) => None,
            };
            state.iter().enumerate().filter_map(with_given)
        });
        pairs.find(|(channel, given, measured)| (measured - given).abs() > times * noise[*channel])
    }

    /// Number of unknowns.
    pub(crate) fn unknown_count(&self) -> usize {
        self.model.coordinates.len() + self.own_counts().sum::<usize>()
    }

    /// Number of unknowns of its own of each trajectory.
    pub(crate) fn own_counts(&self) -> impl Iterator<Item = usize> {
        self.unknown_initial.iter().map(|initial| initial.len() + self.model.own.len())
    }

    /// Number of directions along which a trajectory is differentiated.
    pub(crate) fn directions(&self) -> usize {
        self.model.coordinates.len() + self.own_counts().max().unwrap_or(0)
    }

    /// An integrator for these trajectories.
    ///
    /// # Errors
    /// As [`Sensitivities::new`].
    pub(crate) fn integrator(
        &self,
        tableau: &'static Tableau,
        rtol: f64,
        max_steps: u64,
    ) -> Result<Integrator, solve::Error> {
        let mut smallest = self.scales.iter().fold(f64::INFINITY, |least, scale| least.min(*scale));
        if self.model.has_hidden() {
            // Of the size of hidden states nothing is known.
            smallest *= HIDDEN;
        }
        let tolerance = Tolerance { rtol, atol: rtol * smallest, max_steps };
        let (size, directions) = (self.model.state_size(), self.directions());
        Ok(match &self.model.derivatives {
            Derivatives::Sensitivities(field) => Integrator::Sensitivities(Box::new(Sensitivities::new(
                Arc::clone(field),
                size,
                directions,
                tableau,
                tolerance,
            )?)),
            Derivatives::Differences(dynamics, step) => {
                let shape = (size, directions);
                Integrator::Differences(Differences::new(dynamics, *step, shape, tableau, tolerance)?)
            }
        })
    }

    /// Unknowns to start from: `parameters [d + o]`, of which those of trajectories may be left out, and initial states as given or guessed from the first observed values.
    pub(crate) fn start(&self, parameters: &[f64]) -> Unknowns {
        let c = self.model.size();
        let coordinates = parameters.iter().zip(&self.model.coordinates);
        let guess = |series: &Series, cell: usize| {
            let mut values = series.observed().iter().skip(cell).step_by(c).filter(|value| !value.is_nan());
            let mut first = match self.loss {
                Loss::Squares => values.next().into_iter().copied().collect::<Vec<f64>>(),
                Loss::Huber => values.take(3).copied().collect(), // of which one may be wrong
            };
            first.sort_by(f64::total_cmp);
            first.get(first.len() / 2).copied()
        };
        let initial = self.series.iter().zip(&self.unknown_initial).map(|(series, own)| {
            let value = |value: usize| {
                let cell = self.model.cell_of(value);
                if own.contains(&value) {
                    let guessed = || cell.and_then(|cell| guess(series, cell));
                    return match self.model.free(value) {
                        Some((range, given)) => {
                            let value = given.or_else(guessed).unwrap_or_else(|| range.middle());
                            value.clamp(range.lower, range.upper)
                        }
                        None => guessed().unwrap_or(0.0),
                    };
                }
                let (given, first) = (self.model.given(value), cell.and_then(|cell| series.observed().get(cell)));
                let measured = first.copied().filter(|value| !value.is_nan());
                let known = match self.initial_state {
                    InitialState::Observed if !self.model.hides(value) => measured.or(given),
                    _ => given.or(measured),
                };
                known.unwrap_or(0.0)
            };
            (0..self.model.state_size()).map(value).collect()
        });
        let of_own = self.model.own.iter().enumerate().map(|(j, OwnParameter { coordinate, .. })| {
            let value = parameters.get(self.model.coordinates.len() + j).copied();
            let value = value.filter(|it| it.is_finite()).unwrap_or_else(|| coordinate.middle());
            coordinate.theta(value.clamp(coordinate.lower, coordinate.upper))
        });
        Unknowns {
            coordinates: coordinates.map(|(value, it)| it.theta(value.clamp(it.lower, it.upper))).collect(),
            initial: initial.collect(),
            own: vec![of_own.collect(); self.series.len()],
        }
    }

    /// The estimated parameters `[d]` at `coordinates [d]`, with their derivatives by them.
    pub(crate) fn parameters(&self, coordinates: &[f64]) -> Vec<(f64, f64)> {
        self.model.coordinates.iter().zip(coordinates).map(|(it, theta)| it.value(*theta)).collect()
    }

    /// The trajectories for `unknowns`; what they cost is taken from `budget`.
    ///
    /// # Errors
    /// Why a trajectory was not integrated to its end.
    pub(crate) fn roll_out(
        &self,
        integrator: &mut Integrator,
        unknowns: &Unknowns,
        budget: &mut Budget,
    ) -> Result<Rollout, Halt> {
        self.roll_out_along(self.directions(), integrator, unknowns, budget)
    }

    /// The same along all directions, or without derivatives where `k` is none; the integrator is for as many.
    pub(crate) fn roll_out_along(
        &self,
        k: usize,
        integrator: &mut Integrator,
        unknowns: &Unknowns,
        budget: &mut Budget,
    ) -> Result<Rollout, Halt> {
        let n = self.model.state_size();
        let moves = |directions: &mut [f64], place: usize, by: f64| {
            if k > 0 {
                directions[place] = by;
            }
        };
        let mut parameters = self.model.parameters.clone();
        let mut parameter_directions = vec![0.0; parameters.len() * k];
        let estimated = self.model.estimated.iter().zip(self.parameters(&unknowns.coordinates));
        for (direction, (&index, (value, slope))) in estimated.enumerate() {
            parameters[index] = value;
            moves(&mut parameter_directions, index * k + direction, slope);
        }
        let (shared, shared_directions) = (parameters, parameter_directions);
        let mut rollout = Rollout { states: Vec::new(), sensitivities: Vec::new(), beneath: Vec::new() };
        for (trajectory, series) in self.series.iter().enumerate() {
            let drive = Drive { times: series.times(), inputs: series.inputs(), between: &self.model.between };
            let mut initial = Cow::Borrowed(&unknowns.initial[trajectory]);
            let mut state_directions = vec![0.0; n * k];
            for (index, &value) in self.unknown_initial[trajectory].iter().enumerate() {
                let place = value * k + self.model.coordinates.len() + index;
                moves(&mut state_directions, place, self.unit(value, initial[value]));
            }
            let (mut parameters, mut parameter_directions) =
                (Cow::Borrowed(&shared), Cow::Borrowed(&shared_directions));
            let first = self.model.coordinates.len() + self.unknown_initial[trajectory].len();
            for (j, (own, theta)) in self.model.own.iter().zip(&unknowns.own[trajectory]).enumerate() {
                let (value, slope) = own.coordinate.value(*theta);
                parameters.to_mut()[own.index] = value;
                moves(parameter_directions.to_mut(), own.index * k + first + j, slope);
            }
            let along = |field| Function { field, parameters: &parameters, directions: &parameter_directions, k };
            if let Some(starts) = &self.model.starts {
                let Along { values, slopes } = along(starts).along(&drive, 1.min(series.times().len()), (&[], &[]), n);
                for &value in &self.computed_initial[trajectory] {
                    initial.to_mut()[value] = values[value];
                    state_directions[value * k..(value + 1) * k].copy_from_slice(&slopes[value * k..(value + 1) * k]);
                }
            }
            let start = Start {
                parameters: &parameters,
                parameter_directions: &parameter_directions,
                state: &initial,
                state_directions: &state_directions,
            };
            let settled = self.model.rest.as_ref().map(|rest| rest.settle(integrator, start, budget)).transpose()?;
            let start = match &settled {
                Some((state, state_directions)) => Start { state, state_directions, ..start },
                None => start,
            };
            let cells = series.times().len() * n;
            let (mut states, mut sensitivities) = (vec![0.0; cells], vec![0.0; cells * k]);
            dosing::integrate(&self.model, series, integrator, start, (&mut states, &mut sensitivities), budget)?;
            if let Some(observables) = &self.model.observables {
                let Along { values, slopes } =
                    observables.of_states(&parameters, &parameter_directions, &drive, (&states, &sensitivities));
                rollout.beneath.push(std::mem::replace(&mut states, values));
                sensitivities = slopes;
            }
            rollout.states.push(states);
            rollout.sensitivities.push(sensitivities);
        }
        Ok(rollout)
    }

    /// How far one unit of its unknown moves a value of the initial state, where that is `at`.
    pub(crate) fn unit(&self, value: usize, at: f64) -> f64 {
        match self.model.free(value) {
            Some((range, _)) => range.value(range.theta(at)).1,
            None => self.model.cell_of(value).map_or(1.0, |cell| self.scales[self.model.channel(cell)]),
        }
    }

    /// The states `[T, C]` of each trajectory where nothing is unknown; none where one cannot be integrated to its end.
    pub(crate) fn states(&self, settings: &PhysicsSettings, budget: &mut Budget) -> Option<Vec<Vec<f64>>> {
        let mut integrator = self.integrator(&DOP853, settings.rtol, settings.max_steps).ok()?;
        self.roll_out(&mut integrator, &self.start(&[]), budget).ok().map(|rollout| rollout.states)
    }

    /// The residual, fitted less observed, of one value; of one at or below its limit, how far the fitted one is above that.
    pub(crate) fn residual(&self, rollout: &Rollout, trajectory: usize, cell: usize) -> f64 {
        let (fitted, observed) = (rollout.states[trajectory][cell], self.series[trajectory].observed()[cell]);
        match self.limits.get(trajectory).map(|limits| limits[cell]) {
            Some(limit) if observed <= limit => (fitted - limit).max(0.0),
            _ => fitted - observed,
        }
    }

    /// The derivatives of one value by the parameters `[d]`, then by the unknowns of its trajectory, which may be followed by zeros.
    pub(crate) fn derivatives<'r>(&self, rollout: &'r Rollout, trajectory: usize, cell: usize) -> &'r [f64] {
        let k = self.directions();
        &rollout.sensitivities[trajectory][cell * k..(cell + 1) * k]
    }

    /// The absolute values of the weighted residuals.
    pub(crate) fn weighted_sizes(&self, rollout: &Rollout, weights: &Weights) -> impl Iterator<Item = f64> {
        self.cells.iter().map(|&(trajectory, cell)| {
            let residual = self.residual(rollout, trajectory, cell);
            (weights[trajectory][cell] * residual).abs()
        })
    }

    /// `|r|^2` of the weighted residuals, or twice Huber's loss, which need no derivatives.
    pub(crate) fn squares(&self, rollout: &Rollout, weights: &Weights, limit: f64) -> f64 {
        let sizes = self.weighted_sizes(rollout, weights);
        sizes.map(|size| if size > limit { limit * (2.0 * size - limit) } else { size * size }).sum()
    }

    /// The normal equations of the weighted residuals. Residuals beyond `limit` count by Huber's loss; an infinite limit is least squares.
    pub(crate) fn normal(&self, rollout: &Rollout, weights: &Weights, limit: f64) -> Normal {
        let mut normal = Normal::new(self.model.coordinates.len(), self.own_counts());
        for &(trajectory, cell) in &self.cells {
            let residual = self.residual(rollout, trajectory, cell);
            let row = self.derivatives(rollout, trajectory, cell);
            // A value below its limit that is fitted as such says nothing.
            let is_met = residual == 0.0 && !self.limits.is_empty();
            let weight = if is_met { 0.0 } else { weights[trajectory][cell] };
            let size = (weight * residual).abs();
            normal.add(trajectory, weight * robust::weight(size, limit).sqrt(), residual, row);
            if size > limit {
                // Twice the loss is `limit (2 size - limit)`; the weighted square added above is `limit size`.
                normal.squares += limit * (size - limit);
            }
        }
        normal.complete();
        normal
    }

    /// Weights by a function of trajectory, cell and channel.
    pub(crate) fn weights(&self, weight: impl Fn(usize, usize, usize) -> f64) -> Weights {
        let mut weights: Weights = self.series.iter().map(|series| vec![0.0; series.observed().len()]).collect();
        for &(trajectory, cell) in &self.cells {
            weights[trajectory][cell] = weight(trajectory, cell, self.model.channel(cell));
        }
        weights
    }

    /// Moves the states of a rollout by a step, to first order.
    pub(crate) fn extrapolate(&self, rollout: &mut Rollout, step: &Step) {
        let k = self.directions();
        for ((states, sensitivities), own) in rollout.states.iter_mut().zip(&rollout.sensitivities).zip(&step.initial) {
            for (state, row) in states.iter_mut().zip(sensitivities.chunks_exact(k.max(1))) {
                let steps = step.parameters.iter().chain(own.iter());
                *state += row.iter().zip(steps).map(|(slope, by)| slope * by).sum::<f64>();
            }
        }
    }
}

/// Hidden states may be this much smaller than the spread of the channels.
const HIDDEN: f64 = 1e-3;
/// Values beyond this size are refused, and spreads below its reciprocal: sums of squares would not be finite.
const GREATEST: f64 = 1e140;
