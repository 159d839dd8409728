//! How the shards of a pipeline stand: by what they have left, then by Slurm's queue.

use std::path::PathBuf;

use serde::Serialize;

use super::client;
use super::submitted::Submitted;
use crate::pipeline::attempt::Stopped;
use crate::pipeline::plan::Plan;
use crate::pipeline::shards::{ShardPlan, standing_of};
use crate::pipeline::stage::Stage;

/// How the shards of a stage stand.
#[derive(Clone, Debug, Serialize)]
pub struct StageShards {
    /// The stage.
    pub stage: Stage,
    /// Their plan.
    pub plan: PathBuf,
    /// Whether jobs of Slurm make them.
    pub by_slurm: bool,
    /// Number of shards.
    pub total: usize,
    /// Those that are done.
    pub done: Vec<usize>,
    /// Those that Slurm runs now.
    pub running: Vec<usize>,
    /// Those that wait for Slurm.
    pub waiting: Vec<usize>,
    /// Those that ended with an error, and why.
    pub failed: Vec<(usize, Stopped)>,
    /// Those that nobody has finished, runs or waits for.
    pub missing: Vec<usize>,
    /// Why it is not known what Slurm runs.
    pub unknown: Option<String>,
}

/// How the shards of `stage` stand, if a plan of it is there that is of what the stage would be made from.
pub fn shards_of(plan: &Plan, stage: Stage) -> Option<StageShards> {
    let path = ShardPlan::usual_path(plan, stage);
    let shards = ShardPlan::read(&path).ok()?;
    shards.check(plan).ok()?;
    let standing = standing_of(&shards, plan);
    let mut unknown = None;
    let submitted = Submitted::read(plan);
    let (running, waiting) = match &submitted {
        Some(submitted) => match client::queue() {
            Ok(queue) => submitted.tasks(plan, stage, &queue),
            Err(error) => {
                unknown = Some(error.to_string());
                Default::default()
            }
        },
        None => Default::default(),
    };
    let is_idle = |index: &usize| !running.contains(index) && !waiting.contains(index);
    let is_open = |index: &usize| standing.done.binary_search(index).is_err();
    Some(StageShards {
        stage,
        plan: path,
        by_slurm: submitted.is_some(),
        total: standing.total,
        failed: standing.failed.iter().filter(|(index, _)| is_idle(index)).cloned().collect(),
        missing: standing.missing.iter().copied().filter(is_idle).collect(),
        running: running.iter().copied().filter(is_open).collect(),
        waiting: waiting.iter().copied().filter(is_open).collect(),
        done: standing.done,
        unknown,
    })
}
