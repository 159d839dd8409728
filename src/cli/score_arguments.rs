//! The arguments of `paramill score`, and their help.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  paramill score datasets/lv-demo predictions
  paramill score datasets/lv-demo predictions --json

Files of the directory, each CSV or Parquet (.csv, .parquet), and each left out with its figures:
  test              environment, trajectory, time and the channels: a row a sample of the test split
  adapt_test        the same of the adapt_test split
  parameters_grid   environment and the parameters: a row an environment; or parameters_adapt

Of fields, test.h5 and adapt_test.h5 are as in hdf5/ of the dataset, with predictions in the channels.

What is missing, or is no number, is told, and leaves its figure without a value; the exit code is then 3.";

/// Score predictions that anyone made of a dataset, by the definitions of the program's own figures
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Score {
    /// The dataset
    pub dataset: PathBuf,
    /// The directory with the tables of predictions
    pub predictions: PathBuf,
    /// Print the figures and all problems, or the error, as one JSON object
    #[arg(long)]
    pub json: bool,
}
