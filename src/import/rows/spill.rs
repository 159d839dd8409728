//! Rows of one part of a record while files are being read: words of 64 bits in a buffer, or spilled to a temporary file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::merge::{Repeats, Series};
use super::source_lines::{RUN, Runs, SourceLine};
use crate::import::tables::clock::Moment;

/// Bytes of a word.
const WORD: usize = 8;

/// Words of a repeated row: its line, the number of repeats, and the line of the first repeat.
const REPEAT: usize = 3;

/// Words read from the file at a time, about.
const BLOCK: usize = 1 << 16;

/// Rows in memory, in the order in which they were read. Rows equal to their predecessor are only counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBuffer {
    /// `[rows, 1 + width]`: the bits of each time and its values.
    rows: Vec<u64>,
    lines: Runs,
    #[expect(clippy::box_collection, reason = "rare, and there may be a million parts")]
    repeats: Option<Box<Vec<[u64; REPEAT]>>>,
}

/// Where spilled rows lie in the temporary file.
#[derive(Clone, Debug)]
pub(crate) struct SpilledRows {
    offset: u64,
    /// Words of the rows; number of line runs and of repeated rows.
    words: usize,
    runs: usize,
    repeats: usize,
}

impl RowBuffer {
    /// Allocated words.
    pub(crate) fn capacity(&self) -> usize {
        let repeats = self.repeats.as_ref().map_or(0, |repeats| repeats.capacity());
        self.rows.capacity() + RUN * self.lines.0.capacity() + REPEAT * repeats
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of rows of `width` values.
    pub(crate) fn len(&self, width: usize) -> usize {
        self.rows.len() / (width + 1)
    }

    pub(crate) fn push(&mut self, moment: Moment, state: &[f64], line: SourceLine) {
        let row = || std::iter::once(moment.bits()).chain(state.iter().map(|value| value.to_bits()));
        let last = self.rows.len().checked_sub(state.len() + 1).map(|start| &self.rows[start..]);
        if last.is_some_and(|last| last.iter().copied().eq(row())) {
            return self.repeat(line);
        }
        self.rows.extend(row());
        self.lines.push(line.bits(), 1);
    }

    /// Counts a row that equals the last one.
    fn repeat(&mut self, line: SourceLine) {
        let Some(last) = self.lines.last() else { return };
        let repeats = self.repeats.get_or_insert_default();
        match repeats.last_mut().filter(|[of, ..]| *of == last) {
            Some([_, count, _]) => *count += 1,
            None => repeats.push([last, 1, line.bits()]),
        }
    }

    /// Appends rows of `width` values from consecutive lines, the first of which is `first`.
    pub(crate) fn push_all(
        &mut self,
        rows: usize,
        width: usize,
        moment: impl Fn(usize) -> Moment,
        state: impl Fn(usize, usize) -> f64,
        first: SourceLine,
    ) {
        if rows == 0 {
            return;
        }
        let (before, wide) = (self.rows.len(), width + 1);
        self.rows.resize(before + rows * wide, 0);
        self.rows[before..].iter_mut().step_by(wide).enumerate().for_each(|(i, word)| *word = moment(i).bits());
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
        self.lines.push(first.bits(), rows as u64);
    }

    fn repeats(&self) -> &[[u64; REPEAT]] {
        self.repeats.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Writes the rows; `offset` is the position of `writer` in the temporary file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, writer: &mut impl Write, offset: u64) -> io::Result<SpilledRows> {
        writer.write_all(bytemuck::cast_slice(&self.rows))?;
        writer.write_all(bytemuck::cast_slice(&self.lines.0))?;
        writer.write_all(bytemuck::cast_slice(self.repeats()))?;
        let (words, runs, repeats) = (self.rows.len(), self.lines.0.len(), self.repeats().len());
        Ok(SpilledRows { offset, words, runs, repeats })
    }

    /// Appends the rows, of `width` values each, to a series.
    pub(crate) fn append_to(&self, series: &mut Series, width: usize) {
        append_rows(series, &self.rows, width);
        series.lines.append(&self.lines.0);
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
        .map(|&[of, count, first]| (SourceLine::from_bits(of), Repeats { count, first: SourceLine::from_bits(first) }));
    series.repeats.extend(repeats);
}

impl SpilledRows {
    /// Offset of the end of the rows in the file.
    pub(crate) fn end(&self) -> u64 {
        self.offset + ((self.words + RUN * self.runs + REPEAT * self.repeats) * WORD) as u64
    }

    /// Number of rows of `width` values.
    pub(crate) fn len(&self, width: usize) -> usize {
        self.words / (width + 1)
    }

    /// Appends the rows, of `width` values each, to a series.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn append_to(&self, series: &mut Series, width: usize, file: &File) -> io::Result<()> {
        let mut offset = self.offset;
        let mut read = |bytes: &mut [u8]| {
            file.read_exact_at(bytes, offset)?;
            offset += bytes.len() as u64;
            io::Result::Ok(())
        };
        let most = (BLOCK / (width + 1)).max(1) * (width + 1);
        let mut rows = vec![0; most.min(self.words)];
        let mut left = self.words;
        while left > 0 {
            rows.truncate(left);
            read(bytemuck::cast_slice_mut(&mut rows))?;
            append_rows(series, &rows, width);
            left -= rows.len();
        }
        let (mut runs, mut repeats) = (vec![[0; RUN]; self.runs], vec![[0; REPEAT]; self.repeats]);
        read(bytemuck::cast_slice_mut(&mut runs))?;
        read(bytemuck::cast_slice_mut(&mut repeats))?;
        series.lines.append(&runs);
        append_repeats(series, &repeats);
        Ok(())
    }
}
