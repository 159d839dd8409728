//! HDF5 files as tables of one row per sample.
//!
//! Symbols: `B` trajectories, `T` samples of the longest. The content of a file tells its layout:
//!
//! | layout | columns |
//! |---|---|
//! | a dataset of this program | `environment_id`, `trajectory_id`, parameters `[B]`; `time` `[T]` or `[B, T]`; channels `[B, T]` |
//! | The Well | `trajectory` (0, 1, ..); `time` `[T]` of `dimensions`; `t0_fields` `[B, T, 1, ..]`; `scalars` `[B]` or one number |
//! | PDEBench | ids `[B]` or (0, 1, ..); `time`, of `t-coordinate`; `tensor` `[B, T]`, or `tensor.0`, .. of `[B, T, C]` |
//! | any other | variables and members of tables, see [`generic`] |

pub(crate) mod since;
pub(crate) mod attributes;
mod values;
mod variables;
mod layouts;
mod generic;
mod open;

#[cfg(test)]
pub(crate) use open::SIGNATURE;
pub(crate) use open::{FORMAT, is_hdf5};
