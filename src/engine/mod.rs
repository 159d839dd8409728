//! How a rollout, its loss, its gradient and its tangents are computed.
//!
//! An engine knows no adaptation rule: it takes weights and a padded [`Batch`] of observed segments. Everything at this
//! seam is a plain slice of `f64`, in the model's own units; the arithmetic inside is the engine's.
//!
//! With `x_0` a row's initial state and `Phi` one Runge-Kutta step, the rollout is `x_l = Phi(x_{l-1}, dt_l; theta_e)`,
//! `l = 1..L`, and the loss is the mean squared error over the batch's observed values, `sum (m (x - y))^2 / sum m^2`.
//!
//! Inputs `u [U]` are carried as values of the state whose rates are known: set where a step starts, and moved by their slope within it.
//! A stage then sees `u(t + c_i dt)`, for `c_i = sum_j a_ij`. Nothing is differentiated with respect to them.

mod batch;
mod device;
mod native;
mod settings;
#[cfg(feature = "torch")]
mod torch;
#[cfg(not(feature = "torch"))]
mod no_torch;
mod devices;
mod compute;

pub use batch::{Batch, Segment};
pub use compute::{Compute, ComputeError, EngineChoice, computes};
pub use device::{Device, DeviceChoice};
pub use devices::{BUILD_WITH_TORCH, DeviceError, WITHOUT_TORCH, warn_of_cuda};
pub use native::Native;
#[cfg(not(feature = "torch"))]
use no_torch as torch;
pub use settings::{MOST_SUBSTEPS, Precision, Solver};
pub use torch::HAS_TORCH;
#[cfg(feature = "torch")]
pub use torch::Torch;

/// Computes rollouts of a dynamics model with given weights.
pub trait Engine: Send + Sync {
    /// Name in manifests and summaries.
    fn name(&self) -> &'static str;

    /// Predictions `[E, B, L, C]` under `weights [E, P]`.
    fn predict(&self, weights: &[f64], batch: &Batch) -> Vec<f64>;

    /// The loss and its gradient with respect to `weights [E, P]`.
    fn loss_and_gradient(&self, weights: &[f64], batch: &Batch) -> (f64, Vec<f64>);

    /// The residuals `m (x - y)` of all observed values, and their Jacobian with respect to the environment's weights.
    fn jacobian(&self, weights: &[f64], batch: &Batch) -> Jacobian;

    /// Environments that [`Tangents::roll_out`] wants at once; fixed, so that no result depends on how many there are.
    fn environments_per_batch(&self) -> usize;

    /// Rollouts with tangents for one basis `[1 + d, P]`: `theta_e = basis_0 + sum_k xi_ek basis_k`.
    fn tangents<'a>(&'a self, basis: &[f64], context_dimension: usize) -> Box<dyn Tangents + 'a>;
}

/// Residuals of a batch and how they move with the weights of their environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jacobian {
    /// Environment of each residual `[n]`, ascending.
    pub environments: Vec<usize>,
    /// `[n]`.
    pub residuals: Vec<f64>,
    /// `[n, P]`.
    pub rows: Vec<f64>,
}

/// What a rollout is differentiated with respect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// The context: `d` tangents of each value.
    Context,
    /// The context, then the initial state of the value's own row: `d + C` tangents.
    ContextAndInitial,
}

/// Rollouts with tangents.
pub trait Tangents: Sync {
    /// Predictions `[E, B, L, C]` and their tangents with respect to the contexts `[E, B, L, C, d]` at the contexts `[E, d]`.
    fn roll_out(&self, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        self.roll_out_with(With::Context, contexts, batch)
    }

    /// Predictions `[E, B, L, C]` and their tangents `[E, B, L, C, d]` or `[E, B, L, C, d + C]` at the contexts `[E, d]`.
    fn roll_out_with(&self, with: With, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>);
}

impl With {
    /// Tangents of each value: `context` dimensions of a context, `channels` values of a state.
    pub fn count(self, context: usize, channels: usize) -> usize {
        match self {
            With::Context => context,
            With::ContextAndInitial => context + channels,
        }
    }
}

/// The weighed sum of squared residuals of `predictions` over the observed values of `batch`.
pub fn sum_of_squares(predictions: &[f64], batch: &Batch) -> f64 {
    let values = predictions.iter().zip(&batch.targets).zip(&batch.mask);
    values.filter(|&(_, &mask)| mask > 0.0).map(|((p, y), m)| m * m * (p - y) * (p - y)).sum()
}
