//! The vector fields of models as operations on tensors, which autograd follows: one file a model, beside its weights in [`super`].

mod field;
mod layered;
mod mlp;
mod convnet;
mod fno;

pub use field::{Field, TangentField, Tensors};
