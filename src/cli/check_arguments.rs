//! The arguments of `paramill check`, which `paramill dataset verify` takes too.

use std::path::PathBuf;

use clap::Args;

const CHECK_EXAMPLES: &str = "\
Examples:
  paramill check pipelines/*.toml
  paramill check datasets/lv-demo

The exit code is 2 if a pipeline has problems, else 3 if data have, else 0.";

/// Check pipelines, datasets, models, estimates: every problem, with its place and remedy
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// Pipeline or system files, or directories of datasets, models or estimates
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Replace one setting of the pipelines
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print the problems as one JSON object
    #[arg(long)]
    pub json: bool,
}
