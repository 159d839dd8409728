//! Columns of tables of doses that change what a row means, by the customs of NONMEM and Monolix, and that a mapping does not read.
//!
//! Source: NONMEM Users Guide, Part V, chapter 6; Monolix documentation, "Description of column-types".

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, Writing};
use super::counts::many;
use super::guess::plain;
use super::problem::{Kind, Problem, listing};
use super::settings::{EventInput, Shape};
use super::table::RowReader;
use super::unit::split_header;

/// A column that changes what the rows mean that fill it in.
pub(super) struct Mark {
    /// In small letters without what stands between words.
    pub names: &'static [&'static str],
    what: What,
    /// What a filled-in cell says.
    pub means: &'static str,
    /// What to do where it is not read.
    pub remedy: &'static str,
}

/// Which cells of a column matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
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

pub(super) const MARKS: &[Mark] = &[
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
pub(super) fn of_events(name: &str) -> Option<&'static Mark> {
    MARKS.iter().find(|mark| mark.what == What::OfEvents && mark.names.contains(&name))
}

/// Marks of columns of a file: positions among [`MARKS`], and of the columns.
pub(super) type Marked = Vec<(usize, usize)>;

/// Those of events that no column in `read` is.
pub(super) fn find_of_events(header: &[String], read: &[usize]) -> Marked {
    let is_of = |what| matches!(what, What::OfEvents | What::Duration | What::Rate | What::WayOfEvents);
    find(header, read, is_of)
}

/// Those of measurements that no column in `read` is.
pub(super) fn find_of_samples(header: &[String], read: &[usize]) -> Marked {
    find(header, read, |what| matches!(what, What::OfSamples | What::WayOfSamples | What::Doses))
}

/// Those of resets, which nothing reads.
pub(super) fn find_of_resets(header: &[String]) -> Marked {
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

/// Cells that matter of one column.
struct Tally {
    rows: u64,
    /// Where the first stands.
    at: Problem,
    /// Different cells, where it matters whether they differ.
    values: BTreeSet<String>,
}

/// Cells that matter of columns that are not read.
#[derive(Default)]
pub(super) struct UnreadMarks(BTreeMap<(Option<usize>, String), Tally>);

impl UnreadMarks {
    /// Takes note of a row that is an event of an input, its amount in a column.
    pub fn event(&mut self, reader: &RowReader<'_>, marks: &Marked, input: &EventInput, amount: Option<usize>) {
        for &(mark, column) in marks {
            let number = |column: usize| reader.writing.number(reader.row.cell(column)).ok();
            let says_other = |duration: f64| {
                let duration = reader.columns.time.map_or(duration, |(_, conversion)| conversion.apply(duration));
                let wanted = input.duration.filter(|_| input.shape == Shape::Pulse);
                wanted.is_none_or(|wanted| (duration - wanted).abs() > SAME * wanted)
            };
            let matters = match MARKS[mark].what {
                What::Duration => number(column).is_some_and(|duration| duration != 0.0 && says_other(duration)),
                What::Rate => number(column).is_some_and(|rate| {
                    rate != 0.0 && amount.and_then(number).is_none_or(|amount| says_other(amount / rate))
                }),
                _ => true,
            };
            if matters {
                self.cell(reader, mark, column);
            }
        }
        let has_measurement = |column: usize| {
            Some(column) != amount
                && reader.writing.value(reader.row.cell(column)).is_ok_and(|it| it != 0.0 && !it.is_nan())
        };
        for column in reader.columns.channels.iter().filter_map(|channel| channel.0).filter(|&it| has_measurement(it)) {
            self.count(reader, None, column);
        }
    }

    /// Takes note of a row that is a sample; `is_observed` says whether anything was measured.
    pub fn sample(&mut self, reader: &RowReader<'_>, marks: &Marked, is_observed: bool) {
        for &(mark, column) in marks.iter().filter(|(mark, _)| is_observed || MARKS[*mark].what == What::Doses) {
            self.cell(reader, mark, column);
        }
    }

    /// Takes note of a row of whatever kind, behind others of its record.
    pub fn later(&mut self, reader: &RowReader<'_>, marks: &Marked) {
        for &(mark, column) in marks {
            if [Ok(3.0), Ok(4.0)].contains(&reader.writing.number(reader.row.cell(column))) {
                self.count(reader, Some(mark), column);
            }
        }
    }

    fn cell(&mut self, reader: &RowReader<'_>, mark: usize, column: usize) {
        let cell = reader.row.cell(column);
        let is_way = matches!(MARKS[mark].what, What::WayOfEvents | What::WayOfSamples);
        if is_way && cell != Cell::Missing || !is_way && is_set(reader.writing, cell) {
            let tally = self.count(reader, Some(mark), column);
            if is_way && tally.values.len() < VALUES {
                tally.values.insert(cell.text().into_owned());
            }
        }
    }

    fn count(&mut self, reader: &RowReader<'_>, mark: Option<usize>, column: usize) -> &mut Tally {
        let at = || reader.at(column, Problem::new(Kind::UnreadColumn, "", "", ""));
        let new = || Tally { rows: 0, at: at(), values: BTreeSet::new() };
        let tally = self.0.entry((mark, reader.header[column].clone())).or_insert_with(new);
        tally.rows += 1;
        tally
    }

    /// Warns of each column.
    pub fn warnings(self) -> impl Iterator<Item = Problem> {
        let expected = "a mapping that reads the column, or no such cells in it";
        self.0.into_iter().filter_map(move |((mark, _), Tally { rows, at, values })| {
            let rows = many(rows, "row");
            let (found, remedy) = match mark.map(|mark| &MARKS[mark]) {
                None => (format!("a measurement in {rows} taken as events"), "write it into a row of its own"),
                Some(Mark { what, means, remedy, .. }) => {
                    let values: Vec<String> = values.into_iter().collect();
                    let of = match what {
                        What::WayOfEvents | What::WayOfSamples if values.len() < 2 => return None,
                        What::WayOfEvents => format!(" ({}) in {rows} taken as events", listing(&values)),
                        What::WayOfSamples => format!(" ({}) in {rows} taken as measurements", listing(&values)),
                        What::OfSamples => format!(" in {rows} taken as measurements"),
                        What::Doses => format!(" in {rows} taken as samples"),
                        What::Resets => format!(" in {rows}"),
                        What::OfEvents | What::Duration | What::Rate => format!(" in {rows} taken as events"),
                    };
                    (format!("{means}{of}"), *remedy)
                }
            };
            let found = format!("{found}, which the mapping does not read");
            Some(Problem { found, expected: expected.to_owned(), remedy: remedy.to_owned(), ..at })
        })
    }
}

/// Durations that differ by no more, relative to their size, are the same.
const SAME: f64 = 1e-6;
/// Different cells that are kept.
const VALUES: usize = 16;

/// Whether a cell says yes: a number that is not 0, or a word.
fn is_set(writing: &Writing, cell: Cell<'_>) -> bool {
    match writing.number(cell) {
        Ok(number) => number != 0.0,
        Err(_) => ["y", "yes", "t", "true"].contains(&cell.text().to_lowercase().as_str()),
    }
}
