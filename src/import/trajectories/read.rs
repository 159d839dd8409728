//! The tables of samples, wide or long, to trajectories in the order of their ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::event_files::EventFiles;
use super::event_store::EventStore;
use super::record_reader::RecordReader;
use super::report::Counts;
use super::row_records::RowRecords;
use super::set::{Records, Trajectories};
use super::split_records::split_records;
use crate::digest::sha256_of_file;
use crate::import::rows::bulk::BulkReader;
use crate::import::rows::columns::{ChannelNames, TableColumns};
use crate::import::rows::petab;
use crate::import::rows::row::RowReader;
use crate::import::rows::source_lines::SourceLine;
use crate::import::rows::store::Store;
use crate::import::rows::unmet::UnmetValues;
use crate::import::rows::unread_marks::UnreadMarks;
use crate::import::settings::Settings;
use crate::import::settings::table::Layout;
use crate::import::tables::cell::Notation;
use crate::import::tables::clock::Clock;
use crate::import::tables::csv::Syntax;
use crate::import::tables::files;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, many, shown};
use crate::progress::Interrupt;

/// Reads the tables whose files are wanted by name, with so many bytes of rows in memory; `None` if a file or a column is missing, or there are no rows.
pub(crate) fn read(
    settings: &Settings,
    directory: &Path,
    (is_wanted, rows_in_memory): (&dyn Fn(&str) -> bool, u64),
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Option<Trajectories> {
    let table = &settings.table;
    let syntax = Syntax::parse(&table.delimiter, table.comment.as_deref())?;
    let mut files = files::find(directory, &table.file, "import.table.file", problems);
    files.retain(|file| is_wanted(&file.name));
    let notation = Notation::new(&table.decimal, &table.missing);
    let mut reading = Reading::new(settings, &notation, rows_in_memory);
    let (mut complete, mut finished) = (!files.is_empty(), true);
    let (mut parents, mut warnings) = (Vec::new(), Vec::new());
    for (index, file) in files.iter().enumerate() {
        let Some(mut source) = Source::open(file, "import.table.file", syntax, problems) else {
            complete = false;
            continue;
        };
        let columns =
            TableColumns::find(settings, file, &source, &mut warnings, &mut reading.counts.conversions, problems);
        complete &= columns.complete;
        let mut digest = Ok(String::new());
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| digest = sha256_of_file(&file.path));
            finished &= reading.file(index, file, &mut source, &columns, interrupt, problems);
        });
        match file.parent(digest, problems) {
            Some(parent) => parents.push(parent),
            None => complete = false,
        }
    }
    let Reading { mut clock, names, mut store, mut events, mut counts, filled, unmet, unread, .. } = reading;
    store.add_environments(events.records());
    let event_files = EventFiles { settings, directory, interrupt };
    match event_files.read(&mut events, &mut clock, &mut counts, &mut warnings, problems) {
        Some(files) => parents.extend(files),
        None => complete = false,
    }
    store.finish(problems);
    events.report_failure(problems);
    let lacks_rows = store.records.is_empty();
    if complete && finished {
        if lacks_rows && problems.is_empty() {
            let found = "no row that `rows` keeps";
            let problem = Problem::new(Kind::NoRows, found, "at least one row", "widen the conditions");
            problems.push(problem.setting("import.table.rows"));
        }
        problems.extend(inputs_without_events(&counts));
    }
    if !complete || lacks_rows {
        return None;
    }
    if table.layout == Layout::Long && !names.all_seen(settings, &files[0], problems) {
        return None;
    }
    if let Some(problem) = missing_unit(&clock, settings) {
        problems.push(problem);
        return None;
    }
    let reader = RecordReader { settings, files: &files, clock: &clock, events: &events };
    let segments = split_records(&reader, &store, &mut counts, problems);
    problems.extend(counts.ties.problem());
    warnings.extend(unmet.warnings("import.table.rows", &table.rows));
    warnings.extend(unread.warnings());
    warnings.extend(events.warnings(settings));
    warnings.extend(counts.ties.warning());
    warnings.extend(counts.clock_warning());
    warnings.extend(events.unmatched(&store));
    store.forget_ids();
    warnings.extend(petab::warnings(&filled, &files));
    warnings.extend(clock.short().map(|short| {
        let remedy = "it is read as hours and minutes; if it is not, set `import.table.time_format = \"%M:%S\"`";
        let problem = Problem::new(Kind::TimeStamp, shown(short), "hours, minutes and seconds", remedy);
        problem.file(&files[0].path).setting("import.table.time")
    }));
    let records = Records::Rows(Box::new(RowRecords { store, events, clock, last: None }));
    Some(Trajectories {
        segments,
        files,
        parents,
        grid: None,
        parameters: BTreeMap::new(),
        notes: vec![format!("{} read", many(counts.rows, "row"))],
        treatments: counts.report(settings),
        warnings,
        records,
    })
}

