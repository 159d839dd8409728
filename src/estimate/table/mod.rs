//! The table of estimates: one row an environment, in memory and on disk.

pub(crate) mod interval;
pub(crate) mod row;
pub(crate) mod evaluation;
pub(crate) mod fitted;
pub(crate) mod output;
pub(crate) mod parquet;
