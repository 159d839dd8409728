//! Exports to other formats: one file per split, streamed a few trajectories at a time. A format is a file here and a line in
//! [`ExportFormat::ALL`].

pub(crate) mod format;
pub(crate) mod csv;
pub(crate) mod netcdf;
pub(crate) mod pdebench;
pub(crate) mod run;

pub use format::ExportFormat;
pub use run::export;
