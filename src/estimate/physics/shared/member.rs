//! One environment of a batch: its own unknowns at the minimum for what all share.

use nalgebra::DVector;

use super::arrow::Part;
use super::batch::Batch;
use crate::estimate::physics::budget::Budget;
use crate::estimate::physics::experiment::{Experiment, Unknowns, Weights};
use crate::estimate::physics::fitter::Fitter;
use crate::estimate::physics::fitting::Fitting;
use crate::estimate::physics::likelihood::objective::Objective;
use crate::estimate::physics::normal::Normal;
use crate::estimate::physics::pass::Pass;

/// The longest step of an own parameter that follows the shared ones.
const LONGEST: f64 = 1.0;
/// Degrees of freedom below which the noise of an environment is that of the batch.
const FEW: f64 = 8.0;

/// An environment of a batch. Its weights are by the spread of each channel until they are [weighed](Member::weigh) by noise.
pub(crate) struct Member<'a> {
    pub id: String,
    pub experiment: Experiment<'a>,
    /// Of the residuals of least squares, and Huber's limit.
    pub weights: Weights,
    pub limit: f64,
}

/// Unknowns of an environment at the minimum for some `z`.
#[derive(Clone)]
pub(crate) struct At {
    pub unknowns: Unknowns,
    /// `phi [q]` of its noise.
    pub noise: Vec<f64>,
    pub normal: Normal,
    pub part: Part,
    /// Which unknowns of `normal [d + q]` move with the shared ones.
    pub free: Vec<usize>,
    /// Errors of integration in `f_e`.
    pub resolution: f64,
}

impl<'a> Member<'a> {
    pub(crate) fn new(id: String, experiment: Experiment<'a>) -> Self {
        let weights = experiment.weights(|_, _, channel| 1.0 / experiment.scales[channel]);
        Member { id, weights, limit: f64::INFINITY, experiment }
    }

