//! `paramill shard`.

use std::time::Instant;

use serde_json::json;

use super::output::{complain, error_as_json, print, print_json};
use super::shard_arguments::{FailedShards, MergeShards, PlanShards, RunShards, ShardCommand};
use super::signals;
use super::terminal::{Style, Terminal};
use super::threads::start_threads;
use crate::engine::Compute;
use crate::estimate::Status;
use crate::estimate::statuses_in_words;
use crate::pipeline::{
    Action, Built, Division, Error, Locations, Options, Plan, ShardPlan, Stage, merge_shards, plan_shards, preview,
    run_shard, standing_of, tell_of_failure,
};
use crate::problems::many;
use crate::progress;
use std::collections::BTreeMap;

/// Exit code of a shard that was asked to stop: what was finished is kept, and it is to be run again (`EX_TEMPFAIL` of sysexits.h).
const AGAIN: u8 = 75;
const SIGTERM: i32 = 15;

pub(crate) fn shard(command: &ShardCommand, quiet: bool) -> Result<u8, Error> {
    match command {
        ShardCommand::Plan(command) => plan(command),
        ShardCommand::Run(command) => run(command, quiet),
        ShardCommand::Merge(command) => merge(command, quiet),
        ShardCommand::Failed(command) => failed(command, quiet),
    }
}

fn plan(command: &PlanShards) -> Result<u8, Error> {
    let PlanShards { pipeline, set, workspace, .. } = command;
    let locations = Locations { workspace: workspace.clone(), ..Locations::default() };
    let loaded = Plan::load(pipeline, set, &locations).map_err(Error::Problems)?;
    let compute = command.compute.compute();
    let stage = command.stage.map_or_else(|| first_due(&loaded, compute), Ok)?;
    let division = match (command.shards, command.environments) {
        (Some(count), _) => Division::Shards(count as usize),
        (None, Some(each)) => Division::Environments(each as usize),
        (None, None) => Division::default(),
    };
    let shards = plan_shards(pipeline, set, workspace.as_ref(), stage, compute, division)?;
    let path = command.to.clone().unwrap_or_else(|| ShardPlan::usual_path(&loaded, stage));
    if path.symlink_metadata().is_ok() && !ShardPlan::is_one(&path) {
        return Err(Error::Usage(format!(
            "{}: is there already, and is no plan of shards; expected nothing, or such a plan to replace; name another file with --to",
            path.display()
        )));
    }
    shards.write(&path)?;
    let count = shards.shards.len();
    if command.json {
        print_json(&json!({ "plan": path, "stage": stage, "shards": count, "digest": shards.digest }));
    } else {
        let path = path.display();
        print(&format!(
            "{path}: {} of {stage}\neach: paramill shard run {path} INDEX\nthen: paramill shard merge {path}\n",
            many(count as u64, "shard")
        ));
    }
    Ok(0)
}

/// The first stage that can be divided and would run.
fn first_due(plan: &Plan, compute: Compute) -> Result<Stage, Error> {
    let options = Options { stages: Vec::new(), force: Vec::new(), compute, threads: 1 };
    let decisions = preview(plan, &options, &Built)?;
    let mut to_do = decisions.iter().filter(|it| matches!(it.action, Action::Run | Action::Depends));
    to_do.find(|it| matches!(it.stage, Stage::Generate | Stage::Estimate)).map(|it| it.stage).ok_or_else(|| {
        Error::Usage("nothing to divide: generate and estimate are up to date; name one with `--stage`".to_owned())
    })
}

fn run(command: &RunShards, quiet: bool) -> Result<u8, Error> {
    let shards = ShardPlan::read(&command.plan)?;
    let indices = match command.index.as_str() {
        "missing" => standing_of(&shards, &shards.load()?).to_do(),
        text => numbers(text)?,
    };
    // Before the first of them is made.
    shards.require(&indices)?;
    start_threads(command.threads)?;
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let handed = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    let begun = Instant::now();
    let mut statuses: BTreeMap<Status, usize> = BTreeMap::new();
    for &index in &indices {
        match run_shard(&shards, index, &handed) {
            Ok(more) => more.into_iter().for_each(|(status, count)| *statuses.entry(status).or_default() += count),
            Err(error @ Error::Interrupted { signal: SIGTERM, .. }) => {
                terminal.close();
                let mut value = error_as_json(&error);
                value["error"]["exit_code"] = json!(AGAIN);
                if command.json {
                    print_json(&value);
                }
                complain(&format!("shard {index}: {error}"));
                return Ok(AGAIN);
            }
            Err(error) => {
                terminal.close();
                return Err(error);
            }
        }
    }
    terminal.close();
    if command.json {
        print_json(&json!({
            "plan": command.plan,
            "stage": shards.stage,
            "shards": indices,
            "statuses": statuses,
            "seconds": begun.elapsed().as_secs_f64(),
            "warnings": terminal.warnings(),
            "exit_code": 0,
        }));
    } else {
        let words = if statuses.is_empty() { String::new() } else { format!(": {}", statuses_in_words(&statuses)) };
        print(&format!("{} of {} done{words}\n", many(indices.len() as u64, "shard"), shards.stage));
    }
    Ok(0)
}

/// Numbers and ranges of numbers: `0-3,7`.
fn numbers(text: &str) -> Result<Vec<usize>, Error> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (from <= to && to < 1_000_000).then_some(from..to + 1)
    };
    let ranges = text.split(',').map(range).collect::<Option<Vec<_>>>();
    ranges.map(|ranges| ranges.into_iter().flatten().collect()).ok_or_else(|| {
        Error::Usage(format!("the shards `{text}`; expected numbers and ranges such as 3 or 0-3,7, or `missing`"))
    })
}

fn merge(command: &MergeShards, quiet: bool) -> Result<u8, Error> {
    let shards = ShardPlan::read(&command.plan)?;
    start_threads(command.threads)?;
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let handed = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    let merged = merge_shards(&shards, &command.plan, rayon::current_num_threads(), &handed);
    terminal.close();
    let outcome = merged?;
    let of_stage = outcome.stages.iter().find(|it| it.decision.stage == shards.stage);
    let product = of_stage.and_then(|it| it.product.clone()).unwrap_or_default();
    if command.json {
        print_json(&json!({
            "plan": command.plan,
            "stages": outcome.stages,
            "environments": outcome.environments(),
            "environments_failed": outcome.environments_failed(),
            "statuses": outcome.statuses,
            "warnings": terminal.warnings(),
            "exit_code": outcome.exit_code(),
        }));
    } else {
        print(&format!("{product}\n"));
    }
    Ok(outcome.exit_code())
}

fn failed(command: &FailedShards, quiet: bool) -> Result<u8, Error> {
    let locations = Locations { workspace: command.workspace.clone(), ..Locations::default() };
    let plan = Plan::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)?;
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let handed = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    let told = tell_of_failure(&plan, &handed);
    terminal.close();
    let told = told?;
    let message = told.as_ref().map(Error::to_string);
    if command.json {
        let error = told.as_ref().map(|error| error_as_json(error)["error"].take());
        print_json(&json!({ "told": error, "warnings": terminal.warnings(), "exit_code": 0 }));
    } else {
        print(&format!("{}\n", message.unwrap_or_else(|| "a run has told of its failure already".to_owned())));
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_named_by_numbers_and_ranges() {
        assert_eq!(numbers("3").unwrap(), [3]);
        assert_eq!(numbers("0-2, 7").unwrap(), [0, 1, 2, 7]);
        for wrong in ["", "a", "3-1", "-1", "1-9999999"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }
}
