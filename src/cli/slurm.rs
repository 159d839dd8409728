//! `paramill run --executor slurm`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::output::{table, warn};
use crate::pipeline::submit as hand_in;
use crate::pipeline::{Error, Job, Options, Plan, Submission, prepare};

/// Exit code of a dry run that found something to do.
pub(crate) const WOULD_RUN: u8 = 8;

/// What is to be submitted.
pub(crate) struct Asked<'a> {
    /// The pipeline file that the jobs name.
    pub file: &'a Path,
    pub set: &'a [String],
    pub workspace: Option<&'a PathBuf>,
    pub dry_run: bool,
}

/// What came of it, in both ways of telling.
pub(crate) struct Answer {
    pub exit_code: u8,
    pub text: String,
    pub json: Value,
}

/// Submits the jobs of a run, or has their scripts.
pub(crate) fn submit(command: &Asked<'_>, plan: &Plan, options: &Options) -> Result<Answer, Error> {
    let arguments = (command.file, command.set, command.workspace);
    let submission = prepare(plan, arguments, options, command.dry_run)?;
    warn(&submission.notes);
    if submission.jobs.is_empty() || command.dry_run {
        let is_nothing = submission.jobs.is_empty();
        let text = match is_nothing {
            true => "nothing to submit: every stage is up to date\n".to_owned(),
            false => scripts(plan, &submission),
        };
        let exit_code = if is_nothing { 0 } else { WOULD_RUN };
        return Ok(answer(plan, &submission, json!(shown(plan, &submission)), text, exit_code));
    }
    let submitted = hand_in(plan, &submission)?;
    let mut rows = vec![["job", "what", "tasks"].map(str::to_owned).to_vec()];
    rows.extend(submitted.jobs.iter().map(|job| {
        let tasks = job.tasks.map_or_else(|| "-".to_owned(), |tasks| tasks.to_string());
        vec![job.id.to_string(), job.name.clone(), tasks]
    }));
    Ok(answer(plan, &submission, json!(submitted.jobs), table(&rows), 0))
}

fn answer(plan: &Plan, submission: &Submission, jobs: Value, text: String, exit_code: u8) -> Answer {
    let json = json!({
        "pipeline": plan.name,
        "workspace": plan.workspace,
        "stages": submission.decisions,
        "jobs": jobs,
        "warnings": submission.notes,
        "exit_code": exit_code,
    });
    Answer { exit_code, text, json }
}

/// Each job with the arguments of `sbatch`, in which the name of the job before stands for its id.
fn with_arguments<'a>(plan: &Plan, submission: &'a Submission) -> Vec<(&'a Job, &'a str, Vec<String>)> {
    let at_once = plan.slurm.as_ref().and_then(|settings| settings.at_once);
    let mut before: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for (job, script) in &submission.jobs {
        all.push((job, script.as_str(), Submission::arguments(job, &before, at_once)));
        before.push(format!("<{}>", job.name));
    }
    all
}

fn shown(plan: &Plan, submission: &Submission) -> Vec<Value> {
    let all = with_arguments(plan, submission).into_iter();
    let job = |(job, script, arguments): (&Job, &str, Vec<String>)| json!({ "name": job.name, "arguments": arguments, "script": script });
    all.map(job).collect()
}

fn scripts(plan: &Plan, submission: &Submission) -> String {
    let all = with_arguments(plan, submission).into_iter();
    let job = |(job, script, arguments): (&Job, &str, Vec<String>)| {
        let arguments: String = arguments.iter().map(|argument| format!(" {argument}")).collect();
        format!("# sbatch{arguments} {}.sh\n{script}", job.name)
    };
    all.map(job).collect::<Vec<_>>().join("\n")
}
