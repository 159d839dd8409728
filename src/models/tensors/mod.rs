//! The vector fields of models as operations on tensors, which autograd follows: one file a model, beside its weights in [`super`].

mod model;
mod layered;
mod mlp;
mod convnet;
mod fno;
mod build;

pub use build::build;
pub use model::{Field, TangentField, TensorModel};
