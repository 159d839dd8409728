//! `[import]` of a pipeline.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// How archived CSV files become a dataset.
///
/// ```toml
/// [import]
/// dataset = "ball-drops"
/// directory = "../shared/data/ball_drops"
/// time_unit = "s"
///
/// [import.table]
/// file = "ball_drops.csv"
/// environment = "ball"
/// trajectory = "drop"
/// time = "time_s"
///
/// [[import.channels]]
/// column = "height_m"
/// name = "height"
/// unit = "m"
///
/// [import.side_table]
/// file = "balls.txt"
/// delimiter = "whitespace"
/// key = "ball"
/// unknown = ["??"]
/// rename = { golfball = "Golf Ball" }
///
/// [[import.parameters]]
/// name = "mass"
/// unit = "kg"
/// expression = "{weight(oz)} * 0.028349523125"
///
/// [import.splits]
/// adapt = ["Golf Ball"]
/// validation = { trajectories = ["2"] }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of the dataset: letters, digits, `-`, `_` and `.`.
    pub dataset: String,
    /// Folder of the source files, relative to the current directory or absolute.
    pub directory: String,
    /// One sentence for the card.
    #[serde(default)]
    pub description: String,
    /// Licence of the data: an SPDX expression, or `unknown`.
    #[serde(default = "unknown_license")]
    pub license: String,
    /// Unit of all times, in UDUNITS spelling.
    pub time_unit: String,
    pub table: Table,
    /// What is kept of the table, in the order of the dataset's channels.
    pub channels: Vec<Channel>,
    /// What is known of each environment besides its trajectories.
    #[serde(default)]
    pub side_table: Option<SideTable>,
    /// The known parameters, computed from the side table.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Which environments train and which are estimated, and which trajectories are held out.
    pub splits: Splits,
}

fn unknown_license() -> String {
    "unknown".to_owned()
}

/// The file with the trajectories: a header, then one row a sample. UTF-8; a byte-order mark, quoted cells and any line ends are read.
///
/// Rows of different trajectories may interleave in any order. Ids are taken as text (`1` and `1.0` differ), without
/// blanks around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Path of the file inside `directory`.
    pub file: String,
    /// What separates cells: one character, or `whitespace` for any run of blanks.
    #[serde(default = "comma")]
    pub delimiter: String,
    /// Whether each channel has a column of its own.
    #[serde(default)]
    pub layout: Layout,
    /// Column, or columns, that identify the environment; several are joined with `/`. The whole file is one environment if absent.
    #[serde(default)]
    pub environment: Columns,
    /// Column, or columns, that identify the trajectory within its environment; several are joined with `/`. One trajectory `1` per environment if absent.
    #[serde(default)]
    pub trajectory: Columns,
    /// Column of the sample times.
    pub time: String,
    /// In a long table, the column that names the channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// In a long table, the column that holds the channel's value.
    #[serde(default)]
    pub value: Option<String>,
    /// In a long table, names of channels to leave out.
    #[serde(default)]
    pub ignored_channels: Vec<String>,
    /// Spellings of a missing value of a channel, such as `NA` or `-999`, beside the empty cell. A number is met however it is written.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What to do where time falls within a trajectory.
    #[serde(default)]
    pub disorder: Disorder,
    /// What to do where a channel has two values at one time of a trajectory.
    #[serde(default)]
    pub duplicates: Duplicates,
}

fn comma() -> String {
    ",".to_owned()
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

/// No column, one column, or several: in TOML a string or a list of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Columns(pub Vec<String>);

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveral;

        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = Columns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column, or a list of such names")
            }

            fn visit_str<E>(self, name: &str) -> Result<Columns, E> {
                Ok(Columns(vec![name.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Columns, A::Error> {
                let mut columns = Vec::new();
                while let Some(name) = names.next_element()? {
                    columns.push(name);
                }
                Ok(Columns(columns))
            }
        }

        deserializer.deserialize_any(OneOrSeveral)
    }
}

impl JsonSchema for Columns {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a column, or a list of such names.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
        })
    }
}

/// A channel of the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Column of a wide table; in a long one, what stands in the column that names the channel.
    pub column: String,
    /// Name in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none).
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
}

/// A file with a header and one row an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideTable {
    /// Path of the file inside `directory`.
    pub file: String,
    /// What separates cells: one character, or `whitespace` for any run of blanks.
    #[serde(default = "comma")]
    pub delimiter: String,
    /// Column that identifies the environment.
    pub key: String,
    /// Cells that stand for an unknown value; a parameter computed from one is unknown.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// Environment ids by key, where the side table spells them otherwise.
    #[serde(default)]
    pub rename: BTreeMap<String, String>,
}

/// A known parameter. An environment with an unknown value trains and is estimated like any other; only the map ignores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none).
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Arithmetic over columns of the side table: `+ - * / ^`, brackets, numbers, `pi`, `sqrt`, `exp`, `ln`, `log10`, `abs`.
    ///
    /// A column whose name is not a plain word stands in braces: `{weight(oz)} * 0.028349523125`.
    pub expression: String,
}

/// Which environments train and which are estimated, and which trajectories are held out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Splits {
    /// Environments to estimate; all others train.
    pub adapt: Vec<String>,
    /// Trajectories of training environments that choose the model. Needed: a model chosen on what it was fitted to is overfitted.
    pub validation: Selection,
    /// Trajectories of training environments that are only ever reported.
    pub test: Selection,
    /// Trajectories of environments to estimate that their estimate must not see, and that are only ever reported.
    pub adapt_test: Selection,
    /// Seed of the draws; needed where a `fraction` is set.
    pub seed: Option<u64>,
}

/// A choice of trajectories, by id or by lot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Trajectory ids, `TRAJECTORY` for that of every environment or `ENVIRONMENT/TRAJECTORY` for one.
    pub trajectories: Vec<String>,
    /// Instead of ids, the share of each environment's trajectories to draw: at least one where there are several, never all.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub fraction: Option<f64>,
}

impl Selection {
    /// Whether it asks for any trajectory.
    pub fn is_empty(&self) -> bool {
        self.trajectories.is_empty() && self.fraction.is_none()
    }
}
