//! In a build without libtorch models have no vector field on tensors: the native engine has kernels of its own.

/// What every model has in such a build: nothing.
pub trait Tensors: Send + Sync {}

impl<M: Send + Sync> Tensors for M {}
