//! Source files of arrays as trajectories of fields on a regular grid.
//!
//! A file of any format is an [`array_file::ArrayFile`]. What the settings do not say of it, its layout may ([`layouts`]); [`described`] puts both
//! together into one row a trajectory, and [`read`] reads the fields of a row.

#![expect(clippy::result_large_err, reason = "a problem ends the reading of its file: it is rare, and short-lived")]

pub(crate) mod array_file;
pub(crate) mod format;
mod npy;
mod npz;
mod hdf5;
pub(crate) mod formats;
pub(crate) mod layouts;
mod conversion;
mod search;
mod space;
mod times;
mod facts;
mod named;
pub(crate) mod described;
pub(crate) mod read;
