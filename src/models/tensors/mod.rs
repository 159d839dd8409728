//! The vector fields of models as operations on tensors, which autograd follows: one file per model; their weights are
//! described in [`super`].

mod model;
mod constants;
mod layered;
mod mlp;
mod convnet;
mod fno;
mod library;
mod build;

pub use build::build;
pub use model::{Field, TangentField, TensorModel};
