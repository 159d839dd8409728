//! Errors of what all environments share.
//!
//! ```text
//! C_z = H^-1 K H^-1,    H = sum_e H_e,    K = sum_e var(score_e)
//! ```
//!
//! `H_e` is the information of an environment after elimination, and `K_e` the variance of its score: `H_e` itself, or more where residuals are
//! [correlated](crate::estimate::physics::correlated) from sample to sample.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::arrow::Part;
use super::batch::Batch;
use super::descent::Joint;
use super::member::{At, Member};
use crate::estimate::physics::fitter::Iterate;
use crate::estimate::physics::fitting::Fitting;
use crate::estimate::physics::likelihood::objective::Objective;
use crate::estimate::physics::pass::Pass;

/// What one environment adds.
pub(super) struct Contribution {
    /// What its residuals are in units of.
    unit: f64,
    information: DMatrix<f64>,
    variance: DMatrix<f64>,
    /// How its unknowns follow `z`, `[m, s]`.
    pub(super) follow: DMatrix<f64>,
    pub(super) of_trajectories: Vec<DMatrix<f64>>,
    /// Values that the correlation of residuals leaves, less its own unknowns.
    free: f64,
}

/// Errors of `z`.
pub(crate) struct Errors {
    /// `C_z [s, s]`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// The same, were residuals independent.
    pub independent: DMatrix<f64>,
    /// What `f_e` of each environment is in units of.
    pub units: Vec<f64>,
    /// Of the noise; infinite where it is known.
    pub degrees_of_freedom: f64,
    /// The [share](crate::estimate::physics::freedom) of the variance of each shared parameter that depends on them: what priors do not say.
    pub shares: Vec<f64>,
    /// The share of the variance that the unknowns of all leave to residuals.
    pub free_share: f64,
    /// How the parameters of each environment follow `z`, `[d, s]`.
    pub follow: Vec<DMatrix<f64>>,
    /// The same of the unknowns `[u, s]` of each trajectory.
    pub of_trajectories: Vec<Vec<DMatrix<f64>>>,
}

impl Joint<'_, '_> {
    /// The errors of `z` at the minimum.
    ///
    /// # Errors
    /// If an environment cannot be integrated there.
    pub(crate) fn errors(&self) -> Result<Errors, String> {
        let (batch, s) = (self.batch, self.batch.size());
        let points: usize = self.members.iter().map(|member| member.experiment.cells.len()).sum();
        let own: usize = self.members.iter().map(|member| member.own_count(batch)).sum();
        // Parameters of the noise take no degree of freedom.
        let parameters = batch.places.len();
        let free_share = (1.0 - (own + parameters) as f64 / points as f64).max(0.0);
        let of_member = |(member, at): (&Member, &At)| contribution(self.fitting, batch, member, (at, free_share));
        let all: Vec<Result<Contribution, String>> = self.members.par_iter().zip(&self.at).map(of_member).collect();
        let all = all.into_iter().collect::<Result<Vec<_>, String>>()?;
        let (mut information, mut variance) = (DMatrix::zeros(s, s), DMatrix::zeros(s, s));
        let mut degrees_of_freedom = -(parameters as f64);
        for it in &all {
            information += &it.information;
            variance += &it.variance;
            degrees_of_freedom += it.free;
        }
        if batch.measured.as_ref().is_some_and(|measured| !measured.estimates_noise()) {
            degrees_of_freedom = f64::INFINITY;
        }
        let mut of_priors = vec![0.0; parameters];
        for (k, (prior, (value, slope))) in batch.priors.iter().zip(batch.values(&self.z)).enumerate() {
            let Some(prior) = prior else { continue };
            let square = prior.residual(value, slope).1.powi(2);
            of_priors[k] = square;
            information[(k, k)] += square;
            variance[(k, k)] += square;
        }
        // Noise at its bound counts as known.
        for (k, (log, (low, high))) in self.z[parameters..].iter().zip(&batch.noise_bounds).enumerate() {
            if log <= low || log >= high {
                let place = parameters + k;
                information.row_mut(place).fill(0.0);
                information.column_mut(place).fill(0.0);
                information[(place, place)] = 1.0;
                variance.row_mut(place).fill(0.0);
                variance.column_mut(place).fill(0.0);
            }
        }
        let unknown = || DMatrix::from_element(s, s, f64::NAN);
        let (covariance, independent, shares) = match information.cholesky().map(|factor| factor.inverse()) {
            Some(inverse) => {
                let known = |k: usize| {
                    let of_each = of_priors.iter().enumerate().map(|(j, square)| inverse[(k, j)].powi(2) * square);
                    of_each.sum::<f64>() / inverse[(k, k)]
                };
                let shares = (0..parameters).map(|k| (1.0 - known(k)).clamp(0.0, 1.0)).collect();
                (&inverse * variance * &inverse, inverse, shares)
            }
            None => (unknown(), unknown(), vec![1.0; parameters]),
        };
        let units = all.iter().map(|it| it.unit).collect();
        let d = self.members.first().map_or(0, |member| member.experiment.model.coordinates.len());
        let follow = all.into_iter().map(|it| (it.follow.rows(0, d).into_owned(), it.of_trajectories));
        let (follow, of_trajectories) = follow.unzip();
        Ok(Errors { covariance, independent, units, degrees_of_freedom, shares, free_share, follow, of_trajectories })
    }
}

