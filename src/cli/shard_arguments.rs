//! The arguments of `paramill shard`, and their help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::compute_arguments::ComputeArguments;
use crate::pipeline::Stage;

/// Make a stage on several machines that see one file system: divide it, make the shards, wherever and however often, and put them together. The
/// result is that of one machine, byte for byte, whatever the number of shards
#[derive(Debug, Subcommand)]
pub(crate) enum ShardCommand {
    Plan(PlanShards),
    Run(RunShards),
    Merge(MergeShards),
    Failed(FailedShards),
}

impl ShardCommand {
    /// Whether errors are to be JSON too.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            ShardCommand::Plan(command) => command.json,
            ShardCommand::Run(command) => command.json,
            ShardCommand::Merge(command) => command.json,
            ShardCommand::Failed(command) => command.json,
        }
    }
}

const PLAN_EXAMPLES: &str = "\
Examples:
  paramill shard plan pipelines/lv-demo.toml --shards 8
  paramill shard plan pipelines/lv-demo.toml --stage estimate --environments 500 --json

Relative paths begin in the current directory, here and where the shards are made.";

/// Divide a stage: write a plan that says which trajectories belong to which shard, made from what
#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct PlanShards {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// The stage, generate or estimate [default: the first of them that is not up to date]
    #[arg(long, value_name = "NAME")]
    pub stage: Option<Stage>,
    /// Number of shards; some are empty where there are fewer environments
    #[arg(long, value_name = "N", conflicts_with = "environments", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub shards: Option<u32>,
    /// Environments of a shard [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub environments: Option<u32>,
    /// Where the plan goes [default: shards/STAGE.json in the workspace]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Replace one setting; VALUE is TOML, and a bare word is a string
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where everything but the dataset goes [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub compute: ComputeArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const RUN_EXAMPLES: &str = "\
Examples:
  paramill shard run runs/lv-demo/shards/estimate.json 3
  paramill shard run runs/lv-demo/shards/estimate.json 0-3,7
  paramill shard run runs/lv-demo/shards/estimate.json missing

A shard that is done is done again at no cost, and one that was stopped goes on behind its finished blocks. The exit code is 75 after SIGTERM: \
what was finished is kept, and the same command is to be given again.";

/// Make shards: leaves finished blocks in the workspace
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunShards {
    /// The plan
    pub plan: PathBuf,
    /// Which shards: numbers and ranges of them, from 0, or `missing`
    pub index: String,
    /// Threads to compute with [default: all cores, or those of the Slurm job]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the result, or the error, as one JSON object
    #[arg(long)]
    pub json: bool,
}

const MERGE_EXAMPLES: &str = "\
Example:
  paramill shard merge runs/lv-demo/shards/estimate.json

If shards are missing, it says which, and ends with 2. A product that is up to date is left alone.";

/// Put the shards of a plan together: makes what one machine would have made
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct MergeShards {
    /// The plan
    pub plan: PathBuf,
    /// Threads to compute with [default: all cores, or those of the Slurm job]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the result, or the error, as one JSON object
    #[arg(long)]
    pub json: bool,
}

const FAILED_EXAMPLES: &str = "\
Example:
  paramill shard failed pipelines/lv-demo.toml

A run by Slurm calls it in a job that begins only if another one has failed, where `run.on_failure` or `run.metrics` is set; any other \
scheduler can do the same. Where a run has told of its failure since the jobs were submitted, nothing is done.";

/// Tell that jobs of a run failed for good: leaves the record of the run and its metrics, and calls `run.on_failure`
#[derive(Debug, Args)]
#[command(after_help = FAILED_EXAMPLES)]
pub(crate) struct FailedShards {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// Replace one setting, as in the run
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where everything but the dataset goes [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print the result, or the error, as one JSON object
    #[arg(long)]
    pub json: bool,
}
