//! `[[import.events]]` of a pipeline: rows that are doses, feeds or switchings, as inputs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::{Condition, Names};
use crate::schema::{Between, Input, Quantity};

/// An input made of events: rows of the table that meet `rows`, or all rows of a file of their own that do.
///
/// Such rows are no samples, and the conditions of `[import.table]` do not concern them. Events of one time act together. A trajectory
/// without any has the input all the same.
///
/// ```toml
/// [[import.events]]
/// name = "dose"
/// unit = "mg"
/// column = "AMT"
/// rows.EVID = [1, 101]
/// shape = "cumulative"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventInput {
    /// Name in the dataset.
    pub name: String,
    /// Unit of the input in UDUNITS spelling: of an amount (`cumulative`), of an amount a time (`pulse`), of a time (`since`).
    pub unit: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// What the events make of the input.
    pub shape: Shape,
    /// Column of the amounts, for `cumulative` and `pulse`.
    #[serde(default)]
    pub column: Option<String>,
    /// Unit of the amounts in the file, where their header does not say it.
    #[serde(default)]
    pub column_unit: Option<String>,
    /// How long a `pulse` takes, in `import.time_unit`.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Option<f64>,
    /// Value of `since` before a trajectory's first event, in `unit`. Without it states from before are refused.
    #[serde(default)]
    pub before: Option<f64>,
    /// What the cells of a row must be for it to be such an event.
    #[serde(default)]
    pub rows: BTreeMap<String, Condition>,
    /// Path inside `directory` of a file of the events' own; without it they stand in the table.
    #[serde(default)]
    pub file: Option<String>,
    /// What separates the cells of that file, if not that of the table.
    #[serde(default)]
    pub delimiter: Option<String>,
    /// Column, or columns, that identify the environment in that file, if not those of the table.
    #[serde(default)]
    pub environment: Names,
    /// Column, or columns, that identify the trajectory in that file. Without it an event acts in every trajectory of its environment.
    #[serde(default)]
    pub trajectory: Names,
    /// Column of the times in that file, if not that of the table.
    #[serde(default)]
    pub time: Option<String>,
}

/// Which came first of a sample and an event of the very same time.
///
/// It matters where a pulse stands for an amount given at once: where its `duration` is at most a fiftieth of the time between the sample
/// and the nearest other one of the record. Then a sample after the event sees the whole amount: the pulse ends at its time, where else it
/// begins. Of a longer pulse nothing has acted at that time, whichever came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EqualTimes {
    /// That whose row stands first in the file. Of two samples before and after an event, the first moves to where the pulse begins.
    Rows,
    /// The sample, which sees nothing of the event.
    SampleFirst,
    /// The event, of which the sample sees all.
    EventFirst,
}

/// What events make of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The amount divided by `duration`, from the event on for that long; what overlaps adds up. An infusion.
    Pulse,
    /// The sum of all amounts so far.
    Cumulative,
    /// The time since the last event.
    Since,
}

impl Shape {
    pub(crate) fn between(self) -> Between {
        match self {
            Shape::Pulse | Shape::Cumulative => Between::Hold,
            Shape::Since => Between::Linear,
        }
    }
}

impl EventInput {
    pub(crate) fn input(&self) -> Input {
        Input { quantity: Quantity::new(&self.name, &self.unit, &self.description), between: self.shape.between() }
    }

    /// The unit that the amounts are converted into.
    pub(crate) fn amount_unit(&self, time_unit: &str) -> String {
        match self.shape {
            Shape::Pulse => format!("({}).({time_unit})", self.unit),
            Shape::Cumulative | Shape::Since => self.unit.clone(),
        }
    }
}
