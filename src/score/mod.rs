//! Scores predictions that anyone made of a dataset, by the definitions by which the program's own are.
//!
//! ```text
//! predictions/
//!   test.csv               environment, trajectory, time and the channels: a row a sample
//!   adapt_test.csv         the same
//!   parameters_grid.csv    environment and the parameters: a row an environment; or parameters_adapt.csv
//! ```
//!
//! Each file may be Parquet in place of CSV, and may be left out with its figures. Of fields on a grid, `test.h5` and `adapt_test.h5` are as the
//! dataset has them. What is missing in a file, or is no number, leaves its figure
//! without a value: it never improves a score.

pub(crate) mod predictions;
pub(crate) mod fields;
pub(crate) mod scoring;

pub use scoring::{Score, Scored, score};
