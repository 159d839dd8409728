//! Dynamics models, as functions of explicit weights without hidden state.
//!
//! A model is the right-hand side `dx/dt = g(x, u; theta)` of a system that depends on time only through its inputs; a
//! state is a flat vector, and `C` here counts all its values. The model does not own `theta`, so every environment of
//! a batch can have its own. The engine decides how `g` is computed: the native one has kernels for perceptrons, the
//! one on libtorch uses the tensor operations of [`tensors`](self).

mod layout;
mod model;
mod mlp;
mod convnet;
mod fno;
mod operator;
mod library;
mod settings;
#[cfg(feature = "torch")]
pub mod tensors;

pub use convnet::ConvNet;
pub use fno::Fno;
pub use layout::{AdaptedLayers, Block, Layout};
pub use library::Library;
pub use mlp::Mlp;
pub use model::Model;
pub use operator::Operator;
pub(crate) use operator::{kept, waves};
pub use settings::Settings;
