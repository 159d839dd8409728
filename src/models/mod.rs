//! Dynamics models: functions of explicit weights, with no hidden state.
//!
//! A model is the right-hand side `dx/dt = g(x, u; theta)` of a system that depends on time through its inputs alone; a state is flat, `C` here
//! being all its values. It never owns `theta`, so every environment of a batch has its own. How `g` is computed is the engine's: the native
//! one has kernels for perceptrons, that on libtorch follows the operations on tensors of [`tensors`](self).

mod layout;
mod model;
mod mlp;
mod convnet;
mod fno;
mod settings;
#[cfg(feature = "torch")]
pub mod tensors;

pub use convnet::ConvNet;
pub use fno::Fno;
pub use layout::{AdaptedLayers, Block, Layout};
pub use mlp::Mlp;
pub use model::Model;
pub use settings::Settings;
