//! `[import.table]` of a pipeline: how the files with the trajectories are read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::{Condition, Names};

/// The files with the trajectories.
///
/// CSV is UTF-8 text: a header, then one row a sample; a byte-order mark, quoted cells, any line ends, gzip and zstd are read. Parquet and
/// HDF5 files (netCDF-4 and MATLAB 7.3 too) are told by their content. A variable in a group has its path as name, or its own where that is the
/// only one; groups of the same variables are told apart by a column `group`. Attributes of netCDF are obeyed.
///
/// Rows of different trajectories may interleave in any order. Ids are taken as text (`1` and `1.0` differ), without
/// blanks around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Path of the file inside `directory`, or a list of them. `*` and `?` stand for any characters and any one; `{environment}` and
    /// `{trajectory}` stand for characters that are the id of what is in the file: `{environment}.csv`, `tank-{environment}/*.csv.gz`.
    pub file: Names,
    /// What separates cells: one character, or `whitespace` for any run of blanks.
    #[serde(default = "comma")]
    pub delimiter: String,
    /// What separates whole from parts of a number: `.` or `,`. Separators of thousands are never guessed.
    #[serde(default = "point")]
    pub decimal: String,
    /// The character with which lines to be left out begin, such as `#`.
    #[serde(default)]
    pub comment: Option<String>,
    /// Whether each channel has a column of its own.
    #[serde(default)]
    pub layout: Layout,
    /// Column, or columns, that identify the environment; several are joined with `/`. A file is one environment, of the file's name
    /// without its ending, if neither this nor `{environment}` says otherwise.
    #[serde(default)]
    pub environment: Names,
    /// Column, or columns, that identify the trajectory within its environment; several are joined with `/`. One trajectory `1` per
    /// environment if neither this nor `{trajectory}` says otherwise.
    #[serde(default)]
    pub trajectory: Names,
    /// Column of the sample times, with or without the unit that stands in its header: numbers, elapsed times
    /// (`26:30:00`, `1 days 02:30:00`, `PT26H30M`), or time stamps (ISO 8601).
    pub time: String,
    /// Unit of the numbers in the column of times, where its header does not say it and it is not `import.time_unit`.
    #[serde(default)]
    pub time_column_unit: Option<String>,
    /// How time stamps are written that are not ISO 8601, such as `%d.%m.%Y %H:%M:%S`; or elapsed times, of `%H`, `%M` and `%S` alone.
    #[serde(default)]
    pub time_format: Option<String>,
    /// Zone of time stamps that do not say theirs, such as `UTC` or `Europe/Paris`.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// Where time is zero. Time stamps without it count from the first sample of their trajectory.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Longest time, in `import.time_unit`, between two samples of one trajectory: it is cut where they are further apart, into
    /// trajectories `ID.1`, `ID.2`, and so on.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub split_gap: Option<f64>,
    /// Longest duration of a trajectory, in `import.time_unit`: a longer one is cut into trajectories `ID.1`, `ID.2`, and so on, each with an
    /// initial state of its own. For records too long to be followed from their first sample.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub split_length: Option<f64>,
    /// In a long table, the column that names the channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// In a long table, the column that holds the channel's value.
    #[serde(default)]
    pub value: Option<String>,
    /// In a long table, names of channels to leave out.
    #[serde(default)]
    pub ignored_channels: Vec<String>,
    /// Rows to keep: what a cell of a column must be. `rows.EVID = 0`, `rows.species = ["hare", "lynx"]`, `rows.flag = { not = "bad" }`.
    #[serde(default)]
    pub rows: BTreeMap<String, Condition>,
    /// Spellings of a missing value of a channel, such as `NA` or `-999`, beside the empty cell and fill values of netCDF. A number is met however it is written.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What to do where time falls within a trajectory.
    #[serde(default)]
    pub disorder: Disorder,
    /// What to do where a channel has two values at one time of a trajectory.
    #[serde(default)]
    pub duplicates: Duplicates,
}

pub(crate) fn comma() -> String {
    ",".to_owned()
}

pub(crate) fn point() -> String {
    ".".to_owned()
}

/// How channels are laid out in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// A column a channel.
    #[default]
    Wide,
    /// One column names the channel, another holds its value. Values of one trajectory belong to one sample where their times are the same number.
    Long,
}

/// Where time is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// At the zero of the numbers; for time stamps, at the beginning of 1970 (UTC).
    File,
    /// At the first sample of each trajectory.
    First,
}

/// What to do where time falls within a trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disorder {
    /// Refuse the data: a fall of time often is a reset clock, or two trajectories under one id.
    #[default]
    Error,
    /// Put the samples in the order of time: the order of rows means nothing.
    Sort,
}

/// What to do where a channel has two values at one time of a trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Refuse the data: often two trajectories stand under one id.
    #[default]
    Error,
    /// Take the mean of the values.
    Mean,
    /// Take the value that comes first in the file.
    First,
    /// Take the value that comes last in the file.
    Last,
}
