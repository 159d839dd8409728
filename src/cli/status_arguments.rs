//! The arguments of `paramill status`.

use std::path::PathBuf;

use clap::Args;

const STATUS_EXAMPLES: &str = "\
Examples:
  paramill status pipelines/lv-demo.toml
  paramill status /srv/tanks/*.toml --json

The states: current, due (it would be made anew), missing, depends (on what a stage before it gives), skipped, blocked (it cannot run as \
things are), running, failed (by the settings and inputs as they are now), interrupted (asked to stop, or killed: the next run goes on from \
there). The cells of a sweep are done, failed or not run, which says why: never run, or what has changed.

The exit code is 0 whatever the states are, and 2 if a pipeline has problems; `paramill run PIPELINE --dry-run` exits with 8 if something \
would run.";

/// Say how pipelines stand: what is up to date, what would run and why, what runs, what stopped, and what to do next
#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub(crate) struct Status {
    /// The pipeline files
    #[arg(required = true, value_name = "PIPELINE")]
    pub pipelines: Vec<PathBuf>,
    /// Replace one setting of the pipelines, as in their runs
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where the run of a single pipeline is [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
