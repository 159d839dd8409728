//! A fast path for columnar files: reads many rows at a time, with the same result as [`RowReader`] row by row.
//!
//! It takes rows of known records whose time is a finite number and whose values are missing or, once converted, finite numbers. All
//! other rows are left to be read one by one.

use std::ops::Range;

use arrow_array::StringViewArray;

use super::columns::{ChannelNames, TableColumns};
use super::row::RowReader;
use super::source_lines::SourceLine;
use super::store::Store;
use crate::import::tables::batch::{Batch, Column};
use crate::import::tables::cell::Notation;
use crate::import::tables::clock::Clock;
use crate::units::Conversion;

/// Reads rows in bulk into a store.
pub(crate) struct BulkReader<'a> {
    pub clock: &'a Clock,
    pub notation: &'a Notation,
    pub names: &'a ChannelNames,
    pub store: &'a mut Store,
    /// Index of the file.
    pub file: usize,
}

/// The columns of a batch, `[rows]` each, with the conversions of their units.
struct Values<'a> {
    times: &'a [f64],
    time_conversion: Conversion,
    /// One per channel of a wide table.
    channels: Vec<(&'a [f64], Conversion)>,
    /// Channel names and values of a long table.
    named: Option<(&'a StringViewArray, &'a [f64])>,
}

impl BulkReader<'_> {
    /// Takes rows from the reader's row on, until one needs to be read alone or its record is new to this batch; returns how many.
    pub(crate) fn take(&mut self, reader: &RowReader<'_>) -> usize {
        self.try_take(reader).unwrap_or(0)
    }

    fn try_take(&mut self, reader: &RowReader<'_>) -> Option<usize> {
        let (batch, first) = reader.row.in_batch()?;
        let columns = reader.columns;
        if !columns.keeps_every_row() || !self.clock.reads_numbers() || self.notation.has_numbers() {
            return None;
        }
        let (time, time_conversion) = columns.time?;
        let mut values = Values { times: numbers(batch, time)?, time_conversion, channels: Vec::new(), named: None };
        if let Some(channel) = columns.channel {
            let Column::Texts(names) = batch.column(channel) else { return None };
            values.named = Some((names, numbers(batch, columns.value?)?));
        } else {
            let values_of = |&(column, conversion): &(Option<usize>, _)| Some((numbers(batch, column?)?, conversion));
            values.channels = columns.channels.iter().map(values_of).collect::<Option<_>>()?;
        }
        let ids: Vec<usize> = columns.environment.iter().chain(&columns.trajectory).copied().collect();
        // Raw text cells are comparable within one batch only.
        let begin = reader.row.line - first as u64;
        let batch_key = SourceLine::new(self.file, begin).bits();
        let key = |row: usize| Some((batch.raw(&ids, row)?, batch_key));
        let mut record = self.store.find_row(reader, key(first))?;
        let mut row = first;
        loop {
            let length = batch.equal_rows(&ids, row);
            let line = SourceLine::new(self.file, begin + row as u64);
            let taken = self.take_record(&values, columns, record, row..row + length, line);
            row += taken;
            if taken < length || row == batch.rows() {
                return Some(row - first);
            }
            match key(row).and_then(|key| self.store.recent(&key)) {
                Some(next) => record = next,
                None => return Some(row - first),
            }
        }
    }

    /// Takes rows of one record, the first of which stands on `line`, up to the first that needs to be read alone; returns how many.
    fn take_record(
        &mut self,
        values: &Values<'_>,
        columns: &TableColumns,
        record: usize,
        rows: Range<usize>,
        line: SourceLine,
    ) -> usize {
        let times = &values.times[rows.clone()];
        let length = times.iter().position(|time| !time.is_finite()).unwrap_or(times.len());
        let moment = |i: usize| self.clock.moment_of(times[i], values.time_conversion);
        let Some((names, numbers)) = values.named else {
            let usable = values.channels.iter().map(|(values, conversion)| {
                let values = &values[rows.start..rows.start + length];
                values.iter().position(|&value| conversion.apply(value).is_infinite()).unwrap_or(length)
            });
            let length = usable.min().unwrap_or(length);
            let state = |c: usize, i: usize| converted(values.channels[c].0[rows.start + i], values.channels[c].1);
            self.store.push_all(record, 0, length, moment, state, line);
            return length;
        };
        for i in 0..length {
            let Some(position) = self.names.seen_position(names.value(rows.start + i)) else { return i };
            let value = converted(numbers[rows.start + i], columns.channels[position].1);
            if value.is_infinite() {
                return i;
            }
            self.store.push(record, position, moment(i), &[value], line.after(i as u64));
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
