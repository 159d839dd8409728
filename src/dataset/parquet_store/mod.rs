//! The Parquet copy: one row a trajectory, list columns, zstd.
//!
//! | column | type |
//! |---|---|
//! | `environment`, `trajectory` | string |
//! | each parameter | double, null where unknown |
//! | `time`, each channel, each input | list of double, one a sample |
//! | each channel on a grid | list of one field a sample; a field is a list of its rows, and so on: `[T][n_1]..[n_k]` |
//!
//! A missing cell is null. In files without missing cells the columns are declared non-nullable.
//!
//! Nested lists rather than lists of fixed size: Parquet itself has no other, and every reader opens them.
//!
//! Field metadata hold `unit`, `description` and `role`, of an input `between` as well; the file's key-value metadata hold `paramill.format` and
//! `paramill.split`.

pub(crate) mod panics;
pub(crate) mod pages;
pub(crate) mod claims;
pub(crate) mod schema;
pub(crate) mod write;
pub(crate) mod long;
pub(crate) mod read;

pub(crate) use long::write_long;
pub(crate) use panics::catch_panic;
pub(crate) use read::{rows, stream};
pub(crate) use write::write;
