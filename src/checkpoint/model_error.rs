//! How far estimates by a model are off for the model's own sake: beyond what the noise of their data explains.
//!
//! ```text
//! S_j = c_j (1 + D^2)^g_j (a_j + k_j min(1, m^2 / s^2) V_j),    D^2 = (xi - centre)' P (xi - centre)
//! ```
//!
//! `S_j` variance of parameter `j`, in the square of its unit; `V_j` the variance that its fit gives it, which is proportional to `s^2`, the mean
//! square that the fit left per degree of freedom, in the model's units. `D` is the distance of the context `xi [d]` from the training contexts,
//! whose mean is `centre [d]` and whose covariance is the inverse of `P [d, d]`: `1 + D^2` is how the variance of a line through them grows.
//! The error of a model acts like noise: more on what the data hardly tell, and `k_j` times as much as independent noise that
//! leaves as much would, because it is not independent. It can have made no more of what is left than `m^2`, the most that it left of exact or
//! like data; the rest is noise, which `V_j` has counted. What of it does not depend on the data, such as the error of the map, is `a_j`. Errors of
//! a model are not normal: `c_j`, one number in the convex hull of the training contexts and another out of it, makes 95 % intervals as wide as they have to be.
//! What a model leaves of exact data may also move the parameters less than noise would, over thousands of points of a field: of the share `min(1, m^2 / s^2)` of `V_j`
//! then `r_j` is kept, at most all of it, one number in the hull and another out of it; what noise made beyond that counts whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model's own error, as environments with known parameters showed it that did not train the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelError {
    /// Mean of the training contexts `[d]`.
    pub centre: Vec<f64>,
    /// `P`, the inverse of their covariance `[d][d]`.
    pub precision: Vec<Vec<f64>>,
    /// `m^2`, the most that a fit left per degree of freedom, in the model's units squared.
    pub left: f64,
    /// How the variance of each parameter follows `[d_p]`.
    pub parameters: Vec<ParameterError>,
    /// How the errors of parameters go together `[d_p][d_p]`.
    pub correlations: Vec<Vec<f64>>,
    /// Environments that it was learned from.
    pub environments: usize,
}

/// The model's own error in one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterError {
    /// `a`, in the square of the parameter's unit.
    pub constant: f64,
    /// `k`.
    pub factor: f64,
    /// `g`.
    pub growth: f64,
    /// `c` in the convex hull of the training contexts.
    pub in_hull: f64,
    /// `c` out of it.
    pub out_of_hull: f64,
    /// `r` in the hull; 1 in models of before 2.6.
    #[serde(default = "whole")]
    pub kept_in_hull: f64,
    /// `r` out of it.
    #[serde(default = "whole")]
    pub kept_out_of_hull: f64,
}

const fn whole() -> f64 {
    1.0
}

impl ParameterError {
    /// Unknowns that are learned of each parameter.
    pub const UNKNOWNS: usize = 3;

    /// `S / c` where `1 + D^2` is `spread` and the fit gives the variance `of_model`, `min(1, m^2 / s^2) V`.
    pub fn variance(&self, spread: f64, of_model: f64) -> f64 {
        spread.powf(self.growth) * (self.constant + self.factor * of_model)
    }
}

impl ModelError {
    /// `1 + D^2` of a context `[d]`.
    pub fn spread(&self, context: &[f64]) -> f64 {
        let away: Vec<f64> = context.iter().zip(&self.centre).map(|(xi, centre)| xi - centre).collect();
        let row = |row: &[f64]| row.iter().zip(&away).map(|(p, away)| p * away).sum::<f64>();
        1.0 + self.precision.iter().zip(&away).map(|(p, away)| away * row(p)).sum::<f64>()
    }

    /// The share `min(1, m^2 / s^2)` of what a fit left that the model can have made, where it `left` `s^2`.
    pub fn share(&self, left: f64) -> f64 {
        if left > self.left { self.left / left } else { 1.0 }
    }

    /// For each parameter `[d_p]` the factor of the deviation that its fit gives it, `sqrt(1 - (1 - r) min(1, m^2 / s^2))`, where it `left` `s^2`.
    pub fn kept(&self, in_hull: bool, left: f64) -> Vec<f64> {
        let share = self.share(left);
        let kept = |it: &ParameterError| if in_hull { it.kept_in_hull } else { it.kept_out_of_hull };
        self.parameters.iter().map(|it| (1.0 - (1.0 - kept(it)) * share).sqrt()).collect()
    }

    /// The covariance `[d_p][d_p]` of parameters whose fit gives them the `variances [d_p]` and `left` `s^2`, and a context that is or is not in the
    /// convex hull of those of the training.
    pub fn covariance(&self, (context, in_hull): (&[f64], bool), variances: &[f64], left: f64) -> Vec<Vec<f64>> {
        let (spread, share) = (self.spread(context), self.share(left));
        let deviation = |(it, variance): (&ParameterError, &f64)| {
            let wider = if in_hull { it.in_hull } else { it.out_of_hull };
            (wider * it.variance(spread, share * variance)).sqrt()
        };
        let deviations: Vec<f64> = self.parameters.iter().zip(variances).map(deviation).collect();
        let of_row = |(row, a): (&Vec<f64>, &f64)| row.iter().zip(&deviations).map(|(rho, b)| rho * a * b).collect();
        self.correlations.iter().zip(&deviations).map(of_row).collect()
    }

