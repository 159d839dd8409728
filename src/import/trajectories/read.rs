//! The tables of samples, wide or long, to trajectories in the order of their ids and of time.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::events::{EventFiles, Events};
use super::report::Counts;
use super::samples::Samples;
use super::split_records::{Piece, Tracks};
use crate::dataset::Parent;
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
use crate::problems::shown;
use crate::problems::{Kind, Problem, Problems};
use crate::progress::Interrupt;

/// Every trajectory of the tables.
pub(crate) struct Trajectories {
    pub pieces: Vec<Piece>,
    /// The files they stand in.
    pub files: Vec<SourceFile>,
    pub parents: Vec<Parent>,
    /// Whether a request to stop came before the last row.
    pub stopped: bool,
    pub counts: Counts,
    /// What the user should know though nothing is wrong.
    pub warnings: Vec<Problem>,
    store: Store,
    events: Events,
    clock: Clock,
    /// The track that was read last.
    last: Option<(usize, Samples)>,
}

impl Trajectories {
    /// The id of the environment of a trajectory.
    pub fn environment(&self, piece: usize) -> &str {
        self.store.records[self.pieces[piece].track].environment()
    }

    /// The id of a trajectory.
    pub fn id(&self, piece: usize) -> Cow<'_, str> {
        let piece = &self.pieces[piece];
        piece.id(&self.store.records[piece.track])
    }

    /// The trajectories of one environment after the other.
    pub fn environments(&self) -> Vec<Range<usize>> {
        let environment = |piece: &Piece| self.store.records[piece.track].environment();
        let mut end = 0;
        let of_one = |pieces: &[Piece]| {
            let start = end;
            end += pieces.len();
            start..end
        };
        self.pieces.chunk_by(|a, b| environment(a) == environment(b)).map(of_one).collect()
    }

    /// Gives the memory of all samples back; their ids and counts stay.
    pub fn forget_samples(&mut self) {
        self.store.forget_rows();
    }

    /// The samples of a trajectory.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn samples(&mut self, settings: &Settings, piece: usize) -> io::Result<Samples> {
        let Piece { track, samples, .. } = &self.pieces[piece];
        let last = self.last.take().filter(|last| last.0 == *track);
        let all = match last {
            Some((_, all)) => all,
            None => {
                let tracks = Tracks { settings, files: &self.files, clock: &self.clock, events: &self.events };
                // What could be said of it has been said when it was made.
                let (mut counts, mut problems) = (Counts::new(settings), Problems::default());
                tracks.gather(&self.store, *track, "", &mut counts, &mut problems)?
            }
        };
        if *samples == (0..all.times.len()) {
            return Ok(all); // a long one does not stand in memory twice
        }
        let part = all.part(samples.clone());
        self.last = Some((*track, all));
        Ok(part)
    }
}

