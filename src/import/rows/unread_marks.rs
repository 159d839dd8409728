//! Columns that change what rows mean and that the mapping does not read: where they are set, and what to do.

use std::collections::{BTreeMap, BTreeSet};

use super::marks::{MARKS, Mark, Marked, What};
use super::row::RowReader;
use crate::import::settings::events::{EventInput, Shape};
use crate::import::tables::cell::{Cell, Writing};
use crate::problems::{Kind, Problem, listing, many};

/// Cells that matter of one column.
pub(crate) struct Tally {
    rows: u64,
    /// Where the first stands.
    at: Problem,
    /// Different cells, where it matters whether they differ.
    values: BTreeSet<String>,
}

/// Cells that matter of columns that are not read.
#[derive(Default)]
pub(crate) struct UnreadMarks(BTreeMap<(Option<usize>, String), Tally>);

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
pub(crate) const SAME: f64 = 1e-6;

/// Different cells that are kept.
pub(crate) const VALUES: usize = 16;

/// Whether a cell says yes: a number that is not 0, or a word.
pub(crate) fn is_set(writing: &Writing, cell: Cell<'_>) -> bool {
    match writing.number(cell) {
        Ok(number) => number != 0.0,
        Err(_) => ["y", "yes", "t", "true"].contains(&cell.text().to_lowercase().as_str()),
    }
}
