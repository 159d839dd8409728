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

use super::cell::Writing;
use super::clock::{Clock, Moment};
use super::conversions::Units;
use super::counts::Counts;
use super::files::SourceFile;
use super::inputs::Signal;
use super::petab::Unread;
use super::problem::{Kind, Problem, Problems, listing};
use super::series::Place;
use super::settings::{Condition, EventInput, Settings, Shape};
use super::source::{Source, syntax};
use super::store::{Store, Track};
use super::table::{RowReader, TableColumns};
use super::unit::{Conversion, Unit};
use crate::dataset::Parent;
use crate::digest::sha256_of_file;
use crate::progress::Interrupt;
use crate::schema::Between;

/// Share of a time within which `since` falls.
const FALL: f64 = 1e-6;

/// Columns of one kind of events in a file.
pub(super) struct EventColumns {
    pub amount: Option<(usize, Conversion)>,
    pub conditions: Vec<(usize, Condition)>,
}

impl EventColumns {
    /// Finds them in a file; false if one is lacking.
    pub fn find(settings: &Settings, index: usize, units: &mut Units<'_>) -> (Self, bool) {
        let event = &settings.events[index];
        let key = format!("import.events[{index}]");
        let column =
            |key: String, name: &String, units: &mut Units<'_>| units.source.column(&key, name, units.problems);
        let amount = event.column.as_ref().and_then(|name| column(format!("{key}.column"), name, units));
        let mut complete = amount.is_some() == event.column.is_some();
        let mut conditions = Vec::new();
        for (name, condition) in &event.rows {
            let found = column(format!("{key}.rows.{name}"), name, units);
            complete &= found.is_some();
            conditions.extend(found.map(|column| (column, condition.clone())));
        }
        let wanted = event.amount_unit(&settings.time_unit);
        let stated = event.column_unit.as_deref();
        let amount = amount.map(|amount| (amount, units.conversion(amount, &key, &wanted, stated)));
        (EventColumns { amount, conditions }, complete)
    }
}

/// The events of all trajectories: a part of a track for each input.
pub(super) struct Events {
    store: Store,
    inputs: usize,
}

impl Events {
    pub fn new(settings: &Settings) -> Self {
        Events { store: Store::new(settings.events.len(), 1), inputs: settings.events.len() }
    }

    /// Takes a row as an event of every input of which it is one; whether there is any.
    pub fn take(
        &mut self,
        reader: &RowReader<'_>,
        file: usize,
        clock: &mut Clock,
        counts: &mut Counts,
        problems: &mut Problems,
    ) -> bool {
        let mut is_event = false;
        for (index, event) in &reader.columns.events {
            if !event.conditions.iter().all(|(column, it)| reader.writing.meets(it, reader.row.cell(*column))) {
                continue;
            }
            is_event = true;
            counts.events[*index] += 1;
            let amount = match event.amount {
                Some((column, conversion)) => reader.amount(column, conversion, problems),
                None => Some(0.0),
            };
            let time = reader.time(clock, problems);
            let track = self.store.track(reader, problems);
            if let (Some(amount), Some(time), Some(track)) = (amount, time, track) {
                self.store.push(track, *index, time, &[amount], Place::new(file, reader.row.line));
            }
        }
        is_event
    }

    /// The tracks that have events so far.
    pub fn tracks(&self) -> &[Track] {
        &self.store.tracks
    }

    /// Reads the files of events.
    pub fn read_files(
        &mut self,
        settings: &Settings,
        directory: &Path,
        clock: &mut Clock,
        counts: &mut Counts,
        warnings: &mut Vec<Problem>,
        problems: &mut Problems,
    ) -> Option<Vec<Parent>> {
        let mut parents = Some(Vec::new());
        for (index, event) in settings.events.iter().enumerate() {
            let Some(name) = &event.file else { continue };
            let parent = self.read_file(settings, index, &directory.join(name), clock, counts, warnings, problems);
            match (&mut parents, parent) {
                (Some(parents), Some(sha256)) => parents.push(Parent { name: name.clone(), sha256 }),
                _ => parents = None,
            }
        }
        parents
    }

