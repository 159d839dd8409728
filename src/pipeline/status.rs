//! How a pipeline stands: what is up to date, what would run and why, what runs now, what stopped, and what it takes on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::attempt::{Attempt, Progress, Stopped};
use super::clock::{now, seconds};
use super::decide::{Action, Decision};
use super::error::Error;
use super::executor::Executor;
use super::finished;
use super::lock::{Holder, dataset_lock, holder};
use super::plan::{Plan, Source};
use super::record::Record;
use super::room::bytes;
use super::run_record::RunRecord;
use super::runner::{Foreseen, Options, foresee};
use super::slurm::{StageShards, shards_of};
use super::stage::Stage;
use crate::checkpoint::{MAP_FILE, newest_step, trainings};
use crate::{atomic, dataset, estimate, generate};

/// How a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its product is up to date.
    Current,
    /// A run would make it anew.
    Due,
    /// Its product is not there.
    Missing,
    /// A run would make it anew if a stage before it gives another result.
    Depends,
    /// It is not part of a run.
    Skipped,
    /// It cannot run as things are.
    Blocked,
    /// It runs now.
    Running,
    /// It ended with an error, and would run again.
    Failed,
    /// It was asked to stop, or its process was killed; it would go on from there.
    Interrupted,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Current => "current",
            State::Due => "due",
            State::Missing => "missing",
            State::Depends => "depends",
            State::Skipped => "skipped",
            State::Blocked => "blocked",
            State::Running => "running",
            State::Failed => "failed",
            State::Interrupted => "interrupted",
        }
    }

    /// Whether a run would make it.
    pub fn is_to_do(self) -> bool {
        matches!(self, State::Due | State::Missing | State::Failed | State::Interrupted)
    }
}

/// How one stage stands.
#[derive(Clone, Debug, Serialize)]
pub struct StageStatus {
    /// The stage.
    pub stage: Stage,
    /// How it stands.
    pub state: State,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// Seconds since its product was recorded.
    pub age_seconds: Option<f64>,
    /// Wall time of the run that made the product.
    pub seconds: Option<f64>,
    /// How far an unfinished stage has come, or had when it was last heard of.
    pub progress: Option<Progress>,
    /// What of an unfinished stage is on the disk, so that the next run goes on behind it.
    pub kept: Option<Progress>,
    /// Why it stopped the last time.
    pub stopped: Option<Stopped>,
    /// Bytes of the files of its product, finished or not.
    pub bytes: u64,
}

/// How a pipeline stands.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its name.
    pub pipeline: String,
    /// Its workspace.
    pub workspace: PathBuf,
    /// Whether a run holds the workspace.
    pub running: bool,
    /// The process of that run.
    pub process: Option<u32>,
    /// The last run that left a record.
    pub last_run: Option<RunRecord>,
    /// Seconds since it ended.
    pub last_run_age_seconds: Option<f64>,
    /// The stages, in order.
    pub stages: Vec<StageStatus>,
    /// The shards of stages that are divided and not up to date.
    pub shards: Vec<StageShards>,
    /// Environments of each status in the estimates.
    pub statuses: BTreeMap<estimate::Status, usize>,
    /// Estimated environments.
    pub environments: usize,
    /// Those of them whose status is a failure.
    pub environments_failed: usize,
    /// Bytes of all files of the pipeline, its dataset with them.
    pub bytes: u64,
}

/// How a stage stands, and why.
pub(crate) struct Standing {
    pub stage: Stage,
    pub state: State,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// The attempt that did not end well, or runs, if a run would now make the stage from the same.
    pub attempt: Option<Attempt>,
    /// Whether there is an attempt with something else.
    is_of_others: bool,
}

/// How the stages of `plan` stand, in order. Writes nothing, and stops no run.
///
/// # Errors
/// If the pipeline could not run on this machine whatever the stages have left.
pub(crate) fn standings(plan: &Plan, options: &Options, executor: &dyn Executor) -> Result<Vec<Standing>, Error> {
    options.check(plan)?;
    let at_work = holder(&plan.lock_path());
    let mut decisions: Vec<Decision> = Vec::new();
    let mut standings = Vec::new();
    for stage in plan.stages() {
        let left = Attempt::read(plan, stage);
        let was_begun = left.is_some();
        let foreseen = foresee(plan, options, stage, executor, &decisions);
        let (state, reasons, attempt) = match &foreseen {
            _ if runs_now(plan, stage, left.as_ref(), at_work) => (State::Running, Vec::new(), left),
            Err(error) => (State::Blocked, vec![error.to_string()], None),
            Ok(Foreseen { decision, attempt }) => {
                let there = decision.action != Action::Run || executor.product(plan, stage)?.is_some();
                (state(decision.action, there, attempt.as_ref()), decision.reasons.clone(), attempt.clone())
            }
        };
        // What depends on a stage that runs, or cannot run, is not known before it has.
        decisions.push(match foreseen {
            Ok(Foreseen { decision, .. }) if state != State::Running => decision,
            _ => Decision { stage, action: Action::Run, reasons: Vec::new() },
        });
        let is_of_others = was_begun && attempt.is_none();
        standings.push(Standing { stage, state, reasons, attempt, is_of_others });
    }
    Ok(standings)
}

