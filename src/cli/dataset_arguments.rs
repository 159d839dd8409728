//! The arguments of `paramill dataset`, and their help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::check_arguments::Check;
use crate::dataset::ExportFormat;

const VERIFY_EXAMPLES: &str = "\
Example:
  paramill dataset verify datasets/lv-sample

Every problem is reported. The exit code is 3 if there is any, else 0.";

/// Look into datasets, verify, compare, merge, split and export them, or make one again
#[derive(Debug, Subcommand)]
pub(crate) enum DatasetCommand {
    Show(ShowDataset),
    /// Verify datasets: digests, shapes, order of times, duplicates, leaks between splits
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(Check),
    Seal(Seal),
    Merge(Merge),
    Split(SplitDataset),
    Export(Export),
    Diff(Diff),
    Regenerate(Regenerate),
    Publish(Publish),
}

const SEAL_EXAMPLES: &str = "\
Example:
  paramill dataset seal datasets/lv-demo

Readers refuse a dataset whose README.md is not as it was recorded; everything else must be as it was written.";

/// Record README.md of a dataset as it now is, after an edit
#[derive(Debug, Args)]
#[command(after_help = SEAL_EXAMPLES)]
pub(crate) struct Seal {
    /// The dataset
    pub dataset: PathBuf,
}

const SHOW_DATASET_EXAMPLES: &str = "\
Examples:
  paramill dataset show datasets/lv-demo
  paramill dataset show datasets/lv-demo --plot trajectories.svg";

/// Show what a dataset says of itself, the ranges of its channels, and how its parameters cover theirs
#[derive(Debug, Args)]
#[command(after_help = SHOW_DATASET_EXAMPLES)]
pub(crate) struct ShowDataset {
    /// The dataset
    pub dataset: PathBuf,
    /// Draw some trajectories of its first split (of fields: their means in space), as .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const MERGE_EXAMPLES: &str = "\
Example:
  paramill dataset merge datasets/spring datasets/autumn --to datasets/year

The datasets have the same channels, parameters, grid and units, and no trajectory in common.";

/// Make one dataset of several; every trajectory stays as it is, to the bit
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct Merge {
    /// The datasets
    #[arg(required = true, num_args = 2..)]
    pub datasets: Vec<PathBuf>,
    /// Where to put the whole; nothing may be there
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
}

const SPLIT_DATASET_EXAMPLES: &str = "\
Example:
  paramill dataset split datasets/lv-demo --environments train-00000,train-00001 --to datasets/two --rest datasets/others";

/// Make one or two datasets of some environments and of all others; every trajectory stays as it is, to the bit
#[derive(Debug, Args)]
#[command(after_help = SPLIT_DATASET_EXAMPLES)]
pub(crate) struct SplitDataset {
    /// The dataset
    pub dataset: PathBuf,
    /// Ids of environments, in whatever split they are
    #[arg(long, value_name = "ID,ID..", value_delimiter = ',', required = true)]
    pub environments: Vec<String>,
    /// Where to put these environments; nothing may be there
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Where to put all others; nothing may be there
    #[arg(long, value_name = "DIR")]
    pub rest: Option<PathBuf>,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  paramill dataset export datasets/lv-demo --to /tmp/lv-demo-csv
  paramill dataset export datasets/gs --format pdebench --to /tmp/gs-pdebench

Formats:
  csv       SPLIT.csv: a row a sample (of fields: a row a sample and point)
  netcdf    SPLIT.nc: netCDF-4 with coordinates and units, for xarray and netCDF4
  pdebench  SPLIT.hdf5: `tensor` [trajectory, time, x, y, channel] (without a grid [trajectory, time, channel]) and its coordinates

Often no export is needed: hdf5/*.h5 of a dataset opens in netCDF4, xarray and The Well's loader, data/*.parquet in polars, duckdb and the
Hugging Face library.";

/// Write a dataset in the format of others: one file a split
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct Export {
    /// The dataset
    pub dataset: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub format: ExportFormat,
    /// The directory to write the files into; nothing may be there
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
}

const DIFF_EXAMPLES: &str = "\
Example:
  paramill dataset diff datasets/lv-demo datasets/lv-grid

The exit code is 0 if they hold the same, 3 if they differ. Name, description and provenance are told, and count with --provenance.";

/// Say what differs between two datasets: what they say of themselves, and every trajectory
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(crate) struct Diff {
    /// The first dataset
    pub a: PathBuf,
    /// The second dataset
    pub b: PathBuf,
    /// Count a difference of name, description or provenance as one
    #[arg(long)]
    pub provenance: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const REGENERATE_EXAMPLES: &str = "\
Example:
  paramill dataset regenerate datasets/lv-demo --to /tmp/lv-demo

The exit code is 0 if every byte is the same, 3 if not.";

/// Simulate a dataset again from its manifest alone, and compare it with the original
#[derive(Debug, Args)]
#[command(after_help = REGENERATE_EXAMPLES)]
pub(crate) struct Regenerate {
    /// The dataset
    pub dataset: PathBuf,
    /// Where to put it; nothing may be there
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Threads to compute with [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the result, or the error, as one JSON object
    #[arg(long)]
    pub json: bool,
}

const PUBLISH_EXAMPLES: &str = "\
Example:
  paramill dataset publish --check datasets/lv-demo

What the Hugging Face hub, an archive such as Zenodo and readers of Croissant would miss is told, all at once: what is not said, licences
that are no usual SPDX identifiers, a day of publication that has not come; and whether the files are whole. The exit code is 3 if there is anything, else 0. Uploading is left to their own tools.";

/// Say what a hub or an archive would miss of a dataset
#[derive(Debug, Args)]
#[command(after_help = PUBLISH_EXAMPLES)]
pub(crate) struct Publish {
    /// Check alone, which is all that is done
    #[arg(long, required = true)]
    pub check: bool,
    /// The dataset
    #[arg(value_name = "DIR")]
    pub dataset: PathBuf,
    /// Print what is missing as one JSON object
    #[arg(long)]
    pub json: bool,
}

impl ValueEnum for ExportFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &ExportFormat::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name))
    }
}
