//! Events to inputs. Of events of amounts `a_k` at times `e_k`, an input at time `t` is
//!
//! ```text
//! cumulative   sum of a_k over e_k <= t
//! pulse        sum of a_k / D over e_k <= t < e_k + D
//! since        t - max of e_k over e_k <= t
//! ```
//!
//! `since` falls at an event, while a linear input is continuous: it falls within the last [`FALL`] of the time since the sample or event
//! before, for which the grid has a sample of its own.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::event::Event;
use super::report::Counts;
use crate::dataset::Parent;
use crate::digest::sha256_of_file;
use crate::import::rows::columns::{EventColumns, TableColumns};
use crate::import::rows::header_units::HeaderUnits;
use crate::import::rows::row::RowReader;
use crate::import::rows::source_lines::SourceLine;
use crate::import::rows::store::{Store, StoredRecord};
use crate::import::rows::unmet::UnmetValues;
use crate::import::rows::unread_marks::UnreadMarks;
use crate::import::settings::Settings;
use crate::import::settings::events::{EventInput, Shape};
use crate::import::tables::cell::Notation;
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, listing};
use crate::progress::Interrupt;
use crate::schema::Between;
use crate::signals::Signal;
use crate::units::{Conversion, Unit};

/// Share of a time within which `since` falls.
const FALL: f64 = 1e-6;

/// The events of all trajectories: a part of a track for each input.
pub(crate) struct Events {
    store: Store,
    /// Values of the conditions of each input that no row has.
    unmet: Vec<UnmetValues>,
    unread: UnreadMarks,
}

impl Events {
    pub fn new(settings: &Settings) -> Self {
        let unmet = settings.events.iter().map(|event| UnmetValues::new(&event.rows)).collect();
        Events { store: Store::new(settings.events.len(), 1), unmet, unread: UnreadMarks::default() }
    }

    /// Takes a row as an event of every input of which it is one; whether there is any.
    pub fn take(
        &mut self,
        settings: &Settings,
        reader: &RowReader<'_>,
        file: usize,
        clock: &mut Clock,
        counts: &mut Counts,
        problems: &mut Problems,
    ) -> bool {
        let mut is_event = false;
        for (index, event) in &reader.columns.events {
            let columns = event.conditions.iter().map(|condition| condition.0);
            self.unmet[*index].see(reader.row, columns, reader.notation);
            if !event.conditions.iter().all(|(column, it)| reader.notation.meets(it, reader.row.cell(*column))) {
                continue;
            }
            is_event = true;
            counts.events[*index] += 1;
            self.unread.event(reader, &event.marks, &settings.events[*index], event.amount.map(|amount| amount.0));
            let amount = match event.amount {
                Some((column, conversion)) => reader.amount(column, conversion, problems),
                None => Some(0.0),
            };
            let time = reader.time(clock, problems);
            let track = self.store.record(reader, problems);
            if let (Some(amount), Some(time), Some(track)) = (amount, time, track) {
                self.store.push(track, *index, time, &[amount], SourceLine::new(file, reader.row.line));
            }
        }
        is_event
    }

    /// The tracks that have events so far.
    pub fn tracks(&self) -> &[StoredRecord] {
        &self.store.records
    }

    /// Reports a temporary file that could not be written.
    pub fn check(&mut self, problems: &mut Problems) {
        self.store.finish(problems);
    }

    /// Whether the row's record has had an event.
    pub fn knows(&mut self, reader: &RowReader<'_>) -> bool {
        self.store.find_row(reader, None).is_some()
    }

    /// Warns of what the conditions name and no row has, and of columns that are not read.
    pub fn warnings(&mut self, settings: &Settings) -> Vec<Problem> {
        let events = settings.events.iter().zip(&self.unmet).enumerate();
        let unmet =
            events.flat_map(|(i, (event, unmet))| unmet.warnings(&format!("import.events[{i}].rows"), &event.rows));
        unmet.chain(std::mem::take(&mut self.unread).warnings()).collect()
    }

    /// Warns of events that act nowhere.
    pub fn unmatched(&self, store: &Store) -> Option<Problem> {
        let environments: BTreeSet<&str> = store.records.iter().map(StoredRecord::environment).collect();
        let acts = |environment: &str, trajectory: &str| match trajectory.is_empty() {
            true => environments.contains(environment),
            false => store.find(environment, trajectory).is_some(),
        };
        let tracks = self.store.records.iter().filter(|track| !acts(track.environment(), track.trajectory()));
        let names: BTreeSet<String> = tracks
            .map(|track| match track.trajectory() {
                "" => track.environment().to_owned(),
                trajectory => format!("{}/{trajectory}", track.environment()),
            })
            .collect();
        let names: Vec<&String> = names.iter().collect();
        let found = format!("events of {}, which the table does not have", listing(&names));
        let remedy = "they are left out; if they should not be, spell their ids as in the table";
        let problem = Problem::new(Kind::UnusedRow, found, "ids of the table", remedy).setting("import.events");
        Some(problem).filter(|_| !names.is_empty())
    }

