//! Profiles of the parameters that all environments share: for each point everything else is fitted again, of all environments.
//!
//! ```text
//! D_k(v) = min over z with p_k = v, and all u_e, of F(z, u), less the least of all
//! ```
//!
//! Intervals end at the [limits](crate::estimate::physics::profile) of those of one environment, with the [errors](super::errors) of all.

use nalgebra::DVector;

use super::descent::Joint;
use super::errors::Errors;
use super::member::At;
use crate::estimate::physics::edge::{Edge, NoFit, Side, open, unknown};
use crate::estimate::physics::freedom::increase;
use crate::estimate::physics::result::Profile;
use crate::estimate::table::interval::{LEVEL, of_share, quantile};

/// Profiles of the shared parameters, and what is to be said of them.
#[derive(Default)]
pub(crate) struct Profiles {
    pub of_each: Vec<Profile>,
    pub notes: Vec<String>,
}

/// All environments at the minimum for some `z`.
#[derive(Clone)]
struct Place {
    z: Vec<f64>,
    at: Vec<At>,
}

impl Joint<'_, '_> {
    /// The profiles around the minimum, whose errors these are; none where one of them found a lower place, which is taken.
    pub(crate) fn profiles(&mut self, errors: &Errors) -> Option<Profiles> {
        let best = Place { z: self.z.clone(), at: self.at.clone() };
        let points: usize = self.members.iter().map(|member| member.experiment.cells.len()).sum();
        // The deviance of least squares is by weights that do not change.
        let is_estimated = self.batch.measured.as_ref().is_some_and(|measured| measured.estimates_noise());
        let free = if is_estimated { points as f64 * errors.free_share } else { f64::INFINITY };
        let mut profiles = Profiles::default();
        for (k, (name, coordinate)) in self.batch.names.iter().zip(&self.batch.coordinates).enumerate() {
            let (value, slope) = coordinate.value(best.z[k]);
            let share = errors.shares[k];
            let independent = errors.independent[(k, k)];
            let square = quantile(LEVEL, of_share(errors.degrees_of_freedom, share)).powi(2)
                * (errors.covariance[(k, k)] / independent);
            let limit = increase(square, share, (points as f64, free));
            let mut profile = Profile { lower: f64::NAN, upper: f64::NAN, points: vec![(value, 0.0)], limit };
            for (side, bound, direction) in [("below", coordinate.lower, -1.0), ("above", coordinate.upper, 1.0)] {
                if !limit.is_finite() {
                    continue;
                }
                let step = direction * slope * (square * independent).sqrt();
                let of_side = Side { coordinate: *coordinate, first: best.z[k], step, limit };
                let edge = of_side.edge(best.clone(), &mut profile.points, |from, theta| {
                    let held = self.held_at(from, (k, theta), errors)?;
                    Ok((self.height(&held, errors) - self.height(&best, errors), held))
                });
                match edge {
                    Edge::At(theta) => {
                        let value = coordinate.value(theta).0;
                        *(if direction < 0.0 { &mut profile.lower } else { &mut profile.upper }) = value;
                    }
                    Edge::Open => profiles.notes.push(open(name, side, bound)),
                    Edge::Unknown(why) => profiles.notes.push(unknown(name, side, &why)),
                    Edge::Better(_, better) => {
                        (self.z, self.at) = (better.z, better.at);
                        return None;
                    }
                }
            }
            profile.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            profiles.of_each.push(profile);
        }
        (self.z, self.at) = (best.z, best.at);
        Some(profiles)
    }

    /// `F` in units of the noise.
    fn height(&self, place: &Place, errors: &Errors) -> f64 {
        let of_priors = self.sum(std::iter::empty(), &place.z).squares;
        place.at.iter().zip(&errors.units).map(|(at, unit)| at.part.squares / unit).sum::<f64>() + of_priors
    }

    /// The minimum with what stands at `k` in `z` held at `theta`, from another place, along which all else follows to first order.
    fn held_at(&mut self, from: &Place, (k, theta): (usize, f64), errors: &Errors) -> Result<Place, NoFit> {
        let mut z = from.z.clone();
        let along = errors.independent.column(k) * ((theta - z[k]) / errors.independent[(k, k)]);
        z.iter_mut().zip(along.iter()).for_each(|(at, by)| *at += by);
        let ends = self.batch.coordinates.iter().map(|it| it.ends()).chain(self.batch.noise_bounds.iter().copied());
        z.iter_mut().zip(ends).for_each(|(at, (low, high))| *at = at.clamp(low, high));
        z[k] = theta;
        let made = DVector::from_iterator(z.len(), z.iter().zip(&from.z).map(|(after, before)| after - before));
        self.at.clone_from(&from.at);
        let settled = self.settled(&z, &made).into_iter().collect::<Result<Vec<At>, String>>().map_err(NoFit::Here)?;
        (self.z, self.at, self.held) = (z, settled, Some(k));
        let descended = self.descend();
        self.held = None;
        match (descended, self.fitting.interrupt.requested()) {
            (Ok(()), _) => Ok(Place { z: self.z.clone(), at: self.at.clone() }),
            (Err(reason), None) => Err(NoFit::Here(reason)),
            (Err(reason), Some(_)) => Err(NoFit::Anywhere(reason)),
        }
    }
}
