//! Forecasts by a trained model, from a start and known inputs.

mod input_columns;
mod read_inputs;
mod inputs;
mod model;
mod training;

pub(crate) use inputs::ROUNDING;
pub use inputs::{KnownInputs, TooShort};
pub use model::{Forecast, KnownContext, Start, context_of_environment, context_of_parameters, forecast};
pub use read_inputs::{InputSamples, InputTable};
pub use training::{TrainingSampling, parameters_extrapolate};
