//! Cramér-Rao bounds of what all environments share, and of what each has of its own beside it.
//!
//! ```text
//! B_z = (sum_e S_e - E_e O_e^-1 E_e')^-1,     B_e = O_e^-1 + G_e B_z G_e',     G_e = -O_e^-1 E_e'
//! ```
//!
//! The blocks are those of the [information](crate::estimate::physics::cramer_rao) of each environment at its true parameters, with starts and what
//! trajectories have of their own as they were fitted. Noise is as it was simulated or, of measured data, as the fit found it; priors do not count. So
//! these are bounds of fits of all environments that take part together.

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::arrow::Part;
use super::descent::Joint;
use super::member::{At, Member};
use crate::estimate::physics::cramer_rao::{Noise, NoiseLevel, Place, information};
use crate::estimate::physics::experiment::Unknowns;
use crate::estimate::physics::likelihood::measured::Measured;
use crate::estimate::physics::likelihood::objective::Objective;
use crate::estimate::physics::normal::Normal;
use crate::estimate::stream::Observed;
use crate::schema::Split;

impl Joint<'_, '_> {
    /// The bounds `[d]` of each environment that takes part, NaN where they are not determined; none where a true parameter of one of them is
    /// unknown, or the data of `split` were simulated without noise.
    pub(super) fn bounds(&self, environments: &[Observed], split: Option<Split>) -> Option<Vec<Vec<f64>>> {
        let (batch, equations) = (self.batch, self.fitting.equations);
        let simulated = split.and_then(|split| equations.simulated_noise(split));
        if simulated.is_none() && equations.is_simulated {
            return None;
        }
        let known = environments.iter().map(|it| (it.id.as_str(), equations.known_parameters(&it.parameters)));
        let known: BTreeMap<&str, Vec<Option<f64>>> = known.collect();
        let truth = |member: &Member| known.get(member.id.as_str())?.iter().copied().collect::<Option<Vec<f64>>>();
        let truths = self.members.iter().map(truth).collect::<Option<Vec<_>>>()?;
        let of_member = |((member, at), truth): ((&Member, &At), &Vec<f64>)| {
            let (unknowns, normal) = self.information_of(member, at, truth, simulated.as_deref())?;
            let part = Part::new(&normal, &batch.places, &batch.own)?;
            Some((unknowns, normal, part))
        };
        let all = self.members.par_iter().zip(&self.at).zip(&truths).map(of_member).collect::<Option<Vec<_>>>()?;
        let s = batch.places.len();
        let sum = all.iter().fold(DMatrix::zeros(s, s), |sum, (.., part)| sum + &part.information);
        let of_shared = if s == 0 { sum } else { sum.cholesky()?.inverse() };
        let bounds = |(member, (unknowns, normal, part)): (&Member, &(Unknowns, Normal, Part))| {
            let mut covariance = &part.follow * &of_shared * part.follow.transpose();
            let own = normal.information()?.select_rows(&batch.own).select_columns(&batch.own);
            let inverse = if batch.own.is_empty() { Some(own) } else { own.cholesky().map(|factor| factor.inverse()) };
            for (row, &place) in batch.own.iter().enumerate() {
                covariance[(place, place)] += inverse.as_ref().map_or(f64::NAN, |inverse| inverse[(row, row)]);
            }
            let slopes = member.experiment.parameters(&unknowns.coordinates).into_iter().enumerate();
            Some(slopes.map(|(k, (_, slope))| covariance[(k, k)].sqrt() * slope.abs()).collect())
        };
        self.members.iter().zip(&all).map(bounds).collect()
    }

    /// The information of an environment at its true parameters.
    fn information_of(
        &self,
        member: &Member,
        at: &At,
        truth: &[f64],
        simulated: Option<&[NoiseLevel]>,
    ) -> Option<(Unknowns, Normal)> {
        let (fitting, experiment) = (self.fitting, &member.experiment);
        let place = Place { parameters: truth, initial: &at.unknowns.initial, own: at.unknowns.own.clone() };
        let channels = &fitting.equations.channel_names;
        let found = match (&self.batch.measured, simulated) {
            (Some(measured), None) => {
                let objective = Objective::new(experiment, measured, channels, fitting.physics.rtol).ok()?;
                let terms = measured.channels.iter().enumerate().flat_map(|(channel, it)| {
                    objective.terms(channel, &at.noise).into_iter().take(it.noise.terms().len())
                });
                let terms: Vec<f64> = terms.collect();
                Some(Measured { own_priors: Vec::new(), ..measured.known(&terms) })
            }
            _ => None,
        };
        let noise = match (simulated, &found) {
            (Some(levels), _) => Noise::Levels(levels),
            (None, Some(found)) => Noise::Measured(found, channels),
            (None, None) => Noise::Weights(&member.weights),
        };
        information(experiment, place, &noise, (fitting.physics, fitting.interrupt))
    }
}
