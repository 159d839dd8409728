//! Adaptation rules: how an environment's weights follow from the shared values and its context.
//!
//! A rule works on plain vectors. The engine hands it the gradient with respect to each environment's weights, and the
//! rule applies the chain rule to get those with respect to the shared values and the context.

mod shared_tensor;
mod context_fit;
mod places;
mod rule;
mod environments;
mod restricted;
mod coda;
mod cavia_concat;
mod cavia_film;
mod ncf;
mod geps;
mod own_weights;
mod leads;
mod multi_task;
mod erm;
mod maml;
mod anil;
mod meta_sgd;
mod kind;

pub use context_fit::ContextFit;
pub use environments::{decode_all, pull_back_all};
pub use kind::{Kind, MOST_DIMENSIONS, SETTINGS_OF_SOME, Shape};
pub use places::{Locality, Places};
pub use restricted::Restricted;
pub use rule::{GramProduct, Rule};
pub use shared_tensor::SharedTensor;
