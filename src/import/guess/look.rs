//! What the columns of a table look like.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::names::{ROW_NUMBERS, TIMES, plain};
use crate::import::cell::{Cell, Flaw, Writing, is_time_stamp};
use crate::import::columns::EXACT;
use crate::import::elapsed::elapsed;
use crate::import::problem::Problems;
use crate::import::source::Source;
use crate::import::unit::{Unit, split_header};
use crate::progress::Interrupt;

/// Rows that are looked at, as a request to stop is seen after them.
const ROWS: usize = 1 << 18;

/// Cells of the first rows that are kept, to see how columns hang together.
const CELLS: usize = 1 << 20;

/// Different values of a column that are kept, and different spellings of what is no number.
const VALUES: usize = 1 << 12;
pub(super) const MARKERS: usize = 16;
const FEW_MARKERS: usize = 2;

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
    /// Of each of the first rows: a number that tells its cell from others, 0 if it is empty; and its number, or NaN.
    pub codes: Vec<u64>,
    pub numbers_of_rows: Vec<f64>,
    /// Seconds from the beginning of 1970 to a time stamp, of UTC where it does not say its zone; or NaN.
    pub seconds_of_rows: Vec<f64>,
}

impl Look {
    /// Mostly numbers; in short columns a few markers of missing values are no small part.
    pub fn is_number(&self) -> bool {
        let others = self.texts + self.stamps;
        self.numbers > 0 && (self.numbers >= 4 * others || self.numbers > others && self.strange.len() <= FEW_MARKERS)
    }

    pub fn is_called(&self, names: &[&str]) -> bool {
        names.contains(&plain(&self.name).as_str())
    }

    /// Whether it counts the rows of the file.
    pub fn counts_rows(&self) -> bool {
        let exact = EXACT as f64;
        let counts = || self.numbers_of_rows.windows(2).all(|pair| pair[1] == pair[0] + 1.0 && pair[1].abs() < exact);
        (self.is_called(ROW_NUMBERS)) && self.numbers_of_rows.len() > 2 && counts()
    }

    /// Whether all its numbers are whole ones.
    pub fn is_whole(&self) -> bool {
        self.numbers_of_rows.iter().all(|number| number.is_nan() || number.fract() == 0.0)
    }

    /// The unit of a column of times, in brackets or after `_`, where it is called one.
    pub fn unit_of_time(&self) -> Option<&str> {
        let (name, ending) = self.name.split_once('_').unwrap_or((&self.name, ""));
        let unit = self.unit.as_deref().unwrap_or(if TIMES.contains(&plain(name).as_str()) { ending } else { "" });
        Unit::parse(unit).and(Some(unit))
    }
}

/// Whether all rows that were looked at were kept.
pub(super) fn are_kept(looks: &[Look]) -> bool {
    looks.first().is_none_or(|look| look.codes.len() < CELLS / looks.len())
}

/// Looks at the first rows.
pub(super) fn look(source: &mut Source, writing: &Writing, problems: &mut Problems) -> Vec<Look> {
    let look = |(column, header): (usize, &String)| {
        let (name, _) = split_header(header);
        Look {
            header: header.clone(),
            name: name.to_owned(),
            unit: source.unit(column).map(str::to_owned),
            numbers: 0,
            stamps: 0,
            texts: 0,
            values: BTreeSet::new(),
            changes: 0,
            last: String::new(),
            strange: BTreeSet::new(),
            codes: Vec::new(),
            numbers_of_rows: Vec::new(),
            seconds_of_rows: Vec::new(),
        }
    };
    let mut looks: Vec<Look> = source.header.iter().enumerate().map(look).collect();
    let stop = Interrupt::new();
    let kept = CELLS / looks.len().max(1);
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
            let number = writing.number(cell);
            if rows <= kept {
                look.codes.push(if cell == Cell::Missing { 0 } else { code(&look.last) });
                look.numbers_of_rows.push(number.unwrap_or(f64::NAN));
                look.seconds_of_rows.push(if number.is_ok() { f64::NAN } else { seconds(cell).unwrap_or(f64::NAN) });
            }
            match number {
                Ok(_) => look.numbers += 1,
                Err(_) if cell == Cell::Missing => {}
                Err(Flaw::TimeStamp) => look.stamps += 1,
                Err(_) if matches!(cell, Cell::Text(text) if is_time_stamp(text) || elapsed(text).is_some()) => {
                    look.stamps += 1;
                }
                Err(_) => look.texts += 1,
            }
            if number.is_err() && cell != Cell::Missing && look.strange.len() < MARKERS {
                look.strange.insert(cell.text().into_owned());
            }
            if cell != Cell::Missing && look.values.len() < VALUES && !look.values.contains(&look.last) {
                look.values.insert(look.last.clone());
            }
        }
    });
    looks
}

fn seconds(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Instant(instant) => Some(instant as f64 / 1e9),
        Cell::Text(text) if elapsed(text).is_some() => elapsed(text).map(|nanoseconds| nanoseconds as f64 / 1e9),
        Cell::Text(text) if is_time_stamp(text) => {
            let of_zone = text.parse::<Timestamp>().ok();
            let stamp = of_zone.or_else(|| TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok())?;
            Some(stamp.as_nanosecond() as f64 / 1e9)
        }
        _ => None,
    }
}

/// Tells a text from others, and is not 0.
pub(super) fn code(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish().max(1)
}
