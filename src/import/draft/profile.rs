//! What the cells of a column look like: counts, values and spellings of its first rows.

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

/// Most rows that are read; a multiple of the rows between two checks of a request to stop, which ends the reading.
pub(crate) const ROWS: usize = 1 << 18;

/// Most cells of the first rows that are kept, to see how columns depend on each other.
const CELLS: usize = 1 << 20;

/// Most different values of a column that are kept, and most different spellings of what is not a number.
const VALUES: usize = 1 << 12;
pub(crate) const MARKERS: usize = 16;
const FEW_MARKERS: usize = 2;

/// What a column with a single value in one file has in others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Elsewhere {
    /// The same value.
    #[default]
    Same,
    /// Another value in another file.
    Other,
    /// Several values in some file.
    Varies,
}

/// What is seen of a column.
pub(crate) struct Profile {
    pub header: String,
    /// The header without its unit.
    pub name: String,
    pub unit: Option<String>,
    /// Cells that are numbers, times that are not numbers, and other texts.
    pub numbers: usize,
    pub stamps: usize,
    pub texts: usize,
    /// Different cells.
    pub values: BTreeSet<String>,
    /// Its values in other files of the same folder.
    pub elsewhere: Elsewhere,
    /// Rows whose cell differs from that of the row before.
    pub changes: usize,
    /// The cell of the last row.
    last: String,
    /// Cells that are not numbers.
    pub strange: BTreeSet<String>,
    /// Of each row that is kept: a hash of its cell, 0 if it is empty; and its number, or NaN.
    pub codes: Vec<u64>,
    pub numbers_of_rows: Vec<f64>,
    /// Seconds from the beginning of 1970 to its time stamp, taken as UTC without a zone; or NaN.
    pub seconds_of_rows: Vec<f64>,
}

impl Profile {
    /// Whether it is mostly numbers; a short column may have nearly as many markers of missing values, if these are few spellings.
    pub(super) fn is_number(&self) -> bool {
        let others = self.texts + self.stamps;
        self.numbers > 0 && (self.numbers >= 4 * others || self.numbers > others && self.strange.len() <= FEW_MARKERS)
    }

    pub(super) fn is_called(&self, names: &[&str]) -> bool {
        names.contains(&bare_name(&self.name).as_str())
    }

    /// Whether it numbers the rows of the file, and has such a name.
    pub(super) fn counts_rows(&self) -> bool {
        // Ids may restart too, where every time has a row of each.
        let restarts = !self.is_called(ENVIRONMENTS);
        self.is_called(ROW_NUMBERS) && self.counts(restarts)
    }

    /// Whether it numbers the rows from 0 or 1, whatever its name, and enough of them not to be chance.
    pub(super) fn counts_from_the_first(&self) -> bool {
        const ENOUGH: usize = 10;
        self.numbers_of_rows.len() >= ENOUGH
            && self.numbers_of_rows.first().is_some_and(|first| [0.0, 1.0].contains(first))
            && self.counts(false)
    }

    /// Whether each row has the next whole number, or restarts at the first.
    fn counts(&self, restarts: bool) -> bool {
        let (numbers, exact) = (&self.numbers_of_rows, EXACT as f64);
        let follows = |pair: &[f64]| {
            pair[1] == pair[0] + 1.0 && pair[1].abs() < exact || restarts && pair[1] == numbers[0] && pair[1] < pair[0]
        };
        numbers.len() > 2 && numbers[1] == numbers[0] + 1.0 && numbers.windows(2).all(follows)
    }

    /// Whether its numbers rise from row to row, apart from restarts.
    pub(super) fn rises(&self, rows: &[usize]) -> bool {
        let numbers: Vec<f64> = rows.iter().map(|&row| self.numbers_of_rows[row]).filter(|it| it.is_finite()).collect();
        let [rises, falls] = [|pair: &&[f64]| pair[1] > pair[0], |pair: &&[f64]| pair[1] < pair[0]]
            .map(|is: fn(&&[f64]) -> bool| numbers.windows(2).filter(is).count());
        self.is_number() && rises > 0 && 3 * falls <= rises
    }

    /// Whether all its numbers are whole.
    pub(super) fn is_whole(&self) -> bool {
        self.numbers_of_rows.iter().all(|number| number.is_nan() || number.fract() == 0.0)
    }

    /// Whether its values are elapsed times, in hours, minutes and seconds.
    pub(super) fn is_elapsed(&self) -> bool {
        self.values.iter().next().is_some_and(|text| elapsed(text).is_some())
    }

