//! A dose, a feed or a switching.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::events::{Events, pulse};
use super::report::Counts;
use crate::dataset::Parent;
use crate::digest::sha256_of_file;
use crate::import::rows::columns::TableColumns;
use crate::import::rows::header_units::Units;
use crate::import::rows::marks::{Marked, find_of_events};
use crate::import::rows::places::Place;
use crate::import::rows::row::RowReader;
use crate::import::rows::store::{Store, Track};
use crate::import::rows::unmet::Unmet;
use crate::import::rows::unread_marks::UnreadMarks;
use crate::import::settings::Settings;
use crate::import::settings::events::{EventInput, Shape};
use crate::import::settings::forms::Condition;
use crate::import::tables::cell::Writing;
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::{Source, syntax};
use crate::problems::{Kind, Problem, Problems, listing};
use crate::progress::Interrupt;
use crate::schema::Between;
use crate::signals::Signal;
use crate::units::{Conversion, Unit};

/// An event that acts in a trajectory, at a time in the dataset's unit.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub time: f64,
    pub amount: f64,
    /// Equal rows that it stands for.
    pub copies: u64,
    pub moment: Moment,
    /// Where its row stands, if that is a file of the table.
    pub place: Option<Place>,
    /// Where its pulse begins: at its time, or before it where the pulse ends there.
    pub begins: f64,
}

impl Event {
    /// Where its pulse of some duration ends.
    pub(crate) fn ends(&self, duration: f64) -> f64 {
        if self.begins < self.time { self.time } else { self.time + duration }
    }
}

/// Events in the order in which they begin to act; equal ones are one of all their amounts.
pub(crate) fn together(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| a.begins.total_cmp(&b.begins).then(a.amount.total_cmp(&b.amount)));
    let equal = events.chunk_by(|a, b| a.begins == b.begins && a.time == b.time && a.amount == b.amount);
    let sum = |all: &[Event]| Event {
        amount: all[0].amount * all.iter().map(|event| event.copies).sum::<u64>() as f64,
        copies: 1,
        ..all[0].clone()
    };
    equal.map(sum).collect()
}
