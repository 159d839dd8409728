//! `[import.table]` of a pipeline: how the files with the trajectories are read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::{Condition, Names};

/// The files with the trajectories.
///
/// CSV is UTF-8 text with a header and one row per sample; a byte-order mark, quoted cells, any line ends, gzip and zstd are supported.
/// Parquet and HDF5 files (including netCDF-4 and MATLAB 7.3) are recognised by their content. A variable in a group is named by its path, or
/// by its own name if that is unique; groups of the same variables are told apart by a column `group`. Attributes of netCDF are respected.
///
/// Rows of different trajectories may interleave in any order. Ids are text (`1` and `1.0` differ), trimmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Path of the file within `directory`, or a list of them. `*` matches any characters and `?` any single one; `{environment}` and
    /// `{trajectory}` match characters that are the id of the file's content: `{environment}.csv`, `tank-{environment}/*.csv.gz`.
    pub file: Names,
    /// What separates cells: one character, or `whitespace` for any run of blanks.
    #[serde(default = "comma")]
    pub delimiter: String,
    /// Decimal mark of numbers: `.` or `,`. Thousands separators are not supported.
    #[serde(default = "point")]
    pub decimal: String,
    /// The first character of lines to leave out, such as `#`.
    #[serde(default)]
    pub comment: Option<String>,
    /// Whether each channel has its own column.
    #[serde(default)]
    pub layout: Layout,
    /// Column, or columns, that identify the environment; several are joined with `/`. With neither this nor `{environment}`, each file is one
    /// environment, whose id is the file's name without extension.
    #[serde(default)]
    pub environment: Names,
    /// Column, or columns, that identify the trajectory within its environment; several are joined with `/`. With neither this nor
    /// `{trajectory}`, each environment has one trajectory, `1`.
    #[serde(default)]
    pub trajectory: Names,
    /// Column of the sample times, with or without the unit in its header: numbers, elapsed times (`26:30:00`, `1 days 02:30:00`,
    /// `PT26H30M`), or time stamps (ISO 8601).
    pub time: String,
    /// Unit of the numbers in the column of times, if the header does not say it and it is not `import.time_unit`.
    #[serde(default)]
    pub time_column_unit: Option<String>,
    /// Format of time stamps other than ISO 8601, such as `%d.%m.%Y %H:%M:%S`, or of elapsed times: `%H`, `%M` and `%S` only.
    #[serde(default)]
    pub time_format: Option<String>,
    /// Time zone of time stamps without an offset, such as `UTC` or `Europe/Paris`.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// The zero of time. Default: that of the numbers; for time stamps, the first sample of each trajectory.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Longest time, in `import.time_unit`, between two samples of one trajectory: longer gaps cut it into trajectories `ID.1`, `ID.2`, and
    /// so on.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub split_gap: Option<f64>,
    /// Longest duration of a trajectory, in `import.time_unit`: a longer one is cut into trajectories `ID.1`, `ID.2`, and so on, each with its
    /// own initial state. For records too long to be simulated from their first sample.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub split_length: Option<f64>,
    /// In a long table, the column that names the channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// In a long table, the column of the channel's value.
    #[serde(default)]
    pub value: Option<String>,
    /// In a long table, names of channels to leave out.
    #[serde(default)]
    pub ignored_channels: Vec<String>,
    /// Conditions on the rows to keep, by column: `rows.EVID = 0`, `rows.species = ["hare", "lynx"]`, `rows.flag = { not = "bad" }`.
    #[serde(default)]
    pub rows: BTreeMap<String, Condition>,
    /// Spellings of a missing value, such as `NA` or `-999`, in addition to empty cells and fill values of netCDF. A number matches however it
    /// is written.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What to do if time falls within a trajectory.
    #[serde(default)]
    pub disorder: Disorder,
    /// What to do if a channel has two values at the same time of a trajectory.
    #[serde(default)]
    pub duplicates: Duplicates,
}

impl Table {
    /// Whether there is none: settings that read no table have this.
    pub(crate) fn is_absent(&self) -> bool {
        *self == Table::default()
    }
}

impl Default for Table {
    /// The absent table.
    fn default() -> Self {
        Table {
            file: Names::default(),
            delimiter: comma(),
            decimal: point(),
            comment: None,
            layout: Layout::default(),
            environment: Names::default(),
            trajectory: Names::default(),
            time: String::new(),
            time_column_unit: None,
            time_format: None,
            time_zone: None,
            origin: None,
            split_gap: None,
            split_length: None,
            channel: None,
            value: None,
            ignored_channels: Vec::new(),
            rows: BTreeMap::new(),
            missing: Vec::new(),
            disorder: Disorder::default(),
            duplicates: Duplicates::default(),
        }
    }
}

/// The default delimiter.
pub(crate) fn comma() -> String {
    ",".to_owned()
}

/// The default decimal mark.
pub(crate) fn point() -> String {
    ".".to_owned()
}

/// How channels are laid out in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One column per channel.
    #[default]
    Wide,
    /// One column names the channel, another holds its value. Values of a trajectory with equal times belong to one sample.
    Long,
}

/// The zero of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The zero of the numbers; for time stamps, the beginning of 1970 (UTC).
    File,
    /// The first sample of each trajectory.
    First,
}

/// What to do if time falls within a trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disorder {
    /// Refuse the data: often a clock was reset, or two trajectories share an id.
    #[default]
    Error,
    /// Sort the samples by time: the order of rows has no meaning.
    Sort,
}

/// What to do if a channel has two values at the same time of a trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Refuse the data: often two trajectories share an id.
    #[default]
    Error,
    /// Use the mean of the values.
    Mean,
    /// Use the value that comes first in the file.
    First,
    /// Use the value that comes last in the file.
    Last,
}
