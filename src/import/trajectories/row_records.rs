//! The records of tables: rows and events, from which samples are made.

use std::io;
use std::ops::Range;

use super::event_store::EventStore;
use super::record_reader::RecordReader;
use super::report::Counts;
use super::samples::Samples;
use crate::import::rows::store::Store;
use crate::import::settings::Settings;
use crate::import::tables::clock::Clock;
use crate::import::tables::files::SourceFile;
use crate::problems::Problems;

/// The records of tables. Their samples are read from the store when they are asked for.
pub(crate) struct RowRecords {
    pub store: Store,
    pub events: EventStore,
    pub clock: Clock,
    /// The record that was read last, and its samples.
    pub last: Option<(usize, Samples)>,
}

impl RowRecords {
    /// Some of the samples of a record.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(super) fn samples(
        &mut self,
        settings: &Settings,
        files: &[SourceFile],
        record: usize,
        samples: &Range<usize>,
    ) -> io::Result<Samples> {
        let all = match self.last.take().filter(|last| last.0 == record) {
            Some((_, all)) => all,
            None => {
                let reader = RecordReader { settings, files, clock: &self.clock, events: &self.events };
                // Counts and problems were reported when the record was split.
                let (mut counts, mut problems) = (Counts::new(settings), Problems::default());
                reader.samples(&self.store, record, "", &mut counts, &mut problems)?
            }
        };
        if *samples == (0..all.times.len()) {
            return Ok(all); // no second copy of a long record
        }
        let part = all.part(samples.clone());
        self.last = Some((record, all));
        Ok(part)
    }
}
