//! The rows of all records while files are being read: in memory up to a budget, beyond it in a temporary file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::merge::Series;
use super::row::{KEY_SEPARATOR, RowReader};
use super::source_lines::SourceLine;
use super::spill::{RowBuffer, SpilledRows};
use crate::import::tables::clock::Moment;
use crate::problems::{Kind, Problem, Problems};

/// Bytes of rows that are kept in memory where nobody says otherwise: 256 MiB.
pub const ROWS_IN_MEMORY: u64 = 1 << 28;

/// A record: the rows of the table that share an environment id and a trajectory id.
pub(crate) struct StoredRecord {
    /// Both ids, joined by [`KEY_SEPARATOR`].
    key: Arc<str>,
    /// Whether a row was left out because of a problem with it.
    pub broken: bool,
}

impl StoredRecord {
    fn ids(&self) -> (&str, &str) {
        self.key.split_once(KEY_SEPARATOR).unwrap_or((&self.key, ""))
    }

    pub(crate) fn environment(&self) -> &str {
        self.ids().0
    }

    pub(crate) fn trajectory(&self) -> &str {
        self.ids().1
    }
}

/// The rows of one part of a record read so far. A record of a wide table has one part, of all channels; one of a long table has a part per
/// channel.
#[derive(Default)]
struct Part {
    buffer: RowBuffer,
    /// Earlier rows, in the temporary file.
    #[expect(clippy::box_collection, reason = "rare, and there may be a million parts")]
    spilled: Option<Box<Vec<SpilledRows>>>,
}

/// Records by their ids. Lookups are fastest where rows of one record follow one another, as they mostly do.
pub(crate) struct Store {
    pub records: Vec<StoredRecord>,
    /// `[records, parts_per_record]`.
    parts: Vec<Part>,
    parts_per_record: usize,
    /// Channels of a part.
    width: usize,
    /// Words that may be buffered, and that are.
    budget: usize,
    buffered: usize,
    file: Option<File>,
    failure: Option<io::Error>,
    positions: HashMap<Arc<str>, u32>,
    /// Scratch.
    key: String,
    /// Key and position of the record of the last row.
    last: (String, usize),
    /// Direct-mapped cache of positions by raw ids: see [`slot`].
    recent: Vec<Option<(RawIds, usize)>>,
}

/// Identifies the ids of a row without building its key: the raw cells, and the batch within which they are comparable.
pub(crate) type RawIds = ([u128; 2], u64);

/// Slots of the cache of recent records; a power of two.
const RECENT: usize = 1 << 14;

