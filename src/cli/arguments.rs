//! The arguments, and the help that explains them.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::check_arguments::Check;
use super::choices::{executor, finite, positive};
use super::compare_arguments::Compare;
use super::compute_arguments::ComputeArguments;
use super::dataset_arguments::DatasetCommand;
use super::estimate_arguments::Estimate;
use super::log_arguments::LogArguments;
use super::model_arguments::ModelCommand;
use super::report_arguments::{Report, Results};
use super::score_arguments::Score;
use super::shard_arguments::ShardCommand;
use super::status_arguments::Status;
use crate::engine::HAS_TORCH;
use crate::pipeline::{ExecutorChoice, Stage};

const VERSION: &str = match HAS_TORCH {
    true => concat!(env!("CARGO_PKG_VERSION"), " (with libtorch)"),
    false => concat!(env!("CARGO_PKG_VERSION"), " (without libtorch)"),
};

const EXIT_CODES: &str = "\
Exit codes:
  0        done
  1        the machine failed: a full disk, a missing permission
  2        usage or configuration: a pipeline, an argument or a path is wrong
  3        bad data: a dataset, an archive or a model is not what it should be
  4        finished, but some environments failed, or files of a growing archive cannot be read
  5        training diverged, or all environments failed
  6        another run holds the lock, or is in Slurm's queue
  7        kept for a new model that is not good enough to replace the old one
  8        something would run, says `run --dry-run`; nothing was done
  75       a shard was stopped by SIGTERM; what was finished is kept, and it is to be run again
  129      interrupted by SIGHUP (the terminal was closed); what was finished is kept
  130, 143 interrupted by SIGINT (Ctrl-C) or SIGTERM; what was finished is kept

Example:
  paramill run pipelines/lv-demo.toml";

/// Learns one dynamics model from many related systems and reads each system's physical parameters off it.
#[derive(Debug, Parser)]
#[command(version = VERSION, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Print nothing but results, warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Estimate(Estimate),
    Status(Status),
    #[command(subcommand)]
    Shard(ShardCommand),
    #[command(subcommand)]
    Model(ModelCommand),
    Import(Import),
    Predict(Predict),
    Score(Score),
    Check(Check),
    Show(Show),
    Report(Report),
    Results(Results),
    Compare(Compare),
    Schema(Schema),
    List(List),
    #[command(subcommand)]
    Dataset(DatasetCommand),
    Reference(Reference),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// Whether errors are to be JSON too.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Command::Run(command) => command.json,
            Command::Estimate(command) => command.json,
            Command::Status(command) => command.json,
            Command::Shard(command) => command.wants_json(),
            Command::Model(command) => command.wants_json(),
            Command::Predict(command) => command.json,
            Command::Score(command) => command.json,
            Command::Check(command) => command.json,
            Command::Show(command) => command.json,
            Command::Compare(command) => command.json,
            Command::Report(_)
            | Command::Results(_)
            | Command::Schema(_)
            | Command::Import(_)
            | Command::Reference(_)
            | Command::Completions(_)
            | Command::Man(_) => false,
            Command::List(command) => command.json,
            Command::Dataset(DatasetCommand::Diff(command)) => command.json,
            Command::Dataset(DatasetCommand::Regenerate(command)) => command.json,
            Command::Dataset(DatasetCommand::Publish(command)) => command.json,
            Command::Dataset(DatasetCommand::Verify(command)) => command.json,
            Command::Dataset(DatasetCommand::Show(command)) => command.json,
            Command::Dataset(
                DatasetCommand::Seal(_)
                | DatasetCommand::Merge(_)
                | DatasetCommand::Split(_)
                | DatasetCommand::Export(_),
            ) => false,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  paramill run pipelines/lv-demo.toml
  paramill run pipelines/lv-demo.toml --set train.steps=2000 --workspace runs/short
  paramill run pipelines/lv-demo.toml --stage estimate --force estimate
  paramill run pipelines/lv-demo.toml --dry-run
  paramill run pipelines/paper/locality-lv.toml --cell full-l2--seed-0
  paramill run pipelines/lv-demo.toml --executor slurm --dry-run
  paramill run pipelines/lv-demo.toml --quiet --wait --log-format json --log-file logs/lv-demo.log";

