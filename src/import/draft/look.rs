//! What the columns of a table look like.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::names::{ENVIRONMENTS, ROW_NUMBERS, TIMES};
use crate::import::rows::marks::bare_name;
use crate::import::tables::batch::EXACT;
use crate::import::tables::cell::{Cell, CellError, Notation, is_time_stamp};
use crate::import::tables::elapsed::elapsed;
use crate::import::tables::source::Source;
use crate::problems::Problems;
use crate::progress::Interrupt;
use crate::units::{Unit, split_header};

/// Rows that are looked at, as a request to stop is seen after them.
pub(crate) const ROWS: usize = 1 << 18;

/// Cells of the first rows that are kept, to see how columns hang together.
const CELLS: usize = 1 << 20;

/// Different values of a column that are kept, and different spellings of what is no number.
const VALUES: usize = 1 << 12;
pub(crate) const MARKERS: usize = 16;
const FEW_MARKERS: usize = 2;

/// What a column that is the same throughout a file is in others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Elsewhere {
    #[default]
    Same,
    /// Another in another file.
    Other,
    /// Some file has several values of it.
    Varies,
}

/// What a column looks like.
pub(crate) struct Look {
    pub header: String,
    pub name: String,
    pub unit: Option<String>,
    pub numbers: usize,
    pub stamps: usize,
    pub texts: usize,
    pub values: BTreeSet<String>,
    /// What it is in other files of the same folder.
    pub elsewhere: Elsewhere,
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
        names.contains(&bare_name(&self.name).as_str())
    }

    /// Whether it counts the rows of the file, and is called so.
    pub fn counts_rows(&self) -> bool {
        // Ids may begin anew as well, where every time has a row of each.
        let begins_anew = !self.is_called(ENVIRONMENTS);
        self.is_called(ROW_NUMBERS) && self.counts(begins_anew)
    }

    /// Whether it counts the rows from 0 or 1, whatever it is called, and enough of them that it is no chance.
    pub fn counts_from_the_first(&self) -> bool {
        const ENOUGH: usize = 10;
        self.numbers_of_rows.len() >= ENOUGH
            && self.numbers_of_rows.first().is_some_and(|first| [0.0, 1.0].contains(first))
            && self.counts(false)
    }

    /// Whether each row has the next whole number, or begins with the first anew.
    fn counts(&self, begins_anew: bool) -> bool {
        let (numbers, exact) = (&self.numbers_of_rows, EXACT as f64);
        let follows = |pair: &[f64]| {
            pair[1] == pair[0] + 1.0 && pair[1].abs() < exact
                || begins_anew && pair[1] == numbers[0] && pair[1] < pair[0]
        };
        numbers.len() > 2 && numbers[1] == numbers[0] + 1.0 && numbers.windows(2).all(follows)
    }

    /// Whether its numbers rise from row to row, but for where they begin anew.
    pub fn rises(&self, rows: &[usize]) -> bool {
        let numbers: Vec<f64> = rows.iter().map(|&row| self.numbers_of_rows[row]).filter(|it| it.is_finite()).collect();
        let [rises, falls] = [|pair: &&[f64]| pair[1] > pair[0], |pair: &&[f64]| pair[1] < pair[0]]
            .map(|is: fn(&&[f64]) -> bool| numbers.windows(2).filter(is).count());
        self.is_number() && rises > 0 && 3 * falls <= rises
    }

    /// Whether all its numbers are whole ones.
    pub fn is_whole(&self) -> bool {
        self.numbers_of_rows.iter().all(|number| number.is_nan() || number.fract() == 0.0)
    }

    /// Whether its times are of hours, minutes and seconds.
    pub fn is_elapsed(&self) -> bool {
        self.values.iter().next().is_some_and(|text| elapsed(text).is_some())
    }

    /// Whether its unit is one of time.
    pub fn unit_is_of_time(&self) -> bool {
        let of_time = |unit: &String| Unit::parse(unit)?.to(Unit::parse("s")?);
        self.unit.as_ref().and_then(of_time).is_some()
    }

    /// The unit of a column of times, in brackets or after `_`, where it is called one.
    pub fn unit_of_time(&self) -> Option<&str> {
        let (name, ending) = self.name.split_once('_').unwrap_or((&self.name, ""));
        let unit = self.unit.as_deref().unwrap_or(if TIMES.contains(&bare_name(name).as_str()) { ending } else { "" });
        Unit::parse(unit).and(Some(unit))
    }
}

/// Whether all rows that were looked at were kept.
pub(crate) fn are_kept(looks: &[Look]) -> bool {
    looks.first().is_none_or(|look| look.codes.len() < CELLS / looks.len())
}

/// Looks at the first rows.
pub(crate) fn look(source: &mut Source, notation: &Notation, problems: &mut Problems) -> Vec<Look> {
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
            elsewhere: Elsewhere::Same,
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
            let number = notation.number(cell);
            if rows <= kept {
                look.codes.push(if cell == Cell::Missing { 0 } else { code(&look.last) });
                look.numbers_of_rows.push(number.unwrap_or(f64::NAN));
                look.seconds_of_rows.push(if number.is_ok() { f64::NAN } else { seconds(cell).unwrap_or(f64::NAN) });
            }
            match number {
                Ok(_) => look.numbers += 1,
                Err(_) if cell == Cell::Missing => {}
                Err(CellError::TimeStamp) => look.stamps += 1,
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

/// Looks at another file of the same kind, for what columns are there that seemed constant; at most at `left` rows, of which it takes those.
pub(crate) fn look_elsewhere(looks: &mut [Look], source: &mut Source, notation: &Notation, left: &mut usize) {
    let columns: Vec<Option<usize>> =
        looks.iter().map(|look| source.header.iter().position(|name| *name == look.header)).collect();
    let mut first: Vec<Option<String>> = vec![None; looks.len()];
    let stop = Interrupt::new();
    source.rows(&stop, &mut Problems::default(), |row, _| {
        *left = left.saturating_sub(1);
        if *left == 0 {
            stop.request(2);
        }
        for ((look, column), first) in looks.iter_mut().zip(&columns).zip(&mut first) {
            let Some(cell) = column.map(|column| row.cell(column)).filter(|cell| *cell != Cell::Missing) else {
                continue;
            };
            match notation.number(cell) {
                Ok(_) => look.numbers += 1,
                Err(_) if look.stamps > 0 => look.stamps += 1,
                Err(_) => {
                    look.texts += 1;
                    if look.strange.len() < MARKERS {
                        look.strange.insert(cell.text().into_owned());
                    }
                }
            }
            if look.values.len() > 1 || look.elsewhere == Elsewhere::Varies {
                continue;
            }
            let text = cell.text();
            let found = match first {
                Some(first) if *first != text => Elsewhere::Varies,
                _ if !look.values.contains(text.as_ref()) => Elsewhere::Other,
                _ => Elsewhere::Same,
            };
            look.elsewhere = look.elsewhere.max(found);
            first.get_or_insert_with(|| text.into_owned());
        }
    });
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
pub(crate) fn code(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish().max(1)
}
