//! Trajectories for parameters and starts that are drawn from what is not known of them: what else may have been fitted.
//!
//! ```text
//! theta_r = theta* + P^1/2 a,    y_0r = y_0* - D^-1 B' (theta_r - theta*) + E^1/2 b,    a [d], b [u] standard normal
//! ```
//!
//! `P`, `B`, `D` and `E` as in [`resumed`](super::resumed). What is drawn beyond a bound lies at it, and what is not determined at all stays where it is.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};

use super::budget::Budget;
use super::experiment::{Experiment, Unknowns};
use super::model::Model;
use super::normal::Step;
use super::resumed::Resumed;
use crate::estimate::table::row::Row;
use crate::random::Stream;
use crate::solve::DOP853;

/// Draws at most,
const MOST: usize = 200;
/// and at least, where these fit the limits below.
const FEWEST: usize = 10;
/// Values of all trajectories of an environment, over all draws; and evaluations of the equations that these take.
const VALUES: usize = 200_000;
const EVALUATIONS: u64 = 200_000;

/// Which random numbers draws are made of.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    /// The seed of the pipeline.
    pub seed: u64,
    /// What tells the environment from others.
    pub indices: &'a [u64],
}

/// Trajectories of one environment for draws of its parameters and starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicates {
    /// The channels `[T, C]` from where the system starts, of each draw and each trajectory.
    pub states: Vec<Vec<Vec<f64>>>,
    /// What was not drawn, in words: each once.
    pub held: Vec<String>,
}

impl Resumed<'_> {
    /// Trajectories for parameters and starts that are drawn; none where nothing is known of their errors, and but those that can be integrated.
    pub(crate) fn replicates(&self, row: &Row, draws: Draws) -> Replicates {
        let mut replicates = Replicates::default();
        let Some((of_parameters, of_trajectories)) = self.parts(row) else { return replicates };
        let all = of_trajectories.iter().flat_map(|it| &it.own.undetermined);
        for it in of_parameters.undetermined.iter().chain(all) {
            if !replicates.held.contains(&it.reason) {
                replicates.held.push(it.reason.clone());
            }
        }
        let root = root(&of_parameters.covariance);
        let roots: Vec<DMatrix<f64>> = of_trajectories.iter().map(|it| self::root(&it.own.covariance)).collect();
        let values: usize = self.states.iter().map(Vec::len).sum();
        let count = (VALUES / values.max(1)).clamp(FEWEST, MOST);
        let mut budget = Budget::new(self.estimator.physics.max_evaluations, self.estimator.interrupt);
        for draw in 0..count {
            if draw >= FEWEST && budget.spent() >= EVALUATIONS || budget.ensure_left().is_err() {
                break;
            }
            let indices = [draws.indices, &[draw as u64]].concat();
            let mut stream = Stream::new(draws.seed, "parameters of replicates", &indices);
            let mut moved = |root: &DMatrix<f64>| root * DVector::from_fn(root.ncols(), |_, _| stream.normal());
            let parameters = moved(&root);
            let follow = of_trajectories.iter().zip(&roots).map(|(it, root)| moved(root) - &it.carried * &parameters);
            let initial = follow.collect();
            let (unknowns, _) = self.experiment.after_step(&self.unknowns, &Step { parameters, initial });
            replicates.states.extend(self.integrated(&unknowns, &mut budget));
        }
        replicates
    }

    /// The trajectories for `unknowns` without derivatives; none where one cannot be integrated.
    fn integrated(&self, unknowns: &Unknowns, budget: &mut Budget) -> Option<Vec<Vec<f64>>> {
        let (experiment, physics) = (&self.experiment, &self.estimator.physics);
        let values: Vec<f64> = experiment.parameters(&unknowns.coordinates).into_iter().map(|it| it.0).collect();
        let fixed = experiment.model.fixed_at(&values);
        let of_trajectory = |trajectory: usize| {
            let mut model = Model { own: Vec::new(), ..fixed.clone() };
            let own = experiment.model.own.iter().zip(&unknowns.own[trajectory]);
            own.for_each(|(it, theta)| model.parameters[it.index] = it.coordinate.value(*theta).0);
            let alone = Experiment {
                model: Cow::Owned(model),
                series: vec![experiment.series[trajectory].clone()],
                unknown_initial: vec![Vec::new()],
                computed_initial: vec![experiment.computed_initial[trajectory].clone()],
                scales: experiment.scales.clone(),
                resolutions: Vec::new(),
                cells: Vec::new(),
                limits: Vec::new(),
                initial_state: experiment.initial_state,
                loss: experiment.loss,
            };
            let mut integrator = alone.integrator(&DOP853, physics.rtol, physics.max_steps).ok()?;
            let initial = vec![unknowns.initial[trajectory].clone()];
            let unknowns = Unknowns { coordinates: Vec::new(), initial, own: vec![Vec::new()] };
            let states = alone.roll_out(&mut integrator, &unknowns, budget).ok()?.states.swap_remove(0);
            states.iter().all(|value| value.is_finite()).then_some(states)
        };
        (0..experiment.series.len()).map(of_trajectory).collect()
    }
}

/// A root `R [m, m]` of a covariance, `C = R R'`; of what rounding makes negative, zero.
fn root(covariance: &DMatrix<f64>) -> DMatrix<f64> {
    let m = covariance.nrows();
    if m == 0 || covariance.iter().any(|value| !value.is_finite()) {
        return DMatrix::zeros(m, m);
    }
    let eigen = covariance.clone().symmetric_eigen();
    let sizes = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
    eigen.eigenvectors * DMatrix::from_diagonal(&sizes)
}
