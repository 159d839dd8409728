//! Adaptation rules: how shared weights and what an environment owns give the weights of that environment.
//!
//! A rule works on plain vectors. The engine hands it the gradient with respect to each environment's weights, and the rule chains it back to
//! the shared values and to what the environment owns.

mod shared_tensor;
mod rule;
mod coda;
mod cavia_concat;
mod cavia_film;
mod kind;

pub use kind::{Kind, MOST_DIMENSIONS};
pub use rule::{GramProduct, Rule};
pub use shared_tensor::SharedTensor;