    /// The events of each input that act in a trajectory, in order; `time` tells a moment in the dataset's unit.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn of(
        &self,
        settings: &Settings,
        environment: &str,
        trajectory: &str,
        time: impl Fn(Moment) -> f64,
    ) -> io::Result<Vec<Vec<Event>>> {
        let mut events = vec![Vec::new(); settings.events.len()];
        for id in [trajectory, ""] {
            let Some(track) = self.store.find(environment, id) else { continue };
            for ((events, rows), input) in events.iter_mut().zip(self.store.rows(track)?).zip(&settings.events) {
                events.extend(rows.moments.iter().enumerate().map(|(row, &moment)| {
                    let (time, amount, copies) = (time(moment), rows.states[row], rows.copies(row));
                    let place = rows.lines.get(row).filter(|_| input.file.is_none());
                    Event { time, amount, copies, moment, place, begins: time }
                }));
            }
        }
        for events in &mut events {
            events.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.amount.total_cmp(&b.amount)));
        }
        Ok(events)
    }
}

/// The files of events' own.
pub(crate) struct EventFiles<'a> {
    pub settings: &'a Settings,
    pub directory: &'a Path,
    pub interrupt: &'a Interrupt,
}

impl EventFiles<'_> {
    /// Reads them all; `None` where a file or a column is lacking, or a request to stop cut it short.
    pub fn read(
        &self,
        events: &mut Events,
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
        events: &mut Events,
        clock: &mut Clock,
        counts: &mut Counts,
        warnings: &mut Vec<Problem>,
        problems: &mut Problems,
    ) -> Option<Parent> {
        let EventFiles { settings, directory, interrupt } = *self;
        let (event, table) = (&settings.events[index], &settings.table);
        let key = format!("import.events[{index}]");
        let name = event.file.clone()?;
        let file = SourceFile { path: directory.join(&name), name, environment: None, trajectory: None };
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

/// The inputs that the events of a trajectory make; its states were observed within `span`, and it has samples at `times`.
///
/// # Errors
/// For each input that is not known at its beginning, or whose pulses are too brief.
pub(crate) fn signals(
    settings: &Settings,
    events: &[Vec<Event>],
    span: (f64, f64),
    times: &[f64],
    whose: &str,
) -> Result<Vec<Signal>, Vec<Problem>> {
    let (lead, mut signals, mut problems) = (lead(settings, events), Vec::new(), Vec::new());
    for (index, (input, events)) in settings.events.iter().zip(events).enumerate() {
        match input.shape {
            Shape::Cumulative => signals.push(cumulative(events)),
            Shape::Pulse => match pulse(events, input.duration.unwrap_or(1.0)) {
                Ok(signal) => signals.push(signal),
                Err(time) => problems.push(too_brief(index, input.duration.unwrap_or(1.0), time, whose)),
            },
            Shape::Since => match since(input, &settings.time_unit, events, span, times, lead) {
                Some(signal) => signals.push(signal),
                None => problems.push(unknown_before(index, events, span, whose)),
            },
        }
    }
    if problems.is_empty() { Ok(signals) } else { Err(problems) }
}

/// How many events of each input end before the `span` of their trajectory, or begin behind it: they act on nothing.
pub(crate) fn idle<'a>(
    settings: &'a Settings,
    events: &'a [Vec<Event>],
    span: (f64, f64),
) -> impl Iterator<Item = u64> + use<'a> {
    settings.events.iter().zip(events).map(move |(input, events)| {
        let ends = |event: &Event| match input.shape {
            Shape::Pulse => event.ends(input.duration.unwrap_or(1.0)),
            // What was given before counts, and so does when.
            Shape::Cumulative | Shape::Since => f64::INFINITY,
        };
        events.iter().filter(|event| ends(event) <= span.0 || event.time > span.1).count() as u64
    })
}

/// Where the first event begins to act; nowhere if an input would not be known there.
pub(crate) fn lead(settings: &Settings, events: &[Vec<Event>]) -> Option<f64> {
    let lead = events.iter().flatten().map(|event| event.begins).reduce(f64::min)?;
    let is_known = |(input, events): (&EventInput, &Vec<Event>)| {
        input.shape != Shape::Since || input.before.is_some() || events.first().is_some_and(|event| event.time <= lead)
    };
    Some(lead).filter(|_| settings.events.iter().zip(events).all(is_known))
}

