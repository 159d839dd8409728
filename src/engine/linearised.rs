//! Rollouts with tangents where the weights depend on the context in any differentiable way.
//!
//! Near the context `xi_e` of an environment the weights are `theta(xi_e) + sum_k (dtheta/dxi_k) s_k` to first order.
//! That is a basis of the environment's own, evaluated at `s = 0`, for which any engine computes tangents as for a
//! shared basis, one environment after the other.

use rayon::prelude::*;

use super::batch::Batch;
use super::rollouts::{Engine, Tangents, Wrt};

/// Weights and their tangents `[1 + d, P]` at a context `[d]`.
type WeightsAt<'a> = Box<dyn Fn(&[f64]) -> Vec<f64> + Sync + 'a>;

/// Rollouts of an engine with tangents, for weights that are not affine in the context.
pub struct Linearised<'a> {
    engine: &'a dyn Engine,
    /// `d`.
    context_dimension: usize,
    weights_at: WeightsAt<'a>,
}

impl<'a> Linearised<'a> {
    /// `weights_at` gives weights and their tangents `[1 + d, P]` at a context `[d]`.
    pub fn new(
        engine: &'a dyn Engine,
        context_dimension: usize,
        weights_at: impl Fn(&[f64]) -> Vec<f64> + Sync + 'a,
    ) -> Self {
        Linearised { engine, context_dimension, weights_at: Box::new(weights_at) }
    }
}

impl Tangents for Linearised<'_> {
    fn roll_out_wrt(&self, wrt: Wrt, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        let d = self.context_dimension;
        let here = vec![0.0; d];
        let of_environment = |e: usize| {
            let basis = (self.weights_at)(&contexts[e * d..(e + 1) * d]);
            self.engine.tangents(&basis, d).roll_out_wrt(wrt, &here, &batch.environment(e))
        };
        let parts: Vec<(Vec<f64>, Vec<f64>)> =
            (0..batch.environments).into_par_iter().with_max_len(1).map(of_environment).collect();
        let (predictions, tangents): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (predictions.concat(), tangents.concat())
    }
}
