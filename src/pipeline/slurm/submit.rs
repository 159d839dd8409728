//! Writes the scripts of a run and submits them.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use super::client;
use super::client::USUAL_ARRAY_SIZE;
use super::jobs::{Calls, Divided, Job, jobs};
use super::script::Script;
use super::submitted::{Submitted, SubmittedJob};
use crate::atomic;
use crate::dataset::Dataset;
use crate::disk;
use crate::generate;
use crate::pipeline::clock::now;
use crate::pipeline::decide::{Action, Decision};
use crate::pipeline::error::{Error, as_ranges};
use crate::pipeline::plan::{Plan, Source};
use crate::pipeline::runner::{Options, preview};
use crate::pipeline::shards::{Division, ShardPlan, plan_shards, standing_of};
use crate::pipeline::slurm_settings::{JobSettings, SlurmSettings};
use crate::pipeline::stage::Stage;
use crate::pipeline::stages::Built;

/// Shards where the number of environments is not known yet.
const UNKNOWN: usize = 16;

/// A run that is ready to be submitted.
#[derive(Debug)]
pub struct Submission {
    /// What is to be made, and why.
    pub decisions: Vec<Decision>,
    /// The jobs in order, each after the one before, and the script of each; none if there is nothing to do.
    pub jobs: Vec<(Job, String)>,
    /// What is to be known of it.
    pub notes: Vec<String>,
    /// The plans that are to be written before.
    plans: Vec<(PathBuf, ShardPlan)>,
}

/// Decides what is to be made and by which jobs. Writes nothing. Where Slurm does not answer, that is no error if the run is only to be shown.
///
/// # Errors
/// What would stop a run before its first stage; Slurm, if it does not answer.
pub fn prepare(
    plan: &Plan,
    (file, set, workspace): (&Path, &[String], Option<&PathBuf>),
    options: &Options,
    only_shown: bool,
) -> Result<Submission, Error> {
    if let Some(stage) = options.stages.iter().chain(&options.force).next() {
        let found = format!("the stage `{stage}`, and Slurm");
        return Err(Error::Usage(format!("{found}; expected a whole run: leave out `--stage` and `--force`")));
    }
    let decisions = preview(plan, options, &Built)?;
    let settings = plan.slurm.clone().unwrap_or_default();
    let mut notes = Vec::new();
    let most = client::most_tasks().or_else(|error| {
        notes.push(format!("{error}; arrays of {USUAL_ARRAY_SIZE} tasks are assumed"));
        if only_shown { Ok(USUAL_ARRAY_SIZE) } else { Err(error) }
    })?;
    let action = |stage: Stage| decisions.iter().find(|it| it.stage == stage).map(|it| it.action);
    let is_to_do = |stage: Stage| matches!(action(stage), Some(Action::Run | Action::Depends));
    let mut plans = Vec::new();
    let mut planned = |stage: Stage, environments: Option<usize>| {
        let asked = match (settings.shards, environments) {
            (Some(count), _) => count,
            (None, Some(environments)) => Division::Environments(settings.environments).count(environments),
            (None, None) => UNKNOWN,
        };
        if asked > most {
            notes.push(format!("{stage}: {asked} shards are packed into {most}, Slurm's MaxArraySize"));
        }
        let path = ShardPlan::usual_path(plan, stage);
        let mut divided = Divided { path: path.clone(), shards: asked.min(most), to_do: None };
        // What a stage before it still has to make is not known now.
        if action(stage) == Some(Action::Run) && !plan.parents(stage).into_iter().any(is_to_do) {
            let division = Division::Shards(divided.shards);
            let shards = plan_shards(file, set, workspace, stage, options.compute, division)?;
            divided.to_do = Some(standing_of(&shards, plan).to_do());
            plans.push((path, shards));
        }
        Ok::<_, Error>(divided)
    };
    let generate = match &plan.source {
        Source::Generate(it) if is_to_do(Stage::Generate) => {
            let environments = generate::environments(it, plan.seed)?.iter().map(|(_, count, _)| count).sum();
            Some(planned(Stage::Generate, Some(environments))?)
        }
        _ => None,
    };
    let estimate = match is_to_do(Stage::Estimate) {
        true => Some(planned(Stage::Estimate, estimated_environments(plan, &is_to_do)?)?),
        false => None,
    };
    let (device, engine) = (options.compute.device.to_string(), options.compute.engine.to_string());
    let calls = Calls { pipeline: file, set, workspace, device, engine };
    let jobs = jobs(plan, &decisions, &calls, generate.as_ref(), estimate.as_ref());
    let scripts = jobs.iter().map(|job| script(plan, &settings, job)).collect::<Result<Vec<_>, _>>()?;
    Ok(Submission { decisions, jobs: jobs.into_iter().zip(scripts).collect(), notes, plans })
}

