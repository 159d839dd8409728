//! The two copies of a dataset's data.

/// Which of the two copies to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    /// `hdf5/`.
    Hdf5,
    /// `data/`.
    Parquet,
}
