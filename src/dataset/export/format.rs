//! The description of an export format.

use std::path::PathBuf;

use crate::dataset::error::Error;
use crate::dataset::reader::Dataset;
use crate::schema::{Split, Trajectory};

/// An export format.
#[derive(Clone, Copy, Debug)]
pub struct ExportFormat {
    /// The name used on the command line.
    pub name: &'static str,
    /// Extension of its files, `SPLIT.extension`.
    pub extension: &'static str,
    /// Whether libhdf5 writes the files: then free disk space is checked first.
    pub(crate) is_hdf5: bool,
    /// Creates the file of a split at this path.
    pub(crate) create: Create,
}

/// See [`ExportFormat`].
pub(crate) type Create = for<'a> fn(PathBuf, &'a Dataset, Split) -> Result<Box<dyn SplitWriter + 'a>, Error>;

/// Writes the trajectories of a split in order.
pub(crate) trait SplitWriter {
    fn append(&mut self, rows: &[Trajectory]) -> Result<(), Error>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}
