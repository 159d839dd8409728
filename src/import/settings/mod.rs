//! `[import]` of a pipeline.

pub(crate) mod forms;
pub(crate) mod events;
pub(crate) mod table;
pub(crate) mod fields;
mod side_table;
mod splits;
mod import;

pub use fields::{FieldAxis, FieldChannel, FieldTime, Fields};
pub use import::{Channel, Role, Settings};
pub use side_table::{Parameter, SideTable};
pub use splits::{Selection, Splits};
