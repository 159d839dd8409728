//! What the columns of a table look like.

use std::collections::BTreeSet;

use crate::import::cell::{Cell, Flaw, Writing, is_time_stamp};
use crate::import::problem::Problems;
use crate::import::source::Source;
use crate::import::unit::{Unit, split_header};
use crate::progress::Interrupt;

/// Rows that are looked at, as a request to stop is seen after them.
const ROWS: usize = 1 << 14;

/// Different values of a column that are kept, and different spellings of what is no number.
const VALUES: usize = 1 << 12;
const MARKERS: usize = 16;
const FEW_MARKERS: usize = 2;

pub(super) const TIMES: &[&str] =
    &["time", "t", "timestamp", "date", "datetime", "day", "days", "hour", "hours", "seconds", "minutes", "week"];
pub(super) const ENVIRONMENTS: &[&str] = &[
    "environment",
    "env",
    "environment_id",
    "id",
    "subject",
    "patient",
    "experiment",
    "simulationconditionid",
    "tank",
    "device",
    "ball",
    "animal",
    "sample",
    "unit",
    "well",
    "cell",
    "battery",
    "site",
    "station",
];
pub(super) const TRAJECTORIES: &[&str] =
    &["trajectory", "trajectory_id", "run", "trial", "replicate", "replicateid", "rep", "repeat", "drop", "cycle"];
pub(super) const CHANNELS: &[&str] = &[
    "channel",
    "variable",
    "observable",
    "observableid",
    "species",
    "signal",
    "sensor",
    "what",
    "measure",
    "quantity",
    "name",
    "key",
];
pub(super) const VALUE_NAMES: &[&str] =
    &["value", "measurement", "individuals", "amount", "reading", "result", "count", "y", "dv"];

/// Columns of event tables that say what is given, where, and how.
pub(super) const DOSES: &[&str] = &["amt", "cmt", "mdv", "rate", "ii", "addl", "ss"];

/// What a column looks like.
pub(super) struct Look {
    pub header: String,
    pub name: String,
    pub unit: Option<String>,
    pub numbers: usize,
    pub stamps: usize,
    pub texts: usize,
    pub values: BTreeSet<String>,
    /// Rows whose cell differs from that of the row before.
    pub changes: usize,
    pub last: String,
    /// Spellings among numbers of what is none.
    pub strange: BTreeSet<String>,
}

impl Look {
    /// Mostly numbers; in short columns a few markers of missing values are no small part.
    pub fn is_number(&self) -> bool {
        let others = self.texts + self.stamps;
        self.numbers > 0 && (self.numbers >= 4 * others || self.numbers > others && self.strange.len() <= FEW_MARKERS)
    }

    pub fn is_called(&self, names: &[&str]) -> bool {
        names.contains(&self.name.to_lowercase().as_str())
    }

    /// The unit of a column of times, in brackets or after `_`, where it is called one.
    pub fn unit_of_time(&self) -> Option<&str> {
        let (name, ending) = self.name.split_once('_').unwrap_or((&self.name, ""));
        let unit =
            self.unit.as_deref().unwrap_or(if TIMES.contains(&name.to_lowercase().as_str()) { ending } else { "" });
        Unit::parse(unit).and(Some(unit))
    }
}

/// Looks at the first rows.
pub(super) fn look(source: &mut Source, decimal_comma: bool, problems: &mut Problems) -> Vec<Look> {
    let writing = Writing::new(if decimal_comma { "," } else { "." }, &[]);
    let look = |header: &String| {
        let (name, unit) = split_header(header);
        Look {
            header: header.clone(),
            name: name.to_owned(),
            unit: unit.map(str::to_owned),
            numbers: 0,
            stamps: 0,
            texts: 0,
            values: BTreeSet::new(),
            changes: 0,
            last: String::new(),
            strange: BTreeSet::new(),
        }
    };
    let mut looks: Vec<Look> = source.header.iter().map(look).collect();
    let stop = Interrupt::new();
    let mut rows = 0;
    source.rows(&stop, problems, |row, _| {
        rows += 1;
        if rows == ROWS {
            stop.request(2);
        }
        for (column, look) in looks.iter_mut().enumerate() {
            let cell = row.cell(column);
            if rows > 1 && cell.text() != look.last {
                look.changes += 1;
            }
            cell.text().as_ref().clone_into(&mut look.last);
            match writing.number(cell) {
                Ok(_) => look.numbers += 1,
                Err(_) if cell == Cell::Missing => {}
                Err(Flaw::TimeStamp) => look.stamps += 1,
                Err(_) if matches!(cell, Cell::Text(text) if is_time_stamp(text)) => look.stamps += 1,
                Err(_) => look.texts += 1,
            }
            if writing.number(cell).is_err() && cell != Cell::Missing && look.strange.len() < MARKERS {
                look.strange.insert(cell.text().into_owned());
            }
            if cell != Cell::Missing && look.values.len() < VALUES {
                look.values.insert(cell.text().into_owned());
            }
        }
    });
    looks
}
