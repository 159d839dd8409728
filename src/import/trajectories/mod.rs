//! Samples and events of records to trajectories, and trajectories to splits.

mod tally;
mod event;
mod equal_times;
mod report;
mod event_store;
mod event_files;
mod event_inputs;
pub(crate) mod samples;
mod resample;
mod record_reader;
mod segment;
mod split_records;
mod row_records;
pub(crate) mod field_records;
pub(crate) mod set;
pub(crate) mod read;
pub(crate) mod read_fields;
pub(crate) mod side_table;
pub(crate) mod splits;
