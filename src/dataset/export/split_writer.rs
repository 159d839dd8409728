//! What an export format writes a split with.

use crate::dataset::error::Error;
use crate::schema::Trajectory;

/// Takes the trajectories of a split, in order.
pub(crate) trait SplitWriter {
    fn append(&mut self, rows: &[Trajectory]) -> Result<(), Error>;
    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}
