//! The HDF5 copy: one file a split, in the netCDF-4 data model, so that xarray opens it with either of its engines.
//!
//! Symbols: `B` trajectories of the split, `T` samples of the longest of them (one where none has any). Variables, all in the root group:
//!
//! | variable | shape | type |
//! |---|---|---|
//! | `trajectory` | `[B]`, dimension scale | int64: 0, 1, .. |
//! | `environment_id`, `trajectory_id` | `[B]` | variable-length UTF-8 |
//! | each parameter | `[B]` | float64, NaN where unknown |
//! | each channel | `[B, T]`, on a grid `[B, T, n_1, .., n_k]` | float64, NaN where a cell is missing and after a trajectory's end |
//! | each input | `[B, T]` | float64, NaN after a trajectory's end; its attribute `between` says what it is between two samples |
//! | each axis of a grid | `[n_i]`, dimension scale | float64: start, start + spacing, ..; its attribute `boundary` says what lies beyond its ends |
//!
//! If all trajectories have the same times (bit for bit), `time` is a dimension scale `[T]`, and the groups of [`the_well`] stand beside
//! the variables; without a grid a channel is then `[B, T, 1]`, on the one point of the axis `point`. If not, `sample` is a
//! dimension scale `[T]` (int64), `time` is `[B, T]` (NaN after the end), and `sample_count` is `[B]` (int64).

pub(crate) mod external;
pub(crate) mod texts;
pub(crate) mod attributes;
pub(crate) mod the_well;
pub(crate) mod write;
pub(crate) mod read;

pub(crate) use write::{image, write_long};
