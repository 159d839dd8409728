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

pub(crate) mod error;
pub(crate) mod store;
pub(crate) mod seal;
pub(crate) mod manifest;
pub(crate) mod check;
pub(crate) mod reader;
pub(crate) mod hdf5_store;
pub(crate) mod layout;
pub(crate) mod parquet_store;
pub(crate) mod card;
pub(crate) mod croissant;
pub(crate) mod kept;
pub(crate) mod room;
pub(crate) mod writer;
pub(crate) mod verify;
pub(crate) mod diff;
pub(crate) mod copying;
pub(crate) mod combine;
pub(crate) mod survey;
pub(crate) mod export;

pub use combine::{is_selected, merge, select};
pub use diff::{Difference, SplitDifference, changes, diff};
pub use error::Error;
pub use export::{ExportFormat, export};
pub(crate) use hdf5_store::reach::reach_problems as hdf5_reach_problems;
pub(crate) use hdf5_store::texts::Texts;
pub use kept::Kept;
pub(crate) use layout::{RESERVED, listed_problem};
pub(crate) use manifest::grid_problems;
pub use manifest::{FileEntry, Manifest, Parent, Provenance, SplitSummary, Treatment};
pub(crate) use parquet_store::pages::Pages;
pub use reader::{Batches, Dataset, IndexEntry};
pub use seal::seal;
pub use store::Store;
pub use survey::{Coverage, Range, SplitSurvey, first_trajectories, survey};
pub use verify::{damaged, verify};
pub use writer::Writer;