/// How the pipeline of `plan` stands. Writes nothing, and stops no run.
///
/// # Errors
/// If the pipeline could not run on this machine whatever the stages have left.
pub fn status(plan: &Plan, options: &Options, executor: &dyn Executor) -> Result<Status, Error> {
    let at_work = holder(&plan.lock_path());
    let mut stages = Vec::new();
    let mut statuses = BTreeMap::new();
    for Standing { stage, state, reasons, attempt, is_of_others } in standings(plan, options, executor)? {
        let record = Record::read(&plan.record_path(stage));
        let age = age(&plan.record_path(stage)).filter(|_| record.is_some());
        if let Some(record) = &record
            && plan.needs(stage)
            && !record.statuses.is_empty()
        {
            statuses = record.statuses.clone();
        }
        let unfinished = state.is_to_do() || state == State::Running;
        stages.push(StageStatus {
            stage,
            state,
            reasons,
            age_seconds: age,
            seconds: record.map(|record| record.seconds),
            kept: Some(()).filter(|()| unfinished && !is_of_others).and_then(|()| kept(plan, stage)),
            progress: attempt.as_ref().and_then(|attempt| attempt.progress.clone()),
            stopped: attempt.and_then(|attempt| attempt.stopped),
            bytes: places(plan, stage).iter().map(|place| bytes(place)).sum(),
        });
    }
    let last_run = RunRecord::all(plan).next();
    let failed = statuses.iter().filter(|(status, _)| status.is_failure());
    Ok(Status {
        pipeline: plan.name.clone(),
        workspace: plan.workspace.clone(),
        running: at_work.is_some(),
        process: at_work.and_then(|holder| holder.process),
        last_run_age_seconds: last_run
            .as_ref()
            .and_then(|run| Some((seconds(&now())? - seconds(&run.ended)?).max(0.0))),
        last_run,
        shards: stages.iter().filter_map(|it| shards_of(plan, it.stage).filter(|_| it.state.is_to_do())).collect(),
        stages,
        environments: statuses.values().sum(),
        environments_failed: failed.map(|(_, count)| count).sum(),
        statuses,
        bytes: bytes(&plan.workspace) + dataset_places(plan).iter().map(|place| bytes(place)).sum::<u64>(),
    })
}

/// Whether a run is at work on `stage`: the one that holds the workspace, or another one that makes the dataset.
fn runs_now(plan: &Plan, stage: Stage, attempt: Option<&Attempt>, at_work: Option<Holder>) -> bool {
    let ours =
        attempt.is_some_and(|it| it.stopped.is_none() && at_work.is_some_and(|by| by.process == Some(it.process)));
    ours || stage.makes_dataset() && holder(&dataset_lock(&plan.dataset_directory)).is_some()
}

fn state(action: Action, there: bool, attempt: Option<&Attempt>) -> State {
    match (action, attempt) {
        (Action::Keep | Action::Adopt, _) => State::Current,
        (Action::Depends, _) => State::Depends,
        (Action::Skip, _) => State::Skipped,
        (Action::Run, Some(attempt)) if attempt.has_failed() => State::Failed,
        (Action::Run, Some(_)) => State::Interrupted,
        (Action::Run, None) if there => State::Due,
        (Action::Run, None) => State::Missing,
    }
}

/// What an unfinished stage has on the disk, so that a run goes on behind it.
fn kept(plan: &Plan, stage: Stage) -> Option<Progress> {
    let (part, done, total, unit) = match (stage, &plan.source) {
        (Stage::Generate, Source::Generate(settings)) => {
            let done = dataset::unfinished_trajectories(&plan.dataset_directory)?;
            ("finished shards", done, generate::trajectories(settings, plan.seed).ok(), "trajectories")
        }
        (Stage::Estimate, _) if finished::trajectories(plan, stage) > 0 => {
            ("finished blocks", finished::trajectories(plan, stage) as u64, None, "trajectories")
        }
        (Stage::Train, _) => {
            let most = plan.train.as_ref().map(|train| train.steps + train.gauss_newton.steps);
            ("the newest checkpoint", newest_step(&plan.model_directory())?, most, "steps")
        }
        _ => return None,
    };
    Some(Progress { part: part.to_owned(), done, total, unit: unit.to_owned() })
}

/// The files and directories of a stage's product, finished or not.
fn places(plan: &Plan, stage: Stage) -> Vec<PathBuf> {
    let model = plan.model_directory();
    match stage {
        Stage::Generate | Stage::Import => dataset_places(plan),
        Stage::Train => {
            let files = fs::read_dir(&model).into_iter().flatten().flatten().map(|entry| entry.path());
            files.filter(|path| !path.ends_with(MAP_FILE)).chain([trainings(&model)]).collect()
        }
        Stage::Map => vec![model.join(MAP_FILE)],
        Stage::Estimate => vec![plan.estimates_directory()],
        Stage::Report => vec![plan.report_directory()],
    }
}

fn dataset_places(plan: &Plan) -> Vec<PathBuf> {
    let unfinished = atomic::unfinished(&plan.dataset_directory).ok();
    let directory = plan.dataset_directory.canonicalize().unwrap_or_else(|_| plan.dataset_directory.clone());
    [Some(directory), unfinished].into_iter().flatten().collect()
}

/// Seconds since the file was written; zero where the clock has gone back since.
fn age(path: &Path) -> Option<f64> {
    let written = fs::metadata(path).ok()?.modified().ok()?;
    Some(SystemTime::now().duration_since(written).map_or(0.0, |age| age.as_secs_f64()))
}
