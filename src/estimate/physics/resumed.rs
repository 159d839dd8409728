//! The fit of one environment, taken up again from its row: the parameters stand there, the initial states are fitted anew under them.
//!
//! ```text
//! y_0 = y_0* - D^-1 B' (theta - theta*) + e,    cov(theta) = P,    cov(e) = f D^-1        J = [I; -D^-1 B'],   cov(theta, y_0) = J P J' + [0, 0; 0, f D^-1]
//! ```
//!
//! `P [d, d]` covariance of the parameters as the row has it, `B [d, u]` and `D [u, u]` as in [`normal`](super::normal) with weights by the noise
//! that the row has, `f` by how much [correlated](super::correlated) residuals raise variances. So everything that the fit of the parameters knew,
//! priors and other environments included, is in what is drawn and forecast.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};

use super::budget::Budget;
use super::estimator::Estimator;
use super::experiment::{Experiment, Unknowns};
use super::fit::trajectories as settle;
use super::likelihood::measured::Measured;
use super::likelihood::objective::Objective;
use super::model::Model;
use super::result::FittedOwn;
use super::scatter::Scatter;
use crate::estimate::table::row::Row;
use crate::schema::Trajectory;
use crate::solve::DOP853;

/// Share by which the errors of trajectories may exceed those in the table: it is not visible.
const VISIBLE: f64 = 1e-3;
/// Noise is no less than this many times the tolerance of integration.
const ABOVE_INTEGRATION: f64 = 10.0;

/// A fit that was taken up again.
pub(crate) struct Resumed<'a> {
    pub estimator: &'a Estimator<'a>,
    /// With the parameters to be differentiated by.
    pub experiment: Experiment<'a>,
    pub unknowns: Unknowns,
    /// The fitted channels `[T, C]` of each trajectory, in the order of the equations.
    pub states: Vec<Vec<f64>>,
    /// With noise of known size.
    measured: Measured,
    widening: Vec<Vec<f64>>,
}

impl<'a> Resumed<'a> {
    /// The fit of `row` to its trajectories. If the parameters of the row explain them less well than it says, they are fitted again as well. None
    /// where nothing can be fitted.
    pub(crate) fn new(estimator: &'a Estimator<'a>, row: &Row, trajectories: &[Trajectory]) -> Option<Self> {
        let equations = &estimator.equations;
        let known = &trajectories.first()?.parameters;
        let model = equations.model(known).ok()?;
        let measured = known_noise(estimator, row, &estimator.experiment(model.clone(), trajectories, None));
        let experiment = estimator.experiment(model, trajectories, Some(&measured));
        let values: Vec<f64> = row.parameters.iter().map(|parameter| parameter.value).collect();
        let theta = |values: &[f64]| -> Vec<f64> {
            let all = values.iter().zip(&experiment.model.coordinates);
            all.map(|(value, it)| it.theta(value.clamp(it.lower, it.upper))).collect()
        };
        let fixed = values.iter().all(|value| value.is_finite()).then(|| {
            let model = Cow::Owned(experiment.model.fixed_at(&values));
            estimator.experiment(model, trajectories, Some(&measured))
        });
        let by_likelihood = equations.measured.as_ref().map(|_| (&measured, equations.channel_names.as_slice()));
        let settled = fixed.as_ref().and_then(|fixed| {
            settle(fixed, estimator.settings, &estimator.physics, by_likelihood, estimator.interrupt)
        });
        let below: Vec<bool> = experiment
            .cells
            .iter()
            .map(|&(trajectory, cell)| {
                let observed = experiment.series[trajectory].observed()[cell];
                experiment.limits.get(trajectory).is_some_and(|limits| observed <= limits[cell])
            })
            .collect();
        let is_explained = |states: &[Vec<f64>]| {
            let zero: Vec<Vec<f64>> = states.iter().map(|states| vec![0.0; states.len()]).collect();
            let [rmse, size] = [states, &zero].map(|states| estimator.errors(&experiment, states, &below).rmse);
            rmse <= (1.0 + VISIBLE) * row.trajectory_rmse + VISIBLE * size
        };
        if let Some(settled) = settled.filter(|it| is_explained(&it.rollout.states)) {
            let unknowns = Unknowns { coordinates: theta(&values), ..settled.unknowns };
            let (states, widening) = (settled.rollout.states, settled.widening);
            return Some(Resumed { estimator, unknowns, states, measured, widening, experiment });
        }
        let (_, fit) = estimator.fit(known, trajectories);
        if fit.initial.is_empty() || fit.values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut own = experiment.start(&theta(&fit.values)).own;
        for FittedOwn { at, .. } in &fit.own {
            own[at.trajectory][at.parameter] = experiment.model.own[at.parameter].coordinate.theta(at.value);
        }
        let unknowns = Unknowns { coordinates: theta(&fit.values), initial: fit.initial, own };
        let widening = experiment.own_counts().map(|own| vec![1.0; own]).collect();
        Some(Resumed { estimator, unknowns, states: fit.states, measured, widening, experiment })
    }

