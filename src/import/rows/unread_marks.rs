//! Counts the cells of marking columns that the mapping does not read, and warns of them.

use std::collections::{BTreeMap, BTreeSet};

use super::marks::{MARKS, Mark, MarkKind, Marked, repeats};
use super::row::RowReader;
use crate::import::settings::events::{EventInput, Shape};
use crate::import::tables::cell::{Cell, Notation};
use crate::problems::{Kind, Problem, listing, many};

/// Durations whose relative difference is at most this are equal.
const DURATION_TOLERANCE: f64 = 1e-6;

/// Distinct cells kept of a column.
const MOST_VALUES: usize = 16;

/// The cells of one column that matter.
struct Tally {
    rows: u64,
    /// Located at the first of them.
    at: Problem,
    /// Distinct cells, where it matters whether they differ.
    values: BTreeSet<String>,
}

/// The cells that matter, by mark and column. Without a mark: measurements in rows read as events.
#[derive(Default)]
pub(crate) struct UnreadMarks(BTreeMap<(Option<usize>, String), Tally>);

impl UnreadMarks {
    /// Counts the marks of a row read as an event of `input`; `amount` is the column of its amounts. Where the same row is also a pulse
    /// (`is_pulse_too`), that says its duration.
    pub(crate) fn event(
        &mut self,
        reader: &RowReader<'_>,
        marks: &Marked,
        (input, is_pulse_too): (&EventInput, bool),
        amount: Option<usize>,
    ) {
        for &(mark, column) in marks {
            let number = |column: usize| reader.notation.number(reader.row.cell(column)).ok();
            let differs = |duration: f64| {
                let duration = reader.columns.time.map_or(duration, |(_, conversion)| conversion.apply(duration));
                let wanted = input.duration.filter(|_| input.shape == Shape::Pulse);
                wanted.is_none_or(|wanted| (duration - wanted).abs() > DURATION_TOLERANCE * wanted)
            };
            let matters = match MARKS[mark].kind {
                MarkKind::EventDuration | MarkKind::EventRate if is_pulse_too => false,
                MarkKind::EventInterval => {
                    let columns = repeats(reader.header);
                    columns.is_empty() || columns.iter().any(|&it| is_set(reader.notation, reader.row.cell(it)))
                }
                MarkKind::EventDuration => number(column).is_some_and(|duration| duration != 0.0 && differs(duration)),
                MarkKind::EventRate => number(column).is_some_and(|rate| {
                    rate != 0.0 && amount.and_then(number).is_none_or(|amount| differs(amount / rate))
                }),
                _ => true,
            };
            if matters {
                self.cell(reader, mark, column);
            }
        }
        let has_measurement = |column: usize| {
            Some(column) != amount
                && reader.notation.value(reader.row.cell(column)).is_ok_and(|it| it != 0.0 && !it.is_nan())
        };
        for column in reader.columns.channels.iter().filter_map(|channel| channel.0).filter(|&it| has_measurement(it)) {
            self.count(reader, None, column);
        }
    }

    /// Counts the marks of a row read as a sample; `is_observed` says whether anything was measured.
    pub(crate) fn sample(&mut self, reader: &RowReader<'_>, marks: &Marked, is_observed: bool) {
        for &(mark, column) in marks.iter().filter(|(mark, _)| is_observed || MARKS[*mark].kind == MarkKind::Dose) {
            self.cell(reader, mark, column);
        }
    }

    /// Counts a reset, in a row of any kind that is not the first of its record.
    pub(crate) fn reset(&mut self, reader: &RowReader<'_>, marks: &Marked) {
        for &(mark, column) in marks {
            if [Ok(3.0), Ok(4.0)].contains(&reader.notation.number(reader.row.cell(column))) {
                self.count(reader, Some(mark), column);
            }
        }
    }

    /// Counts a cell if it is set or, of a mark whose differences matter, not missing.
    fn cell(&mut self, reader: &RowReader<'_>, mark: usize, column: usize) {
        let cell = reader.row.cell(column);
        let must_agree = matches!(MARKS[mark].kind, MarkKind::EventRoute | MarkKind::SampleQuantity);
        if must_agree && cell != Cell::Missing || !must_agree && is_set(reader.notation, cell) {
            let tally = self.count(reader, Some(mark), column);
            if must_agree && tally.values.len() < MOST_VALUES {
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

    /// A warning per column.
    pub(crate) fn warnings(self) -> impl Iterator<Item = Problem> {
        let expected = "a mapping that reads the column, or no such cells in it";
        self.0.into_iter().filter_map(move |((mark, _), Tally { rows, at, values })| {
            let rows = many(rows, "row");
            let (found, remedy) = match mark.map(|mark| &MARKS[mark]) {
                None => (format!("a measurement in {rows} taken as events"), "write it into a row of its own"),
                Some(Mark { kind, means, remedy, .. }) => {
                    let values: Vec<String> = values.into_iter().collect();
                    let whose = match kind {
                        MarkKind::EventRoute | MarkKind::SampleQuantity if values.len() < 2 => return None,
                        MarkKind::EventRoute => format!(" ({}) in {rows} taken as events", listing(&values)),
                        MarkKind::SampleQuantity => format!(" ({}) in {rows} taken as measurements", listing(&values)),
                        MarkKind::Sample => format!(" in {rows} taken as measurements"),
                        MarkKind::Dose => format!(" in {rows} taken as samples"),
                        MarkKind::Reset => format!(" in {rows}"),
                        MarkKind::Event | MarkKind::EventInterval | MarkKind::EventDuration | MarkKind::EventRate => {
                            format!(" in {rows} taken as events")
                        }
                    };
                    (format!("{means}{whose}"), *remedy)
                }
            };
            let found = format!("{found}, which the mapping does not read");
            Some(Problem { found, expected: expected.to_owned(), remedy: remedy.to_owned(), ..at })
        })
    }
}

/// Whether a cell says yes: a number other than 0, or a word such as `yes`.
fn is_set(notation: &Notation, cell: Cell<'_>) -> bool {
    match notation.number(cell) {
        Ok(number) => number != 0.0,
        Err(_) => ["y", "yes", "t", "true"].contains(&cell.text().to_lowercase().as_str()),
    }
}