/// The problems with inputs that no row is an event of.
fn inputs_without_events(counts: &Counts) -> impl Iterator<Item = Problem> {
    counts.events.iter().enumerate().filter(|(_, count)| **count == 0).map(|(index, _)| {
        let remedy = "correct the conditions, or remove the section where there are no events";
        let problem = Problem::new(Kind::NoRows, "no row that is such an event", "at least one row", remedy);
        problem.setting(format!("import.events[{index}].rows"))
    })
}

/// The problem with times that have to be converted to a unit that is not one of time.
fn missing_unit(clock: &Clock, settings: &Settings) -> Option<Problem> {
    let what = if clock.reads_stamps() { "time stamps" } else { "elapsed times" };
    let found = format!("{what}, and the unit {}", shown(&settings.time_unit));
    let problem =
        Problem::new(Kind::Setting, found, "a unit of time, such as `s` or `d`", "write the unit to count in");
    clock.lacks_unit().then(|| problem.setting("import.time_unit"))
}

/// What is kept from one file to the next.
struct Reading<'a> {
    settings: &'a Settings,
    notation: &'a Notation,
    clock: Clock,
    names: ChannelNames,
    store: Store,
    events: EventStore,
    /// The state of the row that is being read.
    state: Vec<f64>,
    counts: Counts,
    /// Columns of a PEtab problem that are not read, but filled in by rows.
    filled: BTreeSet<String>,
    /// Values in the table's conditions that no row has.
    unmet: UnmetValues,
    /// Columns that change what rows mean and are not read.
    unread: UnreadMarks,
}

impl<'a> Reading<'a> {
    fn new(settings: &'a Settings, notation: &'a Notation, rows_in_memory: u64) -> Self {
        let channels = settings.sampled().count();
        let (parts, width) = match settings.table.layout {
            Layout::Wide => (1, channels),
            Layout::Long => (channels, 1),
        };
        Reading {
            settings,
            notation,
            clock: Clock::new(settings),
            names: ChannelNames::new(settings),
            store: Store::within(rows_in_memory, parts, width),
            events: EventStore::new(settings),
            state: Vec::new(),
            counts: Counts::new(settings),
            filled: BTreeSet::new(),
            unmet: UnmetValues::new(&settings.table.rows),
            unread: UnreadMarks::default(),
        }
    }

    /// Reads the rows of one file, in bulk where it can; false if a request to stop came.
    fn file(
        &mut self,
        index: usize,
        file: &SourceFile,
        source: &mut Source,
        columns: &TableColumns,
        interrupt: &Interrupt,
        problems: &mut Problems,
    ) -> bool {
        let header = source.header.clone();
        source.rows_in_bulk(interrupt, problems, |row, problems| {
            let reader = RowReader { file, header: &header, row, columns, notation: self.notation };
            let Reading { clock, notation, names, store, .. } = self;
            let bulk = BulkReader { clock, notation, names, store, file: index }.take(&reader);
            self.counts.rows += bulk.max(1) as u64;
            if bulk == 0 {
                self.row(index, &reader, problems);
            }
            bulk.max(1)
        })
    }

    /// Reads one row.
    fn row(&mut self, file: usize, reader: &RowReader<'_>, problems: &mut Problems) {
        let columns = reader.columns;
        self.unmet.see(reader.row, columns.conditions.iter().map(|condition| condition.0), self.notation);
        if !columns.of_resets.is_empty()
            && (self.store.find_row(reader, None).is_some() || self.events.has_event(reader))
        {
            self.unread.reset(reader, &columns.of_resets);
        }
        if self.events.take(self.settings, reader, file, &mut self.clock, &mut self.counts, problems) {
            return;
        }
        if !reader.is_selected() {
            self.counts.unselected += 1;
            return;
        }
        let layout = self.settings.table.layout;
        let channel = match layout {
            Layout::Wide => None,
            Layout::Long => match reader.channel(&mut self.names, problems) {
                Some(channel) => channel,
                None => return,
            },
        };
        if reader.is_event(problems) || reader.is_refused_by_petab(&mut self.filled, problems) {
            return;
        }
        let time = reader.time(&mut self.clock, problems);
        let place = SourceLine::new(file, reader.row.line);
        let usable = match layout {
            Layout::Wide => reader.state(&mut self.state, problems),
            Layout::Long => {
                self.state.clear();
                self.state.extend(reader.long_value(channel, problems));
                channel.is_some() && !self.state.is_empty()
            }
        };
        let is_observed = self.state.iter().any(|value| !value.is_nan());
        self.unread.sample(reader, &columns.of_samples, is_observed);
        let Some(record) = self.store.record(reader, problems) else { return };
        match time {
            Some(time) if usable => self.store.push(record, channel.unwrap_or(0), time, &self.state, place),
            _ => self.store.records[record].broken = true,
        }
    }
}