    /// The equations with the parameters that a trajectory has for itself as they were fitted to it, without their errors.
    pub(crate) fn of_trajectory(&self, trajectory: usize) -> Model {
        let (model, own) = (&self.experiment.model, &self.unknowns.own[trajectory]);
        let mut parameters = model.parameters.clone();
        model.own.iter().zip(own).for_each(|(it, theta)| parameters[it.index] = it.coordinate.value(*theta).0);
        Model { parameters, own: Vec::new(), ..Model::clone(model) }
    }

    /// The noise of each channel `[C]`.
    pub(crate) fn scatter(&self) -> Vec<Scatter> {
        let channels = self.measured.channels.iter().zip(&self.experiment.scales);
        channels.map(|(it, scale)| Scatter::new(&it.noise, *scale)).collect()
    }

    /// The standard deviation of a sample that has its own.
    pub(crate) fn beside(&self, trajectory: usize, sample: usize, channel: usize) -> f64 {
        let place = self.measured.channels[channel].std_devs;
        let beside = self.experiment.series[trajectory].beside(sample);
        place.and_then(|place| beside.get(place)).copied().unwrap_or(f64::NAN)
    }

    /// The covariance `[d, d]` of the coordinates of the parameters; NaN where the row has none.
    pub(crate) fn of_parameters(&self, row: &Row) -> DMatrix<f64> {
        let d = self.unknowns.coordinates.len();
        let slopes: Vec<f64> = self.experiment.parameters(&self.unknowns.coordinates).iter().map(|it| it.1).collect();
        let correlation = |i: usize, j: usize| match (i.min(j), i.max(j)) {
            (i, j) if i == j => 1.0,
            (i, j) => row.correlations.get(i * (2 * d - i - 1) / 2 + j - i - 1).copied().unwrap_or(f64::NAN),
        };
        DMatrix::from_fn(d, d, |i, j| {
            let errors = row.parameters[i].standard_error * row.parameters[j].standard_error;
            correlation(i, j) * errors / (slopes[i] * slopes[j])
        })
    }

    /// The covariance of parameters and unknown initial values `[d + u, d + u]` of each trajectory, in their coordinates; NaN where it is unknown.
    pub(crate) fn covariances(&self, row: &Row) -> Option<Vec<DMatrix<f64>>> {
        let (experiment, d) = (&self.experiment, self.unknowns.coordinates.len());
        let physics = &self.estimator.physics;
        let mut integrator = experiment.integrator(&DOP853, physics.rtol, physics.max_steps).ok()?;
        let mut budget = Budget::new(physics.max_evaluations, self.estimator.interrupt);
        let rollout = experiment.roll_out(&mut integrator, &self.unknowns, &mut budget).ok()?;
        let names = &self.estimator.equations.channel_names;
        let objective = Objective::new(experiment, &self.measured, names, physics.rtol).ok()?;
        let normal = objective.information(&rollout, &self.unknowns, &[], 1.0);
        // Noise that was estimated by maximum likelihood is too small by what the unknowns took of it.
        let is_estimated = self.estimator.equations.measured.as_ref().is_some_and(Measured::estimates_noise);
        let share = if is_estimated { objective.free_share() } else { 1.0 };
        let (of_parameters, projections) = (self.of_parameters(row), normal.projections());
        let of_trajectory = |(trajectory, widening): (usize, &Vec<f64>)| {
            let u = widening.len();
            let carried = projections.as_ref().map(|all| all[trajectory].transpose());
            let carried = carried.unwrap_or_else(|| DMatrix::from_element(u, d, f64::NAN));
            let own = (0..u).map(|index| match normal.own_column(trajectory, index) {
                Some((column, _)) => column,
                None => DVector::from_element(u, f64::NAN),
            });
            let own: Vec<DVector<f64>> = own.collect();
            let mut joint = DMatrix::zeros(d + u, d);
            joint.view_mut((0, 0), (d, d)).fill_with_identity();
            joint.view_mut((d, 0), (u, d)).copy_from(&-carried);
            let mut covariance = &joint * &of_parameters * joint.transpose();
            for i in 0..u {
                for j in 0..u {
                    covariance[(d + i, d + j)] += own[j][i] * (widening[i] * widening[j]).sqrt() / share;
                }
            }
            covariance
        };
        Some(self.widening.iter().enumerate().map(of_trajectory).collect())
    }
}

/// How channels were measured, with the noise that the row has.
fn known_noise(estimator: &Estimator, row: &Row, experiment: &Experiment) -> Measured {
    match &estimator.equations.measured {
        Some(measured) => measured.known(&row.noise_terms),
        None => {
            let channels = estimator.equations.channel_indices.iter().zip(&experiment.scales);
            // Residuals may be errors of integration alone.
            let least = ABOVE_INTEGRATION * estimator.physics.rtol;
            let std_dev = |(&index, scale): (&usize, &f64)| {
                let noise = row.noise.get(index).copied().filter(|noise| noise.is_finite());
                noise.unwrap_or(*scale).max(least * scale)
            };
            Measured::constant(channels.map(std_dev), &estimator.equations.channel_names)
        }
    }
}
