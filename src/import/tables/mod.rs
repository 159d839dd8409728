//! Source files of any format as tables: a header, then rows of cells.

pub(crate) mod cell;
pub(crate) mod batch;
pub(crate) mod format;
pub(crate) mod elapsed;
pub(crate) mod clock;
pub(crate) mod csv;
pub(crate) mod hdf5;
pub(crate) mod parquet;
pub(crate) mod formats;
pub(crate) mod files;
pub(crate) mod text;
pub(crate) mod source;
