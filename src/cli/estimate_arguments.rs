//! The arguments of `paramill estimate`, and their help.

use std::path::PathBuf;

use clap::Args;

use super::choices::not_negative;
use super::compute_arguments::ComputeArguments;
use super::log_arguments::LogArguments;
use crate::archive::Selector;

const ESTIMATE_EXAMPLES: &str = "\
Examples:
  paramill estimate --model runs/tanks/models/tanks --data tanks.toml --table estimates/tanks
  paramill estimate --model runs/tanks/models/tanks --data tanks.toml --table estimates/tanks --again failed
  paramill estimate --data cups.toml --table estimates/cups --json

TABLE/adapt.parquet has a row for every environment that was ever in the archive. Besides the columns of other estimates it says which \
files and lines each row was made from, by which model and settings, and when. Files whose size and time of change are as they were are \
not read again. A changed file changes the rows whose data changed; rows of files that are gone stay, and the files are named.

The mapping is a pipeline, or a file with no more than its [import] and [estimate]; [train] and the splits have no say. Without --model, \
[estimate] has `method = \"physics\"` and equations. A file that cannot be read is named and tried again the next time, and the rest is \
estimated. The exit code is 4 if there is such a file or some of the environments that were estimated now failed, 5 if all did; with \
--dry-run 8 if some would be estimated.";

/// Estimate what is new in an archive, by a model of before or by equations: one table that grows
#[derive(Debug, Args)]
#[command(after_help = ESTIMATE_EXAMPLES)]
pub(crate) struct Estimate {
    /// The mapping of the archive: a pipeline file, or its [import] alone
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    /// The table of estimates, a directory; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub table: PathBuf,
    /// A trained model: its directory, or the bundle that `paramill model pack` makes
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// Also estimate rows again whose data are as they were: `failed`, `other-model`, `all`, or those of a status
    #[arg(long, value_name = "WHICH,..", value_delimiter = ',')]
    pub again: Vec<Selector>,
    /// A file that was changed less than so many seconds ago may still be being written, and waits for the next time
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = not_negative)]
    pub settle: f64,
    /// Replace one setting of the mapping
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Only say what would be estimated
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub compute: ComputeArguments,
    /// Threads to compute with [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub log: LogArguments,
}
