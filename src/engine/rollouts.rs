//! The interface of an engine.

use rayon::prelude::*;

use super::batch::Batch;
use super::resident::{Objective, Resident};

/// Computes rollouts of a dynamics model with given weights.
pub trait Engine: Send + Sync {
    /// Name in manifests and summaries.
    fn name(&self) -> &'static str;

    /// Predictions `[E, B, L, C]` under `weights [E, P]`.
    fn predict(&self, weights: &[f64], batch: &Batch) -> Vec<f64>;

    /// The loss and its gradient with respect to `weights [E, P]`.
    fn loss_and_gradient(&self, weights: &[f64], batch: &Batch) -> (f64, Vec<f64>);

    /// `J v [E, B, L, C]`: the derivative of the predictions at `weights [E, P]` along `directions [E, P]`, by forward mode. It takes a
    /// rollout with one tangent of each environment and keeps nothing. Values of padding mean nothing.
    fn push_forward(&self, weights: &[f64], directions: &[f64], batch: &Batch) -> Vec<f64> {
        let size = weights.len() / batch.environments.max(1);
        let of_environment = |e: usize| {
            let own = e * size..(e + 1) * size;
            let basis = [&weights[own.clone()], &directions[own]].concat();
            self.tangents(&basis, 1).roll_out(&[0.0], &batch.environment(e)).1
        };
        (0..batch.environments).into_par_iter().with_max_len(1).flat_map_iter(of_environment).collect()
    }

    /// `J' u [E, P]`: the gradient of `sum u x` over the predictions `x` with respect to `weights [E, P]`, by reverse mode; `cotangents`
    /// are `u [E, B, L, C]`, zero at padding. The transpose of [`push_forward`](Engine::push_forward).
    fn pull_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64>;

    /// The residuals `m (x - y)` of all observed values, and their Jacobian with respect to the environment's weights.
    fn jacobian(&self, weights: &[f64], batch: &Batch) -> Jacobian;

    /// The same with respect to some of the weights, whose indices among the `P` are `columns`: rows `[n, columns]` in their order.
    fn jacobian_of(&self, columns: &[usize], weights: &[f64], batch: &Batch) -> Jacobian {
        let size = weights.len() / batch.environments.max(1);
        let mut jacobian = self.jacobian(weights, batch);
        if columns.len() < size {
            let rows = jacobian.rows.chunks_exact(size);
            jacobian.rows = rows.flat_map(|row| columns.iter().map(|&p| row[p])).collect();
        }
        jacobian
    }

    /// Number of environments to pass to [`Tangents::roll_out`] at once; constant, and on the CPU so small that results do not depend on how
    /// many there are in all.
    fn environments_per_batch(&self) -> usize;

    /// Training that stays on the device, if this engine makes steps by itself.
    fn resident<'a>(&'a self, _objective: &Objective) -> Option<Box<dyn Resident + 'a>> {
        None
    }

    /// Rollouts with tangents for one basis `[1 + d, P]`: `theta_e = basis_0 + sum_k xi_ek basis_k`. Where weights are not affine in the
    /// context, [`Linearised`](super::Linearised) makes a basis for each.
    fn tangents<'a>(&'a self, basis: &[f64], context_dimension: usize) -> Box<dyn Tangents + 'a>;
}

/// Residuals of a batch and their derivatives with respect to the weights of their environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jacobian {
    /// Environment of each residual `[n]`, ascending.
    pub environments: Vec<usize>,
    /// `[n]`.
    pub residuals: Vec<f64>,
    /// `[n, P]`, or of the columns that were asked for.
    pub rows: Vec<f64>,
}

/// What a rollout is differentiated with respect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrt {
    /// The context: `d` tangents of each value.
    Context,
    /// The context, then the initial state of the value's own row: `d + C` tangents.
    ContextAndInitial,
}

/// Rollouts with tangents.
pub trait Tangents: Sync {
    /// Predictions `[E, B, L, C]` and their tangents with respect to the contexts `[E, B, L, C, d]` at the contexts `[E, d]`.
    fn roll_out(&self, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        self.roll_out_wrt(Wrt::Context, contexts, batch)
    }

    /// Predictions `[E, B, L, C]` and their tangents `[E, B, L, C, d]` or `[E, B, L, C, d + C]` at the contexts `[E, d]`.
    fn roll_out_wrt(&self, wrt: Wrt, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>);
}

impl Wrt {
    /// Tangents of each value: `context` dimensions of a context, `channels` values of a state.
    pub fn count(self, context: usize, channels: usize) -> usize {
        match self {
            Wrt::Context => context,
            Wrt::ContextAndInitial => context + channels,
        }
    }
}

/// The weighted sum of squared residuals of `predictions` over the observed values of `batch`.
pub fn sum_of_squares(predictions: &[f64], batch: &Batch) -> f64 {
    let values = predictions.iter().zip(&batch.targets).zip(&batch.mask);
    values.filter(|&(_, &mask)| mask > 0.0).map(|((p, y), m)| m * m * (p - y) * (p - y)).sum()
}
