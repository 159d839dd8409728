//! Rows that stand in columns of numbers, taken many at a time: what [`RowReader`] says of each where nothing is out of the ordinary.
//!
//! A row is plain if it is of a track that is known, its time is a finite number, and each value is a finite number, once converted,
//! or missing. All others are read one by one.

use super::cell::Writing;
use super::clock::Clock;
use super::columns::{Batch, Column};
use super::series::Place;
use super::store::Store;
use super::table::{ChannelNames, RowReader};
use super::unit::Conversion;

/// What plain rows are read with, and where their samples go.
pub(super) struct Plain<'a> {
    pub clock: &'a Clock,
    pub writing: &'a Writing,
    pub names: &'a ChannelNames,
    pub store: &'a mut Store,
    /// The file's number.
    pub file: usize,
}

impl Plain<'_> {
    /// Takes the plain rows from the reader's row on, as far as they are of one track; how many they were.
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
        let times = &numbers(batch, time)?[first..];
        let track = self.store.known(reader)?;
        let ids = columns.environment.iter().chain(&columns.trajectory);
        let length = ids.map(|&column| batch.alike(column, first)).min().unwrap_or(times.len());
        let length = times[..length].iter().position(|time| !time.is_finite()).unwrap_or(length);
        let place = |i: usize| Place::new(self.file, reader.row.line + i as u64);
        let moment = |i: usize| self.clock.moment_of(times[i], of_time);
        match columns.channel {
            None => {
                let values = columns.channels.iter();
                let values = values.map(|&(column, conversion)| Some((&numbers(batch, column?)?[first..], conversion)));
                let values: Vec<(&[f64], Conversion)> = values.collect::<Option<_>>()?;
                let usable = values.iter().map(|(values, conversion)| {
                    values[..length].iter().position(|&value| conversion.apply(value).is_infinite()).unwrap_or(length)
                });
                let length = usable.min().unwrap_or(length);
                let state = |c: usize, i: usize| converted(values[c].0[i], values[c].1);
                self.store.push_all(track, 0, length, moment, state, place(0));
                Some(length)
            }
            Some(channel) => {
                let Column::Texts(channels) = batch.column(channel) else { return None };
                let values = &numbers(batch, columns.value?)?[first..length + first];
                for (i, &value) in values.iter().enumerate() {
                    let Some(position) = self.names.known(channels.value(first + i)) else { return Some(i) };
                    let value = converted(value, columns.channels[position].1);
                    if value.is_infinite() {
                        return Some(i);
                    }
                    self.store.push(track, position, moment(i), &[value], place(i));
                }
                Some(length)
            }
        }
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
