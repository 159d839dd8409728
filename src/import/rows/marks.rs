//! Columns that, by the conventions of NONMEM and Monolix, change what a row means, and that a mapping does not read.
//!
//! Source: NONMEM Users Guide, Part V, chapter 6; Monolix documentation, "Description of column-types".

use crate::units::split_header;

/// A column that changes the meaning of rows in which it is set.
pub(crate) struct Mark {
    /// Its usual names, as [`bare_name`] writes them.
    pub names: &'static [&'static str],
    pub kind: MarkKind,
    /// What a set cell says, for messages.
    pub means: &'static str,
    /// What the user can do about it.
    pub remedy: &'static str,
}

/// Which cells of a marking column matter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    /// Cells of events that are neither empty nor 0.
    Event,
    /// The same, where the row says that its event is repeated, or no column says so.
    EventInterval,
    /// Durations of events that differ from the mapping's.
    EventDuration,
    /// Rates of events that imply another duration than the mapping's.
    EventRate,
    /// Cells of events, if they differ between events.
    EventRoute,
    /// Cells of measurements that are neither empty nor 0.
    Sample,
    /// Cells of measurements, if they differ between measurements.
    SampleQuantity,
    /// Cells of rows read as samples that are neither empty nor 0, whether or not anything was measured.
    Dose,
    /// Cells that reset the system: 3 and 4.
    Reset,
}

const ADDITIONAL: &str =
    "name it in [[import.events]] (`additional` and `interval` for ADDL and II), or write a row for each dose";
const STEADY: &str = "read it by a section of [[import.events]] with `shape = \"bolus\"`, the intervals as its `column` and `rows.SS = 1`, or \
                      write a row for each dose";
const EACH_DURATION: &str = "write a section of [[import.events]] for each duration";

pub(crate) const MARKS: &[Mark] = &[
    Mark {
        names: &["addl"],
        kind: MarkKind::Event,
        means: "additional doses after that of the row",
        remedy: ADDITIONAL,
    },
    Mark {
        names: &["ii"],
        kind: MarkKind::EventInterval,
        means: "an interval at which the dose is repeated",
        remedy: ADDITIONAL,
    },
    Mark {
        names: &["ss"],
        kind: MarkKind::Event,
        means: "a steady state of repeated doses before that of the row",
        remedy: STEADY,
    },
    Mark {
        names: &["rate"],
        kind: MarkKind::EventRate,
        means: "another duration of the infusion",
        remedy: EACH_DURATION,
    },
    Mark {
        names: &["tinf", "dur", "duration"],
        kind: MarkKind::EventDuration,
        means: "another duration of the infusion",
        remedy: EACH_DURATION,
    },
    Mark {
        names: &["time2", "endtime", "timeend", "tend", "stoptime", "tstop"],
        kind: MarkKind::Event,
        means: "a time at which the event ends",
        remedy: EACH_DURATION,
    },
    Mark {
        names: &["cmt", "adm", "route"],
        kind: MarkKind::EventRoute,
        means: "several routes of administration",
        remedy: "write a section of [[import.events]] for each, told apart by `rows`",
    },
    Mark {
        names: &["cens", "censored", "blq", "bloq", "blqfl", "blqflag"],
        kind: MarkKind::Sample,
        means: "a bound in place of a measurement",
        remedy: "leave such rows out by `rows` of [import.table]",
    },
    Mark {
        names: &["mdv"],
        kind: MarkKind::Sample,
        means: "a flag for a missing measurement",
        remedy: "leave such rows out by `rows` of [import.table]",
    },
    Mark {
        names: &["cmt", "dvid", "ytype"],
        kind: MarkKind::SampleQuantity,
        means: "several quantities in one column",
        remedy: "read one of them by `rows` of [import.table], or a channel each with `layout = \"long\"`",
    },
    Mark {
        names: &["amt"],
        kind: MarkKind::Dose,
        means: "the amount of a dose",
        remedy: "read them as an input with [[import.events]], or leave such rows out by `rows` of [import.table]",
    },
    Mark {
        names: &["evid"],
        kind: MarkKind::Reset,
        means: "a reset of the system (3, or 4 with a dose)",
        remedy: "count them by a section of [[import.events]] with `shape = \"bolus\"`, which equations name as `reset`, or give the rows after \
                 a reset an id of their own, in a column of trajectories",
    },
];

/// The mark of events of this name whose meaning does not depend on the mapping.
pub(crate) fn event_mark(name: &str) -> Option<&'static Mark> {
    MARKS.iter().find(|mark| mark.kind == MarkKind::Event && mark.names.contains(&name))
}

/// Marking columns of a file: `(index in [`MARKS`], position of the column)`.
pub(crate) type Marked = Vec<(usize, usize)>;

/// Columns that mark events and are not in `read`.
pub(crate) fn event_marks(header: &[String], read: &[usize]) -> Marked {
    let is_of_events = |kind| {
        matches!(
            kind,
            MarkKind::Event
                | MarkKind::EventInterval
                | MarkKind::EventDuration
                | MarkKind::EventRate
                | MarkKind::EventRoute
        )
    };
    find(header, read, is_of_events)
}

/// Columns that mark measurements and are not in `read`.
pub(crate) fn sample_marks(header: &[String], read: &[usize]) -> Marked {
    find(header, read, |kind| matches!(kind, MarkKind::Sample | MarkKind::SampleQuantity | MarkKind::Dose))
}

/// Columns that mark resets and are not `read`, by name.
pub(crate) fn reset_marks<'a>(header: &[String], read: impl Iterator<Item = &'a String>) -> Marked {
    let read: Vec<&String> = read.collect();
    let read: Vec<usize> = (0..header.len()).filter(|&column| read.contains(&&header[column])).collect();
    find(header, &read, |kind| kind == MarkKind::Reset)
}

fn find(header: &[String], read: &[usize], wanted: impl Fn(MarkKind) -> bool) -> Marked {
    let mut found = Marked::new();
    for (column, name) in header.iter().enumerate().filter(|(column, _)| !read.contains(column)) {
        let name = bare_name(split_header(name).0);
        let is_called = |mark: &Mark| mark.names.contains(&name.as_str()) && wanted(mark.kind);
        found.extend((0..MARKS.len()).filter(|&i| is_called(&MARKS[i])).map(|i| (i, column)));
    }
    found
}

/// Columns that say how often an event is repeated, whoever reads them: without them an interval means nothing.
pub(crate) fn repeats(header: &[String]) -> Vec<usize> {
    let is_called = |name: &String| ["addl", "ss"].contains(&bare_name(split_header(name).0).as_str());
    (0..header.len()).filter(|&column| is_called(&header[column])).collect()
}

/// A name in lower case without `_`, `-`, `.` and blanks.
pub(crate) fn bare_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}
