//! Adapts a batch of new environments and maps their contexts to parameters.

mod row;
mod settings;

pub use row::{ParameterEstimate, Row, Status};
pub use settings::{MapChoice, MapSettings, Settings};
