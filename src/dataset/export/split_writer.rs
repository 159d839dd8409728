//! What an export format writes a split with.

use std::path::Path;

use crate::atomic;
use crate::dataset::copying::{Copying, batch_length};
use crate::dataset::error::Error;
use crate::dataset::manifest::SplitSummary;
use crate::dataset::reader::Dataset;
use crate::dataset::room::check_room;
use crate::dataset::store::Store;
use crate::progress::Run;
use crate::schema::{Split, Trajectory};

/// Takes the trajectories of a split, in order.
pub(crate) trait SplitWriter {
    fn append(&mut self, rows: &[Trajectory]) -> Result<(), Error>;
    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}
