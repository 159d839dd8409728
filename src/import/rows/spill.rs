//! The rows of one part of a trajectory, as they are held until all have come: numbers of 64 bits, in memory or in a file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::merge::{Repeats, Series};
use super::places::Place;
use super::places::{RUN, Runs};
use crate::import::tables::clock::Moment;

/// Bytes of a number.
const NUMBER: usize = 8;

/// Numbers of a row that others repeat: its place, how many they are, and the place of their first.
const REPEAT: usize = 3;

/// Numbers read from the file at a time, about.
const BLOCK: usize = 1 << 16;

/// Rows in the order in which they came. Those that are equal to the one before them are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// Row after row, the bits of its time and of its values.
    rows: Vec<u64>,
    places: Runs,
    #[expect(clippy::box_collection, reason = "mostly there are none, in a million parts")]
    repeats: Option<Box<Vec<[u64; REPEAT]>>>,
}

/// Where rows of a part lie in the file.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    offset: u64,
    /// Numbers of the rows.
    numbers: usize,
    runs: usize,
    repeats: usize,
}

impl Held {
    /// How many numbers there is room for.
    pub fn capacity(&self) -> usize {
        let repeats = self.repeats.as_ref().map_or(0, |repeats| repeats.capacity());
        self.rows.capacity() + RUN * self.places.0.capacity() + REPEAT * repeats
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many rows of `width` values there are.
    pub fn len(&self, width: usize) -> usize {
        self.rows.len() / (width + 1)
    }

    pub fn push(&mut self, moment: Moment, state: &[f64], place: Place) {
        let row = || std::iter::once(moment.bits()).chain(state.iter().map(|value| value.to_bits()));
        let last = self.rows.len().checked_sub(state.len() + 1).map(|start| &self.rows[start..]);
        if last.is_some_and(|last| last.iter().copied().eq(row())) {
            return self.repeat(place);
        }
        self.rows.extend(row());
        self.places.push(place.bits(), 1);
    }

    /// Counts a row that is equal to the last.
    fn repeat(&mut self, place: Place) {
        let Some(last) = self.places.last() else { return };
        let repeats = self.repeats.get_or_insert_default();
        match repeats.last_mut().filter(|[of, ..]| *of == last) {
            Some([_, count, _]) => *count += 1,
            None => repeats.push([last, 1, place.bits()]),
        }
    }

    /// Appends so many rows of `width` values each, which stand line after line from `first` on.
    pub fn push_all(
        &mut self,
        rows: usize,
        width: usize,
        moment: impl Fn(usize) -> Moment,
        state: impl Fn(usize, usize) -> f64,
        first: Place,
    ) {
        if rows == 0 {
            return;
        }
        let (before, wide) = (self.rows.len(), width + 1);
        self.rows.resize(before + rows * wide, 0);
        self.rows[before..].iter_mut().step_by(wide).enumerate().for_each(|(i, number)| *number = moment(i).bits());
        let mut times = self.rows[before.saturating_sub(wide)..].iter().step_by(wide);
        let mut last = times.next();
        if times.any(|time| last.replace(time) == Some(time)) {
            self.rows.truncate(before);
            let mut values = vec![0.0; width];
            for i in 0..rows {
                values.iter_mut().enumerate().for_each(|(c, value)| *value = state(c, i));
                self.push(moment(i), &values, first.after(i as u64));
            }
            return;
        }
        for c in 0..width {
            let values = self.rows[before + c + 1..].iter_mut().step_by(wide);
            values.enumerate().for_each(|(i, value)| *value = state(c, i).to_bits());
        }
        self.places.push(first.bits(), rows as u64);
    }

    fn repeats(&self) -> &[[u64; REPEAT]] {
        self.repeats.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Writes the rows at `offset` of a file, which is where `writer` stands.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, writer: &mut impl Write, offset: u64) -> io::Result<Written> {
        writer.write_all(bytemuck::cast_slice(&self.rows))?;
        writer.write_all(bytemuck::cast_slice(&self.places.0))?;
        writer.write_all(bytemuck::cast_slice(self.repeats()))?;
        let (numbers, runs, repeats) = (self.rows.len(), self.places.0.len(), self.repeats().len());
        Ok(Written { offset, numbers, runs, repeats })
    }

    /// Appends the rows, of `width` values each, to a series.
    pub fn append_to(&self, series: &mut Series, width: usize) {
        append_rows(series, &self.rows, width);
        series.places.append(&self.places.0);
        append_repeats(series, self.repeats());
    }
}

fn append_rows(series: &mut Series, rows: &[u64], width: usize) {
    for row in rows.chunks_exact(width + 1) {
        series.moments.push(Moment::from_bits(row[0]));
        series.states.extend(row[1..].iter().map(|&bits| f64::from_bits(bits)));
    }
}

fn append_repeats(series: &mut Series, repeats: &[[u64; REPEAT]]) {
    let repeats = repeats
        .iter()
        .map(|&[of, count, first]| (Place::from_bits(of), Repeats { count, first: Place::from_bits(first) }));
    series.repeats.extend(repeats);
}

impl Written {
    /// Where in the file the rows end.
    pub fn end(&self) -> u64 {
        self.offset + ((self.numbers + RUN * self.runs + REPEAT * self.repeats) * NUMBER) as u64
    }

    /// How many rows of `width` values there are.
    pub fn len(&self, width: usize) -> usize {
        self.numbers / (width + 1)
    }

    /// Appends the rows, of `width` values each, to a series.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn append_to(&self, series: &mut Series, width: usize, file: &File) -> io::Result<()> {
        let mut offset = self.offset;
        let mut read = |bytes: &mut [u8]| {
            file.read_exact_at(bytes, offset)?;
            offset += bytes.len() as u64;
            io::Result::Ok(())
        };
        let most = (BLOCK / (width + 1)).max(1) * (width + 1);
        let mut rows = vec![0; most.min(self.numbers)];
        let mut left = self.numbers;
        while left > 0 {
            rows.truncate(left);
            read(bytemuck::cast_slice_mut(&mut rows))?;
            append_rows(series, &rows, width);
            left -= rows.len();
        }
        let (mut runs, mut repeats) = (vec![[0; RUN]; self.runs], vec![[0; REPEAT]; self.repeats]);
        read(bytemuck::cast_slice_mut(&mut runs))?;
        read(bytemuck::cast_slice_mut(&mut repeats))?;
        series.places.append(&runs);
        append_repeats(series, &repeats);
        Ok(())
    }
}
