//! How a rollout, its loss, its gradient and its tangents are computed.
//!
//! An engine knows no adaptation rule: it takes weights and a padded [`Batch`] of observed segments. Its interface uses
//! plain slices of `f64`, in the model's own units; the engine computes in its own precision.
//!
//! With `x_0` a row's initial state and `Phi` one Runge-Kutta step, the rollout is `x_l = Phi(x_{l-1}, dt_l; theta_e)`,
//! `l = 1..L`, and the loss is the mean squared error over the batch's observed values, `sum (m (x - y))^2 / sum m^2`.
//!
//! Inputs `u [U]` are appended to the state as values with known rates: they are set at the start of a step, and their
//! slope is their rate within it. A stage then sees `u(t + c_i dt)`, for `c_i = sum_j a_ij`. Nothing is differentiated
//! with respect to them.

mod batch;
mod resident;
mod rollouts;
mod linearised;
mod device;
mod native;
mod products;
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
pub use linearised::Linearised;
pub use native::Native;
#[cfg(not(feature = "torch"))]
use no_torch as torch;
pub use products::Products;
pub(crate) use resident::{BETA_1, BETA_2, EPSILON};
pub use resident::{MOST_STEPS, Made, Moved, Objective, Plan, Resident};
pub use rollouts::{Engine, Jacobian, Tangents, Wrt, sum_of_squares};
pub use settings::{MOST_SUBSTEPS, Precision, Solver};
pub use torch::HAS_TORCH;
#[cfg(feature = "torch")]
pub use torch::Torch;