    /// Degrees of freedom of its variances.
    pub fn degrees_of_freedom(&self) -> f64 {
        self.environments.saturating_sub(ParameterError::UNKNOWNS).max(1) as f64
    }

    /// What is wrong with it for contexts `[d]` and `parameters` many; a sentence each.
    pub(crate) fn problems(&self, d: usize, parameters: usize) -> Vec<String> {
        let is_square = |rows: &[Vec<f64>], n: usize| rows.len() == n && rows.iter().all(|row| row.len() == n);
        let mut problems = Vec::new();
        if self.centre.len() != d || !is_square(&self.precision, d) {
            problems.push(format!(
                "`model_error` has a centre or a precision of other contexts; expected {d} values each way"
            ));
        }
        if self.parameters.len() != parameters || !is_square(&self.correlations, parameters) {
            problems.push(format!("`model_error` is of other parameters; expected {parameters} each way"));
        }
        let sizes =
            self.parameters.iter().flat_map(|it| [it.constant, it.factor, it.growth, it.in_hull, it.out_of_hull]);
        if let Some(size) = sizes.chain([self.left]).find(|size| !(size.is_finite() && *size >= 0.0)) {
            problems.push(format!("`model_error` has {size}; expected numbers from zero up"));
        }
        let kept = self.parameters.iter().flat_map(|it| [it.kept_in_hull, it.kept_out_of_hull]);
        if let Some(kept) = kept.into_iter().find(|kept| !(0.0..=1.0).contains(kept)) {
            problems.push(format!("`model_error` keeps {kept} of a variance; expected 0 to 1"));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_two(correlation: f64) -> ModelError {
        let parameter = ParameterError {
            constant: 1.0,
            factor: 0.0,
            growth: 0.0,
            in_hull: 1.0,
            out_of_hull: 1.0,
            kept_in_hull: 0.25,
            kept_out_of_hull: 1.0,
        };
        ModelError {
            centre: vec![1.0, 0.0],
            precision: vec![vec![2.0, 0.5], vec![0.5, 1.0]],
            left: 4.0,
            parameters: vec![
                parameter,
                ParameterError {
                    constant: 0.5,
                    factor: 2.0,
                    growth: 2.0,
                    out_of_hull: 3.0,
                    kept_in_hull: 1.0,
                    ..parameter
                },
            ],
            correlations: vec![vec![1.0, correlation], vec![correlation, 1.0]],
            environments: 23,
        }
    }

    /// By hand: `D^2 = 2 * 4 + 2 * 0.5 * 2 * 1 + 1 = 11` at two to the right and one up.
    #[test]
    fn variances_grow_with_the_distance_and_with_what_the_data_do_not_tell() {
        let error = of_two(-0.5);
        assert_eq!((error.spread(&[1.0, 0.0]), error.spread(&[3.0, 1.0])), (1.0, 12.0));
        let near = error.covariance((&[1.0, 0.0], true), &[9.0, 3.0], 4.0);
        approx::assert_relative_eq!(near[0][0], 1.0, max_relative = 1e-12);
        approx::assert_relative_eq!(near[1][1], 6.5, max_relative = 1e-12);
        approx::assert_relative_eq!(near[0][1], -0.5 * 6.5_f64.sqrt(), max_relative = 1e-12);
        // Four times as much is left, and four times the variance: all more is noise.
        let noisy = error.covariance((&[1.0, 0.0], true), &[36.0, 12.0], 16.0);
        approx::assert_relative_eq!(noisy[1][1], 6.5, max_relative = 1e-12);
        let far = error.covariance((&[3.0, 1.0], false), &[9.0, 3.0], 4.0);
        approx::assert_relative_eq!(far[1][1], 3.0 * 144.0 * 6.5, max_relative = 1e-12);
        approx::assert_relative_eq!(far[0][0], 1.0, max_relative = 1e-12);
        assert_eq!(error.degrees_of_freedom(), 20.0);
    }

    /// By hand: of a variance that the model made whole a quarter is kept, of one of which it made a quarter `3/4 + 1/4 1/4`.
    #[test]
    fn of_what_the_model_left_a_part_is_kept() {
        let error = of_two(0.0);
        assert_eq!(error.kept(true, 4.0), [0.5, 1.0]);
        assert_eq!(error.kept(true, 1.0), [0.5, 1.0]);
        assert_eq!(error.kept(true, 16.0), [0.8125_f64.sqrt(), 1.0]);
        assert_eq!(error.kept(false, 4.0), [1.0, 1.0]);
    }

    /// Models of before 2.6 say nothing of it and keep all.
    #[test]
    fn an_earlier_model_keeps_all() {
        let of_before = r#"{ "constant": 1, "factor": 0, "growth": 0, "in_hull": 1, "out_of_hull": 1 }"#;
        let read: ParameterError = serde_json::from_str(of_before).unwrap();
        assert_eq!((read.kept_in_hull, read.kept_out_of_hull), (1.0, 1.0));
    }

    #[test]
    fn what_is_of_another_model_is_told() {
        assert_eq!(of_two(0.0).problems(2, 2), [""; 0]);
        let mut other = of_two(0.0);
        other.parameters[0].growth = f64::NAN;
        other.parameters[1].kept_out_of_hull = 1.5;
        assert_eq!(other.problems(3, 1).len(), 4);
    }
}
