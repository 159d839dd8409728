//! `[import]` of a pipeline: how archived files become a dataset.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::events::{EqualTimes, EventInput};
use super::fields::Fields;
use super::forms::{Braces, Names};
use super::side_table::{Parameter, SideTable};
use super::splits::Splits;
use super::table::Table;
use crate::dataset::Publication;
use crate::schema::{Between, Input, Quantity};

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
    /// Description for the card, in one sentence.
    #[serde(default)]
    pub description: String,
    /// Licence of the data: an SPDX expression, or `unknown`.
    #[serde(default = "unknown_license")]
    pub license: String,
    /// Who made the dataset, and how it is cited, for those who find it where it is published.
    #[serde(default, skip_serializing_if = "Publication::is_empty")]
    pub publication: Publication,
    /// Unit of all times, in UDUNITS spelling.
    pub time_unit: String,
    /// The files with the trajectories, where these are tables.
    #[serde(default, skip_serializing_if = "Table::is_absent")]
    pub table: Table,
    /// The files with the trajectories, where these are arrays of fields: in place of [[import.table]] and `channels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
    /// The columns of tables to read, in the order of the dataset's channels.
    #[serde(default)]
    pub channels: Vec<Channel>,
    /// Doses, feeds and switching events, as inputs after those among the channels.
    #[serde(default)]
    pub events: Vec<EventInput>,
    /// Which came first where a sample and an event of one record have exactly the same time. It matters only if the event is a brief pulse.
    /// Default: `rows`, if the rows of both are in one file, in order of time; otherwise this must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_equal_times: Option<EqualTimes>,
    /// A table of what is known of each environment.
    #[serde(default)]
    pub side_table: Option<SideTable>,
    /// The known parameters, computed from the side table, or from what files of fields say of them.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Which environments are trained on and which are estimated, and which trajectories are held out.
    pub splits: Splits,
}

fn unknown_license() -> String {
    "unknown".to_owned()
}

/// A channel of the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// In a wide table, the name of the column, with or without the unit in its header. In a long table, the channel's name in the column of
    /// channel names, including a unit at its end: `level (m)`.
    pub column: String,
    /// Name in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none). Values in another unit of the same dimension are converted into it.
    pub unit: String,
    /// Unit in the file, if neither the header nor the channel's name in a long table says it in UDUNITS spelling.
    #[serde(default)]
    pub column_unit: Option<String>,
    /// Its role in the model.
    #[serde(default)]
    pub role: Role,
    /// How an input is interpolated between its samples. Default: `linear`.
    #[serde(default)]
    pub between: Option<Between>,
    /// Whether an input keeps its first and last value however far the states extend beyond its samples, as in a log of changes. Otherwise
    /// they may extend beyond by at most the longest interval between its samples.
    #[serde(default)]
    pub extend: bool,
    /// Description in one sentence.
    #[serde(default)]
    pub description: String,
}

/// The role of a channel in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It is learned and predicted.
    #[default]
    State,
    /// It is left out.
    Ignore,
    /// A known signal that drives the system: given to the model, not predicted by it.
    Input,
}

impl Settings {
    /// The channels that are learned, with their indices among all.
    pub(crate) fn states(&self) -> impl Iterator<Item = (usize, &Channel)> {
        self.of_role(Role::State)
    }

    /// The channels that drive the system, with their indices among all.
    pub(crate) fn driving(&self) -> impl Iterator<Item = (usize, &Channel)> {
        self.of_role(Role::Input)
    }

    /// The channels that are read, states before inputs, with their indices among all.
    pub(crate) fn sampled(&self) -> impl Iterator<Item = (usize, &Channel)> {
        self.states().chain(self.driving())
    }

    /// The channels of the dataset.
    pub(crate) fn state_quantities(&self) -> Vec<Quantity> {
        match &self.fields {
            Some(fields) => fields.quantities(),
            None => self.states().map(|(_, it)| Quantity::new(&it.name, &it.unit, &it.description)).collect(),
        }
    }

    /// The names and patterns of the files with trajectories, what braces in them mean, and the key of that setting.
    pub(crate) fn files(&self) -> (&Names, Braces, &'static str) {
        match &self.fields {
            Some(fields) => (&fields.file, Braces::Value, "import.fields.file"),
            None => (&self.table.file, Braces::Text, "import.table.file"),
        }
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
