//! A dose, a feed or a switching.

use crate::import::rows::source_lines::SourceLine;
use crate::import::tables::clock::Moment;

/// An event of one input in one trajectory; times are in the dataset's unit.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub time: f64,
    pub amount: f64,
    /// How many equal rows it stands for.
    pub copies: u64,
    pub moment: Moment,
    /// Where its row stands, if in a file of the table.
    pub line: Option<SourceLine>,
    /// When its pulse begins: at its time, or earlier if the pulse ends there.
    pub begins: f64,
}

impl Event {
    /// When its pulse of this duration ends.
    pub(super) fn ends(&self, duration: f64) -> f64 {
        if self.begins < self.time { self.time } else { self.time + duration }
    }
}

/// Events in the order in which their pulses begin; equal events become one with the sum of their amounts.
pub(crate) fn merged(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| a.begins.total_cmp(&b.begins).then(a.amount.total_cmp(&b.amount)));
    let equal = events.chunk_by(|a, b| a.begins == b.begins && a.time == b.time && a.amount == b.amount);
    let sum = |all: &[Event]| Event {
        amount: all[0].amount * all.iter().map(|event| event.copies).sum::<u64>() as f64,
        copies: 1,
        ..all[0].clone()
    };
    equal.map(sum).collect()
}
