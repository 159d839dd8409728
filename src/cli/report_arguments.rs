//! The arguments of `paramill report`.

use std::path::PathBuf;

use clap::Args;

const REPORT_EXAMPLES: &str = "\
Examples:
  paramill report pipelines/lv-demo.toml
  paramill report pipelines/lv-demo.toml --open

With --open the page is given to the program in the environment variable BROWSER, or else to xdg-open (to open on macOS).";

/// Print where the report of a pipeline is, or show it in a browser
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct Report {
    /// The pipeline file, which has been run
    pub pipeline: PathBuf,
    /// Show the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Replace one setting of the pipeline
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where the run is [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

const RESULTS_EXAMPLES: &str = "\
Examples:
  paramill results runs/lv-dimension/sweep.json
  paramill results results/*.json > RESULTS.md";

/// Print a page in Markdown of the results of sweeps, each with its tables
#[derive(Debug, Args)]
#[command(after_help = RESULTS_EXAMPLES)]
pub(crate) struct Results {
    /// The results: `sweep.json` of the workspaces of sweeps, or copies
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}
