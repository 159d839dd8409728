//! Columns of tables of doses that change what a row means, by the customs of NONMEM and Monolix, and that a mapping does not read.
//!
//! Source: NONMEM Users Guide, Part V, chapter 6; Monolix documentation, "Description of column-types".

use crate::units::split_header;

/// A column that changes what the rows mean that fill it in.
pub(crate) struct Mark {
    /// In small letters without what stands between words.
    pub names: &'static [&'static str],
    pub(crate) what: What,
    /// What a filled-in cell says.
    pub means: &'static str,
    /// What to do where it is not read.
    pub remedy: &'static str,
}

/// Which cells of a column matter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Those of events that are neither empty nor 0.
    OfEvents,
    /// Those of events that say another duration than the mapping: over which the amount is given, or at which rate.
    Duration,
    Rate,
    /// Those of events, where they differ.
    WayOfEvents,
    /// Those of measurements that are neither empty nor 0.
    OfSamples,
    /// Those of measurements, where they differ.
    WayOfSamples,
    /// Those of rows taken as samples that are neither empty nor 0, whether anything was measured or not.
    Doses,
    /// Those that reset the system.
    Resets,
}

const EACH_DOSE: &str = "write a row for each dose";
const EACH_DURATION: &str = "write a section of [[import.events]] for each duration";

pub(crate) const MARKS: &[Mark] = &[
    Mark { names: &["addl"], what: What::OfEvents, means: "doses to come after that of the row", remedy: EACH_DOSE },
    Mark {
        names: &["ii"],
        what: What::OfEvents,
        means: "an interval at which the dose is repeated",
        remedy: EACH_DOSE,
    },
    Mark {
        names: &["ss"],
        what: What::OfEvents,
        means: "a steady state of repeated doses before that of the row",
        remedy: EACH_DOSE,
    },
    Mark { names: &["rate"], what: What::Rate, means: "another duration of the infusion", remedy: EACH_DURATION },
    Mark {
        names: &["tinf", "dur", "duration"],
        what: What::Duration,
        means: "another duration of the infusion",
        remedy: EACH_DURATION,
    },
    Mark {
        names: &["time2", "endtime", "timeend", "tend", "stoptime", "tstop"],
        what: What::OfEvents,
        means: "a time at which the event ends",
        remedy: EACH_DURATION,
    },
    Mark {
        names: &["cmt", "adm", "route"],
        what: What::WayOfEvents,
        means: "several ways in which doses are given",
        remedy: "tell them apart by `rows` of a section of [[import.events]] for each",
    },
    Mark {
        names: &["cens", "censored", "blq", "bloq", "blqfl", "blqflag"],
        what: What::OfSamples,
        means: "a bound in place of a measurement",
        remedy: "leave such rows out by `rows` of [import.table]",
    },
    Mark {
        names: &["mdv"],
        what: What::OfSamples,
        means: "a mark of no measurement",
        remedy: "leave such rows out by `rows` of [import.table]",
    },
    Mark {
        names: &["cmt", "dvid", "ytype"],
        what: What::WayOfSamples,
        means: "several quantities in one column",
        remedy: "read one of them by `rows` of [import.table], or a channel each with `layout = \"long\"`",
    },
    Mark {
        names: &["amt"],
        what: What::Doses,
        means: "an amount that is given",
        remedy: "make an input of them by [[import.events]], or leave such rows out by `rows` of [import.table]",
    },
    Mark {
        names: &["evid"],
        what: What::Resets,
        means: "a reset of the system (3, or 4 with a dose)",
        remedy: "tell what follows a reset apart by a column of trajectories",
    },
];

/// The mark of events of this name that says the same whatever the mapping says.
pub(crate) fn of_events(name: &str) -> Option<&'static Mark> {
    MARKS.iter().find(|mark| mark.what == What::OfEvents && mark.names.contains(&name))
}

/// Marks of columns of a file: positions among [`MARKS`], and of the columns.
pub(crate) type Marked = Vec<(usize, usize)>;

/// Those of events that no column in `read` is.
pub(crate) fn find_of_events(header: &[String], read: &[usize]) -> Marked {
    let is_of = |what| matches!(what, What::OfEvents | What::Duration | What::Rate | What::WayOfEvents);
    find(header, read, is_of)
}

/// Those of measurements that no column in `read` is.
pub(crate) fn find_of_samples(header: &[String], read: &[usize]) -> Marked {
    find(header, read, |what| matches!(what, What::OfSamples | What::WayOfSamples | What::Doses))
}

/// Those of resets, which nothing reads.
pub(crate) fn find_of_resets(header: &[String]) -> Marked {
    find(header, &[], |what| what == What::Resets)
}

fn find(header: &[String], read: &[usize], is_of: impl Fn(What) -> bool) -> Marked {
    let mut found = Marked::new();
    for (column, name) in header.iter().enumerate().filter(|(column, _)| !read.contains(column)) {
        let name = plain(split_header(name).0);
        let is_called = |mark: &Mark| mark.names.contains(&name.as_str()) && is_of(mark.what);
        found.extend((0..MARKS.len()).filter(|&i| is_called(&MARKS[i])).map(|i| (i, column)));
    }
    found
}

/// A name in small letters without `_`, `-`, `.` and blanks.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}
