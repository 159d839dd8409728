//! A run as it is made unattended: it may wait for another one, leaves a record and metrics, and tells the user's commands how it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, process};

use serde_json::Value;

use super::clock::now;
use super::data_age::Newest;
use super::decide::Action;
use super::drift::medians;
use super::error::Error;
use super::executor::Executor;
use super::generations;
use super::lock::{Lock, is_free};
use super::metrics;
use super::notice;
use super::plan::Plan;
use super::run_record::{RunError, RunRecord, RunStage};
use super::runner::{Options, Outcome, run_stages};
use super::stage::Stage;
use super::versions;
use crate::atomic;
use crate::digest::sha256;
use crate::progress::{Event, Observer, Run};
use crate::regular;
use crate::report;
use crate::schema::TOOL;

/// Between two looks at a lock that another run holds.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A run that has ended.
#[derive(Debug)]
pub struct Recorded {
    /// What [`super::run`] gives.
    pub result: Result<Outcome, Error>,
    /// Its record; absent if the run never held the workspace, or the record could not be written.
    pub record: Option<PathBuf>,
}

impl Recorded {
    /// The exit code of the run.
    pub fn exit_code(&self) -> u8 {
        self.result.as_ref().map_or_else(Error::exit_code, Outcome::exit_code)
    }
}

/// Runs the plan as [`super::run`] does, waits for other runs if it is to `wait`, writes a record and the metrics, and calls the commands
/// that `[run]` names. What goes wrong with these is warned of and does not change the result.
pub fn run_recorded(plan: &Plan, options: &Options, wait: bool, executor: &dyn Executor, run: &Run<'_>) -> Recorded {
    let (begun, started) = (now(), Instant::now());
    let heard = Warnings { observer: run.observer, warnings: Mutex::default() };
    let run = &Run { observer: &heard, interrupt: run.interrupt };
    let mut outcome = Outcome::default();
    // Held until the record is written: another run must not sweep or count meanwhile.
    let mut workspace = None;
    let result = options.check(plan).and_then(|()| {
        // Fails now rather than after a long simulation, and leaves nothing behind.
        options.compute.check().map_err(Error::Compute)?;
        let lock = waiting(wait, run, || Lock::exclusive(&plan.lock_path()))?;
        if lock.is_a_link() {
            let text = "has no locks; links say who works there, and one whose process died on another machine must be removed";
            run.emit(Event::Note(format!("the file system of {} {text}", plan.workspace.display())));
        }
        workspace = Some(lock);
        waiting(wait, run, || {
            outcome = Outcome::default();
            run_stages(plan, options, executor, run, &mut outcome)
        })
    });
    let exit_code = result.as_ref().map_or_else(Error::exit_code, |()| outcome.exit_code());
    let keeps = plan.run.models > 0 && plan.promote.is_none();
    if matches!(exit_code, 0 | 4) && keeps && plan.has(Stage::Train) && plan.estimates_by_model() {
        keep_model(plan, run);
    }
    // Of a rejected model (7) too: it stays for inspection, and so does what it was made from.
    if matches!(exit_code, 0 | 4 | 7)
        && plan.run.datasets > 0
        && let Err(error) = generations::keep(plan, run)
    {
        let remedy = "the dataset itself is whole";
        run.emit(Event::Warn(format!("the dataset cannot be kept as a generation ({error}); {remedy}")));
    }
    let estimated = result.is_ok() && outcome.environments() > 0 && plan.estimates_by_model();
    let (trajectory_rmse, noise) = Some(()).filter(|()| estimated).and_then(|()| medians(plan)).unwrap_or_default();
    let newest = Newest::of(plan);
    let old_data = newest.as_ref().and_then(|newest| newest.problem(plan));
    old_data.iter().for_each(|text| run.emit(Event::Warn(text.clone())));
    let record = workspace.is_some().then(|| RunRecord {
        pipeline: plan.name.clone(),
        workspace: plan.workspace.display().to_string(),
        tool: TOOL.to_owned(),
        host: host(),
        process: process::id(),
        threads: options.threads,
        settings_sha256: sha256(plan.settings(Stage::Report).to_string().as_bytes()),
        begun,
        ended: now(),
        seconds: started.elapsed().as_secs_f64(),
        stages: stages(&outcome),
        environments: outcome.environments(),
        environments_failed: outcome.environments_failed(),
        statuses: outcome.statuses.clone(),
        data_written: newest.map(|newest| newest.written()),
        model: versions::current(&plan.versions_directory()),
        trajectory_rmse,
        noise,
        figures: if result.is_ok() && outcome.is_reported() { figures(plan) } else { BTreeMap::new() },
        warnings: heard.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        exit_code,
        error: result
            .as_ref()
            .err()
            .map(|error| RunError { kind: error.kind().to_owned(), message: error.to_string() }),
    });
    let record = record.and_then(|record| leave(plan, &record, run));
    drop(workspace);
    let result = result.map(|()| outcome);
    let message = match &result {
        Ok(outcome) => {
            outcome.rejected.as_ref().map(|entry| entry.why.clone()).or(old_data.clone()).unwrap_or_default()
        }
        Err(error) => error.to_string(),
    };
    tell(plan, (exit_code, old_data.is_none()), message, record.as_ref(), run);
    Recorded { result, record }
}