/// What an environment says of what all share, and how it follows that.
pub(super) fn contribution(
    fitting: &Fitting,
    batch: &Batch,
    member: &Member,
    (at, free_share): (&At, f64),
) -> Result<Contribution, String> {
    let experiment = &member.experiment;
    let mut fine =
        Pass::fine(experiment, fitting.physics, fitting.settings.tolerance).map_err(|error| error.to_string())?;
    let mut fitter = member.fitter(fitting, batch);
    let iterate = fitter.evaluate(&mut fine, at.unknowns.clone())?;
    let mut shared = batch.places.clone();
    let normal = match &batch.measured {
        None => experiment.normal(&iterate.rollout, &fitter.weights, f64::INFINITY),
        Some(measured) => {
            let objective =
                Objective::new(experiment, measured, &fitting.equations.channel_names, fitting.physics.rtol);
            let mut objective = objective?;
            shared.extend(objective.shared.iter().map(|it| iterate.unknowns.coordinates.len() + it.0));
            if batch.noise > 0 {
                objective.free_share = Some(free_share);
            }
            (fitter.weights, fitter.limit) = (objective.weights(&iterate.rollout, &at.noise), f64::INFINITY);
            objective.information(&iterate.rollout, &iterate.unknowns, &at.noise, 1.0)
        }
    };
    let iterate = Iterate { normal: iterate.normal, ..iterate };
    let part = Part::new(&normal, &shared, &at.free).ok_or("the initial states are not determined")?;
    // Weights are by the noise, whose unit is then 1; under Huber's loss it is what residuals are.
    let unit = if fitter.limit.is_finite() { fitter.variance(&iterate.rollout).max(f64::MIN_POSITIVE) } else { 1.0 };
    let serial = fitter.serial_correlation(&iterate.rollout);
    let d = iterate.unknowns.coordinates.len();
    let along = part.follow.rows(0, d).into_owned();
    let wider =
        fitter.widening(&iterate, &along, &serial).unwrap_or_else(|| DMatrix::zeros(along.ncols(), along.ncols()));
    let own = member.own_count(batch) as f64;
    Ok(Contribution {
        unit,
        variance: (&part.information + wider) / unit,
        information: part.information / unit,
        of_trajectories: normal.own_following(&part.follow).unwrap_or_default(),
        follow: part.follow,
        free: serial.effective_points() - own,
    })
}
