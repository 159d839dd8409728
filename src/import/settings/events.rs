//! `[[import.events]]` of a pipeline: doses, feeds and switching events as inputs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::{Condition, Names};
use crate::schema::{Between, Input, Quantity};

/// An input made of events: the rows that meet `rows`, in the table or in a file of their own.
///
/// These rows are not samples, and the conditions of `[import.table]` do not apply to them. Events at the same time act together. A
/// trajectory without events has the input too.
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
    /// Unit of the input in UDUNITS spelling: of an amount (`cumulative`, `bolus`), an amount per time (`pulse`) or a time (`since`).
    pub unit: String,
    /// Description in one sentence.
    #[serde(default)]
    pub description: String,
    /// The signal that the events make.
    pub shape: Shape,
    /// Column of the amounts, for `cumulative`, `pulse` and `bolus`. A `bolus` without it is 1 for each event, in the unit `1`: a reset, say.
    #[serde(default)]
    pub column: Option<String>,
    /// Unit of the amounts in the file, if the header does not say it.
    #[serde(default)]
    pub column_unit: Option<String>,
    /// Duration of a `pulse`, in `import.time_unit`.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Option<f64>,
    /// Column of the number of additional doses after that of the row, as `ADDL`: none where it is empty or 0, at most 100000. They go on
    /// whatever happens meanwhile. Needs `interval`.
    #[serde(default)]
    pub additional: Option<String>,
    /// Column of the time from a dose to the next additional one, as `II`: in the unit of the times of that file, or in `import.time_unit`
    /// where these are time stamps.
    #[serde(default)]
    pub interval: Option<String>,
    /// Value of `since` before a trajectory's first event, in `unit`. Without it, states observed before that event are refused.
    #[serde(default)]
    pub before: Option<f64>,
    /// Conditions on the rows that are events, by column.
    #[serde(default)]
    pub rows: BTreeMap<String, Condition>,
    /// Path within `directory` of a file with the events; without it, they are rows of the table.
    #[serde(default)]
    pub file: Option<String>,
    /// What separates the cells of that file. Default: that of the table.
    #[serde(default)]
    pub delimiter: Option<String>,
    /// Column, or columns, that identify the environment in that file. Default: those of the table.
    #[serde(default)]
    pub environment: Names,
    /// Column, or columns, that identify the trajectory in that file. Without it, an event acts in every trajectory of its environment.
    #[serde(default)]
    pub trajectory: Names,
    /// Column of the times in that file. Default: that of the table.
    #[serde(default)]
    pub time: Option<String>,
}

/// Which came first of a sample and an event at exactly the same time.
///
/// It matters where a pulse stands for an amount given at once: where its `duration` is at most a fiftieth of the time between the sample
/// and the nearest other sample of the record. A sample after such an event sees the whole amount: the pulse ends at that time instead of
/// beginning there. A longer pulse has had no effect at that time, whichever came first. A `bolus` is such an amount: a sample before it sees
/// nothing of it, and where a sample comes after it, it is given a moment earlier, a billionth of the time to the nearest other sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EqualTimes {
    /// The one whose row comes first in the file. Of two samples around an event, the first moves to the beginning of the pulse.
    Rows,
    /// The sample, which sees no effect of the event.
    SampleFirst,
    /// The event, whose whole effect the sample sees.
    EventFirst,
}

/// The signal that events make, as a function of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The amount divided by `duration`, from the event until that much later; overlapping pulses add up. An infusion.
    Pulse,
    /// The sum of all amounts so far.
    Cumulative,
    /// The time since the last event.
    Since,
    /// The sum of all amounts so far, for equations in which it is a dose that is given at once ([[doses]]), or a reset: what is given at the
    /// beginning of a trajectory counts, what was given earlier does not.
    Bolus,
}

impl Shape {
    /// The interpolation between samples of the signal.
    pub(crate) fn between(self) -> Between {
        match self {
            Shape::Pulse | Shape::Cumulative | Shape::Bolus => Between::Hold,
            Shape::Since => Between::Linear,
        }
    }
}

impl EventInput {
    /// The input of the dataset.
    pub(crate) fn input(&self) -> Input {
        Input { quantity: Quantity::new(&self.name, &self.unit, &self.description), between: self.shape.between() }
    }

    /// Names of the columns that it reads beside what other sections say of the same doses.
    pub(crate) fn of_doses(&self) -> impl Iterator<Item = &String> {
        let is_bolus = self.shape == Shape::Bolus;
        let always = self.additional.iter().chain(&self.interval);
        always.chain(self.column.iter().chain(self.rows.keys()).filter(move |_| is_bolus))
    }

    /// Names of the columns that tell where it resets a system: those of its conditions, where it counts events.
    pub(crate) fn of_resets(&self) -> impl Iterator<Item = &String> {
        self.rows.keys().filter(|_| self.shape == Shape::Bolus && self.column.is_none())
    }

    /// The unit that the amounts are converted into.
    pub(crate) fn amount_unit(&self, time_unit: &str) -> String {
        match self.shape {
            Shape::Pulse => format!("({}).({time_unit})", self.unit),
            Shape::Cumulative | Shape::Since | Shape::Bolus => self.unit.clone(),
        }
    }
}
