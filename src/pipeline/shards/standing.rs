//! How the shards of a plan stand, by what they have left.

use serde::Serialize;

use super::plan::ShardPlan;
use super::work::failure;
use crate::pipeline::attempt::Stopped;
use crate::pipeline::plan::Plan;
use crate::regular;

/// How one shard stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardState {
    /// All of it is in finished blocks.
    Done,
    /// It ended with an error the last time.
    Failed,
    /// Not all of it is there.
    Missing,
}

/// How the shards of a plan stand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shards {
    /// Number of shards.
    pub total: usize,
    /// Those that are done.
    pub done: Vec<usize>,
    /// Those that ended with an error, and why.
    pub failed: Vec<(usize, Stopped)>,
    /// Those of which something is missing for another reason.
    pub missing: Vec<usize>,
}

impl Shards {
    /// Those that are to be made, in order.
    pub fn to_do(&self) -> Vec<usize> {
        let mut to_do: Vec<usize> = self.failed.iter().map(|(index, _)| *index).chain(self.missing.clone()).collect();
        to_do.sort_unstable();
        to_do
    }
}

/// How the shards of a plan stand.
pub fn standing_of(shards: &ShardPlan, plan: &Plan) -> Shards {
    let store = shards.store(plan);
    let listing = store.listing();
    let mut standing = Shards { total: shards.shards.len(), done: Vec::new(), failed: Vec::new(), missing: Vec::new() };
    for (index, rows) in shards.shards.iter().enumerate() {
        let why = || serde_json::from_slice(&regular::read(&failure(&store, index)).ok()?).ok();
        if rows.iter().all(|rows| listing.missing(rows) == 0) {
            standing.done.push(index);
        } else if let Some(stopped) = why() {
            standing.failed.push((index, stopped));
        } else {
            standing.missing.push(index);
        }
    }
    standing
}
