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
pub(crate) mod layout;
pub(crate) mod file_entry;
pub(crate) mod publication;
pub(crate) mod manifest;
pub(crate) mod seal;
pub(crate) mod rules;
pub(crate) mod index;
pub(crate) mod hdf5_store;
pub(crate) mod parquet_store;
pub(crate) mod reader;
pub(crate) mod card;
pub(crate) mod croissant;
pub(crate) mod unfinished;
pub(crate) mod disk_space;
pub(crate) mod writer;
pub(crate) mod verify;
pub(crate) mod licence;
pub(crate) mod publish;
pub(crate) mod diff;
pub(crate) mod copy_progress;
pub(crate) mod combine;
pub(crate) mod survey;
pub(crate) mod export;

pub(crate) use card::cell;
pub use combine::{is_selected, merge, select};
pub use diff::{Difference, SplitDifference, changes, diff};
pub use error::Error;
pub use export::{ExportFormat, export};
pub use file_entry::FileEntry;
pub(crate) use file_entry::listed_problem;
pub(crate) use hdf5_store::external::external_problems as hdf5_external_problems;
pub(crate) use hdf5_store::texts::Texts;
pub use index::IndexEntry;
pub(crate) use layout::RESERVED;
pub(crate) use manifest::grid_problems;
pub use manifest::{Manifest, Parent, Provenance, SplitSummary, Treatment};
pub(crate) use parquet_store::pages::Pages;
pub use publication::Publication;
pub use publish::{Missed, missed};
pub use reader::{Batches, Dataset};
pub(crate) use rules::trajectory_problems;
pub use seal::seal;
pub use store::Store;
pub use survey::{Coverage, SplitSurvey, ValueRange, first_trajectories, survey};
pub use unfinished::{Resumed, unfinished_trajectories};
pub use verify::{damaged, verify};
pub use writer::Writer;