    #[expect(clippy::too_many_arguments, reason = "what is read with and what it is read into")]
    fn read_file(
        &mut self,
        settings: &Settings,
        index: usize,
        path: &Path,
        clock: &mut Clock,
        counts: &mut Counts,
        warnings: &mut Vec<Problem>,
        problems: &mut Problems,
    ) -> Option<String> {
        let (event, table) = (&settings.events[index], &settings.table);
        let key = format!("import.events[{index}]");
        let name = event.file.clone()?;
        let file = SourceFile { name, path: path.to_owned(), environment: None, trajectory: None };
        let syntax = syntax(event.delimiter.as_ref().unwrap_or(&table.delimiter), table.comment.as_deref())?;
        let mut source = Source::open(&file, &format!("{key}.file"), syntax, problems)?;
        let mut units = Units { source: &source, warnings, conversions: &mut counts.conversions, problems };
        let mut complete = true;
        let mut find = |part: &str, name: &String, units: &mut Units<'_>| {
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
        let (events, found) = EventColumns::find(settings, index, &mut units);
        if !(complete && found) {
            return None;
        }
        let columns = TableColumns {
            environment,
            trajectory,
            time,
            channels: Vec::new(),
            channel: None,
            value: None,
            conditions: Vec::new(),
            event: None,
            events: vec![(index, events)],
            petab: Unread::default(),
            complete,
            file_environment: String::new(),
            file_trajectory: String::new(),
        };
        let writing = Writing::new(&table.decimal, &[]);
        let header = source.header.clone();
        source.rows(&Interrupt::new(), problems, |row, problems| {
            let reader = RowReader { file: &file, header: &header, row, columns: &columns, writing: &writing };
            self.take(&reader, 0, clock, counts, problems);
        });
        sha256_of_file(path).ok()
    }

    /// Reports a temporary file that could not be written.
    pub fn check(&mut self, problems: &mut Problems) {
        self.store.check(problems);
    }

    /// Warns of events that act nowhere.
    pub fn unmatched(&self, store: &Store) -> Option<Problem> {
        let environments: BTreeSet<&str> = store.tracks.iter().map(Track::environment).collect();
        let acts = |environment: &str, trajectory: &str| match trajectory.is_empty() {
            true => environments.contains(environment),
            false => store.find(environment, trajectory).is_some(),
        };
        let tracks = self.store.tracks.iter().filter(|track| !acts(track.environment(), track.trajectory()));
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

    /// Times and amounts of the events of each input that act in a trajectory, in order; `time` tells a moment in the dataset's unit.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn of(
        &self,
        environment: &str,
        trajectory: &str,
        time: impl Fn(Moment) -> f64,
    ) -> io::Result<Vec<Vec<(f64, f64)>>> {
        let mut events: Vec<Vec<(f64, f64, u64)>> = vec![Vec::new(); self.inputs];
        for id in [trajectory, ""] {
            let Some(track) = self.store.find(environment, id) else { continue };
            for (events, rows) in events.iter_mut().zip(self.store.rows(track)?) {
                let row = |(i, &moment): (usize, &Moment)| (time(moment), rows.states[i], rows.copies(i));
                events.extend(rows.moments.iter().enumerate().map(row));
            }
        }
        Ok(events.into_iter().map(together).collect())
    }
}

/// Events `(time, amount, copies)` as times and amounts in order; equal ones are one of all their amounts.
fn together(mut events: Vec<(f64, f64, u64)>) -> Vec<(f64, f64)> {
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let equal = events.chunk_by(|a, b| a.0 == b.0 && a.1 == b.1);
    equal.map(|all| (all[0].0, all[0].1 * all.iter().map(|it| it.2).sum::<u64>() as f64)).collect()
}

