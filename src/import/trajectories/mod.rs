//! Samples and events of a record to trajectories, and trajectories to splits.

pub(crate) mod event;
pub(crate) mod equal_times;
pub(crate) mod report;
pub(crate) mod events;
pub(crate) mod samples;
pub(crate) mod resample;
pub(crate) mod split_records;
pub(crate) mod read;
pub(crate) mod side_table;
pub(crate) mod splits;
