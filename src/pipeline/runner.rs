//! Runs the stages in order and skips those whose products are up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::attempt::{Attempt, Followed};
use super::audit::AuditEntry;
use super::check::computable::uncomputable;
use super::decide::{Action, Decision, decide, ingredients, product_path};
use super::error::Error;
use super::executor::{Context, Done, Executor};
use super::fingerprint::Ingredients;
use super::lock::{DatasetWriting, Lock, clear_leftovers, dataset_reading, sweep};
use super::plan::{Plan, RUN_RECORDS};
use super::record::Record;
use super::stage::Stage;
use super::{finished, generations, room, versions};
use crate::atomic;
use crate::engine::{Compute, DeviceChoice, EngineChoice};
use crate::estimate::Status;
use crate::progress::{Event, Run};
use crate::schema::TOOL;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only these stages; all if empty.
    pub stages: Vec<Stage>,
    /// These stages even if they are up to date.
    pub force: Vec<Stage>,
    /// Device and engine.
    pub compute: Compute,
    /// Number of threads.
    pub threads: usize,
}

/// The outcome of a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageOutcome {
    #[serde(flatten)]
    /// What was decided, and why.
    pub decision: Decision,
    /// Wall time of the run that made the product.
    pub seconds: Option<f64>,
    /// Path of the product; absent where the stage came to its end without one, as where there is no map.
    pub product: Option<String>,
    /// Content hash of the product.
    pub sha256: Option<String>,
    /// Fingerprint of what it was made from.
    pub fingerprint: Option<String>,
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Every stage of the pipeline, in order.
    pub stages: Vec<StageOutcome>,
    /// Environments of each status that occurs.
    pub statuses: BTreeMap<Status, usize>,
    /// Why the model that the stages left is not in use, if the gate did not let it through.
    pub rejected: Option<AuditEntry>,
}

impl Outcome {
    /// Number of estimated environments.
    pub fn environments(&self) -> usize {
        self.statuses.values().sum()
    }

    /// Whether the report, and so its summary, is of these stages; one that was not asked for may be of earlier products.
    pub fn is_reported(&self) -> bool {
        self.stages.iter().any(|it| it.decision.stage == Stage::Report && it.decision.action != Action::Skip)
    }

    /// Number of environments whose status is a failure.
    pub fn environments_failed(&self) -> usize {
        self.statuses.iter().filter(|(status, _)| status.is_failure()).map(|(_, count)| count).sum()
    }

    /// 0 if all went well, 4 if some environments failed, 5 if all did; 7 if not all failed and the model was rejected.
    pub fn exit_code(&self) -> u8 {
        let failed = self.environments_failed();
        match failed {
            failed if failed > 0 && failed == self.environments() => 5,
            _ if self.rejected.is_some() => 7,
            0 => 0,
            _ => 4,
        }
    }
}

impl Options {
    /// Those of a look at what a run of every stage would do, with which nothing is run.
    pub fn of_a_look() -> Self {
        let compute = Compute { device: DeviceChoice::Auto, engine: EngineChoice::Auto };
        Options { stages: Vec::new(), force: Vec::new(), compute, threads: 1 }
    }

    fn names(&self, stage: Stage) -> bool {
        self.stages.contains(&stage) || self.force.contains(&stage)
    }

    /// The decision to skip `stage`; `None` if it is not skipped.
    fn skips(&self, plan: &Plan, stage: Stage) -> Option<Decision> {
        let reason = if self.names(stage) {
            return None;
        } else if !self.stages.is_empty() {
            "not asked for".to_owned()
        } else if !plan.needs(stage) {
            format!("no model is needed where the equations are known; `--force {stage}` runs it all the same")
        } else {
            return None;
        };
        Some(Decision { stage, action: Action::Skip, reasons: vec![reason] })
    }

    /// Whether the stages that are asked for are there and can be computed.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        if let Some(&stage) = self.stages.iter().chain(&self.force).find(|stage| !plan.has(**stage)) {
            return Err(Error::NoSuchStage { stage, has: plan.stages() });
        }
        let uses_model = |stage: &Stage| !stage.makes_dataset() && self.skips(plan, *stage).is_none();
        let train = plan.train.as_ref().filter(|_| plan.estimates_by_model() && plan.stages().iter().any(uses_model));
        match train.and_then(uncomputable) {
            Some(problem) => Err(Error::Problems(vec![plan.document.placed(problem)])),
            None => Ok(()),
        }
    }
}