/// Repeats `work` while another run holds a lock that it needs, and says once who does.
fn waiting<T>(wait: bool, run: &Run<'_>, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match work() {
            Err(Error::Locked { path, holder, .. }) if wait => {
                let by = holder.map_or_else(|| "another run".to_owned(), |process| format!("process {process}"));
                run.emit(Event::Note(format!("waiting for {}, which {by} holds", path.display())));
                while !is_free(&path) {
                    if let Some(signal) = run.interrupt.requested() {
                        return Err(Error::between_stages(signal));
                    }
                    thread::sleep(LOOK_EVERY);
                }
            }
            done => return done,
        }
    }
}

/// Keeps the model as a version, and says so.
fn keep_model(plan: &Plan, run: &Run<'_>) {
    match versions::keep(plan, plan.run.models) {
        Ok(None) => {}
        Ok(Some(name)) => run.emit(Event::Note(format!("the model is version {name}, which is in use now"))),
        Err(error) => {
            let remedy = "the version in use is the one before";
            run.emit(Event::Warn(format!("the model cannot be kept as a version ({error}); {remedy}")));
        }
    }
}

/// Writes the record and the metrics.
pub(crate) fn leave(plan: &Plan, record: &RunRecord, run: &Run<'_>) -> Option<PathBuf> {
    let warn = |what: &str, error: String| {
        run.emit(Event::Warn(format!("{what} cannot be written ({error}); the run's result is not touched by it")));
    };
    let path = record.write(plan, plan.run.records);
    let path = path.map_err(|error| warn("the record of the run", error.to_string())).ok();
    if let Some(metrics) = &plan.run.metrics
        && let Err(error) = atomic::write_file(metrics, metrics::text(plan, record).as_bytes())
    {
        warn("run.metrics", format!("{}: {error}", metrics.display()));
    }
    path
}

/// Calls the command for this result, and whether the data are new.
pub(crate) fn tell(
    plan: &Plan,
    (exit_code, is_new): (u8, bool),
    message: String,
    record: Option<&PathBuf>,
    run: &Run<'_>,
) {
    let (setting, command) = match exit_code {
        0 if is_new => ("run.on_success", &plan.run.on_success),
        _ => ("run.on_failure", &plan.run.on_failure),
    };
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string();
    let variables = [
        ("PARAMILL_PIPELINE", plan.name.clone()),
        ("PARAMILL_EXIT_CODE", exit_code.to_string()),
        ("PARAMILL_MESSAGE", message),
        ("PARAMILL_WORKSPACE", absolute(&plan.workspace)),
        ("PARAMILL_RECORD", record.map(absolute).unwrap_or_default()),
    ];
    notice::call(setting, command, &variables, Duration::from_secs(plan.run.command_seconds), run);
}

fn stages(outcome: &Outcome) -> Vec<RunStage> {
    let stages = outcome.stages.iter().map(|it| RunStage {
        stage: it.decision.stage,
        action: it.decision.action,
        reasons: it.decision.reasons.clone(),
        seconds: it.seconds.filter(|_| it.decision.action == Action::Run),
    });
    stages.collect()
}

/// The figures of the summary that the report has left.
fn figures(plan: &Plan) -> BTreeMap<String, f64> {
    let path = plan.report_directory().join("summary.json");
    let summary = Some(path).filter(|_| plan.has(Stage::Report)).and_then(|path| regular::read(&path).ok());
    let summary: Value = summary.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    report::figures_of(&summary)
}

/// Name of the machine, where the system tells it.
pub(crate) fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// An observer that passes events on and remembers the warnings.
struct Warnings<'a> {
    observer: &'a dyn Observer,
    warnings: Mutex<Vec<String>>,
}

impl Observer for Warnings<'_> {
    fn observe(&self, event: Event) {
        if let Event::Warn(text) = &event {
            self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text.clone());
        }
        self.observer.observe(event);
    }
}