    /// Whether its unit is one of time.
    pub(super) fn unit_is_of_time(&self) -> bool {
        let of_time = |unit: &String| Unit::parse(unit)?.to(Unit::parse("s")?);
        self.unit.as_ref().and_then(of_time).is_some()
    }

    /// Its unit of time: in brackets, or after `_` behind a name of times.
    pub(super) fn unit_of_time(&self) -> Option<&str> {
        let (name, ending) = self.name.split_once('_').unwrap_or((&self.name, ""));
        let unit = self.unit.as_deref().unwrap_or(if TIMES.contains(&bare_name(name).as_str()) { ending } else { "" });
        Unit::parse(unit).and(Some(unit))
    }
}

/// Whether every row that was read was kept.
pub(crate) fn are_kept(profiles: &[Profile]) -> bool {
    profiles.first().is_none_or(|profile| profile.codes.len() < CELLS / profiles.len())
}

/// Profiles the columns of a table by its first rows.
pub(crate) fn profile(source: &mut Source, notation: &Notation, problems: &mut Problems) -> Vec<Profile> {
    let profile = |(column, header): (usize, &String)| {
        let (name, _) = split_header(header);
        Profile {
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
    let mut profiles: Vec<Profile> = source.header.iter().enumerate().map(profile).collect();
    let stop = Interrupt::new();
    let kept = CELLS / profiles.len().max(1);
    let mut rows = 0;
    source.rows(&stop, problems, |row, _| {
        rows += 1;
        if rows == ROWS {
            stop.request(2);
        }
        for (column, profile) in profiles.iter_mut().enumerate() {
            let cell = row.cell(column);
            if rows > 1 && cell.text() != profile.last {
                profile.changes += 1;
            }
            cell.text().as_ref().clone_into(&mut profile.last);
            let number = notation.number(cell);
            if rows <= kept {
                profile.codes.push(if cell == Cell::Missing { 0 } else { code(&profile.last) });
                profile.numbers_of_rows.push(number.unwrap_or(f64::NAN));
                profile.seconds_of_rows.push(if number.is_ok() { f64::NAN } else { seconds(cell).unwrap_or(f64::NAN) });
            }
            match number {
                Ok(_) => profile.numbers += 1,
                Err(_) if cell == Cell::Missing => {}
                Err(CellError::TimeStamp) => profile.stamps += 1,
                Err(_) if matches!(cell, Cell::Text(text) if is_time_stamp(text) || elapsed(text).is_some()) => {
                    profile.stamps += 1;
                }
                Err(_) => profile.texts += 1,
            }
            if number.is_err() && cell != Cell::Missing && profile.strange.len() < MARKERS {
                profile.strange.insert(cell.text().into_owned());
            }
            if cell != Cell::Missing && profile.values.len() < VALUES && !profile.values.contains(&profile.last) {
                profile.values.insert(profile.last.clone());
            }
        }
    });
    profiles
}

/// Adds another file of the same kind: what it has in columns that seemed constant. Reads at most `left` rows, and takes them off.
pub(crate) fn profile_elsewhere(profiles: &mut [Profile], source: &mut Source, notation: &Notation, left: &mut usize) {
    let columns: Vec<Option<usize>> =
        profiles.iter().map(|profile| source.header.iter().position(|name| *name == profile.header)).collect();
    let mut first: Vec<Option<String>> = vec![None; profiles.len()];
    let stop = Interrupt::new();
    source.rows(&stop, &mut Problems::default(), |row, _| {
        *left = left.saturating_sub(1);
        if *left == 0 {
            stop.request(2);
        }
        for ((profile, column), first) in profiles.iter_mut().zip(&columns).zip(&mut first) {
            let Some(cell) = column.map(|column| row.cell(column)).filter(|cell| *cell != Cell::Missing) else {
                continue;
            };
            match notation.number(cell) {
                Ok(_) => profile.numbers += 1,
                Err(_) if profile.stamps > 0 => profile.stamps += 1,
                Err(_) => {
                    profile.texts += 1;
                    if profile.strange.len() < MARKERS {
                        profile.strange.insert(cell.text().into_owned());
                    }
                }
            }
            if profile.values.len() > 1 || profile.elsewhere == Elsewhere::Varies {
                continue;
            }
            let text = cell.text();
            let found = match first {
                Some(first) if *first != text => Elsewhere::Varies,
                _ if !profile.values.contains(text.as_ref()) => Elsewhere::Other,
                _ => Elsewhere::Same,
            };
            profile.elsewhere = profile.elsewhere.max(found);
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

/// A hash of a text, never 0.
pub(crate) fn code(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish().max(1)
}
