//! The rows of all events, stored by the record and the input that they belong to.

use std::collections::BTreeSet;
use std::io;

use super::event::Event;
use super::report::Counts;
use crate::import::rows::columns::EventColumns;
use crate::import::rows::row::RowReader;
use crate::import::rows::source_lines::SourceLine;
use crate::import::rows::store::{Store, StoredRecord};
use crate::import::rows::unmet::UnmetValues;
use crate::import::rows::unread_marks::UnreadMarks;
use crate::import::settings::Settings;
use crate::import::settings::events::Shape;
use crate::import::tables::clock::{Clock, Moment};
use crate::problems::{Kind, Problem, Problems, listing};

/// The events of all records: those of each input are a part of the record.
pub(crate) struct EventStore {
    /// Of each event its amount, and its number among those of its row.
    store: Store,
    /// Of each input, the values in its conditions that no row has.
    unmet: Vec<UnmetValues>,
    /// Columns that change what rows mean and are not read.
    unread: UnreadMarks,
}

impl EventStore {
    /// A store without events, of the inputs in `settings`.
    pub(super) fn new(settings: &Settings) -> Self {
        let unmet = settings.events.iter().map(|event| UnmetValues::new(&event.rows)).collect();
        EventStore { store: Store::new(settings.events.len(), 2), unmet, unread: UnreadMarks::default() }
    }

    /// Stores a row as an event of each input whose conditions it meets; whether it meets any.
    pub(super) fn take(
        &mut self,
        settings: &Settings,
        reader: &RowReader<'_>,
        file: usize,
        clock: &mut Clock,
        counts: &mut Counts,
        problems: &mut Problems,
    ) -> bool {
        let mut is_event = false;
        let meets = |event: &EventColumns| {
            event.conditions.iter().all(|(column, it)| reader.notation.meets(it, reader.row.cell(*column)))
        };
        let is_pulse =
            |(index, event): &(usize, EventColumns)| settings.events[*index].shape == Shape::Pulse && meets(event);
        for (index, event) in &reader.columns.events {
            let columns = event.conditions.iter().map(|condition| condition.0);
            self.unmet[*index].see(reader.row, columns, reader.notation);
            if !meets(event) {
                continue;
            }
            is_event = true;
            let input = &settings.events[*index];
            let is_bolus = input.shape == Shape::Bolus;
            let is_pulse_too = is_bolus && reader.columns.events.iter().any(is_pulse);
            self.unread.event(reader, &event.marks, (input, is_pulse_too), event.amount.map(|amount| amount.0));
            let amount = match event.amount {
                Some((column, conversion)) => reader
                    .amount(column, conversion, problems)
                    .filter(|&amount| !is_bolus || reader.is_amount(column, amount, problems)),
                None => Some(f64::from(is_bolus)),
            };
            let repeats = match event.repeats {
                Some(columns) => reader.repeats(columns, problems),
                None => Some((0, 0.0)),
            };
            counts.events[*index] += 1;
            let time = reader.time(clock, problems);
            let record = self.store.record(reader, problems);
            let (Some(amount), Some((additional, interval)), Some(time), Some(record)) =
                (amount, repeats, time, record)
            else {
                continue;
            };
            let line = SourceLine::new(file, reader.row.line);
            for number in 0..=additional {
                let time = if number == 0 { time } else { clock.before(time, -(number as f64 * interval)) };
                self.store.push(record, *index, time, &[amount, number as f64], line);
            }
        }
        is_event
    }

    /// The records that have events so far.
    pub(super) fn records(&self) -> &[StoredRecord] {
        &self.store.records
    }

    /// Reports a temporary file that could not be written.
    pub(super) fn report_failure(&mut self, problems: &mut Problems) {
        self.store.finish(problems);
    }

    /// Whether the record of a row has had an event.
    pub(super) fn has_event(&mut self, reader: &RowReader<'_>) -> bool {
        self.store.find_row(reader, None).is_some()
    }

    /// Warns of values in conditions that no row has, and of columns that are not read.
    pub(super) fn warnings(&mut self, settings: &Settings) -> Vec<Problem> {
        let events = settings.events.iter().zip(&self.unmet).enumerate();
        let unmet =
            events.flat_map(|(i, (event, unmet))| unmet.warnings(&format!("import.events[{i}].rows"), &event.rows));
        unmet.chain(std::mem::take(&mut self.unread).warnings()).collect()
    }

    /// Warns of events whose record has no samples.
    pub(super) fn unmatched(&self, store: &Store) -> Option<Problem> {
        let environments: BTreeSet<&str> = store.records.iter().map(StoredRecord::environment).collect();
        let acts = |environment: &str, trajectory: &str| match trajectory.is_empty() {
            true => environments.contains(environment),
            false => store.find(environment, trajectory).is_some(),
        };
        let records = self.store.records.iter().filter(|record| !acts(record.environment(), record.trajectory()));
        let names: BTreeSet<String> = records
            .map(|record| match record.trajectory() {
                "" => record.environment().to_owned(),
                trajectory => format!("{}/{trajectory}", record.environment()),
            })
            .collect();
        let names: Vec<&String> = names.iter().collect();
        let found = format!("events of {}, which the table does not have", listing(&names));
        let remedy = "they are left out; if they should not be, spell their ids as in the table";
        let problem = Problem::new(Kind::UnusedRow, found, "ids of the table", remedy).setting("import.events");
        Some(problem).filter(|_| !names.is_empty())
    }

    /// The events of each input in a trajectory, by time: its own, and those of its whole environment. `time` converts a moment to the
    /// dataset's unit.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(super) fn read(
        &self,
        settings: &Settings,
        environment: &str,
        trajectory: &str,
        time: impl Fn(Moment) -> f64,
    ) -> io::Result<Vec<Vec<Event>>> {
        let mut events = vec![Vec::new(); settings.events.len()];
        for id in [trajectory, ""] {
            let Some(record) = self.store.find(environment, id) else { continue };
            for ((events, rows), input) in events.iter_mut().zip(self.store.rows(record)?).zip(&settings.events) {
                events.extend(rows.moments.iter().enumerate().map(|(row, &moment)| {
                    let (time, copies) = (time(moment), rows.copies(row));
                    let (amount, number) = (rows.states[2 * row], rows.states[2 * row + 1]);
                    // The place of its row tells nothing of an additional one.
                    let line = rows.lines.get(row).filter(|_| input.file.is_none() && number == 0.0);
                    Event { time, amount, copies, moment, line, begins: time }
                }));
            }
        }
        for events in &mut events {
            events.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.amount.total_cmp(&b.amount)));
        }
        Ok(events)
    }
}