/// The inputs that the events of a trajectory make; its states were observed within `span`, and it has samples at `times`.
///
/// # Errors
/// For each input that is not known at its beginning, or whose pulses are too brief.
pub(super) fn signals(
    settings: &Settings,
    events: &[Vec<(f64, f64)>],
    span: (f64, f64),
    times: &[f64],
    whose: &str,
) -> Result<Vec<Signal>, Vec<Problem>> {
    let (mut signals, mut problems) = (Vec::new(), Vec::new());
    for (index, (input, events)) in settings.events.iter().zip(events).enumerate() {
        match input.shape {
            Shape::Cumulative => signals.push(cumulative(events)),
            Shape::Pulse => match pulse(events, input.duration.unwrap_or(1.0)) {
                Ok(signal) => signals.push(signal),
                Err(time) => problems.push(too_brief(index, input.duration.unwrap_or(1.0), time, whose)),
            },
            Shape::Since => match since(input, &settings.time_unit, events, span, times) {
                Some(signal) => signals.push(signal),
                None => problems.push(unknown_before(index, events, span, whose)),
            },
        }
    }
    if problems.is_empty() { Ok(signals) } else { Err(problems) }
}

/// How many events of each input end before the `span` in which states were observed, or begin behind it: they act on nothing.
pub(super) fn idle<'a>(
    settings: &'a Settings,
    events: &'a [Vec<(f64, f64)>],
    span: (f64, f64),
) -> impl Iterator<Item = u64> + use<'a> {
    settings.events.iter().zip(events).map(move |(input, events)| {
        let ends = |time: f64| match input.shape {
            Shape::Pulse => time + input.duration.unwrap_or(1.0),
            // What was given before counts, and so does when.
            Shape::Cumulative | Shape::Since => f64::INFINITY,
        };
        events.iter().filter(|(time, _)| ends(*time) <= span.0 || *time > span.1).count() as u64
    })
}

fn unknown_before(index: usize, events: &[(f64, f64)], span: (f64, f64), whose: &str) -> Problem {
    let found = match events.first() {
        Some(event) => format!("the first event of {whose} at time {}", event.0),
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

fn cumulative(events: &[(f64, f64)]) -> Signal {
    let mut sum = 0.0;
    held(
        0.0,
        events.iter().map(|&(time, amount)| {
            sum += amount;
            (time, sum)
        }),
    )
}

/// # Errors
/// The time of an event that is over where it begins, as times have no digits for its duration.
fn pulse(events: &[(f64, f64)], duration: f64) -> Result<Signal, f64> {
    let end = |time: f64| time + duration;
    if let Some((time, _)) = events.iter().find(|(time, _)| end(*time) <= *time) {
        return Err(*time);
    }
    let mut edges: Vec<f64> = events.iter().flat_map(|event| [event.0, end(event.0)]).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let (mut ended, mut begun) = (0, 0);
    let samples = edges.into_iter().map(|edge| {
        begun += events[begun..].iter().take_while(|event| event.0 <= edge).count();
        ended += events[ended..].iter().take_while(|event| end(event.0) <= edge).count();
        // Summed anew, so that nothing is left of what has ended; over the duration as it was rounded, so that the whole amount is given.
        let rates = events[ended..begun].iter().map(|&(time, amount)| amount / (end(time) - time));
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

/// `None` if it is not known at the start of the span.
fn since(
    input: &EventInput,
    time_unit: &str,
    events: &[(f64, f64)],
    span: (f64, f64),
    times: &[f64],
) -> Option<Signal> {
    let conversion = Unit::parse(time_unit).and_then(|from| from.to(Unit::parse(&input.unit)?));
    let conversion = conversion.unwrap_or(Conversion::NONE);
    if input.before.is_none() && events.first().is_none_or(|event| event.0 > span.0) {
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
    for time in events.iter().map(|event| event.0) {
        if last == Some(time) {
            continue;
        }
        let sample = times[..times.partition_point(|&sample| sample < time)].last().copied();
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