/// What a run would do. Writes nothing and takes no lock.
///
/// # Errors
/// What would stop the run before its first stage, or a dataset that it would refuse to replace.
pub fn preview(plan: &Plan, options: &Options, executor: &dyn Executor) -> Result<Vec<Decision>, Error> {
    options.check(plan)?;
    let mut decisions: Vec<Decision> = Vec::new();
    for stage in plan.stages() {
        decisions.push(foresee(plan, options, stage, executor, &decisions)?.decision);
    }
    Ok(decisions)
}

/// What a run would do about a stage, and how it went the last time.
pub(crate) struct Foreseen {
    pub decision: Decision,
    /// The attempt that did not end well, if a run would now make the stage from the same.
    pub attempt: Option<Attempt>,
}

/// What a run would do about `stage`, after what it would do about those before it.
///
/// # Errors
/// If an input is missing, or at a dataset that the run would refuse to replace.
pub(crate) fn foresee(
    plan: &Plan,
    options: &Options,
    stage: Stage,
    executor: &dyn Executor,
    before: &[Decision],
) -> Result<Foreseen, Error> {
    if let Some(decision) = options.skips(plan, stage) {
        return Ok(Foreseen { decision, attempt: None });
    }
    let mut pending = plan.parents(stage);
    pending.retain(|parent| {
        let decided = before.iter().find(|decision| decision.stage == *parent);
        // One that is adopted has no record yet, by which a product other than a dataset is known to be finished.
        decided.is_some_and(|decision| match decision.action {
            Action::Run | Action::Depends => true,
            Action::Adopt => !parent.makes_dataset(),
            Action::Keep | Action::Skip => false,
        })
    });
    let ingredients = ingredients(plan, stage, executor, &pending)?;
    let mut decision = decide(plan, stage, &ingredients, options.force.contains(&stage), executor)?;
    if decision.action == Action::Keep && !pending.is_empty() {
        let names: Vec<_> = pending.iter().map(|parent| parent.name()).collect();
        decision.action = Action::Depends;
        decision.reasons = vec![format!("runs if {} gives another result", names.join(" or "))];
    }
    // A stage that runs before it makes another input.
    let runs_before = before.iter().any(|it| it.action == Action::Run && pending.contains(&it.stage));
    let fingerprint = Some(ingredients.fingerprint()).filter(|_| !runs_before);
    let attempt = Attempt::read(plan, stage).filter(|_| decision.action == Action::Run);
    let is_same = |it: &Attempt| it.is_of(fingerprint.as_deref());
    if let Some(other) = attempt.as_ref().filter(|it| !is_same(it)) {
        let ended = if other.has_failed() { "failed" } else { "was stopped" };
        decision.reasons.push(match runs_before {
            true => format!("it {ended}, and what it is made from is made anew first"),
            false => format!("settings or inputs have changed since it {ended}"),
        });
    }
    let attempt = attempt.filter(is_same);
    Ok(Foreseen { decision, attempt })
}

/// Runs the plan.
///
/// # Errors
/// Whatever stops a stage; another run in the same workspace or on the same dataset; a request to stop. Stages that
/// ended before keep their products and records.
///
/// ```no_run
/// use std::path::Path;
///
/// use paramill::engine::{Compute, DeviceChoice, EngineChoice};
/// use paramill::pipeline::{self, Built, Locations, Options, Plan};
/// use paramill::progress::Run;
///
/// let plan = Plan::load(Path::new("pipelines/lv-demo.toml"), &[], &Locations::default()).expect("a sound pipeline");
/// let compute = Compute { device: DeviceChoice::Auto, engine: EngineChoice::Auto };
/// let options = Options { stages: Vec::new(), force: Vec::new(), compute, threads: 2 };
/// let outcome = pipeline::run(&plan, &options, &Built, &Run::silent())?;
/// println!("{} environments", outcome.environments());
/// # Ok::<(), paramill::pipeline::Error>(())
/// ```
pub fn run(plan: &Plan, options: &Options, executor: &dyn Executor, run: &Run<'_>) -> Result<Outcome, Error> {
    options.check(plan)?;
    let _workspace = Lock::exclusive(&plan.lock_path())?;
    let mut outcome = Outcome::default();
    run_stages(plan, options, executor, run, &mut outcome)?;
    Ok(outcome)
}

