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
use super::fitted_noise::known_noise;
use super::likelihood::measured::Measured;
use super::likelihood::objective::Objective;
use super::model::Model;
use super::normal::{Own, PART};
use super::result::FittedOwn;
use super::scatter::Scatter;
use super::uncertainty::{Uncertainty, Undetermined};
use crate::estimate::table::row::Row;
use crate::schema::Trajectory;
use crate::solve::DOP853;

/// Share by which the errors of trajectories may exceed those in the table: it is not visible.
const VISIBLE: f64 = 1e-3;

/// A fit that was taken up again.
pub(crate) struct Resumed<'a> {
    pub estimator: &'a Estimator<'a>,
    /// With the parameters to be differentiated by.
    pub experiment: Experiment<'a>,
    pub unknowns: Unknowns,
    /// The fitted channels `[T, C]` of each trajectory, in the order of the equations.
    pub states: Vec<Vec<f64>>,
    /// Of the trajectories.
    ids: Vec<String>,
    /// With noise of known size.
    measured: Measured,
    widening: Vec<Vec<f64>>,
}

/// What a trajectory has of its own beside the parameters.
pub(crate) struct Following {
    /// How it follows the parameters, `D^-1 B' [u, d]`, with the other sign.
    pub carried: DMatrix<f64>,
    /// What is not known of it with the parameters held.
    pub own: Uncertainty,
}

