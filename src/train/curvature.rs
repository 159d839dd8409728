//! How residuals bend along a step, and the correction that follows: geodesic acceleration.
//!
//! ```text
//! v = -(J'J + mu D)^-1 J'r,    r_vv ~ (r(z + h v) - 2 r(z) + r(z - h v)) / h^2,    a = -1/2 (J'J + mu D)^-1 J' r_vv
//! ```
//!
//! The step is `v + a` where `2 |a| <= 0.75 |v|` in the norm of `D`, else `v`. Where values trade against each other along a narrow bent
//! valley, `v` leaves it and must be short; `v + a` follows it. Two more rollouts and one gradient a step, the factor of the matrix being at
//! hand.
//!
//! Source: M. Transtrum, J. Sethna, Improvements to the Levenberg-Marquardt algorithm for nonlinear least-squares minimization,
//! arXiv:1201.5885 (2012), sections 3 and 4; there a step whose `a` is too long is refused.

use crate::engine::{Batch, Engine};
use crate::rules::{Rule, decode_all, pull_back_all};

/// `h`.
const DISTANCE: f64 = 0.1;
/// Greatest `2 |a| / |v|`.
const LONGEST: f64 = 0.75;

/// The residuals of `batch` around `z`.
pub struct Curvature<'a> {
    rule: &'a dyn Rule,
    engine: &'a dyn Engine,
    batch: &'a Batch,
    /// `z`.
    trained: &'a [f64],
    /// `[E, P]` at `z`.
    weights: &'a [f64],
    /// `[E, B, L, C]` at `z`.
    predictions: Vec<f64>,
}

impl<'a> Curvature<'a> {
    /// Around `trained`, which give `weights [E, P]` under `rule`.
    pub fn new(
        rule: &'a dyn Rule,
        engine: &'a dyn Engine,
        batch: &'a Batch,
        trained: &'a [f64],
        weights: &'a [f64],
    ) -> Self {
        let predictions = engine.predict(weights, batch);
        Curvature { rule, engine, batch, trained, weights, predictions }
    }

    /// `P`.
    fn width(&self) -> usize {
        self.weights.len() / self.batch.environments
    }

    fn predict(&self, direction: &[f64], h: f64) -> Vec<f64> {
        let moved: Vec<f64> = self.trained.iter().zip(direction).map(|(z, v)| z + h * v).collect();
        let weights = decode_all(self.rule, &moved, self.batch.environments, self.width());
        self.engine.predict(&weights, self.batch)
    }

    /// `r_vv [E, B, L, C]` along `v`, zero where nothing is observed; `None` if it is not finite.
    fn along(&self, v: &[f64]) -> Option<Vec<f64>> {
        let (ahead, behind) = (self.predict(v, DISTANCE), self.predict(v, -DISTANCE));
        let of_value = |((x, ahead), (behind, mask)): ((&f64, &f64), (&f64, &f64))| {
            if *mask == 0.0 { 0.0 } else { mask * ((ahead - x) + (behind - x)) / (DISTANCE * DISTANCE) }
        };
        let values = self.predictions.iter().zip(&ahead).zip(behind.iter().zip(&self.batch.mask));
        let second: Vec<f64> = values.map(of_value).collect();
        second.iter().all(|value| value.is_finite()).then_some(second)
    }

    /// `r_vv [n]` of the observed values along `v`, in their order; `None` if it is not finite.
    pub(super) fn of_residuals(&self, v: &[f64]) -> Option<Vec<f64>> {
        let second = self.along(v)?;
        Some(
            second
                .into_iter()
                .zip(&self.batch.mask)
                .filter(|(_, mask)| **mask != 0.0)
                .map(|(value, _)| value)
                .collect(),
        )
    }

    /// `J' r_vv`, of the length of `z`; `None` if it is not finite.
    pub(super) fn of_values(&self, v: &[f64]) -> Option<Vec<f64>> {
        let mut second = self.along(v)?;
        second.iter_mut().zip(&self.batch.mask).for_each(|(value, mask)| *value *= mask);
        let d_weights = self.engine.pull_back(self.weights, &second, self.batch);
        let gradient = pull_back_all(self.rule, self.trained, &d_weights, self.width());
        gradient.iter().all(|value| value.is_finite()).then_some(gradient)
    }
}

/// Whether `a` is short enough beside `v` to be added, by their squared lengths.
pub(super) fn is_short(a: f64, v: f64) -> bool {
    4.0 * a <= LONGEST * LONGEST * v
}
