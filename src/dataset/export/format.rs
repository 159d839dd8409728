//! What a format of others says of itself, and what it writes a split with.

use std::path::PathBuf;

use crate::dataset::error::Error;
use crate::dataset::reader::Dataset;
use crate::schema::{Split, Trajectory};

/// A format of others.
#[derive(Clone, Copy, Debug)]
pub struct ExportFormat {
    /// The name used on the command line.
    pub name: &'static str,
    /// What follows `SPLIT.` in the name of a file.
    pub extension: &'static str,
    /// Whether files are written by libhdf5, which aborts the process on a full disk: there must be room before.
    pub(crate) is_hdf5: bool,
    /// Creates the file of a split at this path.
    pub(crate) create: Create,
}

/// See [`ExportFormat`].
pub(crate) type Create = for<'a> fn(PathBuf, &'a Dataset, Split) -> Result<Box<dyn SplitWriter + 'a>, Error>;

/// Takes the trajectories of a split, in order.
pub(crate) trait SplitWriter {
    fn append(&mut self, rows: &[Trajectory]) -> Result<(), Error>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}
