//! The rows of all trajectories: in memory up to a budget, beyond it in a temporary file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::merge::Series;
use super::places::Place;
use super::row::{IDS_APART, RowReader};
use super::spill::{Held, Written};
use crate::import::tables::clock::Moment;
use crate::problems::{Kind, Problem, Problems};

/// Numbers that there is room for in memory: 256 MiB.
const BUDGET: usize = 1 << 25;

/// A trajectory of the table.
pub(crate) struct Track {
    /// Both ids, with [`IDS_APART`] between them.
    key: Arc<str>,
    /// Whether a row was left out because of a problem in it.
    pub broken: bool,
}

impl Track {
    fn ids(&self) -> (&str, &str) {
        self.key.split_once(IDS_APART).unwrap_or((&self.key, ""))
    }

    pub fn environment(&self) -> &str {
        self.ids().0
    }

    pub fn trajectory(&self) -> &str {
        self.ids().1
    }
}

/// What the rows of a part of a trajectory have given so far: all channels of a wide table, one channel of a long one.
#[derive(Default)]
struct Part {
    held: Held,
    /// Where those before them lie in the temporary file.
    #[expect(clippy::box_collection, reason = "mostly there are none, in a million parts")]
    written: Option<Box<Vec<Written>>>,
}

/// Tracks by their ids; rows of one trajectory mostly follow one another.
pub(crate) struct Store {
    pub tracks: Vec<Track>,
    /// Those of one track after the other.
    parts: Vec<Part>,
    parts_per_track: usize,
    /// Channels of a part.
    width: usize,
    budget: usize,
    held: usize,
    file: Option<File>,
    failure: Option<io::Error>,
    positions: HashMap<Arc<str>, u32>,
    key: String,
    last: (String, usize),
    recent: Vec<Option<(Raw, usize)>>,
}

/// Stands for the ids of a row: their cells as they are in memory, and the batch of rows in which they do.
pub(crate) type Raw = ([u128; 2], u64);

/// Tracks that are found again by what stands for their ids; a power of two.
const RECENT: usize = 1 << 14;