/// Reads the tables; `None` where a file or a column is lacking.
pub(crate) fn read(
    settings: &Settings,
    directory: &Path,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Option<Trajectories> {
    let table = &settings.table;
    let syntax = Syntax::parse(&table.delimiter, table.comment.as_deref())?;
    let files = files::find(directory, &table.file, "import.table.file", problems);
    let notation = Notation::new(&table.decimal, &table.missing);
    let channels = settings.sampled().count();
    let (parts, width) = match table.layout {
        Layout::Wide => (1, channels),
        Layout::Long => (channels, 1),
    };
    let mut reading = Reading {
        settings,
        notation: &notation,
        clock: Clock::new(settings),
        names: ChannelNames::new(settings),
        store: Store::new(parts, width),
        events: Events::new(settings),
        state: Vec::new(),
        counts: Counts::new(settings),
        filled: BTreeSet::new(),
        unmet: UnmetValues::new(&table.rows),
        unread: UnreadMarks::default(),
    };
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
    store.add_environments(events.tracks());
    let event_files = EventFiles { settings, directory, interrupt };
    match event_files.read(&mut events, &mut clock, &mut counts, &mut warnings, problems) {
        Some(files) => parents.extend(files),
        None => complete = false,
    }
    store.finish(problems);
    events.check(problems);
    let lacks_rows = store.records.is_empty();
    if complete && finished && lacks_rows && problems.is_empty() {
        let problem =
            Problem::new(Kind::NoRows, "no row that `rows` keeps", "at least one row", "widen the conditions");
        problems.push(problem.setting("import.table.rows"));
    }
    if complete && finished {
        for (index, _) in counts.events.iter().enumerate().filter(|(_, count)| **count == 0) {
            let remedy = "correct the conditions, or remove the section where there are no events";
            let problem = Problem::new(Kind::NoRows, "no row that is such an event", "at least one row", remedy);
            problems.push(problem.setting(format!("import.events[{index}].rows")));
        }
    }
    if !complete || lacks_rows {
        return None;
    }
    if table.layout == Layout::Long && !names.all_seen(settings, &files[0], problems) {
        return None;
    }
    if clock.lacks_unit() {
        let what = if clock.reads_stamps() { "time stamps" } else { "elapsed times" };
        let found = format!("{what}, and the unit {}", shown(&settings.time_unit));
        let problem =
            Problem::new(Kind::Setting, found, "a unit of time, such as `s` or `d`", "write the unit to count in");
        problems.push(problem.setting("import.time_unit"));
        return None;
    }
    let tracks = Tracks { settings, files: &files, clock: &clock, events: &events };
    let pieces = tracks.pieces(&store, &mut counts, problems);
    problems.extend(counts.ties.problem());
    warnings.extend(unmet.warnings("import.table.rows", &table.rows));
    warnings.extend(unread.warnings());
    warnings.extend(events.warnings(settings));
    warnings.extend(counts.ties.warning());
    warnings.extend(counts.set_back());
    warnings.extend(events.unmatched(&store));
    store.forget_ids();
    warnings.extend(petab::warnings(&filled, &files));
    if let Some(short) = clock.short() {
        let remedy = "it is read as hours and minutes; if it is not, set `import.table.time_format = \"%M:%S\"`";
        let problem = Problem::new(Kind::TimeStamp, shown(short), "hours, minutes and seconds", remedy);
        warnings.push(problem.file(&files[0].path).setting("import.table.time"));
    }
    let stopped = !finished;
    Some(Trajectories { pieces, files, parents, stopped, counts, warnings, store, events, clock, last: None })
}

/// All that outlasts one file.
struct Reading<'a> {
    settings: &'a Settings,
    notation: &'a Notation,
    clock: Clock,
    names: ChannelNames,
    store: Store,
    events: Events,
    /// Scratch.
    state: Vec<f64>,
    counts: Counts,
    /// Columns of a PEtab problem that are not read and that rows fill in.
    filled: BTreeSet<String>,
    /// Values of the table's conditions that no row has.
    unmet: UnmetValues,
    /// Columns that change what rows mean and are not read.
    unread: UnreadMarks,
}

impl Reading<'_> {
    /// Reads the rows of one file; false if a request to stop cut it short.
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
            let plain = BulkReader { clock, notation, names, store, file: index }.take(&reader);
            self.counts.rows += plain.max(1) as u64;
            if plain == 0 {
                self.row(index, &reader, problems);
            }
            plain.max(1)
        })
    }

    /// Reads a row of whatever kind.
    fn row(&mut self, file: usize, reader: &RowReader<'_>, problems: &mut Problems) {
        let columns = reader.columns;
        self.unmet.see(reader.row, columns.conditions.iter().map(|condition| condition.0), self.notation);
        if !columns.of_resets.is_empty() && (self.store.find_row(reader, None).is_some() || self.events.knows(reader)) {
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
        let Some(track) = self.store.record(reader, problems) else { return };
        match time {
            Some(time) if usable => self.store.push(track, channel.unwrap_or(0), time, &self.state, place),
            _ => self.store.records[track].broken = true,
        }
    }
}