/// Runs the plan in a workspace that the caller has locked; `outcome` takes every stage that came to its end.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_stages(
    plan: &Plan,
    options: &Options,
    executor: &dyn Executor,
    run: &Run<'_>,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let swept = ["", "stages", "models", RUN_RECORDS].map(|inside| plan.workspace.join(inside));
    sweep(&plan.versions_directory(), run);
    swept.iter().for_each(|directory| sweep(directory, run));
    check_places(plan, options, run)?;
    let mut dataset_lock = None;
    let mut records = BTreeMap::new();
    let of_model: Vec<Stage> =
        plan.stages().into_iter().filter(|stage| matches!(stage, Stage::Train | Stage::Map)).collect();
    let is_judged = plan.promote.is_some() && of_model.iter().all(|stage| options.skips(plan, *stage).is_none());
    for stage in plan.stages() {
        if let Some(signal) = run.interrupt.requested() {
            return Err(Error::between_stages(signal));
        }
        let needed = plan.needs(stage) || options.names(stage);
        let decision = match options.skips(plan, stage) {
            Some(decision) => {
                if !needed {
                    run.emit(Event::Note(format!("{stage}: skipped, {}", decision.reasons.join("; "))));
                }
                decision
            }
            None => {
                if !stage.makes_dataset() && dataset_lock.is_none() {
                    dataset_lock = Some(dataset_reading(&plan.dataset_directory)?);
                }
                carry_out(plan, stage, options, executor, &records, run)?
            }
        };
        if let Some(record) = Record::read(&plan.record_path(stage)).filter(|_| needed) {
            // What was not asked for may be of what stood here before.
            let is_old =
                decision.action == Action::Skip && outcome.stages.iter().any(|it| it.decision.action == Action::Run);
            if !record.statuses.is_empty() && !is_old {
                outcome.statuses = record.statuses.clone();
            }
            records.insert(stage, record);
        }
        let record = records.get(&stage);
        outcome.stages.push(StageOutcome {
            decision,
            seconds: record.map(|record| record.seconds),
            product: record.map(|record| record.product.clone()).filter(|product| Path::new(product).exists()),
            sha256: record.map(|record| record.sha256.clone()),
            fingerprint: record.map(|record| record.fingerprint.clone()),
        });
        // Before the estimates, which are made by the model in use.
        if is_judged && of_model.last() == Some(&stage) {
            outcome.rejected = executor.promote(plan, options.compute, run)?;
        }
    }
    Ok(())
}

/// Checks that the products of all stages can be written, before the first of them computes. A dataset that is there already may be in a place
/// that cannot be written to; where it must be made, its own locks tell.
///
/// # Errors
/// If a place cannot be written to.
fn check_places(plan: &Plan, options: &Options, run: &Run<'_>) -> Result<(), Error> {
    let stages =
        plan.stages().into_iter().filter(|stage| !stage.makes_dataset() && options.skips(plan, *stage).is_none());
    let mut probed = BTreeSet::new();
    for (stage, path) in stages.map(|stage| (stage, product_path(plan, stage))) {
        if probed.insert(path.clone())
            && let Err(error) = atomic::probe(&path).map_err(Error::io(&path))
        {
            // So that `status` tells which stage cannot begin, and why.
            let _ = Followed::begin(plan, stage, "", run.observer).map(|followed| followed.stop(&error));
            return Err(error);
        }
    }
    Ok(())
}