/// Where among them a track is looked for.
fn slot(&([a, b], batch): &Raw) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 over the golden ratio
    let halves = [a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64, batch];
    let mixed = halves.into_iter().fold(0_u64, |mixed, half| (mixed.rotate_left(23) ^ half).wrapping_mul(ODD));
    (mixed >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

impl Store {
    /// Of trajectories of so many parts, of `width` channels each.
    pub fn new(parts_per_track: usize, width: usize) -> Self {
        Store {
            tracks: Vec::new(),
            parts: Vec::new(),
            parts_per_track,
            width,
            budget: BUDGET,
            held: 0,
            file: None,
            failure: None,
            positions: HashMap::new(),
            key: String::new(),
            last: (String::new(), 0),
            recent: Vec::new(),
        }
    }

    /// The position of a row's track; `None` and a problem if its ids cannot be read.
    pub fn track(&mut self, reader: &RowReader<'_>, problems: &mut Problems) -> Option<usize> {
        if self.tracks.is_empty() || !reader.has_ids(&self.last.0) {
            reader.ids(&mut self.key);
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

    /// A new track of these ids, without a row.
    fn add(&mut self, key: Arc<str>) -> usize {
        let position = self.tracks.len();
        self.positions.insert(key.clone(), position as u32);
        self.tracks.push(Track { key, broken: false });
        self.parts.resize_with(self.parts.len() + self.parts_per_track, Part::default);
        position
    }

    /// Adds the tracks of those environments of `others`, the first so many of another store, of which there is none, without a row.
    pub fn add_environments(&mut self, others: &[Track]) {
        if others.is_empty() {
            return;
        }
        let known: HashSet<&str> = self.tracks.iter().map(Track::environment).collect();
        let new: Vec<Arc<str>> =
            others.iter().filter(|it| !known.contains(it.environment())).map(|it| it.key.clone()).collect();
        new.into_iter().for_each(|key| {
            self.add(key);
        });
    }

    /// The position of a row's track, if there is one; `raw` stands for its ids and is kept.
    pub fn known(&mut self, reader: &RowReader<'_>, raw: Option<Raw>) -> Option<usize> {
        let position = match raw.and_then(|raw| self.recent(&raw)) {
            Some(position) => return Some(position),
            None if !self.tracks.is_empty() && reader.has_ids(&self.last.0) => self.last.1,
            None => {
                reader.ids(&mut self.key);
                *self.positions.get(self.key.as_str())? as usize
            }
        };
        if let Some(raw) = raw {
            self.recent.resize(RECENT, None);
            self.recent[slot(&raw)] = Some((raw, position));
        }
        Some(position)
    }

    /// The position of the track that [`Store::known`] found last for what falls into the same slot, if that was this.
    pub fn recent(&self, raw: &Raw) -> Option<usize> {
        let (met, position) = (*self.recent.get(slot(raw))?)?;
        (met == *raw).then_some(position)
    }

    /// The position of the track of these ids, if there is one.
    pub fn find(&self, environment: &str, trajectory: &str) -> Option<usize> {
        self.positions.get(format!("{environment}{IDS_APART}{trajectory}").as_str()).map(|&position| position as usize)
    }

    /// Appends so many rows to a part of a track, which stand line after line from `first` on.
    pub fn push_all(
        &mut self,
        track: usize,
        part: usize,
        rows: usize,
        moment: impl Fn(usize) -> Moment,
        state: impl Fn(usize, usize) -> f64,
        first: Place,
    ) {
        let width = self.width;
        self.change(track, part, |held| held.push_all(rows, width, moment, state, first));
    }

    /// Appends a row to a part of a track.
    pub fn push(&mut self, track: usize, part: usize, moment: Moment, state: &[f64], place: Place) {
        self.change(track, part, |held| held.push(moment, state, place));
    }

    fn change(&mut self, track: usize, part: usize, append: impl FnOnce(&mut Held)) {
        let held = &mut self.parts[track * self.parts_per_track + part].held;
        let before = held.capacity();
        append(held);
        self.held += held.capacity() - before;
        self.keep_within_budget();
    }

    fn keep_within_budget(&mut self) {
        if self.held > self.budget && self.failure.is_none() {
            self.failure = self.write_out().err();
        }
    }

    /// Moves all that is held into the temporary file, which has no name and goes with the process.
    fn write_out(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut offset = file.seek(SeekFrom::End(0))?;
        let mut writer = BufWriter::with_capacity(1 << 20, file);
        for part in &mut self.parts {
            let held = std::mem::take(&mut part.held);
            if !held.is_empty() {
                let written = held.write(&mut writer, offset)?;
                offset = written.end();
                part.written.get_or_insert_default().push(written);
            }
        }
        self.held = 0;
        writer.flush()
    }

    /// The rows of a track, part by part, in the order in which they came.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn rows(&self, track: usize) -> io::Result<Vec<Series>> {
        let width = self.width;
        let rows = |part: &Part| {
            let written = || part.written.iter().flat_map(|written| written.iter());
            let count = written().map(|written| written.len(width)).sum::<usize>() + part.held.len(width);
            let mut series = Series::with_capacity(count, width);
            if let Some(file) = &self.file {
                for written in written() {
                    written.append_to(&mut series, width, file)?;
                }
            }
            part.held.append_to(&mut series, width);
            Ok(series)
        };
        self.parts[track * self.parts_per_track..][..self.parts_per_track].iter().map(rows).collect()
    }

    /// Gives all rows back.
    pub fn forget_rows(&mut self) {
        (self.parts, self.file) = (Vec::new(), None);
    }

    /// Gives back what only reading takes: tracks are found by their ids no longer.
    pub fn forget_ids(&mut self) {
        self.positions = HashMap::new();
        self.recent = Vec::new();
    }

    /// Ends the reading of rows, of which none stays in memory where the temporary file has most; reports one that could not be written.
    pub fn check(&mut self, problems: &mut Problems) {
        if self.file.is_some() && self.failure.is_none() {
            self.failure = self.write_out().err();
        }
        if let Some(error) = self.failure.take() {
            problems.push(unusable(&error));
        }
    }
}

/// A temporary file that does not serve.
pub(crate) fn unusable(error: &io::Error) -> Problem {
    let found = format!("a temporary file that cannot be used: {error}");
    let remedy = "make room where temporary files lie, or set TMPDIR to another folder";
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
        for track in 0..3 {
            store.add(format!("{track}{IDS_APART}1").into());
        }
        let row = |i: usize| (Moment::from_bits(i as u64), [i as f64, f64::NAN], Place::new(1, i as u64));
        for i in 0..50 {
            let (moment, state, place) = row(i);
            store.push(i % 3, 0, moment, &state, place);
        }
        assert!(store.failure.is_none() && store.file.is_some() && store.held > 0);
        for track in 0..3 {
            let [rows] = &store.rows(track).unwrap()[..] else { panic!("one part") };
            let expected: Vec<_> = (track..50).step_by(3).map(row).collect();
            assert_eq!(rows.moments, expected.iter().map(|row| row.0).collect::<Vec<Moment>>());
            assert!(rows.places.iter().eq(expected.iter().map(|row| row.2)));
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
        let place = |i: usize| Place::new(0, i as u64);
        let at = |i: usize| Moment::from_bits(again[i].0);
        for together in [0, 1, 4, again.len()] {
            let mut store = Store::new(1, 2);
            store.add("a".into());
            store.budget = if together == 1 { 0 } else { BUDGET };
            store.push_all(0, 0, together, at, |c, i| again[i].1[c], place(0));
            (together..again.len()).for_each(|i| store.push(0, 0, at(i), again[i].1, place(i)));
            let [rows] = &store.rows(0).unwrap()[..] else { panic!("one part") };
            let copies: u64 = (0..rows.moments.len()).map(|i| rows.copies(i)).sum();
            assert_eq!(copies, again.len() as u64, "{together}");
            if together != 1 {
                assert_eq!(rows.moments, [0, 3, 4, 6].map(at));
                assert!(rows.places.iter().eq([0, 3, 4, 6].map(place)));
                assert_eq!(rows.repeats[&place(0)], Repeats { count: 2, first: place(1) });
                assert_eq!(rows.repeats[&place(4)], Repeats { count: 1, first: place(5) });
            }
        }
    }
}
