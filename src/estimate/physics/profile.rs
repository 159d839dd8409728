//! Intervals by profile likelihood: how far a parameter can be moved from its estimate before no values of the others explain the data.
//!
//! ```text
//! D_k(v) = min over all unknowns with p_k = v of -2 log L, less the least of all
//! interval of p_k:  D_k(v) <= t(0.975, n - m)^2 C'_kk / C_kk
//! ```
//!
//! Where no kind of noise is named, the likelihood is that of Gaussian noise of the variance `s^2` that the best fit shows, so that `D = (|r|^2 - |r|_best^2) / s^2`; of residuals
//! that are linear in the unknowns the interval is the one by the covariance `C'`. `C'` is [wider](super::correlated) than that of independent
//! residuals, `C`, where they are not. Each point is a fit with the parameter held, from the point before; bounds are respected. An end is open
//! where `D` stays below the limit up to the bound. Source: D. J. Venzon, S. H. Moolgavkar, A method for computing profile-likelihood-based
//! confidence intervals, Applied Statistics 37 (1988) 87-94.

use super::fitter::{Fitter, Iterate};
use super::pass::Pass;
use super::result::{Fit, Names, Profile};
use crate::estimate::table::interval::{LEVEL, quantile};
use crate::estimate::table::row::Status;

/// Points of one side at most.
const POINTS: usize = 24;
/// Relative error of the half width of an interval.
const CLOSE: f64 = 5e-3;
/// Growth of a step while the end is beyond it.
const GROWTH: (f64, f64) = (1.2, 4.0);
/// How much better a fit with a parameter held may be before the best one was none: errors of integration, and the last step that it spared.
const BETTER: f64 = 0.1;

/// Where one side of a profile ends.
enum Edge {
    /// In the coordinate of the parameter.
    At(f64),
    Open,
    Unknown(String),
    /// The estimate was not the minimum: better by this, with these parameters `[d]`.
    Better(f64, Vec<f64>),
}

impl Fitter<'_> {
    /// Replaces the intervals of `fit`, whose minimum is `best`, by those of profiles.
    pub(crate) fn profile(&mut self, fine: &mut Pass, best: &Iterate, fit: &mut Fit, names: Names) {
        let independent = self.estimates(best).covariance;
        let student = quantile(LEVEL, fit.degrees_of_freedom).powi(2);
        for (k, name) in names.parameters.iter().enumerate() {
            let limit = student * (fit.covariance[(k, k)] / independent[(k, k)]);
            let mut profile = Profile { lower: f64::NAN, upper: f64::NAN, points: vec![(fit.values[k], 0.0)], limit };
            let coordinate = self.experiment.model.coordinates[k];
            for (side, bound, direction) in [("below", coordinate.lower, -1.0), ("above", coordinate.upper, 1.0)] {
                let step = direction * (limit * independent[(k, k)]).sqrt();
                let note = match self.edge(fine, best, (k, step), &mut profile) {
                    Edge::At(theta) => {
                        let value = coordinate.value(theta).0;
                        *(if direction < 0.0 { &mut profile.lower } else { &mut profile.upper }) = value;
                        continue;
                    }
                    Edge::Open => {
                        format!("the interval of {name} is open {side}: its bound {bound} explains the data too")
                    }
                    Edge::Unknown(why) => format!("the interval of {name} has no end {side} that was found ({why})"),
                    Edge::Better(by, values) => {
                        fit.status = Status::NotConverged;
                        format!(
                            "{} explain the data better, by {by:.1} in -2 log L, which the profile of {name} found; raise \
                             `estimate.physics.starts`",
                            names.with_values(&values)
                        )
                    }
                };
                fit.reason =
                    [fit.reason.as_str(), &note].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
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

    /// Where the profile of the parameter `k` reaches its limit, on the side of `step`, which is about as far as that, in the unit of the
    /// parameter.
    fn edge(&mut self, fine: &mut Pass, best: &Iterate, (k, step): (usize, f64), profile: &mut Profile) -> Edge {
        let coordinate = self.experiment.model.coordinates[k];
        let (low, high) = coordinate.ends();
        let (first, bound) = (best.unknowns.coordinates[k], if step < 0.0 { low } else { high });
        if (bound - first) * step <= 0.0 {
            return Edge::Open;
        }
        let wanted = profile.limit.sqrt();
        // The square root of the increase is nearly linear in the parameter.
        let (mut inner, mut outer): ((f64, f64, Iterate), Option<(f64, f64)>) = ((first, 0.0, best.clone()), None);
        // The first step is half as far: its fit starts nearer, and the profile has a point between.
        let mut at = first + 0.5 * step / coordinate.value(first).1;
        let mut why = "as many fits as are tried did not reach it".to_owned();
        for _ in 0..POINTS {
            at = at.clamp(low, high);
            let root = match self.held_at(fine, &inner.2, k, at) {
                Ok(iterate) => {
                    let increase = self.deviance(best, &iterate);
                    if increase < -BETTER {
                        let values = self.experiment.parameters(&iterate.unknowns.coordinates);
                        return Edge::Better(-increase, values.into_iter().map(|it| it.0).collect());
                    }
                    let root = increase.max(0.0).sqrt();
                    profile.points.push((coordinate.value(at).0, root * root));
                    if root < wanted {
                        inner = (at, root, iterate);
                    }
                    root
                }
                Err(reason) if self.budget.ensure_left().is_err() => return Edge::Unknown(reason),
                Err(reason) => {
                    why = reason;
                    f64::INFINITY
                }
            };
            if (root / wanted - 1.0).abs() < CLOSE {
                return Edge::At(at);
            }
            if root < wanted && at == bound {
                return Edge::Open;
            }
            if root >= wanted {
                outer = Some((at, root));
            }
            at = match outer {
                Some((outer, beyond)) => {
                    let share = if beyond.is_finite() { (wanted - inner.1) / (beyond - inner.1) } else { 0.5 };
                    inner.0 + share.clamp(0.05, 0.95) * (outer - inner.0)
                }
                None => first + (at - first) * (1.02 * wanted / root.max(f64::MIN_POSITIVE)).clamp(GROWTH.0, GROWTH.1),
            };
        }
        match outer {
            Some((_, beyond)) if beyond.is_finite() => Edge::At(at),
            _ => Edge::Unknown(why),
        }
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
