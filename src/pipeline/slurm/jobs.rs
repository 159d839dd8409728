//! The jobs of a run: what each does, and after which.

use std::path::{Path, PathBuf};

use super::script::TASK;
use crate::estimate::Method;
use crate::pipeline::decide::{Action, Decision};
use crate::pipeline::plan::Plan;
use crate::pipeline::stage::Stage;

/// One job, or an array of them. It begins when the one before has ended well, or tells of those that did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name, unique in the run: `generate`, `train`, `estimate-merge`.
    pub name: String,
    /// The stage whose settings of Slurm it has, if it has any of its own.
    pub stage: Option<Stage>,
    /// The numbers of its tasks, if it is an array.
    pub tasks: Option<Vec<usize>>,
    /// What it runs, one after the other: the program's arguments.
    pub commands: Vec<Vec<String>>,
    /// Whether it begins as soon as any of those before has failed, and not otherwise.
    pub tells_of_failure: bool,
}

/// What the program is called with, in the jobs of one run.
pub(crate) struct Calls<'a> {
    pub pipeline: &'a Path,
    pub set: &'a [String],
    pub workspace: Option<&'a PathBuf>,
    pub device: String,
    pub engine: String,
}

/// A stage that is divided.
#[derive(Clone, Debug)]
pub(crate) struct Divided {
    /// Where its plan is or will be.
    pub path: PathBuf,
    pub shards: usize,
    /// The shards that are to be made, if the plan is there already.
    pub to_do: Option<Vec<usize>>,
}

impl Calls<'_> {
    fn words(&self, command: &[&str], more: &[&str]) -> Vec<String> {
        let mut words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        words.push(self.pipeline.display().to_string());
        words.extend(self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
        words.extend(self.workspace.iter().flat_map(|it| ["--workspace".to_owned(), it.display().to_string()]));
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// Device and engine, as they were asked for.
    fn compute(&self) -> [&str; 4] {
        ["--device", &self.device, "--engine", &self.engine]
    }

    fn run(&self, stages: &[Stage]) -> Vec<String> {
        let mut more = [&self.compute()[..], &["--executor", "local"]].concat();
        stages.iter().for_each(|stage| more.extend(["--stage", stage.name()]));
        if !stages.is_empty() {
            // The whole run at the end tells how it went; that a part of it went well is no news.
            more.extend(["--set", "run.on_success=[]"]);
        }
        self.words(&["run"], &more)
    }

    fn plan(&self, divided: &Divided) -> Vec<String> {
        let (shards, path) = (divided.shards.to_string(), divided.path.display().to_string());
        let more = ["--stage", "estimate", "--shards", &shards, "--to", &path];
        self.words(&["shard", "plan"], &[&self.compute()[..], &more].concat())
    }
}

/// The jobs that make what is to be made by these decisions; none if nothing is.
pub(crate) fn jobs(
    plan: &Plan,
    decisions: &[Decision],
    calls: &Calls<'_>,
    generate: Option<&Divided>,
    estimate: Option<&Divided>,
) -> Vec<Job> {
    let is_to_do = |stage: Stage| {
        let decided = decisions.iter().find(|it| it.stage == stage).map(|it| it.action);
        matches!(decided, Some(Action::Run | Action::Depends))
    };
    let mut jobs: Vec<Job> = Vec::new();
    let single = |name: &str, stage: Option<Stage>, commands: Vec<Vec<String>>| Job {
        name: name.to_owned(),
        stage,
        tasks: None,
        commands,
        tells_of_failure: false,
    };
    let of_shards = |stage: Stage, divided: &Divided, jobs: &mut Vec<Job>| {
        let plan = divided.path.display().to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let tasks = divided.to_do.clone().unwrap_or_else(|| (0..divided.shards).collect());
        if !tasks.is_empty() {
            let commands = vec![words(&["shard", "run", &plan, TASK])];
            let name = stage.to_string();
            jobs.push(Job { name, stage: Some(stage), tasks: Some(tasks), commands, tells_of_failure: false });
        }
        jobs.push(single(&format!("{stage}-merge"), None, vec![words(&["shard", "merge", &plan])]));
    };
    if let Some(divided) = generate.filter(|_| is_to_do(Stage::Generate)) {
        of_shards(Stage::Generate, divided, &mut jobs);
    }
    if is_to_do(Stage::Import) {
        jobs.push(single("import", None, vec![calls.run(&[Stage::Import])]));
    }
    let of_model: Vec<Stage> = [Stage::Train, Stage::Map].into_iter().filter(|stage| plan.has(*stage)).collect();
    if of_model.iter().any(|stage| is_to_do(*stage)) {
        jobs.push(single("train", Some(Stage::Train), vec![calls.run(&of_model)]));
    }
    if let Some(divided) = estimate.filter(|_| is_to_do(Stage::Estimate)) {
        if divided.to_do.is_none() {
            let planning = calls.plan(divided);
            let by_model = plan.estimate.as_ref().is_some_and(|it| it.method == Method::Learned);
            match jobs.last_mut().filter(|_| !by_model) {
                Some(before) => before.commands.push(planning),
                // Not in the job that trains: a GPU would wait for it.
                None => jobs.push(single("estimate-plan", None, vec![planning])),
            }
        }
        of_shards(Stage::Estimate, divided, &mut jobs);
    }
    if !jobs.is_empty() || is_to_do(Stage::Report) {
        // A run of everything finds all stages but the report up to date, and leaves its record.
        match jobs.last_mut().filter(|job| job.name == "estimate-merge") {
            Some(last) => last.commands.push(calls.run(&[])),
            None => jobs.push(single("finish", None, vec![calls.run(&[])])),
        }
    }
    let somebody_listens = !plan.run.on_failure.is_empty() || plan.run.metrics.is_some();
    if !jobs.is_empty() && somebody_listens {
        let commands = vec![calls.words(&["shard", "failed"], &[])];
        jobs.push(Job { tells_of_failure: true, ..single("failure", None, commands) });
    }
    jobs
}
