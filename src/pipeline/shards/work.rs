//! Makes one shard.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::plan::ShardPlan;
use crate::atomic;
use crate::blocks::{Rows, Store};
use crate::dataset::Dataset;
use crate::estimate::Status;
use crate::pipeline::attempt::Stopped;
use crate::pipeline::clock::now;
use crate::pipeline::decide::Action;
use crate::pipeline::error::Error;
use crate::pipeline::memory::{require_for_estimating, require_for_generating};
use crate::pipeline::plan::{Plan, Source};
use crate::pipeline::runner::{Options, preview};
use crate::pipeline::stage::Stage;
use crate::pipeline::stages::{Built, computed_by, engine_of_estimates, model_of_estimates, section};
use crate::progress::{Event, Run};
use crate::{disk, estimate, generate};

/// Makes the shard `index` of `shards`, behind what is finished of it. What another process makes of it meanwhile is the same. The number of
/// environments of each status, where the stage gives them one.
///
/// # Errors
/// If there is no such shard, the plan is of other settings or inputs than there are now, this machine computes by something else, or whatever
/// stops the stage; finished blocks are kept.
pub fn run_shard(shards: &ShardPlan, index: usize, run: &Run<'_>) -> Result<BTreeMap<Status, usize>, Error> {
    shards.require(&[index])?;
    let rows = &shards.shards[index];
    let plan = shards.load()?;
    let store = shards.store(&plan);
    let note = failure(&store, index);
    if is_made(shards, &plan)? {
        run.emit(Event::Note(format!("{}: up to date, no shard is needed", shards.stage)));
        return Ok(BTreeMap::new());
    }
    let done = shards.check(&plan).and_then(|()| make(shards, &plan, rows, &store, run));
    match &done {
        Ok(_) => drop(disk::remove_file(&note)),
        Err(Error::Interrupted { .. }) => {}
        Err(error) => {
            let (kind, message, exit_code) = (error.kind().to_owned(), error.to_string(), error.exit_code());
            let stopped = Stopped { time: now(), kind, message, exit_code };
            // The error itself is on its way; who asks how shards stand reads it there, if it could be written.
            let _ = atomic::write_file(&note, json!(stopped).to_string().as_bytes());
        }
    }
    done
}

/// Whether the product of the stage is up to date: shards that come late must not leave blocks that nobody takes.
fn is_made(shards: &ShardPlan, plan: &Plan) -> Result<bool, Error> {
    let options = Options { stages: vec![shards.stage], force: Vec::new(), compute: shards.compute()?, threads: 1 };
    let decisions = preview(plan, &options, &Built)?;
    let of_stage = decisions.iter().find(|it| it.stage == shards.stage);
    Ok(of_stage.is_some_and(|it| matches!(it.action, Action::Keep | Action::Adopt)))
}

/// Where it stands why a shard failed the last time.
pub(super) fn failure(store: &Store, index: usize) -> PathBuf {
    store.directory().join(format!("{index}.failed.json"))
}

fn make(
    shards: &ShardPlan,
    plan: &Plan,
    rows: &[Rows],
    store: &Store,
    run: &Run<'_>,
) -> Result<BTreeMap<Status, usize>, Error> {
    if let (Stage::Generate, Source::Generate(settings)) = (shards.stage, &plan.source) {
        require_for_generating(plan, generate::extent(settings, plan.seed, rayon::current_num_threads())?)?;
        generate::run_rows(settings, plan.seed, rows, store, run)?;
        return Ok(BTreeMap::new());
    }
    let settings = section(shards.stage, plan.estimate.as_ref())?;
    let compute = shards.compute()?;
    let model = model_of_estimates(plan)?;
    let found = computed_by(&engine_of_estimates(model.as_ref(), compute)?);
    if found != shards.computed_by {
        let expected = &shards.computed_by;
        return Err(Error::Usage(format!(
            "this machine computes by {found}; expected {expected}, as the plan has it: shards of both would differ in their last bits; name \
             `--device` or `--engine` where the plan is written"
        )));
    }
    let dataset = Dataset::open(&plan.dataset_directory)?;
    require_for_estimating(plan, dataset.manifest(), rayon::current_num_threads())?;
    Ok(match model {
        Some(model) => estimate::run_rows(settings, compute, (&dataset, &model), rows, store, run)?,
        None => estimate::physics::run_rows(settings, &dataset, rows, store, run)?,
    })
}