fn carry_out(
    plan: &Plan,
    stage: Stage,
    options: &Options,
    executor: &dyn Executor,
    records: &BTreeMap<Stage, Record>,
    run: &Run<'_>,
) -> Result<Decision, Error> {
    run.emit(Event::Stage(stage.name()));
    warn_of_stale_inputs(plan, stage, options, executor, run);
    let forced = options.force.contains(&stage);
    if stage.makes_dataset() {
        clear_leftovers(&plan.dataset_directory, run)?;
    }
    let ingredients = ingredients(plan, stage, executor, &[])?;
    let mut decision = decide(plan, stage, &ingredients, forced, executor)?;
    let mut writing = None;
    if decision.action == Action::Run && stage.makes_dataset() {
        writing = Some(DatasetWriting::begin(&plan.dataset_directory, run)?);
        // Another run may have finished the dataset while this one waited for the lock.
        decision = decide(plan, stage, &ingredients, forced, executor)?;
    }
    // By an earlier run, which died before it wrote the record.
    let made_before = decision.action == Action::Adopt
        && (!stage.makes_dataset()
            || executor
                .product(plan, stage)?
                .is_some_and(|product| Attempt::made(plan, stage, &product.path, &product.sha256)));
    let done = match decision.action {
        Action::Run => {
            run.emit(Event::Note(format!("{stage}: {}", decision.reasons.join("; "))));
            let begun = Instant::now();
            let fingerprint = &ingredients.fingerprint();
            let followed = Followed::begin(plan, stage, fingerprint, run.observer)?;
            let has_room = room::require(plan, stage, options.threads, &|| make_room(plan), run);
            has_room.inspect_err(|error| followed.stop(error))?;
            let run = &Run { observer: &followed, interrupt: run.interrupt };
            let context = Context { compute: options.compute, threads: options.threads, fingerprint, records, run };
            let done = executor.execute(plan, stage, &context).inspect_err(|error| followed.stop(error))?;
            Some((done, begun.elapsed().as_secs_f64()))
        }
        _ => {
            run.emit(Event::Note(format!("{stage}: {}", decision.reasons.join("; "))));
            match (decision.action, made_before) {
                (Action::Adopt, true) => Some((executor.adopt(plan, stage)?, 0.0)),
                (Action::Adopt, false) => Some((Done::default(), 0.0)),
                _ => None,
            }
        }
    };
    if let Some((done, seconds)) = done {
        let product = executor.product(plan, stage)?.filter(|product| product.damage.is_none());
        let product = product.ok_or_else(|| Error::NoProduct { stage, path: product_path(plan, stage) })?;
        let made_here = decision.action == Action::Run || made_before;
        let record = Record {
            fingerprint: ingredients.fingerprint(),
            ingredients,
            tool: TOOL.to_owned(),
            seconds,
            device: done.device,
            engine: done.engine,
            threads: options.threads,
            product: product.path.display().to_string(),
            sha256: product.sha256,
            made_here,
            statuses: done.statuses,
        };
        record.write(&plan.record_path(stage))?;
        if decision.action == Action::Run {
            // A map may be none.
            let what = if product.path.exists() { "made" } else { "came to its end without" };
            run.emit(Event::Note(format!("{stage}: {what} {} in {seconds:.1} s", record.product)));
        }
    }
    Attempt::forget(plan, stage);
    finished::forget(plan, stage);
    drop(writing);
    Ok(decision)
}

/// Removes what `[run]` does not keep; how many versions and generations that were.
fn make_room(plan: &Plan) -> Result<usize, Error> {
    let of_models = match plan.run.models {
        0 => 0,
        kept => versions::retain(plan, kept)?,
    };
    Ok(of_models + generations::retain(plan)?)
}

/// Warns if a parent stage is out of date but was not asked for.
fn warn_of_stale_inputs(plan: &Plan, stage: Stage, options: &Options, executor: &dyn Executor, run: &Run<'_>) {
    for parent in plan.parents(stage).into_iter().filter(|parent| options.skips(plan, *parent).is_some()) {
        let decided = ingredients(plan, parent, executor, &[])
            .and_then(|ingredients: Ingredients| decide(plan, parent, &ingredients, false, executor));
        if let Ok(Decision { action: Action::Run, reasons, .. }) = decided {
            let why = reasons.join("; ");
            run.emit(Event::Warn(format!("{stage} uses what {parent} made before, which is out of date: {why}")));
        }
    }
}
