//! The on-disk dataset: a manifest, and the same trajectories twice over in HDF5 and in Parquet.
//!
//! ```text
//! datasets/NAME/
//!   manifest.json                          what it is, what made it, a SHA-256 of each data file
//!   README.md                              the card
//!   croissant.json                         the same for machines, as Croissant 1.1
//!   SHA256SUMS                             digests of these three (written last)
//!   data/train-00000-of-00001.parquet      one row a trajectory, list columns
//!   hdf5/train.h5                          one file a split, opens in xarray
//!   data/grid-00000-of-00003.parquet       a large split has several files in both copies, cut at the same rows
//!   hdf5/grid-00000-of-00003.h5
//! ```

mod error;
mod layout;
mod manifest;
mod check;
mod card;
mod croissant;
mod seal;
mod hdf5_store;
mod parquet_store;
mod kept;
mod room;
mod writer;
mod reader;
mod verify;
mod diff;
mod copying;
mod combine;
mod survey;
mod export;

pub use combine::{is_selected, merge, select};
pub use diff::{Difference, SplitDifference, changes, diff};
pub use error::Error;
pub use export::{ExportFormat, export};
pub(crate) use hdf5_store::{Texts, reach_problems as hdf5_reach_problems};
pub use kept::Kept;
pub(crate) use layout::{RESERVED, listed_problem};
pub(crate) use manifest::grid_problems;
pub use manifest::{FileEntry, Manifest, Parent, Provenance, SplitSummary, Treatment};
pub(crate) use parquet_store::{Pages, caught};
pub use reader::{Batches, Dataset, IndexEntry};
pub use seal::seal;
pub use survey::{Coverage, Range, SplitSurvey, survey};
pub use verify::verify;
pub use writer::Writer;

/// Which of the two copies to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    Hdf5,
    Parquet,
}
