//! A dataset in the formats of others: one file a split, streamed a few trajectories at a time.

pub(crate) mod format;
pub(crate) mod csv;
pub(crate) mod netcdf;
pub(crate) mod pdebench;
pub(crate) mod run;

pub use format::ExportFormat;
pub use run::export;