/// Run a pipeline: the stages in order, leaving out those that are up to date
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// Replace one setting; VALUE is TOML, and a bare word is a string
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Do only this stage; its inputs must be there
    #[arg(long, value_name = "NAME")]
    pub stage: Vec<Stage>,
    /// Do this stage even if it is up to date
    #[arg(long, value_name = "NAME")]
    pub force: Vec<Stage>,
    /// Of a sweep, do only this cell
    #[arg(long, value_name = "NAME")]
    pub cell: Vec<String>,
    /// Say what would run and why, or print the scripts for Slurm, and do nothing; exit with 8 if something would run
    #[arg(long)]
    pub dry_run: bool,
    /// Where everything but the dataset goes [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub compute: ComputeArguments,
    /// Threads to compute with [default: all cores, or those of the Slurm job]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What makes the stages: local, this process, or slurm, jobs that it submits [default: the pipeline's `executor`]
    #[arg(long, value_name = "NAME", value_parser = executor)]
    pub executor: Option<ExecutorChoice>,
    /// Wait for a run that holds a lock, as long as it takes, instead of ending with 6
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    /// Print the result, or the error, as one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub log: LogArguments,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  paramill predict pipelines/lv-demo.toml --environment adapt-00000
  paramill predict pipelines/lv-demo.toml --environment adapt-00000 --initial x=1,y=2 --until 20
  paramill predict pipelines/lv-demo.toml --parameters beta=0.6,delta=0.8 --initial x=1,y=2 --to forecast.csv
  paramill predict cells.toml --environment cell4 --trajectory 2 --inputs future.csv
  paramill predict cells.toml --environment cell4 --inputs future.csv --origin 2024-03-01T12:00:00Z
  paramill predict doses.toml --environment subject-7 --start initial --until 240 --every 0.5

With a trained model the band is where the trajectory lies with 95 %, by what is not known of the context. It knows neither the noise of a new \
measurement nor the error of the start: that is the last complete sample as it was measured, or, where estimate.initial_state = \"estimated\", \
the last state that was fitted. JSON and a line on stderr say which.

