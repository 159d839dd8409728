//! The rows of all trajectories: in memory up to a budget, beyond it in a temporary file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::clock::Moment;
use super::held::{Held, Written};
use super::problem::{Kind, Problem, Problems};
use super::series::{Place, Series};
use super::table::{IDS_APART, RowReader};

/// Numbers that there is room for in memory: 256 MiB.
const BUDGET: usize = 1 << 25;

/// What the rows of one trajectory have given so far.
pub(super) struct Track {
    pub environment: String,
    pub trajectory: String,
    /// Whether a row was left out because of a problem in it.
    pub broken: bool,
    /// One part of all channels for a wide table, one a channel for a long one.
    parts: Vec<Part>,
}

#[derive(Clone, Default)]
struct Part {
    held: Held,
    /// Where those before them lie in the temporary file.
    written: Vec<Written>,
}

/// Tracks by their ids; rows of one trajectory mostly follow one another.
pub(super) struct Store {
    pub tracks: Vec<Track>,
    /// Channels of a part.
    width: usize,
    budget: usize,
    held: usize,
    file: Option<File>,
    failure: Option<io::Error>,
    positions: HashMap<String, usize>,
    key: String,
    last: (String, usize),
    recent: Vec<Option<(Raw, usize)>>,
}

/// Stands for the ids of a row: their cells as they are in memory, and the batch of rows in which they do.
pub(super) type Raw = ([u128; 2], u64);

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
    /// Of trajectories whose parts have `width` channels each.
    pub fn new(width: usize) -> Self {
        Store {
            tracks: Vec::new(),
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

    /// The position of a row's track, of `parts` parts; `None` and a problem if its ids cannot be read.
    pub fn track(&mut self, reader: &RowReader<'_>, parts: usize, problems: &mut Problems) -> Option<usize> {
        if self.tracks.is_empty() || !reader.has_ids(&self.last.0) {
            reader.ids(&mut self.key);
            let position = match self.positions.get(&self.key) {
                Some(&position) => position,
                None if !reader.check_ids(problems) => return None,
                None => {
                    let (environment, trajectory) = self.key.split_once(IDS_APART)?;
                    self.tracks.push(Track {
                        environment: environment.to_owned(),
                        trajectory: trajectory.to_owned(),
                        broken: false,
                        parts: vec![Part::default(); parts],
                    });
                    self.positions.insert(self.key.clone(), self.tracks.len() - 1);
                    self.tracks.len() - 1
                }
            };
            self.last.0.clone_from(&self.key);
            self.last.1 = position;
        }
        Some(self.last.1)
    }

    /// The position of a row's track, if there is one; `raw` stands for its ids and is kept.
    pub fn known(&mut self, reader: &RowReader<'_>, raw: Option<Raw>) -> Option<usize> {
        let position = match raw.and_then(|raw| self.recent(&raw)) {
            Some(position) => return Some(position),
            None if !self.tracks.is_empty() && reader.has_ids(&self.last.0) => self.last.1,
            None => {
                reader.ids(&mut self.key);
                *self.positions.get(&self.key)?
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
        self.positions.get(&format!("{environment}{IDS_APART}{trajectory}")).copied()
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
        let held = &mut self.tracks[track].parts[part].held;
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
        for part in self.tracks.iter_mut().flat_map(|track| &mut track.parts) {
            let held = std::mem::take(&mut part.held);
            if !held.is_empty() {
                let written = held.write(&mut writer, offset)?;
                offset = written.end();
                part.written.push(written);
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
        let rows = |part: &Part| {
            let mut series = Series::default();
            if let Some(file) = &self.file {
                for written in &part.written {
                    written.read(file)?.append_to(&mut series);
                }
            }
            part.held.append_to(&mut series);
            Ok(series)
        };
        self.tracks[track].parts.iter().map(rows).collect()
    }

    /// Reports a temporary file that could not be written.
    pub fn check(&mut self, problems: &mut Problems) {
        if let Some(error) = self.failure.take() {
            problems.push(unusable(&error));
        }
    }
}

/// A temporary file that does not serve.
pub(super) fn unusable(error: &io::Error) -> Problem {
    let found = format!("a temporary file that cannot be used: {error}");
    let remedy = "make room where temporary files lie, or set TMPDIR to another folder";
    Problem::new(Kind::UnreadableFile, found, "room for the samples", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order_from_memory_and_file() {
        let mut store = Store::new(2);
        store.budget = 150;
        for track in 0..3 {
            store.tracks.push(Track {
                environment: track.to_string(),
                trajectory: "1".into(),
                broken: false,
                parts: vec![Part::default()],
            });
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
            assert_eq!(rows.places, expected.iter().map(|row| row.2).collect::<Vec<_>>());
            assert_eq!(rows.states.len(), 2 * expected.len());
            assert!(rows.states.chunks(2).zip(&expected).all(|(state, row)| state[0] == row.1[0] && state[1].is_nan()));
        }
    }
}
