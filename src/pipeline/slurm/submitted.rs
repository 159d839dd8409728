//! The jobs that a run has submitted: `slurm/jobs.json` in the workspace.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::client::Queued;
use crate::atomic;
use crate::pipeline::error::Error;
use crate::pipeline::plan::Plan;
use crate::pipeline::stage::Stage;
use crate::regular;

/// A job that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedJob {
    /// Its name in the run.
    pub name: String,
    /// Its name in Slurm.
    pub slurm_name: String,
    /// Its id, which Slurm may give to another one later.
    pub id: u64,
    /// Number of its tasks, if it is an array.
    pub tasks: Option<usize>,
    /// The file of its script.
    pub script: PathBuf,
}

/// The jobs of the last run that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// When (UTC).
    pub time: String,
    /// In the order in which they begin.
    pub jobs: Vec<SubmittedJob>,
}

impl Submitted {
    /// Where what a run submits is: scripts, logs, and this.
    pub(crate) fn folder(plan: &Plan) -> PathBuf {
        plan.workspace.join("slurm")
    }

    /// The jobs that were submitted last; `None` if there are none that this version can read.
    pub fn read(plan: &Plan) -> Option<Self> {
        serde_json::from_slice(&regular::read(&Submitted::folder(plan).join("jobs.json")).ok()?).ok()
    }

    pub(crate) fn write(&self, plan: &Plan) -> Result<(), Error> {
        let path = Submitted::folder(plan).join("jobs.json");
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from).map_err(Error::io(&path))?;
        atomic::write_file(&path, format!("{text}\n").as_bytes()).map_err(Error::io(&path))
    }

    /// Those of `queue` that are of these jobs: by id and name, as ids alone say nothing.
    pub(crate) fn in_queue<'a>(&self, queue: &'a [Queued]) -> Vec<&'a Queued> {
        let is_ours = |it: &&Queued| self.jobs.iter().any(|job| job.id == it.job && job.slurm_name == it.name);
        queue.iter().filter(is_ours).collect()
    }

    /// The name in Slurm of the job of this name in the run of `plan`.
    pub(crate) fn name_in_slurm(plan: &Plan, name: &str) -> String {
        format!("paramill-{}-{name}", plan.name)
    }

    /// The tasks of the array of `stage` that run, and those that wait.
    pub(crate) fn tasks(&self, plan: &Plan, stage: Stage, queue: &[Queued]) -> (Vec<usize>, Vec<usize>) {
        let name = Submitted::name_in_slurm(plan, stage.name());
        let of_stage = self.in_queue(queue).into_iter().filter(|it| it.name == name);
        let (running, waiting): (Vec<&Queued>, Vec<&Queued>) = of_stage.partition(|it| it.runs);
        let tasks = |all: Vec<&Queued>| {
            let mut tasks: Vec<usize> = all.into_iter().filter_map(|it| it.task).collect();
            tasks.sort_unstable();
            tasks
        };
        (tasks(running), tasks(waiting))
    }
}
