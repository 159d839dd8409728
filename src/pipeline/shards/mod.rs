//! One stage on several machines: a plan divides its environments into shards, each shard is made by itself, wherever and however often, and
//! merging puts together what one machine would have made, byte for byte.
//!
//! The contract needs a file system that all machines see, and no scheduler: `shard run PLAN INDEX` leaves finished blocks in `blocks` of the
//! workspace, and `shard merge PLAN` is a run of the stage that finds all of them there.

pub(crate) mod plan;
pub(crate) mod work;
pub(crate) mod standing;
pub(crate) mod merge;

pub use merge::merge_shards;
pub use plan::{Division, ShardPlan, plan_shards};
pub use standing::{ShardState, Shards, standing_of};
pub use work::run_shard;
