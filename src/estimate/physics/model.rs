//! The equations that are fitted.

use super::coordinates::Coordinate;
use crate::schema::Between;
use crate::systems::{Dynamics, TangentField};

/// Equations, and which of their parameters are estimated.
#[derive(Clone)]
pub(crate) struct Model {
    pub derivatives: Derivatives,
    pub channels: usize,
    /// Values of each channel in a state: the points of the grid, or 1.
    pub points: usize,
    /// The course of each input `[U]` between samples.
    pub between: Vec<Between>,
    /// All parameters of the system; the estimated ones are replaced.
    pub parameters: Vec<f64>,
    /// The indices `[d]` of the estimated parameters among all.
    pub estimated: Vec<usize>,
    /// The coordinate of each estimated parameter `[d]`.
    pub coordinates: Vec<Coordinate>,
    /// The values of the state that the equations give where the system starts; empty where they give none.
    pub given: Vec<Option<f64>>,
    /// The time at which the system starts, where that is not the first sample or event.
    pub start: Option<f64>,
}

impl Model {
    /// Number of values of a state.
    pub(crate) fn size(&self) -> usize {
        self.channels * self.points
    }

    /// The channel of a cell of `[T, C, n_1, .., n_k]`.
    pub(crate) fn channel(&self, cell: usize) -> usize {
        cell % self.size() / self.points
    }

    /// The same equations with the estimated parameters fixed at `values [d]`.
    pub(crate) fn fixed_at(&self, values: &[f64]) -> Model {
        let mut parameters = self.parameters.clone();
        self.estimated.iter().zip(values).for_each(|(&place, value)| parameters[place] = *value);
        Model { parameters, estimated: Vec::new(), coordinates: Vec::new(), ..self.clone() }
    }

    /// The value at `index` of the state, where the equations give it at the start of the system.
    pub(crate) fn given(&self, index: usize) -> Option<f64> {
        self.given.get(index).copied().flatten()
    }
}

/// How trajectories are differentiated.
#[derive(Clone)]
pub(crate) enum Derivatives {
    /// By forward sensitivities, where the derivatives of the equations are known.
    Sensitivities(TangentField),
    /// By differences of simulations; with the step of the data where the integrator has fixed steps.
    Differences(Dynamics, f64),
}