/// The slot of the cache in which raw ids are looked up.
fn slot(&([a, b], batch): &RawIds) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 over the golden ratio
    let halves = [a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64, batch];
    let mixed = halves.into_iter().fold(0_u64, |mixed, half| (mixed.rotate_left(23) ^ half).wrapping_mul(ODD));
    (mixed >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

impl Store {
    /// An empty store of records with `parts_per_record` parts of `width` channels each.
    pub(crate) fn new(parts_per_record: usize, width: usize) -> Self {
        Store::within(ROWS_IN_MEMORY, parts_per_record, width)
    }

    /// The same, of which so many bytes are in memory at most.
    pub(crate) fn within(bytes: u64, parts_per_record: usize, width: usize) -> Self {
        Store {
            records: Vec::new(),
            parts: Vec::new(),
            parts_per_record,
            width,
            budget: usize::try_from(bytes / size_of::<u64>() as u64).unwrap_or(usize::MAX),
            buffered: 0,
            file: None,
            failure: None,
            positions: HashMap::new(),
            key: String::new(),
            last: (String::new(), 0),
            recent: Vec::new(),
        }
    }

    /// The position of a row's record, which is added if it is new; `None` and a problem if the ids are unusable.
    pub(crate) fn record(&mut self, reader: &RowReader<'_>, problems: &mut Problems) -> Option<usize> {
        if self.records.is_empty() || !reader.has_key(&self.last.0) {
            reader.write_key(&mut self.key);
            let position = match self.positions.get(self.key.as_str()) {
                Some(&position) => position as usize,
                None if !reader.check_ids(problems) => return None,
                None => self.add(self.key.as_str().into()),
            };
            self.last.0.clone_from(&self.key);
            self.last.1 = position;
        }
        Some(self.last.1)
    }

    /// Adds a record without rows.
    fn add(&mut self, key: Arc<str>) -> usize {
        let position = self.records.len();
        self.positions.insert(key.clone(), position as u32);
        self.records.push(StoredRecord { key, broken: false });
        self.parts.resize_with(self.parts.len() + self.parts_per_record, Part::default);
        position
    }

    /// Adds, without rows, those records of another store whose environments this one lacks.
    pub(crate) fn add_environments(&mut self, others: &[StoredRecord]) {
        if others.is_empty() {
            return;
        }
        let known: HashSet<&str> = self.records.iter().map(StoredRecord::environment).collect();
        let new: Vec<Arc<str>> =
            others.iter().filter(|it| !known.contains(it.environment())).map(|it| it.key.clone()).collect();
        new.into_iter().for_each(|key| {
            self.add(key);
        });
    }

    /// The position of a row's record, if there is one; remembers it by its `raw` ids.
    pub(crate) fn find_row(&mut self, reader: &RowReader<'_>, raw: Option<RawIds>) -> Option<usize> {
        let position = match raw.and_then(|raw| self.recent(&raw)) {
            Some(position) => return Some(position),
            None if !self.records.is_empty() && reader.has_key(&self.last.0) => self.last.1,
            None => {
                reader.write_key(&mut self.key);
                *self.positions.get(self.key.as_str())? as usize
            }
        };
        if let Some(raw) = raw {
            self.recent.resize(RECENT, None);
            self.recent[slot(&raw)] = Some((raw, position));
        }
        Some(position)
    }

    /// The position of the record of these raw ids, if [`Store::find_row`] met them last in their slot.
    pub(crate) fn recent(&self, raw: &RawIds) -> Option<usize> {
        let (met, position) = (*self.recent.get(slot(raw))?)?;
        (met == *raw).then_some(position)
    }

    /// The position of the record of these ids, if there is one.
    pub(crate) fn find(&self, environment: &str, trajectory: &str) -> Option<usize> {
        self.positions
            .get(format!("{environment}{KEY_SEPARATOR}{trajectory}").as_str())
            .map(|&position| position as usize)
    }

    /// Appends rows from consecutive lines to a part of a record; `first` is the line of the first.
    pub(crate) fn push_all(
        &mut self,
        record: usize,
        part: usize,
        rows: usize,
        moment: impl Fn(usize) -> Moment,
        state: impl Fn(usize, usize) -> f64,
        first: SourceLine,
    ) {
        let width = self.width;
        self.append(record, part, |buffer| buffer.push_all(rows, width, moment, state, first));
    }

    /// Appends a row to a part of a record.
    pub(crate) fn push(&mut self, record: usize, part: usize, moment: Moment, state: &[f64], line: SourceLine) {
        self.append(record, part, |buffer| buffer.push(moment, state, line));
    }

    fn append(&mut self, record: usize, part: usize, append: impl FnOnce(&mut RowBuffer)) {
        let buffer = &mut self.parts[record * self.parts_per_record + part].buffer;
        let before = buffer.capacity();
        append(buffer);
        self.buffered += buffer.capacity() - before;
        if self.buffered > self.budget && self.failure.is_none() {
            self.failure = self.spill().err();
        }
    }

    /// Moves all buffered rows to the temporary file, which has no name and is removed when the process ends.
    fn spill(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut offset = file.seek(SeekFrom::End(0))?;
        let mut writer = BufWriter::with_capacity(1 << 20, file);
        for part in &mut self.parts {
            let buffer = std::mem::take(&mut part.buffer);
            if !buffer.is_empty() {
                let spilled = buffer.write(&mut writer, offset)?;
                offset = spilled.end();
                part.spilled.get_or_insert_default().push(spilled);
            }
        }
        self.buffered = 0;
        writer.flush()
    }

    /// The rows of a record, part by part, in the order in which they were read.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(crate) fn rows(&self, record: usize) -> io::Result<Vec<Series>> {
        let width = self.width;
        let rows = |part: &Part| {
            let spilled = || part.spilled.iter().flat_map(|spilled| spilled.iter());
            let count = spilled().map(|spilled| spilled.len(width)).sum::<usize>() + part.buffer.len(width);
            let mut series = Series::with_capacity(count, width);
            if let Some(file) = &self.file {
                for spilled in spilled() {
                    spilled.append_to(&mut series, width, file)?;
                }
            }
            part.buffer.append_to(&mut series, width);
            Ok(series)
        };
        self.parts[record * self.parts_per_record..][..self.parts_per_record].iter().map(rows).collect()
    }

    /// Frees all rows; ids stay.
    pub(crate) fn forget_rows(&mut self) {
        (self.parts, self.file) = (Vec::new(), None);
    }

    /// Frees what only reading needs: records can no longer be found by their ids.
    pub(crate) fn forget_ids(&mut self) {
        self.positions = HashMap::new();
        self.recent = Vec::new();
    }

    /// Ends reading: spills what is buffered if a temporary file is in use, and reports a file that could not be written.
    pub(crate) fn finish(&mut self, problems: &mut Problems) {
        if self.file.is_some() && self.failure.is_none() {
            self.failure = self.spill().err();
        }
        if let Some(error) = self.failure.take() {
            problems.push(unusable_temporary_file(&error));
        }
    }
}

