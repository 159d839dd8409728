//! The arguments that say what becomes of the lines of a run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How a line is written: as plain text, or as a JSON object with time, level, stage, event and message.
// The variants are documented here because clap would put a paragraph for each into the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// How lines are written to stderr and to the log file; in JSON, each is an object with time, level, stage, event and message
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,
    /// Append every line to this file too, with --quiet as well
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Size at which another log file begins; the one before is FILE.1 then, an older one FILE.2
    #[arg(long, value_name = "MB", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub log_size: u64,
    /// Log files to keep, with the one that is written
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub log_files: u32,
}
