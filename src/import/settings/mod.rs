//! `[import]` of a pipeline.

pub(crate) mod forms;
pub(crate) mod events;
pub(crate) mod table;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{Between, Input, Quantity};

pub use events::{EqualTimes, EventInput};
pub use forms::Condition;
pub use table::Table;
use table::{comma, point};

/// How archived files become a dataset.
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
    /// Doses, feeds and switchings, as inputs behind those among the channels.
    #[serde(default)]
    pub events: Vec<EventInput>,
    /// Which came first where a sample and an event of one record have the very same time, and the event is a brief pulse: only then does
    /// it matter. `rows` if this is not said and the rows of both stand in one file, in the order of time; else it must be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_equal_times: Option<EqualTimes>,
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

/// A channel of the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Column of a wide table, with or without the unit that stands in its header; in a long table, what stands in the column that names
    /// the channel, with the unit if it ends in one: `level (m)`.
    pub column: String,
    /// Name in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none). Values in another unit of the same dimension are converted into it.
    pub unit: String,
    /// Unit in the file, where neither its header nor the name of the channel in a long table says it, or says it in words.
    #[serde(default)]
    pub column_unit: Option<String>,
    /// What it is to the model.
    #[serde(default)]
    pub role: Role,
    /// What an input is between two of its samples; `linear` if this is not said.
    #[serde(default)]
    pub between: Option<Between>,
    /// Whether an input keeps its first and last value however far the states run beyond its samples, as in a log of changes. Without it
    /// they may run beyond by the longest interval between two of its samples.
    #[serde(default)]
    pub extend: bool,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
}

/// What a channel is to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It is learned and predicted.
    #[default]
    State,
    /// It is left out.
    Ignore,
    /// It is a known signal that drives the system: the model is told it and does not predict it.
    Input,
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
    /// What separates whole from parts of a number: `.` or `,`.
    #[serde(default = "point")]
    pub decimal: String,
    /// Rows to keep: what a cell of a column must be.
    #[serde(default)]
    pub rows: BTreeMap<String, Condition>,
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
    /// Arithmetic over columns of the side table: `+ - * / ^`, brackets, numbers, `pi`, and the functions that equations may call, such as
    /// `sqrt`, `exp`, `ln`, `log10`, `abs`, `min(a, b)`.
    ///
    /// A column whose name is not a plain word stands in braces: `{weight(oz)} * 0.028349523125`.
    pub expression: String,
}

/// Which environments train and which are estimated, and which trajectories are held out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Splits {
    /// Environments to estimate; all others train. `["*"]` are all: none trains, for an estimate by known equations.
    pub adapt: Vec<String>,
    /// Trajectories of training environments that choose the model. Needed where there are any: a model chosen on what it was fitted to is
    /// overfitted.
    pub validation: Selection,
    /// Trajectories of training environments that are only ever reported.
    pub test: Selection,
    /// Trajectories of environments to estimate that their estimate must not see, and that are only ever reported.
    pub adapt_test: Selection,
    /// Seed of the draws; needed where a `fraction` is set.
    pub seed: Option<u64>,
}

impl Splits {
    /// Whether every environment is estimated and none trains.
    pub fn estimates_all(&self) -> bool {
        self.adapt == ["*"]
    }
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
    /// Instead of whole trajectories, the share of each one's samples to cut off its end: at least two, and two stay. What is cut off is
    /// a trajectory of its own, `ID.last`. For environments with a single trajectory.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub last: Option<f64>,
}

impl Selection {
    /// Whether it asks for any trajectory.
    pub fn is_empty(&self) -> bool {
        self.ways() == 0
    }

    /// In how many ways it chooses; more than one contradict each other.
    pub(crate) fn ways(&self) -> usize {
        [!self.trajectories.is_empty(), self.fraction.is_some(), self.last.is_some()]
            .into_iter()
            .filter(|&way| way)
            .count()
    }
}

impl Settings {
    /// The channels that are learned, with their positions among all.
    pub(crate) fn states(&self) -> impl Iterator<Item = (usize, &Channel)> {
        self.of_role(Role::State)
    }

    /// The channels that drive the system, with their positions among all.
    pub(crate) fn driving(&self) -> impl Iterator<Item = (usize, &Channel)> {
        self.of_role(Role::Input)
    }

    /// The channels that are read, states before inputs.
    pub(crate) fn sampled(&self) -> impl Iterator<Item = (usize, &Channel)> {
        self.states().chain(self.driving())
    }

    /// The channels of the dataset.
    pub(crate) fn state_quantities(&self) -> Vec<Quantity> {
        self.states().map(|(_, it)| Quantity::new(&it.name, &it.unit, &it.description)).collect()
    }

    /// The parameters of the dataset.
    pub(crate) fn parameter_quantities(&self) -> Vec<Quantity> {
        self.parameters.iter().map(|it| Quantity::new(&it.name, &it.unit, &it.description)).collect()
    }

    /// The inputs of the dataset.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Input> {
        let of_channels = self.driving().map(|(_, channel)| Input {
            quantity: Quantity::new(&channel.name, &channel.unit, &channel.description),
            between: channel.between.unwrap_or_default(),
        });
        of_channels.chain(self.events.iter().map(EventInput::input))
    }

    fn of_role(&self, role: Role) -> impl Iterator<Item = (usize, &Channel)> {
        self.channels.iter().enumerate().filter(move |(_, channel)| channel.role == role)
    }
}
