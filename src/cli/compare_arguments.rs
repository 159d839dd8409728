//! The arguments of `paramill compare`.

use std::path::PathBuf;

use clap::Args;

const COMPARE_EXAMPLES: &str = "\
Examples:
  paramill compare runs/lv-0 runs/lv-1 runs/wide --to wide-or-not
  paramill compare runs/lv-demo runs/lv-grid --json

Runs that differ in their seed only are told together: mean, and in brackets the standard deviation over seeds. Datasets that were simulated with \
other seeds count as the same data; runs on other data stand by themselves. Each run must have trained or estimated.";

/// Compare runs: their errors side by side, the settings in which they differ, statuses, and training curves over one another
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct Compare {
    /// The workspaces of two runs or more, such as runs/lv-demo
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Write a page, index.html, and comparison.json to this directory
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Print the comparison as one JSON object
    #[arg(long)]
    pub json: bool,
}
