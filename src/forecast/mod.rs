//! Forecasts by a trained model, from a start and known inputs.

pub(crate) mod read_inputs;
pub(crate) mod inputs;
pub(crate) mod model;

pub use model::Forecast;
pub use model::KnownContext;
pub use model::Start;
pub use model::context_of_environment;
pub use model::context_of_parameters;
pub use model::forecast;
pub use read_inputs::Known;
pub use read_inputs::Signals;
