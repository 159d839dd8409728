//! Estimation where the equations are known: nonlinear least squares on them, an environment at a time.
//!
//! It fills the same table as the learned model does, so that one can stand beside the other: what a model costs in accuracy,
//! and how far both are from the Cramér-Rao bound. It needs no training, and there are no contexts.

pub(crate) mod agreement;
pub(crate) mod coordinates;
pub(crate) mod differences;
pub(crate) mod normal;
pub(crate) mod settings;
pub(crate) mod budget;
pub(crate) mod experiment;
pub(crate) mod series;
pub(crate) mod cramer_rao;
pub(crate) mod equations;
pub(crate) mod stage;
pub(crate) mod result;
pub(crate) mod fit;
pub(crate) mod search;
pub(crate) mod cramer_rao_of_model;
pub(crate) mod estimator;

pub(crate) use cramer_rao_of_model::{Fitted, LeastErrors};
pub use estimator::{portrait, run};
pub use settings::Settings;
