//! Estimates the parameters of environments, by a trained model (fits a context and maps it to parameters) or by known equations; both
//! write the same table.
//!
//! ```text
//! estimates/
//!   manifest.json     what made them, the figures, a SHA-256 per file
//!   adapt.parquet     one row per environment
//!   grid.parquet
//!   fitted_adapt.parquet     on request: one row per sample, observed and fitted
//! ```

pub(crate) mod hull;
pub(crate) mod noise;
pub(crate) mod resolution;
pub(crate) mod serial_correlation;
pub(crate) mod error;
pub(crate) mod stream;
pub(crate) mod bounds;
pub(crate) mod measurement;
pub(crate) mod settings;
pub(crate) mod table;
pub(crate) mod blockwise;
pub(crate) mod driver;
pub(crate) mod in_memory;
pub mod physics;
pub(crate) mod misfit;
pub(crate) mod learned;
pub(crate) mod run;
pub(crate) mod held_out;

pub use bounds::Bounds;
pub(crate) use driver::{problems_of_learned, splits_of};
pub use error::Error;
pub use held_out::{HeldOut, held_out};
pub use hull::Hull;
pub use learned::adapt::Adapter;
pub use learned::adaptation::Adaptation;
pub use learned::context_range::extrapolates;
pub use learned::frames::{Frames, frames};
pub use learned::input_range::inputs_extrapolate;
pub use learned::landscape::{Geometry, Landscape, geometry};
pub use learned::map;
pub use learned::model_error;
pub use learned::new_environments::contexts_of_new;
pub use learned::portrait::portrait;
pub use learned::state_range::states_extrapolate;
pub use learned::support::Support;
pub use measurement::{ChannelNoise, Limit, LimitInput, Noise, NoiseSettings, Prior, Scale, Scope};
pub use run::{resume, run, run_rows};
pub use settings::{InitialState, Intervals, Loss, MapChoice, MapSettings, Method, PhysicsSettings, Settings};
pub(crate) use table::columns::{Clash, clash};
pub use table::evaluation::{Coverage, Evaluation, ModelFigures};
pub use table::output::{Manifest, Outcome};
pub use table::reading::{TrajectoryEstimate, read_rows, read_trajectories, rows, verify};
pub use table::row::{LogLikelihood, Minima, ParameterEstimate, Row, Status, statuses_in_words};
