//! Estimation by a trained model: contexts of new environments, and the map from contexts to parameters.

pub(crate) mod minimizer;
pub(crate) mod support;
pub(crate) mod adaptation;
pub(crate) mod weights;
pub(crate) mod context_range;
mod owned_weights;
pub(crate) mod adapt;
pub(crate) mod covariance;
pub(crate) mod input_range;
pub(crate) mod state_range;
mod calibration;
pub(crate) mod estimator;
pub mod model_error;
pub(crate) mod map_candidate;
pub mod map;
pub(crate) mod portrait;
pub(crate) mod frames;
pub(crate) mod landscape;
pub(crate) mod new_environments;
