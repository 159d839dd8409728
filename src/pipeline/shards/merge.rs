//! Puts together what the shards of a plan have made.

use std::path::Path;

use super::plan::ShardPlan;
use super::standing::standing_of;
use crate::pipeline::decide::Action;
use crate::pipeline::error::Error;
use crate::pipeline::runner::{Options, Outcome, preview, run};
use crate::pipeline::stages::Built;
use crate::progress::Run;

/// Makes the product of the plan at `path` from its shards. Does nothing if it is up to date.
///
/// # Errors
/// If shards are missing, or the plan is of other settings or inputs than there are now; else as [`run`].
pub fn merge_shards(shards: &ShardPlan, path: &Path, threads: usize, run: &Run<'_>) -> Result<Outcome, Error> {
    let plan = shards.load()?;
    shards.check(&plan)?;
    let compute = shards.compute()?;
    let options = Options { stages: vec![shards.stage], force: Vec::new(), compute, threads };
    let is_due = preview(&plan, &options, &Built)?.iter().any(|decision| decision.action == Action::Run);
    let missing = standing_of(shards, &plan).to_do();
    if is_due && !missing.is_empty() {
        return Err(Error::MissingShards { plan: path.to_owned(), missing, total: shards.shards.len() });
    }
    self::run(&plan, &options, &Built, run)
}
