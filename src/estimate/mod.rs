//! Adapts a batch of new environments, maps their contexts to parameters, and measures what can be measured; or fits known
//! equations to them, with the same table in the end.
//!
//! ```text
//! estimates/
//!   manifest.json     what made them, the figures, a SHA-256 per file
//!   adapt.parquet     one row an environment
//!   grid.parquet
//!   fitted_adapt.parquet     on request: one row a sample, observed and fitted
//! ```

pub(crate) mod hull;
pub(crate) mod noise;
pub(crate) mod residuals;
pub(crate) mod error;
pub(crate) mod stream;
pub(crate) mod misfit;
pub(crate) mod learned;
pub(crate) mod table;
pub mod physics;
pub(crate) mod settings;
pub(crate) mod driver;
pub(crate) mod run;

pub use hull::Hull;
pub use learned::input_range::inputs_extrapolate;
pub use learned::portrait::portrait;
pub use learned::state_range::states_extrapolate;
pub use learned::support::Support;
pub use table::evaluation::{Coverage, Evaluation};
pub use table::interval::Bounds;
pub use table::output::{Manifest, read_rows, rows, verify};

pub use error::Error;
pub use learned::adapt::Adapter;
pub use learned::adaptation::Adaptation;
pub use learned::context_range::extrapolates;
pub use learned::map;
pub use run::run;
pub use settings::{InitialState, Loss, MapChoice, MapSettings, Method, Noise, Settings};
pub use table::output::Outcome;
pub(crate) use table::output::repeated_column;
pub use table::row::{ParameterEstimate, Row, Status, statuses_in_words};
