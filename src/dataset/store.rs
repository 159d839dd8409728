//! The two copies of a dataset.

/// Which of the two copies to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    Hdf5,
    Parquet,
}