fn unknown_before(index: usize, events: &[Event], span: (f64, f64), whose: &str) -> Problem {
    let found = match events.first() {
        Some(event) => format!("the first event of {whose} at time {}", event.time),
        None => format!("no event of {whose}"),
    };
    let expected = format!("one no later than its first observed state, at time {}", span.0);
    let remedy = "say in `before` what the time since the last event is until then";
    Problem::new(Kind::InputSpan, found, expected, remedy).setting(format!("import.events[{index}].before"))
}

/// A signal that is `first` before its first sample.
fn held(first: f64, samples: impl Iterator<Item = (f64, f64)>) -> Signal {
    let mut signal = Signal { times: vec![f64::NEG_INFINITY], values: vec![first], between: Between::Hold };
    for (time, value) in samples {
        if signal.times.last() == Some(&time) {
            signal.times.pop();
            signal.values.pop();
        }
        signal.times.push(time);
        signal.values.push(value);
    }
    signal
}

fn cumulative(events: &[Event]) -> Signal {
    let mut sum = 0.0;
    held(
        0.0,
        events.iter().map(|event| {
            sum += event.amount;
            (event.time, sum)
        }),
    )
}

/// Of events in the order in which their pulses begin, and so end.
///
/// # Errors
/// The time of an event that is over where it begins, as times have no digits for its duration.
pub(crate) fn pulse(events: &[Event], duration: f64) -> Result<Signal, f64> {
    let end = |event: &Event| event.ends(duration);
    if let Some(event) = events.iter().find(|event| end(event) <= event.begins) {
        return Err(event.time);
    }
    let mut edges: Vec<f64> = events.iter().flat_map(|event| [event.begins, end(event)]).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let (mut ended, mut begun) = (0, 0);
    let samples = edges.into_iter().map(|edge| {
        begun += events[begun..].iter().take_while(|event| event.begins <= edge).count();
        ended += events[ended..].iter().take_while(|event| end(event) <= edge).count();
        // Summed anew, so that nothing is left of what has ended; over the duration as it was rounded, so that the whole amount is given.
        let rates = events[ended..begun].iter().map(|event| event.amount / (end(event) - event.begins));
        (edge, rates.fold(0.0, |sum, rate| sum + rate))
    });
    Ok(held(0.0, samples))
}

fn too_brief(index: usize, duration: f64, time: f64, whose: &str) -> Problem {
    let found = format!("a pulse of {duration:?} at time {time:?} of {whose}, which is over where it begins");
    let remedy = "count times from an `origin` nearer to the data, or set a longer duration";
    let problem = Problem::new(Kind::InputSpan, found, "a duration that times have digits for", remedy);
    problem.setting(format!("import.events[{index}].duration"))
}

/// `None` if it is not known at the start of the span; the trajectory may begin at `lead` before it.
fn since(
    input: &EventInput,
    time_unit: &str,
    events: &[Event],
    span: (f64, f64),
    times: &[f64],
    lead: Option<f64>,
) -> Option<Signal> {
    let conversion = Unit::parse(time_unit).and_then(|from| from.to(Unit::parse(&input.unit)?));
    let conversion = conversion.unwrap_or(Conversion::NONE);
    if input.before.is_none() && events.first().is_none_or(|event| event.time > span.0) {
        return None;
    }
    let value = |time: f64, last: Option<f64>| match last {
        Some(last) => conversion.apply(time - last),
        None => input.before.unwrap_or(0.0),
    };
    let mut signal = Signal { times: Vec::new(), values: Vec::new(), between: Between::Linear };
    let mut push = |time: f64, value: f64| {
        signal.times.push(time);
        signal.values.push(value);
    };
    let mut last = None;
    for time in events.iter().map(|event| event.time) {
        if last == Some(time) {
            continue;
        }
        let sample = times[..times.partition_point(|&sample| sample < time)].last().copied();
        let sample = sample.or(lead.filter(|&lead| lead < time));
        if let Some(before) = sample.into_iter().chain(last).reduce(f64::max) {
            let falls = (time - FALL * (time - before)).min(time.next_down());
            if value(falls, last) != 0.0 && last.is_none_or(|last| falls > last) {
                push(falls, value(falls, last));
            }
        }
        push(time, 0.0);
        last = Some(time);
    }
    if last.is_none_or(|last| last < span.1) {
        push(span.1, value(span.1, last));
    }
    Some(signal)
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
            let (mut events, mut counts) = (Events::new(&settings), Counts::new(&settings));
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
