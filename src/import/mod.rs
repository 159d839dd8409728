//! Import: archived measurements to a dataset.
//!
//! An archive is one table or many, wide or long, or files of fields on a grid, with an optional side table of what is known of each environment. The dataset depends on
//! the samples alone: not on the order of trajectories in the files, nor, with `disorder = "sort"`, on that of rows.

pub(crate) mod settings;
pub(crate) mod tables;
pub(crate) mod rows;
pub(crate) mod fields;
pub(crate) mod trajectories;
pub(crate) mod validate_fields;
pub(crate) mod validate;
pub(crate) mod load;
pub(crate) mod error;
pub(crate) mod run;
pub(crate) mod check;
pub(crate) mod draft;

pub use draft::draft;

pub use check::{Startless, Survey, check, grid, survey};
pub use error::Error;
pub use load::files;
pub use rows::store::ROWS_IN_MEMORY;
pub use run::{run, run_within};
pub use settings::events::{EqualTimes, EventInput, Shape};
pub use settings::forms::{Condition, Names};
pub use settings::table::{Disorder, Duplicates, Layout, Origin, Table};
pub use settings::{
    Channel, FieldAxis, FieldChannel, FieldTime, Fields, Parameter, Role, Selection, Settings, SideTable, Splits,
};
