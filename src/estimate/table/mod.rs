//! The table of estimates: one row per environment, in memory and on disk.

pub(crate) mod errors;
pub(crate) mod row;
pub(crate) mod interval;
pub(crate) mod environment_fit;
pub(crate) mod evaluation;
pub(crate) mod parquet;
pub(crate) mod fitted;
pub(crate) mod of_trajectory;
pub(crate) mod compared;
pub(crate) mod estimated;
pub(crate) mod columns;
pub(crate) mod output;
pub(crate) mod reading;