/// Environments that will be estimated, where that is known before the dataset is made.
fn estimated_environments(plan: &Plan, is_to_do: &dyn Fn(Stage) -> bool) -> Result<Option<usize>, Error> {
    let splits = plan.estimate.as_ref().map(|it| it.splits.clone()).unwrap_or_default();
    match &plan.source {
        Source::Generate(it) => {
            let of_splits = generate::environments(it, plan.seed)?.into_iter().filter(|it| splits.contains(&it.0));
            Ok(Some(of_splits.map(|(_, count, _)| count).sum()))
        }
        Source::Import(_) if is_to_do(Stage::Import) => Ok(None),
        Source::Import(_) => {
            let dataset = Dataset::open(&plan.dataset_directory)?;
            let of_splits = splits.iter().filter_map(|split| dataset.manifest().splits.get(split));
            Ok(Some(of_splits.map(|summary| summary.environments).sum()))
        }
    }
}

fn script(plan: &Plan, settings: &SlurmSettings, job: &Job) -> Result<String, Error> {
    let here = env::current_dir().map_err(Error::io(Path::new(".")))?;
    let program = env::current_exe().map_err(Error::io(Path::new("paramill")))?;
    let own = match job.stage {
        Some(Stage::Generate) => settings.generate.clone(),
        Some(Stage::Train) => settings.train.clone(),
        Some(Stage::Estimate) => settings.estimate.clone(),
        _ => JobSettings::default(),
    };
    let task = if job.tasks.is_some() { "%A_%a" } else { "%j" };
    let log = here.join(Submitted::folder(plan)).join("logs").join(format!("{}-{task}.log", job.name));
    let with_program = |words: &Vec<String>| [vec![program.display().to_string()], words.clone()].concat();
    let commands: Vec<Vec<String>> = job.commands.iter().map(with_program).collect();
    let name = &Submitted::name_in_slurm(plan, &job.name);
    let job = &settings.of_job(&own);
    Ok(Script { name, settings, job, directory: &here, log: &log, commands: &commands }.text())
}

impl Submission {
    /// The arguments of `sbatch` for a job, where the jobs `before` it have these ids.
    pub fn arguments(job: &Job, before: &[String], at_once: Option<u32>) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(tasks) = &job.tasks {
            let at_once = at_once.map_or_else(String::new, |count| format!("%{count}"));
            arguments.push(format!("--array={}{at_once}", as_ranges(tasks)));
        }
        let dependency = match (job.tells_of_failure, before.last()) {
            (true, _) => {
                // One that failed is enough; those after it, which are cancelled, count as failed too.
                Some(before.iter().map(|id| format!("afternotok:{id}")).collect::<Vec<_>>().join("?"))
            }
            (false, last) => last.map(|id| format!("afterok:{id}")),
        };
        if let Some(dependency) = dependency {
            arguments.push(format!("--dependency={dependency}"));
            // What waits for a job that failed would wait for ever.
            arguments.push("--kill-on-invalid-dep=yes".to_owned());
        }
        arguments
    }
}

/// Writes plans and scripts, and submits the jobs.
///
/// # Errors
/// If jobs of an earlier submission are still there, a file cannot be written, or Slurm refuses a job; those that it took before are then
/// cancelled by their dependencies or do what they were to do.
pub fn submit(plan: &Plan, submission: &Submission) -> Result<Submitted, Error> {
    if let Some(before) = Submitted::read(plan) {
        let queue = client::queue()?;
        let ids: BTreeMap<u64, &str> =
            before.in_queue(&queue).into_iter().map(|it| (it.job, it.name.as_str())).collect();
        if !ids.is_empty() {
            let jobs = ids.keys().map(u64::to_string).collect::<Vec<_>>().join(" ");
            return Err(Error::Submitted { jobs });
        }
    }
    let folder = Submitted::folder(plan);
    let logs = folder.join("logs");
    disk::create_directories(&logs).map_err(Error::io(&logs))?;
    for (path, shards) in &submission.plans {
        shards.write(path)?;
    }
    let at_once = plan.slurm.as_ref().and_then(|settings| settings.at_once);
    let mut submitted = Submitted { time: now(), jobs: Vec::new() };
    for (job, text) in &submission.jobs {
        let script = folder.join(format!("{}.sh", job.name));
        atomic::write_file(&script, text.as_bytes()).map_err(Error::io(&script))?;
        let before: Vec<String> = submitted.jobs.iter().map(|before: &SubmittedJob| before.id.to_string()).collect();
        let mut arguments = Submission::arguments(job, &before, at_once);
        arguments.push(script.display().to_string());
        let id = client::submit(&arguments)?;
        let slurm_name = Submitted::name_in_slurm(plan, &job.name);
        let tasks = job.tasks.as_ref().map(Vec::len);
        submitted.jobs.push(SubmittedJob { name: job.name.clone(), slurm_name, id, tasks, script });
        // After each, so that whatever comes next can find those that Slurm has.
        submitted.write(plan)?;
    }
    Ok(submitted)
}