/// The problem of a temporary file that cannot be read or written.
pub(crate) fn unusable_temporary_file(error: &io::Error) -> Problem {
    let found = format!("a temporary file that cannot be used: {error}");
    let remedy = "free space in the folder of temporary files, or set TMPDIR to another one";
    Problem::new(Kind::UnreadableFile, found, "room for the samples", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::rows::merge::Repeats;

    #[test]
    fn rows_come_back_in_order_from_memory_and_file() {
        let mut store = Store::new(1, 2);
        store.budget = 150;
        for record in 0..3 {
            store.add(format!("{record}{KEY_SEPARATOR}1").into());
        }
        let row = |i: usize| (Moment::from_bits(i as u64), [i as f64, f64::NAN], SourceLine::new(1, i as u64));
        for i in 0..50 {
            let (moment, state, line) = row(i);
            store.push(i % 3, 0, moment, &state, line);
        }
        assert!(store.failure.is_none() && store.file.is_some() && store.buffered > 0);
        for record in 0..3 {
            let [rows] = &store.rows(record).unwrap()[..] else { panic!("one part") };
            let expected: Vec<_> = (record..50).step_by(3).map(row).collect();
            assert_eq!(rows.moments, expected.iter().map(|row| row.0).collect::<Vec<Moment>>());
            assert!(rows.lines.iter().eq(expected.iter().map(|row| row.2)));
            assert_eq!(rows.states.len(), 2 * expected.len());
            assert!(rows.states.chunks(2).zip(&expected).all(|(state, row)| state[0] == row.1[0] && state[1].is_nan()));
        }
    }

    #[test]
    fn equal_rows_are_counted() {
        let again: [(u64, &[f64]); 7] = [
            (1, &[2.0, f64::NAN]),
            (1, &[2.0, f64::NAN]),
            (1, &[2.0, f64::NAN]),
            (1, &[2.5, f64::NAN]),
            (3, &[2.5, f64::NAN]),
            (3, &[2.5, f64::NAN]),
            (1, &[2.0, f64::NAN]),
        ];
        let line = |i: usize| SourceLine::new(0, i as u64);
        let at = |i: usize| Moment::from_bits(again[i].0);
        for together in [0, 1, 4, again.len()] {
            let mut store = Store::new(1, 2);
            store.add("a".into());
            store.budget = if together == 1 { 0 } else { usize::MAX };
            store.push_all(0, 0, together, at, |c, i| again[i].1[c], line(0));
            (together..again.len()).for_each(|i| store.push(0, 0, at(i), again[i].1, line(i)));
            let [rows] = &store.rows(0).unwrap()[..] else { panic!("one part") };
            let copies: u64 = (0..rows.moments.len()).map(|i| rows.copies(i)).sum();
            assert_eq!(copies, again.len() as u64, "{together}");
            if together != 1 {
                assert_eq!(rows.moments, [0, 3, 4, 6].map(at));
                assert!(rows.lines.iter().eq([0, 3, 4, 6].map(line)));
                assert_eq!(rows.repeats[&line(0)], Repeats { count: 2, first: line(1) });
                assert_eq!(rows.repeats[&line(4)], Repeats { count: 1, first: line(5) });
            }
        }
    }
}
