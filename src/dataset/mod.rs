//! The on-disk dataset: a manifest, and the same trajectories twice over in HDF5 and in Parquet.
//!
//! ```text
//! datasets/NAME/
//!   manifest.json                          what it is, what made it, a SHA-256 per file (written last)
//!   README.md                              the card
//!   data/train-00000-of-00001.parquet      one row a trajectory, list columns
//!   hdf5/train.h5                          one file a split, opens in xarray
//! ```

use std::path::{Path, PathBuf};

use crate::schema::{Split, Trajectory};

mod manifest;

pub use manifest::{FileEntry, Manifest, Parent, Provenance, SplitSummary};

/// Which of the two copies to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Hdf5,
    Parquet,
}

/// What goes wrong with a dataset on disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {found}; expected {expected}")]
    Invalid { path: PathBuf, found: String, expected: String },
}

/// Writes a dataset; it appears under its name only at [`Writer::finish`].
pub struct Writer {}

impl Writer {
    /// Starts a dataset that will stand at `directory`, described by `manifest` (whose `splits` and `files` are filled in by the writer).
    pub fn create(_directory: &Path, _manifest: Manifest) -> Result<Self, Error> {
        todo!()
    }

    /// Appends one trajectory. Trajectories of a split come in ascending [`Trajectory::key`] order; splits come one after the other.
    pub fn write(&mut self, _split: Split, _trajectory: &Trajectory) -> Result<(), Error> {
        todo!()
    }

    /// Completes both copies, the card and the manifest, and puts the dataset in place.
    pub fn finish(self) -> Result<Manifest, Error> {
        todo!()
    }
}

/// One trajectory as the index knows it, without its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    pub environment: String,
    pub trajectory: String,
    pub parameters: Vec<Option<f64>>,
    pub samples: usize,
}

/// An open dataset.
pub struct Dataset {}

impl Dataset {
    /// Opens the dataset in `directory`: reads and checks its manifest and that its files are there with the right sizes.
    pub fn open(_directory: &Path) -> Result<Self, Error> {
        todo!()
    }

    pub fn directory(&self) -> &Path {
        todo!()
    }

    pub fn manifest(&self) -> &Manifest {
        todo!()
    }

    /// SHA-256 of the manifest, hex: the identity of everything in the dataset.
    pub fn content_hash(&self) -> &str {
        todo!()
    }

    /// The trajectories of a split without their samples, in stored order; empty if the dataset has no such split.
    pub fn index(&self, _split: Split) -> Result<Vec<IndexEntry>, Error> {
        todo!()
    }

    /// Reads the trajectories at these rows of a split (random access; only they are held in memory).
    pub fn read_rows(&self, _split: Split, _rows: &[usize]) -> Result<Vec<Trajectory>, Error> {
        todo!()
    }

    /// Streams a split in stored order, `batch` trajectories at a time.
    pub fn batches(
        &self,
        _split: Split,
        _store: Store,
        _batch: usize,
    ) -> Result<Box<dyn Iterator<Item = Result<Vec<Trajectory>, Error>> + '_>, Error> {
        todo!()
    }

    /// The whole split.
    pub fn read(&self, _split: Split) -> Result<Vec<Trajectory>, Error> {
        todo!()
    }
}

/// Checks everything the manifest states against the files: digests, sizes, counts, shapes, both copies alike. Returns every problem found.
pub fn verify(_directory: &Path) -> Vec<String> {
    todo!()
}