By equations (estimate.method = \"physics\") the estimates must have been made. There are columns for channels, hidden states and outputs. \
NAME_lower and NAME_upper hold the trajectory with 95 %: they know the covariance of the parameters and, with it, the error of a fitted start; \
with --start observed the noise of the sample; a given state counts as exact. NAME_measured_lower and _upper also know the noise of a new \
measurement. An end of a band that is unknown is empty, and the column `reason` says why. Up to the last sample of the trajectory, signals and \
doses are those of the dataset. Of doses, resets and intervals of steady states the table of inputs has the sum of what is given more, from the \
start of the forecast on; without a table nothing more is given.

The table of inputs is written as the archive is: [import.table] says its delimiter, decimals, comments, missing values, time zone and \
format. Its columns are the time (`time`, or as in the archive) and one an input, by its name or as in the archive; of an input that \
events make, the signal they make. A unit in a header (`valve [%]`, `time (min)`) is converted; without one, values are in the dataset's. \
Each input may have rows of its own, with the others empty. A time is a number that counts as the dataset does, or anything that --origin \
places.";

/// Forecast an environment, or a system with given parameters, with a trained model or by fitted equations: a table with bands
#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES, group(ArgGroup::new("whom").required(true).args(["environment", "parameters"])))]
pub(crate) struct Predict {
    /// The pipeline file, which has been run
    pub pipeline: PathBuf,
    /// Forecast this environment: of the dataset, whose context is fitted to its trajectories, or of the estimates by equations
    #[arg(long, value_name = "ID")]
    pub environment: Option<String>,
    /// Forecast a system with these parameters, by the inverse of the context-to-parameter map, or by the equations, those of trajectories included
    #[arg(long, value_name = "NAME=VALUE,..", allow_hyphen_values = true)]
    pub parameters: Option<String>,
    /// By equations: of several systems the one with these parameters [default: the one that has exactly them]
    #[arg(long, value_name = "NAME", requires = "parameters")]
    pub system: Option<String>,
    /// Go on from this trajectory of the environment [default: its first that has a complete sample]
    #[arg(long, value_name = "ID", requires = "environment", conflicts_with = "initial")]
    pub trajectory: Option<String>,
    /// State to start from, instead of the end of a trajectory
    #[arg(long, value_name = "NAME=VALUE,..", allow_hyphen_values = true)]
    pub initial: Option<String>,
    /// By equations: start at the end of the fitted trajectory, where it starts, or at its last complete sample [default: fitted]
    #[arg(long, value_name = "WHERE", requires = "environment", conflicts_with = "initial")]
    pub start: Option<StartChoice>,
    /// Time of the initial state [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = finite)]
    pub from: Option<f64>,
    /// Time to forecast to, which is the last one, also where the last step is then shorter [default: as long as a training trajectory, or as the one that is gone on from]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = finite)]
    pub until: Option<f64>,
    /// Time between samples [default: as in training, or the median of the trajectory]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub every: Option<f64>,
    /// Table of the inputs over time, where the model has any: CSV, Parquet or HDF5 (see below)
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// The time in that table at which the trajectory's is 0: a time stamp, or a number
    #[arg(long, value_name = "TIME", requires = "inputs", allow_hyphen_values = true)]
    pub origin: Option<String>,
    /// Write the table here instead of to stdout
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Replace one setting of the pipeline
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where the run is [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// JSON instead of CSV
    #[arg(long)]
    pub json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  paramill show pipelines/lv-demo.toml
  paramill show datasets/lv-demo
  paramill show my-system.toml
  paramill show runs/lv-demo/estimates
  paramill show runs/lv-demo/models/lv-demo --json
  paramill show lv-demo.tar";

/// Show a pipeline with every default filled in, a system's equations, a table of estimates, or what a dataset or model says of
/// itself
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct Show {
    /// A pipeline or system file, a directory with a manifest.json, or the bundle of a model
    pub path: PathBuf,
    /// Replace one setting of the pipeline
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  paramill import --guess archive/tanks.csv > tanks.toml
  paramill import --guess archive/
  paramill import --guess petab/problem.yaml
  paramill import --guess fields/gray_scott.hdf5

Then correct tanks.toml, and: paramill check tanks.toml; paramill run tanks.toml";

/// Write a first mapping of an archive, to start a pipeline from: its [import] section, with comments
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// A table (CSV, Parquet, HDF5), a folder with one table an environment, the YAML file of a PEtab problem, or fields on a grid
    /// (HDF5, netCDF-4, .npy, .npz)
    #[arg(long, value_name = "FILE", required = true)]
    pub guess: PathBuf,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  paramill schema
  paramill schema pipeline
  paramill schema --write schemas";

/// Print the JSON Schema of a file that Paramill reads or writes
#[derive(Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct Schema {
    /// Which schema; without it, the names of all
    pub name: Option<String>,
    /// Write every schema to DIR/NAME.json
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub write: Option<PathBuf>,
}

const LIST_EXAMPLES: &str = "\
Examples:
  paramill list systems
  paramill list rules --json";

/// List what a pipeline can name
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct List {
    /// What to list
    pub what: Listed,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const REFERENCE_EXAMPLES: &str = "\
Examples:
  paramill reference settings
  paramill reference --write docs/reference";

/// Print a page of the reference, in Markdown, or write all pages
#[derive(Debug, Args)]
#[command(after_help = REFERENCE_EXAMPLES)]
pub(crate) struct Reference {
    /// The page
    #[arg(required_unless_present = "write")]
    pub page: Option<ReferencePage>,
    /// Write every page to DIR/PAGE.md
    #[arg(long, value_name = "DIR", conflicts_with = "page")]
    pub write: Option<PathBuf>,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  paramill completions bash > ~/.local/share/bash-completion/completions/paramill
  paramill completions zsh > ~/.zfunc/_paramill
  paramill completions fish > ~/.config/fish/completions/paramill.fish

A new shell then completes commands, options and their values. Zsh looks in ~/.zfunc where ~/.zshrc has `fpath+=~/.zfunc` before `compinit`.";

/// Print the script that completes commands and options in a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    pub shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  paramill man | man -l -
  paramill man --write ~/.local/share/man/man1";

/// Print the manual page, or write one of every command
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct Man {
    /// Write every page to DIR: paramill.1, paramill-run.1 and so on
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
}

// Without words for each, which would spread all of the help over more lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StartChoice {
    #[default]
    Fitted,
    Initial,
    Observed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Systems that [generate] can simulate
    Systems,
    /// Models that [train] can fit
    Models,
    /// Rules that adapt a model to an environment
    Rules,
    /// Engines that compute rollouts
    Engines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferencePage {
    /// The commands and their options
    CommandLine,
    /// What a pipeline file may say
    Settings,
    /// The built-in systems, and the solvers
    Systems,
}

impl ValueEnum for Stage {
    fn value_variants<'a>() -> &'a [Self] {
        &Stage::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()))
    }
}
