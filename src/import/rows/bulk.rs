//! Rows that stand in columns of numbers, taken many at a time: what [`RowReader`] says of each where nothing is out of the ordinary.
//!
//! A row is plain if it is of a track that is known, its time is a finite number, and each value is a finite number, once converted,
//! or missing. All others are read one by one.

use std::ops::Range;

use arrow_array::StringViewArray;

use super::columns::{ChannelNames, TableColumns};
use super::places::Place;
use super::row::RowReader;
use super::store::Store;
use crate::import::tables::batch::{Batch, Column};
use crate::import::tables::cell::Writing;
use crate::import::tables::clock::Clock;
use crate::units::Conversion;

/// What plain rows are read with, and where their samples go.
pub(crate) struct Plain<'a> {
    pub clock: &'a Clock,
    pub writing: &'a Writing,
    pub names: &'a ChannelNames,
    pub store: &'a mut Store,
    /// The file's number.
    pub file: usize,
}

/// What a row is read with, side by side with the others of its batch.
struct Values<'a> {
    times: &'a [f64],
    of_time: Conversion,
    /// Of a wide table.
    channels: Vec<(&'a [f64], Conversion)>,
    /// Of a long table: the channels' names and their values.
    named: Option<(&'a StringViewArray, &'a [f64])>,
}

impl Plain<'_> {
    /// Takes the plain rows from the reader's row on, as far as their tracks have been met in this batch; how many they were.
    pub fn take(&mut self, reader: &RowReader<'_>) -> usize {
        self.try_take(reader).unwrap_or(0)
    }

    fn try_take(&mut self, reader: &RowReader<'_>) -> Option<usize> {
        let (batch, first) = reader.row.in_batch()?;
        let columns = reader.columns;
        if !columns.keeps_every_row() || !self.clock.reads_numbers() || self.writing.has_numbers() {
            return None;
        }
        let (time, of_time) = columns.time?;
        let mut values = Values { times: numbers(batch, time)?, of_time, channels: Vec::new(), named: None };
        if let Some(channel) = columns.channel {
            let Column::Texts(names) = batch.column(channel) else { return None };
            values.named = Some((names, numbers(batch, columns.value?)?));
        } else {
            let of_channel = |&(column, conversion): &(Option<usize>, _)| Some((numbers(batch, column?)?, conversion));
            values.channels = columns.channels.iter().map(of_channel).collect::<Option<_>>()?;
        }
        let ids: Vec<usize> = columns.environment.iter().chain(&columns.trajectory).copied().collect();
        // A view of a text tells it apart from others of its batch alone.
        let begin = reader.row.line - first as u64;
        let of_batch = Place::new(self.file, begin).bits();
        let key = |row: usize| Some((batch.raw(&ids, row)?, of_batch));
        let mut track = self.store.known(reader, key(first))?;
        let mut row = first;
        loop {
            let length = batch.alike(&ids, row);
            let place = Place::new(self.file, begin + row as u64);
            let taken = self.run(&values, columns, track, row..row + length, place);
            row += taken;
            if taken < length || row == batch.rows() {
                return Some(row - first);
            }
            match key(row).and_then(|key| self.store.recent(&key)) {
                Some(next) => track = next,
                None => return Some(row - first),
            }
        }
    }

    /// Takes the plain rows at the beginning of these of one track, the first of which stands at `place`; how many they were.
    fn run(
        &mut self,
        values: &Values<'_>,
        columns: &TableColumns,
        track: usize,
        rows: Range<usize>,
        place: Place,
    ) -> usize {
        let times = &values.times[rows.clone()];
        let length = times.iter().position(|time| !time.is_finite()).unwrap_or(times.len());
        let moment = |i: usize| self.clock.moment_of(times[i], values.of_time);
        let Some((names, numbers)) = values.named else {
            let usable = values.channels.iter().map(|(values, conversion)| {
                let values = &values[rows.start..rows.start + length];
                values.iter().position(|&value| conversion.apply(value).is_infinite()).unwrap_or(length)
            });
            let length = usable.min().unwrap_or(length);
            let state = |c: usize, i: usize| converted(values.channels[c].0[rows.start + i], values.channels[c].1);
            self.store.push_all(track, 0, length, moment, state, place);
            return length;
        };
        for i in 0..length {
            let Some(position) = self.names.known(names.value(rows.start + i)) else { return i };
            let value = converted(numbers[rows.start + i], columns.channels[position].1);
            if value.is_infinite() {
                return i;
            }
            self.store.push(track, position, moment(i), &[value], place.after(i as u64));
        }
        length
    }
}

fn numbers(batch: &Batch, column: usize) -> Option<&[f64]> {
    match batch.column(column) {
        Column::Numbers(numbers) => Some(numbers),
        _ => None,
    }
}

fn converted(value: f64, conversion: Conversion) -> f64 {
    conversion.apply(if value.is_nan() { f64::NAN } else { value })
}
