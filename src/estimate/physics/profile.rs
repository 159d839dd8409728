//! Intervals by profile likelihood: how far a parameter can be moved from its estimate before no values of the others explain the data.
//!
//! ```text
//! D_k(v) = min over all unknowns with p_k = v of -2 log L, less the least of all
//! interval of p_k:  D_k(v) <= t(0.975, n - m)^2 C'_kk / C_kk                                     noise that is known, or none named
//!                   D_k(v) <= n log(1 + t(0.975, n - m)^2 C'_kk / C_kk (n - m))                  noise that is estimated with the rest
//! ```
//!
//! Where no kind of noise is named, the likelihood is that of Gaussian noise of the variance `s^2` that the best fit shows, so that `D = (|r|^2 - |r|_best^2) / s^2`; of residuals
//! that are linear in the unknowns the interval is the one by the covariance `C'`, in either case. `C'` is [wider](super::correlated) than that of independent
//! residuals, `C`, where they are not. Where priors or known noise say a part, the limit is between [the two](super::freedom). Each point is a fit with the parameter held, from the point before; bounds are respected. An end is open
//! where `D` stays below the limit up to the bound. What all environments share stays where it is in the profile of an environment's own parameter: `C'` then has what is not known of it. Source: D. J. Venzon, S. H. Moolgavkar, A method for computing profile-likelihood-based
//! confidence intervals, Applied Statistics 37 (1988) 87-94.

use super::edge::{Edge, NoFit, Side, open, unknown};
use super::fitter::{Fitter, Iterate};
use super::pass::Pass;
use super::result::{Fit, Names, Profile};
use crate::estimate::table::interval::{LEVEL, of_share, quantile};
use crate::estimate::table::row::Status;

/// What is held in a fit, and was fitted elsewhere: how much less certain the parameters are for it.
pub(crate) struct Held {
    /// A variance grows by this factor,
    pub times: f64,
    /// and then by this, for each parameter `[d]`; NaN where it is not known.
    pub added: Vec<f64>,
    /// Degrees of freedom of noise that was fitted there.
    pub degrees_of_freedom: f64,
}

impl Fitter<'_> {
    /// Replaces the intervals of `fit`, whose minimum is `best`, by those of profiles.
    pub(crate) fn profile(
        &mut self,
        fine: &mut Pass,
        best: &Iterate,
        fit: &mut Fit,
        (names, elsewhere): (Names, Option<&Held>),
    ) {
        let independent = self.estimates(best).covariance;
        for (k, name) in names.parameters.iter().enumerate() {
            let share = fit.shares[k];
            let mut free = of_share(fit.degrees_of_freedom, share);
            let mut variance = fit.covariance[(k, k)];
            if let Some(elsewhere) = elsewhere {
                variance = elsewhere.times * variance + elsewhere.added[k];
                free = free.min(elsewhere.degrees_of_freedom);
            }
            let square = quantile(LEVEL, free).powi(2) * (variance / independent[(k, k)]);
            let limit = self.increase(square, share);
            let mut profile = Profile { lower: f64::NAN, upper: f64::NAN, points: vec![(fit.values[k], 0.0)], limit };
            let coordinate = self.experiment.model.coordinates[k];
            for (side, bound, direction) in [("below", coordinate.lower, -1.0), ("above", coordinate.upper, 1.0)] {
                if !limit.is_finite() {
                    continue;
                }
                let step = direction * (square * independent[(k, k)]).sqrt();
                let of_side = Side { coordinate, first: best.unknowns.coordinates[k], step, limit };
                let edge = of_side.edge(best.clone(), &mut profile.points, |from, at| {
                    let iterate =
                        self.held_at(fine, from, k, at).map_err(|reason| match self.budget.ensure_left() {
                            Ok(()) => NoFit::Here(reason),
                            Err(_) => NoFit::Anywhere(reason),
                        })?;
                    Ok((self.deviance(best, &iterate), iterate))
                });
                let note = match edge {
                    Edge::At(theta) => {
                        let value = coordinate.value(theta).0;
                        *(if direction < 0.0 { &mut profile.lower } else { &mut profile.upper }) = value;
                        continue;
                    }
                    Edge::Open => open(name, side, bound),
                    Edge::Unknown(why) => unknown(name, side, &why),
                    Edge::Better(by, iterate) => {
                        fit.status = Status::NotConverged;
                        let values = self.experiment.parameters(&iterate.unknowns.coordinates);
                        let values: Vec<f64> = values.into_iter().map(|it| it.0).collect();
                        format!(
                            "{} explain the data better, by {by:.1} in -2 log L, which the profile of {name} found; raise \
                             `estimate.physics.starts`",
                            names.with_values(&values)
                        )
                    }
                };
                fit.turn(fit.status, note);
            }
            profile.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            fit.profiles.push(profile);
            if fit.status.is_failure() {
                return;
            }
        }
    }

    /// The increase of `-2 log L` from the best fit to another one.
    fn deviance(&self, best: &Iterate, other: &Iterate) -> f64 {
        (other.normal.squares - best.normal.squares) / self.variance(&best.rollout).max(f64::MIN_POSITIVE)
    }

    /// The minimum with the parameter `k` held at `theta`, from another fit.
    ///
    /// # Errors
    /// Why there is none.
    fn held_at(&mut self, fine: &mut Pass, from: &Iterate, k: usize, theta: f64) -> Result<Iterate, String> {
        let mut unknowns = from.unknowns.clone();
        unknowns.coordinates[k] = theta;
        self.held = (0..unknowns.coordinates.len()).map(|place| place == k).collect();
        let iterate = match self.maximum.take() {
            Some(maximum) => {
                let iterate = self.score_from(fine, &maximum, unknowns);
                self.maximum = Some(maximum);
                iterate
            }
            None => self.evaluate(fine, unknowns).map(|start| self.descend(fine, start).0),
        };
        self.held.clear();
        let iterate = iterate?;
        self.budget.ensure_left().map_err(|halt| halt.to_string())?;
        Ok(iterate)
    }
}