impl<'a> Resumed<'a> {
    /// The fit of `row` to its trajectories. If the parameters of the row explain them less well than it says, they are fitted again as well. None
    /// where nothing can be fitted.
    pub(crate) fn new(estimator: &'a Estimator<'a>, row: &Row, trajectories: &[Trajectory]) -> Option<Self> {
        let equations = &estimator.equations;
        let known = &trajectories.first()?.parameters;
        let ids: Vec<String> = trajectories.iter().map(|it| it.trajectory.clone()).collect();
        let model = equations.model(known).ok()?;
        let alone = estimator.experiment(model.clone(), trajectories, None);
        let measured = known_noise(equations, row, (&alone, estimator.physics.rtol));
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
            return Some(Resumed { estimator, unknowns, states, ids, measured, widening, experiment });
        }
        let (_, fit) = estimator.fit(known, trajectories);
        if fit.initial.is_empty() || fit.values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut own = experiment.start(&theta(&fit.values)).own;
        for FittedOwn { at, .. } in fit.own.iter().filter(|it| it.at.value.is_finite()) {
            own[at.trajectory][at.parameter] = experiment.model.own[at.parameter].coordinate.theta(at.value);
        }
        let unknowns = Unknowns { coordinates: theta(&fit.values), initial: fit.initial, own };
        let widening = experiment.own_counts().map(|own| vec![1.0; own]).collect();
        Some(Resumed { estimator, unknowns, states: fit.states, ids, measured, widening, experiment })
    }

    /// The equations with all parameters as they were fitted to a trajectory.
    pub(crate) fn of_trajectory(&self, trajectory: usize) -> Model {
        let values: Vec<f64> =
            self.experiment.parameters(&self.unknowns.coordinates).into_iter().map(|it| it.0).collect();
        let mut model = self.experiment.model.fixed_at(&values);
        let own = std::mem::take(&mut model.own).into_iter().zip(&self.unknowns.own[trajectory]);
        own.for_each(|(it, theta)| model.parameters[it.index] = it.coordinate.value(*theta).0);
        model
    }

    /// The unknowns of a trajectory alone that starts at a `state [N]`.
    pub(crate) fn starting_at(&self, trajectory: usize, state: Vec<f64>) -> Unknowns {
        let own = vec![self.unknowns.own[trajectory].clone()];
        Unknowns { coordinates: self.unknowns.coordinates.clone(), initial: vec![state], own }
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

    /// What is not known of the coordinates of the parameters `[d]`.
    fn of_parameters(&self, row: &Row) -> Uncertainty {
        let d = self.unknowns.coordinates.len();
        let slopes: Vec<f64> = self.experiment.parameters(&self.unknowns.coordinates).iter().map(|it| it.1).collect();
        let correlation = |i: usize, j: usize| match (i.min(j), i.max(j)) {
            (i, j) if i == j => 1.0,
            (i, j) => row.correlations.get(i * (2 * d - i - 1) / 2 + j - i - 1).copied().unwrap_or(f64::NAN),
        };
        let covariance = |i: usize, j: usize| {
            let errors = row.parameters[i].standard_error * row.parameters[j].standard_error / (slopes[i] * slopes[j]);
            // Without errors, or with one that is unknown, there is no correlation.
            if errors == 0.0 || !errors.is_finite() { 0.0 } else { correlation(i, j) * errors }
        };
        let mut uncertainty = Uncertainty { covariance: DMatrix::from_fn(d, d, covariance), undetermined: Vec::new() };
        for (k, (parameter, name)) in row.parameters.iter().zip(&self.estimator.equations.names).enumerate() {
            if !parameter.standard_error.is_finite() {
                uncertainty.leave_open(k, &format!("the estimates have no standard error of {name}"));
            }
        }
        uncertainty
    }

    /// What is not known of parameters and unknown initial values `[d + u]` of each trajectory, in their coordinates.
    pub(crate) fn uncertainties(&self, row: &Row) -> Vec<Uncertainty> {
        let d = self.unknowns.coordinates.len();
        let Some((of_parameters, of_trajectories)) = self.parts(row) else {
            let reason = "the fit could not be integrated again for its errors";
            return self.experiment.own_counts().map(|own| Uncertainty::unknown(d + own, reason)).collect();
        };
        let joint = |Following { carried, own }: Following| {
            let u = carried.nrows();
            let mut joint = DMatrix::zeros(d + u, d);
            joint.view_mut((0, 0), (d, d)).fill_with_identity();
            joint.view_mut((d, 0), (u, d)).copy_from(&-carried);
            let mut covariance = &joint * &of_parameters.covariance * joint.transpose();
            let mut block = covariance.view_mut((d, d), (u, u));
            block += &own.covariance;
            let followed = of_parameters
                .undetermined
                .iter()
                .map(|it| Undetermined { direction: &joint * &it.direction, reason: it.reason.clone() });
            let of_own = own.undetermined.into_iter().map(|it| {
                let mut direction = DVector::zeros(d + u);
                direction.rows_mut(d, u).copy_from(&it.direction);
                Undetermined { direction, ..it }
            });
            let undetermined = followed.chain(of_own).collect();
            Uncertainty { covariance, undetermined }
        };
        of_trajectories.into_iter().map(joint).collect()
    }

    /// What is not known of the parameters `[d]`, and of what each trajectory has of its own beside them; none where it cannot be computed.
    pub(crate) fn parts(&self, row: &Row) -> Option<(Uncertainty, Vec<Following>)> {
        let experiment = &self.experiment;
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
        let of_trajectory = |(trajectory, widening): (usize, &Vec<f64>)| {
            let Own { inverse, carried, undetermined, .. } = normal.own(trajectory);
            let wider = |i: usize, j: usize| inverse[(i, j)] * (widening[i] * widening[j]).sqrt() / share;
            let open = |direction: DVector<f64>| Undetermined { reason: self.open(trajectory, &direction), direction };
            let covariance = DMatrix::from_fn(widening.len(), widening.len(), wider);
            let undetermined = undetermined.into_iter().map(open).collect();
            Following { carried, own: Uncertainty { covariance, undetermined } }
        };
        Some((self.of_parameters(row), self.widening.iter().enumerate().map(of_trajectory).collect()))
    }

    /// That the values of a trajectory do not determine a direction `[u]` of its own unknowns, in words.
    fn open(&self, trajectory: usize, direction: &DVector<f64>) -> String {
        let Estimator { equations, .. } = self.estimator;
        let starts = self.experiment.unknown_initial[trajectory].iter();
        let starts = starts.map(|&state| format!("the start of {}", equations.state_names[state]));
        let names = starts.chain(equations.own_names.iter().cloned()).zip(direction.iter());
        let names: Vec<String> = names.filter(|(_, part)| part.abs() > PART).map(|(name, _)| name).collect();
        format!("the data of trajectory {} do not determine {}", self.ids[trajectory], names.join(", "))
    }
}