    /// A fitter with the shared parameters held.
    pub(crate) fn fitter<'f>(&'f self, fitting: &'f Fitting<'a>, batch: &Batch) -> Fitter<'f> {
        let budget = Budget::new(fitting.physics.max_evaluations, fitting.interrupt);
        let mut fitter = Fitter::new(&self.experiment, fitting.settings, fitting.physics, budget);
        (fitter.weights, fitter.limit) = (self.weights.clone(), self.limit);
        fitter.held = (0..self.experiment.model.coordinates.len()).map(|place| batch.places.contains(&place)).collect();
        fitter
    }

    /// The minimum of its own unknowns at `z`, from these.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn settle(
        &self,
        fitting: &Fitting<'a>,
        batch: &Batch,
        z: &[f64],
        (mut unknowns, mut noise): (Unknowns, Vec<f64>),
    ) -> Result<At, String> {
        let Fitting { settings, physics, equations, .. } = *fitting;
        batch.places.iter().zip(z).for_each(|(&place, theta)| unknowns.coordinates[place] = *theta);
        let mut fine = Pass::fine(&self.experiment, physics, settings.tolerance).map_err(|error| error.to_string())?;
        let mut fitter = self.fitter(fitting, batch);
        let d = unknowns.coordinates.len();
        let mut shared = batch.places.clone();
        let at = match &batch.measured {
            None => {
                let start = fitter.evaluate(&mut fine, unknowns)?;
                let (iterate, _) = fitter.descend(&mut fine, start);
                let active = self.experiment.active_bounds(&iterate.unknowns, &iterate.normal);
                let resolution = fitter.resolution(fine.rtol) + fine.rtol * iterate.normal.squares;
                (iterate.unknowns, Vec::new(), iterate.normal, active, resolution)
            }
            Some(measured) => {
                fitter.measured = Some(measured);
                let objective = Objective::new(&self.experiment, measured, &equations.channel_names, physics.rtol);
                let mut objective = objective?;
                shared.extend(objective.shared.iter().map(|it| d + it.0));
                if noise.len() < objective.noise_count() {
                    let rollout = self.experiment.roll_out(&mut fine.integrator, &unknowns, &mut fitter.budget);
                    noise = objective.starts(&rollout.map_err(|halt| halt.to_string())?).swap_remove(0);
                }
                objective.hold_shared(&z[batch.places.len()..], &mut noise);
                let start = fitter.evaluate_at(&mut fine, &objective, (unknowns, noise))?;
                let (point, _) = fitter.score(&mut fine, &objective, start);
                let active = fitter.active(&objective, &point);
                let resolution = fitter.resolution(fine.rtol) + fine.rtol * self.experiment.cells.len() as f64;
                (point.unknowns, point.noise, point.normal, active, resolution)
            }
        };
        fitter.budget.ensure_left().map_err(|halt| halt.to_string())?;
        let (unknowns, noise, normal, active, resolution) = at;
        let free: Vec<usize> =
            (0..normal.gradient.len()).filter(|place| !shared.contains(place) && !active[*place]).collect();
        let part = Part::new(&normal, &shared, &free).ok_or("the initial states are not determined")?;
        Ok(At { unknowns, noise, normal, part, free, resolution })
    }

    /// Where the shared parameters of the noise may [start](Objective::starts) by the residuals at some place: their logarithms.
    pub(crate) fn noise_starts(&self, fitting: &Fitting<'a>, batch: &Batch, at: &At) -> Option<Vec<Vec<f64>>> {
        let measured = batch.measured.as_ref()?;
        let mut fine = Pass::fine(&self.experiment, fitting.physics, fitting.settings.tolerance).ok()?;
        let mut fitter = self.fitter(fitting, batch);
        let rollout = self.experiment.roll_out(&mut fine.integrator, &at.unknowns, &mut fitter.budget).ok()?;
        let channels = &fitting.equations.channel_names;
        let objective = Objective::new(&self.experiment, measured, channels, fitting.physics.rtol).ok()?;
        let logs = |phi: Vec<f64>| objective.shared.iter().map(|&(index, unit)| phi[index] + unit).collect();
        Some(objective.starts(&rollout).into_iter().map(logs).collect())
    }

    /// The unknowns after the shared ones moved by `dz [s]`, to first order.
    pub(crate) fn followed(&self, at: &At, dz: &DVector<f64>) -> (Unknowns, Vec<f64>) {
        let At { unknowns, noise, normal, part, free, .. } = at;
        let d = unknowns.coordinates.len();
        let by = &part.follow * dz;
        let Some(step) = normal.followed(by) else { return (unknowns.clone(), noise.clone()) };
        let is_held: Vec<bool> = (0..d).map(|place| !free.contains(&place)).collect();
        let step = self.experiment.bounded(step, &is_held, LONGEST);
        let of_noise = noise.iter().enumerate().map(|(index, phi)| phi + step.parameters[d + index]);
        (self.experiment.after_step(unknowns, &step).0, of_noise.collect())
    }

    /// The squared residuals of each channel `[C]` at a minimum of least squares, with the degrees of freedom that each has where the shared
    /// unknowns take this `share` of them; its weights become those of its own noise.
    ///
    /// # Errors
    /// If the trajectories cannot be integrated.
    pub(crate) fn weigh(
        &mut self,
        fitting: &Fitting<'a>,
        batch: &Batch,
        (at, share): (&At, f64),
    ) -> Result<Vec<(f64, f64)>, String> {
        let mut fine = Pass::fine(&self.experiment, fitting.physics, fitting.settings.tolerance)
            .map_err(|error| error.to_string())?;
        let mut fitter = self.fitter(fitting, batch);
        let iterate = fitter.evaluate(&mut fine, at.unknowns.clone())?;
        let free = (1.0 - self.own_count(batch) as f64 / self.experiment.cells.len() as f64 - share).max(0.0);
        let of_channel = |channel: usize| {
            let residuals = self.experiment.residuals(&iterate.rollout, channel).concat();
            (residuals.iter().map(|it| it * it).sum::<f64>(), free * residuals.len() as f64)
        };
        let sums = (0..self.experiment.model.channels).map(of_channel).collect();
        fitter.weigh_by_noise(&iterate.rollout);
        let (weights, limit) = (fitter.weights.clone(), fitter.limit);
        (self.weights, self.limit) = (weights, limit);
        Ok(sums)
    }

    /// Takes weights by constant noise of each channel: its own, or that `of_batch [C]` where its own is not well known by the squares and
    /// degrees of freedom of [`Member::weigh`]. No noise is less than rounding, and than errors of integration at `rtol`.
    pub(crate) fn weigh_by(&mut self, of_batch: &[f64], own: &[(f64, f64)], rtol: f64) {
        let is_known = own.iter().all(|(squares, free)| *squares == 0.0 || *free >= FEW);
        let noise = own.iter().zip(of_batch).enumerate().map(|(channel, ((squares, free), of_batch))| {
            let own = (squares / free).sqrt();
            let resolution = self.experiment.resolutions[channel];
            let is_own = is_known && own.is_finite() && !resolution.is_hidden;
            let least = (10.0 * rtol * self.experiment.scales[channel]).max(resolution.std_dev);
            (if is_own { own } else { *of_batch }).max(least)
        });
        let noise: Vec<f64> = noise.collect();
        self.weights = self.experiment.weights(|_, _, channel| 1.0 / noise[channel]);
    }

    /// The number of its own unknowns, without those of the noise.
    pub(crate) fn own_count(&self, batch: &Batch) -> usize {
        self.experiment.unknown_count() - batch.places.len()
    }
}
