//! Tells of a run whose jobs failed for good, as a run on one machine tells of itself.
//!
//! Shards and merges are no runs: they leave blocks and products, and tell nobody. So a job of its own comes where one of them fails.

use super::standing::{StageShards, shards_of};
use super::submitted::Submitted;
use crate::digest::sha256;
use crate::pipeline::attempt::{Attempt, Stopped};
use crate::pipeline::clock::{now, seconds};
use crate::pipeline::data_age::Newest;
use crate::pipeline::error::{Error, as_ranges};
use crate::pipeline::lock::Lock;
use crate::pipeline::plan::Plan;
use crate::pipeline::recorded::{host, leave, tell};
use crate::pipeline::run_record::{RunError, RunRecord};
use crate::pipeline::stage::Stage;
use crate::pipeline::versions;
use crate::problems::form_of;
use crate::progress::Run;
use crate::schema::TOOL;

/// Leaves the record of a run of which jobs failed, writes the metrics, and calls `run.on_failure`; returns what it said. `None` if a run has told
/// of a failure since the jobs were submitted.
///
/// # Errors
/// If a run holds the workspace.
pub fn tell_of_failure(plan: &Plan, run: &Run<'_>) -> Result<Option<Error>, Error> {
    let workspace = Lock::exclusive(&plan.lock_path())?;
    let submitted = Submitted::read(plan).map(|submitted| submitted.time);
    let last = RunRecord::all(plan).next().filter(|last| last.error.is_some());
    if let (Some(last), Some(submitted)) = (last, &submitted)
        && seconds(&last.begun) >= seconds(submitted)
    {
        return Ok(None);
    }
    let error = what_failed(plan);
    let (begun, ended) = (submitted.unwrap_or_else(now), now());
    let record = RunRecord {
        pipeline: plan.name.clone(),
        workspace: plan.workspace.display().to_string(),
        tool: TOOL.to_owned(),
        host: host(),
        process: std::process::id(),
        threads: rayon::current_num_threads(),
        settings_sha256: sha256(plan.settings(Stage::Report).to_string().as_bytes()),
        seconds: seconds(&ended).zip(seconds(&begun)).map_or(0.0, |(ended, begun)| ended - begun),
        begun,
        ended,
        stages: Vec::new(),
        statuses: Default::default(),
        environments: 0,
        environments_failed: 0,
        figures: Default::default(),
        warnings: Vec::new(),
        data_written: Newest::of(plan).map(|newest| newest.written()),
        model: versions::current(&plan.versions_directory()),
        trajectory_rmse: None,
        noise: Default::default(),
        exit_code: error.exit_code(),
        error: Some(RunError { kind: error.kind().to_owned(), message: error.to_string() }),
    };
    let record = leave(plan, &record, run);
    drop(workspace);
    tell(plan, (error.exit_code(), true), error.to_string(), record.as_ref(), run);
    Ok(Some(error))
}

/// Which shards and stages failed, as far as they have left word.
fn what_failed(plan: &Plan) -> Error {
    let (mut found, mut code) = (Vec::new(), None);
    for stage in plan.stages() {
        if let Some(shards) = shards_of(plan, stage) {
            found.extend(of_shards(&shards));
            code = code.or(shards.failed.first().map(|(_, stopped)| stopped.exit_code));
        }
        match Attempt::read(plan, stage).map(|attempt| attempt.stopped) {
            None => {}
            Some(None) => found.push(format!("{stage}: its process was ended before it could say why")),
            Some(Some(Stopped { message, exit_code, .. })) => {
                found.push(format!("{stage}: {message}"));
                code = code.or(Some(exit_code));
            }
        }
    }
    if found.is_empty() {
        found.push("a job of this run did not end well, and left no word of it".to_owned());
    }
    Error::FailedJobs {
        found: found.join("; "),
        logs: Submitted::folder(plan).join("logs"),
        code: code.filter(|code| *code != 0).unwrap_or(1),
    }
}

fn of_shards(StageShards { stage, total, failed, missing, .. }: &StageShards) -> Option<String> {
    let named =
        |indices: &[usize]| format!("{} {} of {total}", form_of(indices.len() as u64, "shard"), as_ranges(indices));
    let why = failed.first().map(|(index, stopped)| {
        let indices: Vec<usize> = failed.iter().map(|(index, _)| *index).collect();
        format!("{} failed ({index}: {})", named(&indices), stopped.message)
    });
    let missing = (!missing.is_empty()).then(|| format!("{} missing", named(missing)));
    let said: Vec<String> = why.into_iter().chain(missing).collect();
    (!said.is_empty()).then(|| format!("{stage}: {}", said.join(", ")))
}
