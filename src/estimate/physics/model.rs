//! The equations that are fitted.

use super::coordinates::Coordinate;
use super::observables::{Observable, Observables};
use super::rest::Rest;
use crate::schema::Between;
use crate::systems::{Doses, Dynamics, InitialValue, TangentField};

/// Equations, and which of their parameters are estimated.
#[derive(Clone)]
pub(crate) struct Model {
    pub derivatives: Derivatives,
    /// Number of channels that are compared with data.
    pub channels: usize,
    /// What these are; `None` where they are the states.
    pub observables: Option<Observables>,
    /// Values of each channel in a state: the points of the grid, or 1.
    pub points: usize,
    /// The course of each input `[U]` between samples.
    pub between: Vec<Between>,
    /// All parameters of the system, then its covariates; the estimated ones are replaced.
    pub parameters: Vec<f64>,
    /// The indices `[d]` of the estimated parameters among all.
    pub estimated: Vec<usize>,
    /// The coordinate of each estimated parameter `[d]`.
    pub coordinates: Vec<Coordinate>,
    /// Parameters of which each trajectory has a value of its own `[o]`.
    pub own: Vec<OwnParameter>,
    /// What the equations say of the values of the state where the system starts; empty where they say nothing.
    pub initial: Vec<InitialValue>,
    /// Computes those that are expressions.
    pub starts: Option<TangentField>,
    /// How the system rests before it starts; none where it starts at the values above.
    pub rest: Option<Rest>,
    /// Amounts that are given at once; none where there are none.
    pub doses: Option<Doses>,
    /// The time at which the system starts, where that is not the first sample or event.
    pub start: Option<f64>,
}

impl Model {
    /// Number of values of a sample: all channels at all points.
    pub(crate) fn size(&self) -> usize {
        self.channels * self.points
    }

    /// Number of values of a state.
    pub(crate) fn state_size(&self) -> usize {
        self.observables.as_ref().map_or(self.size(), |observables| observables.states)
    }

    /// What a value of a sample is, by its index.
    pub(crate) fn observable(&self, cell: usize) -> Observable {
        match &self.observables {
            Some(observables) => observables.channels[cell],
            None => Observable::State(cell),
        }
    }

    /// The index in a sample of the value of a state; none where it is hidden.
    pub(crate) fn cell_of(&self, value: usize) -> Option<usize> {
        match &self.observables {
            Some(observables) => observables.channels.iter().position(|it| *it == Observable::State(value)),
            None => Some(value),
        }
    }

    /// Whether no first sample can stand for the value of the state at the start: none is measured, or the system rests before.
    pub(crate) fn hides(&self, value: usize) -> bool {
        self.rest.is_some() || self.cell_of(value).is_none()
    }

    /// Whether that holds for some value of the state.
    pub(crate) fn has_hidden(&self) -> bool {
        self.rest.is_some() || self.observables.is_some() && (0..self.state_size()).any(|value| self.hides(value))
    }

    /// The channel of a cell of `[T, C, n_1, .., n_k]`.
    pub(crate) fn channel(&self, cell: usize) -> usize {
        cell % self.size() / self.points
    }

    /// Whether a trajectory is known from its first sample on: its channels are the states, and no parameter is its own.
    pub(crate) fn is_observed_whole(&self) -> bool {
        self.observables.is_none() && self.rest.is_none() && self.own.is_empty()
    }

    /// The same equations with the estimated parameters fixed at `values [d]`.
    pub(crate) fn fixed_at(&self, values: &[f64]) -> Model {
        let mut parameters = self.parameters.clone();
        self.estimated.iter().zip(values).for_each(|(&place, value)| parameters[place] = *value);
        Model { parameters, estimated: Vec::new(), coordinates: Vec::new(), ..self.clone() }
    }

    /// The coordinates of all parameters that a search starts from `[d + o]`: those of the environment, then those of trajectories.
    pub(crate) fn searched(&self) -> Vec<Coordinate> {
        self.coordinates.iter().copied().chain(self.own.iter().map(|it| it.coordinate)).collect()
    }

    /// The same equations with one value for all trajectories of every parameter: `[d + o]` are estimated.
    pub(crate) fn pooled(&self) -> Model {
        let estimated = self.estimated.iter().copied().chain(self.own.iter().map(|it| it.index)).collect();
        Model { estimated, coordinates: self.searched(), own: Vec::new(), ..self.clone() }
    }

    /// The same equations without what they say of the start.
    pub(crate) fn starting_anywhere(&self) -> Model {
        Model { initial: Vec::new(), starts: None, rest: None, start: None, ..self.clone() }
    }

    /// What the equations say of the value at `index` of the state at the start of the system.
    pub(crate) fn initial(&self, index: usize) -> &InitialValue {
        self.initial.get(index).unwrap_or(&InitialValue::AsObserved)
    }

    /// The value at `index` of the state at the start of the system, where the equations give a number.
    pub(crate) fn given(&self, index: usize) -> Option<f64> {
        if let InitialValue::Number(value) = self.initial(index) { Some(*value) } else { None }
    }

    /// The coordinate of the value at `index` of the state at the start of the system, where the equations give bounds, and a guess.
    pub(crate) fn free(&self, index: usize) -> Option<(Coordinate, Option<f64>)> {
        match *self.initial(index) {
            InitialValue::Free { lower, upper, guess } => Some((Coordinate::new(lower, upper), guess)),
            _ => None,
        }
    }

    /// Whether the value at `index` of the state is an expression at the start of the system.
    pub(crate) fn is_expression(&self, index: usize) -> bool {
        matches!(self.initial(index), InitialValue::Expression(_))
    }
}

/// A parameter of which each trajectory has a value of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnParameter {
    /// Its index among all parameters of the system.
    pub index: usize,
    pub coordinate: Coordinate,
}

/// How trajectories are differentiated.
#[derive(Clone)]
pub(crate) enum Derivatives {
    /// By forward sensitivities, where the derivatives of the equations are known.
    Sensitivities(TangentField),
    /// By differences of simulations; with the step of the data where the integrator has fixed steps.
    Differences(Dynamics, f64),
}
