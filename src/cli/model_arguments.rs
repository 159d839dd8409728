//! The arguments of `paramill model`, and their help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Look at the versions of a pipeline's model, which are kept where `run.models` is above zero
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    List(ListVersions),
    Show(ShowVersion),
}

const LIST_EXAMPLES: &str = "\
Example:
  paramill model list pipelines/lv-demo.toml";

/// List the versions of the model, the oldest first, with the one in use
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListVersions {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// Where the run is [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  paramill model show pipelines/lv-demo.toml
  paramill model show pipelines/lv-demo.toml 2024-03-01T021743.120Z-1a2b3c4d --json";

/// Show a version of the model: how it was trained, and when it came into use and why
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowVersion {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// The version; its name may be shortened at either end
    #[arg(default_value = "current")]
    pub version: String,
    /// Where the run is [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
