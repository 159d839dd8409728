//! Files that hold events alone.

use std::path::Path;

use super::event_store::EventStore;
use super::report::Counts;
use crate::dataset::Parent;
use crate::digest::sha256_of_file;
use crate::import::rows::columns::{EventColumns, TableColumns};
use crate::import::rows::header_units::HeaderUnits;
use crate::import::rows::row::RowReader;
use crate::import::settings::Settings;
use crate::import::tables::cell::Notation;
use crate::import::tables::clock::Clock;
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::{Problem, Problems};
use crate::progress::Interrupt;

/// The files of events that `settings` name.
pub(crate) struct EventFiles<'a> {
    pub settings: &'a Settings,
    pub directory: &'a Path,
    pub interrupt: &'a Interrupt,
}

impl EventFiles<'_> {
    /// Reads them all into `events`; `None` if a file or a column is missing, or a request to stop came.
    pub(super) fn read(
        &self,
        events: &mut EventStore,
        clock: &mut Clock,
        counts: &mut Counts,
        warnings: &mut Vec<Problem>,
        problems: &mut Problems,
    ) -> Option<Vec<Parent>> {
        let mut parents = Some(Vec::new());
        for index in (0..self.settings.events.len()).filter(|&index| self.settings.events[index].file.is_some()) {
            let parent = self.read_one(index, events, clock, counts, warnings, problems);
            match (&mut parents, parent) {
                (Some(parents), Some(parent)) => parents.push(parent),
                _ => parents = None,
            }
        }
        parents
    }

    fn read_one(
        &self,
        index: usize,
        events: &mut EventStore,
        clock: &mut Clock,
        counts: &mut Counts,
        warnings: &mut Vec<Problem>,
        problems: &mut Problems,
    ) -> Option<Parent> {
        let EventFiles { settings, directory, interrupt } = *self;
        let (event, table) = (&settings.events[index], &settings.table);
        let key = format!("import.events[{index}]");
        let name = event.file.clone()?;
        let file = SourceFile::new(&name, directory.join(&name));
        let syntax = Syntax::parse(event.delimiter.as_ref().unwrap_or(&table.delimiter), table.comment.as_deref())?;
        let mut source = Source::open(&file, &format!("{key}.file"), syntax, problems)?;
        let mut units = HeaderUnits { source: &source, warnings, conversions: &mut counts.conversions, problems };
        let mut complete = true;
        let mut find = |part: &str, name: &String, units: &mut HeaderUnits<'_>| {
            let column = source.column(&format!("{key}.{part}"), name, units.problems);
            complete &= column.is_some();
            column
        };
        let ids = if event.environment.0.is_empty() { &table.environment } else { &event.environment };
        let environment = ids.0.iter().filter_map(|name| find("environment", name, &mut units)).collect();
        let trajectory = event.trajectory.0.iter().filter_map(|name| find("trajectory", name, &mut units)).collect();
        let time = find("time", event.time.as_ref().unwrap_or(&table.time), &mut units);
        let stated = table.time_column_unit.as_deref();
        let time = time.map(|time| (time, units.conversion(time, "import.time_unit", &settings.time_unit, stated)));
        let (found, is_whole) = EventColumns::find(settings, index, &mut units);
        if !(complete && is_whole) {
            return None;
        }
        let columns =
            TableColumns { environment, trajectory, time, events: vec![(index, found)], ..Default::default() };
        let notation = Notation::new(&table.decimal, &[]);
        let header = source.header.clone();
        let finished = source.rows(interrupt, problems, |row, problems| {
            let reader = RowReader { file: &file, header: &header, row, columns: &columns, notation: &notation };
            events.take(settings, &reader, 0, clock, counts, problems);
        });
        file.parent(sha256_of_file(&file.path), problems).filter(|_| finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "dataset = 'd'\ndirectory = '.'\ntime_unit = 's'\ntable = { file = 'f', environment = 'id', time = 't' }\n\
                            channels = []\nsplits = {}\nevents = [{ name = 'u', unit = 's', shape = 'since', file = 'events.csv' }]";

    #[test]
    fn a_request_to_stop_is_seen_in_a_file_of_events() {
        let settings: Settings = toml::from_str(SETTINGS).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let rows: String = (0..40_000).map(|row| format!("a,{row}\n")).collect();
        std::fs::write(directory.path().join("events.csv"), format!("id,t\n{rows}")).unwrap();
        let read = |interrupt: &Interrupt| {
            let (mut events, mut counts) = (EventStore::new(&settings), Counts::new(&settings));
            let (mut clock, mut warnings, mut problems) = (Clock::new(&settings), Vec::new(), Problems::default());
            let files = EventFiles { settings: &settings, directory: directory.path(), interrupt };
            let parents = files.read(&mut events, &mut clock, &mut counts, &mut warnings, &mut problems);
            assert!(problems.is_empty());
            (parents.is_some(), counts.events[0])
        };
        let interrupt = Interrupt::new();
        assert_eq!(read(&interrupt), (true, 40_000));
        interrupt.request(2);
        let (finished, rows) = read(&interrupt);
        assert!(!finished && rows < 40_000, "{rows}");
    }
}
