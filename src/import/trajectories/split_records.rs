//! Rows of tracks to the trajectories of the dataset: in the order of time, cut at gaps, their ends cut off.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::equal_times::Record;
use super::event::{Event, together};
use super::events::{Events, idle, lead, signals};
use super::report::Counts;
use super::resample::drive;
use super::samples::Samples;
use crate::import::rows::merge::{MergeRules, Series, first_observed, merge};
use crate::import::rows::set_back::shown_twice;
use crate::import::rows::source_lines::SourceLine;
use crate::import::rows::store::{Store, StoredRecord, unusable_temporary_file};
use crate::import::settings::{Settings, Splits};
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, Problems, many, shown};
use crate::schema::{compared, start_of};

/// Tracks of which trajectories are made at a time.
const TRACKS: usize = 1 << 12;
/// Numbers whose bytes are digested at a time.
const DIGESTED: usize = 1 << 10;

/// A trajectory of the dataset: some samples of a track. What they are is read again when it is written.
pub(crate) struct Piece {
    pub track: usize,
    /// Its number among the pieces that the track was cut into; zero where it was not.
    number: u32,
    /// Whether it is an end that was cut off.
    is_end: bool,
    pub samples: Range<usize>,
    /// Where its first sample stands.
    pub first: Option<SourceLine>,
    /// SHA-256 of its times, states and inputs.
    pub digest: [u8; 32],
    /// Whether it has a complete sample that another follows, which a rollout starts from.
    pub has_start: bool,
    /// Observed values behind that sample, which a rollout is compared with.
    pub compared: usize,
}

/// What tracks are read with.
pub(crate) struct Tracks<'a> {
    pub settings: &'a Settings,
    pub files: &'a [SourceFile],
    pub clock: &'a Clock,
    pub events: &'a Events,
}

impl Piece {
    fn of(track: usize, all: &Samples, (number, is_end): (u32, bool), samples: Range<usize>) -> Self {
        let mut digest = Sha256::new();
        let mut bytes = Vec::new();
        for numbers in all.slices(samples.clone()).into_iter().flat_map(|values| values.chunks(DIGESTED)) {
            bytes.clear();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            digest.update(&bytes);
        }
        let [times, states, _] = all.slices(samples.clone());
        Piece {
            track,
            number,
            is_end,
            first: all.places.get(samples.start).filter(|_| !samples.is_empty()),
            has_start: start_of(states, times.len()).is_some(),
            compared: compared(states, times.len()),
            samples,
            digest: digest.finalize().into(),
        }
    }

    /// The id of the trajectory, of the track that it is a piece of.
    pub fn id<'a>(&self, track: &'a StoredRecord) -> Cow<'a, str> {
        let end = if self.is_end { LAST } else { "" };
        match (self.number, end) {
            (0, "") => track.trajectory().into(),
            (0, end) => format!("{}{end}", track.trajectory()).into(),
            (number, end) => format!("{}.{number}{end}", track.trajectory()).into(),
        }
    }
}

impl Tracks<'_> {
    /// Orders and joins the samples of one track; `whose` names it in problems.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn gather(
        &self,
        store: &Store,
        track: usize,
        whose: &str,
        counts: &mut Counts,
        problems: &mut Problems,
    ) -> io::Result<Samples> {
        let channels: Vec<&str> = self.settings.sampled().map(|(_, channel)| channel.name.as_str()).collect();
        let (disorder, duplicates) = (self.settings.table.disorder, self.settings.table.duplicates);
        let (clock, files) = (self.clock, self.files);
        let local = clock.reads_stamps() && self.settings.table.time_zone.is_some();
        let rules = MergeRules { disorder, duplicates, whose, channels: &channels, clock, local, files };
        let mut rows = store.rows(track)?;
        let first = first_observed(&rows, self.settings.states().count());
        let track = &store.records[track];
        let time = |moment| self.clock.time(moment, first.unwrap_or(moment));
        let mut events = self.events.of(self.settings, track.environment(), track.trajectory(), time)?;
        if let Some(first) = first {
            let (rows, events) = (rows.as_mut_slice(), events.as_mut_slice());
            let record = Record { settings: self.settings, clock: self.clock, first, whose, rows, events };
            record.settle(&mut counts.ties, problems);
        }
        let events: Vec<Vec<Event>> = events.into_iter().map(together).collect();
        let (series, changes) = merge(rows, &rules, &mut |problem| problems.push(problem));
        counts.changes.add(&changes);
        for &moment in &changes.differing {
            counts.differing.count(|| format!("time {} of {whose}", clock.shown(moment)));
        }
        if let (true, [begin, .., end]) = (local, series.moments.as_slice())
            && let Some((from, to, times)) = shown_twice(changes.differing, (*begin, *end))
        {
            let [from, to] = [from, to].map(|moment| clock.shown(moment));
            counts.set_back.count(|| format!("rows of {} from {from} to {to} in {whose}", many(times as u64, "time")));
        }
        let samples = timed(series, first, &rules, problems);
        let made = |span, times: &[f64]| signals(self.settings, &events, span, times, whose);
        let driven = drive(samples, self.settings, lead(self.settings, &events), made, whose, counts);
        if let Ok(Samples { times, .. }) = &driven
            && let [begin, .., end] | [begin @ end] = times[..]
        {
            let idle = idle(self.settings, &events, (begin, end));
            counts.idle.iter_mut().zip(idle).for_each(|(sum, count)| *sum += count);
        }
        Ok(match driven {
            Ok(samples) => samples,
            Err(found) => {
                problems.extend(found.into_iter().map(|(problem, place)| match place {
                    Some(place) => rules.at(place, problem),
                    None => problem,
                }));
                Samples::default()
            }
        })
    }

    /// Makes the trajectories, in the order of their environments, then of their ids. What follows from a row that was left out is not
    /// reported.
    pub fn pieces(&self, store: &Store, counts: &mut Counts, problems: &mut Problems) -> Vec<Piece> {
        let Tracks { settings, files, .. } = *self;
        let whole = !problems.has(&[Kind::RaggedRow, Kind::InvalidId, Kind::UnknownChannel, Kind::InvalidText]);
        let any_broken = !whole || store.records.iter().any(|track| track.broken);
        let mut order: Vec<usize> = (0..store.records.len()).collect();
        let ids = |i: usize| (store.records[i].environment(), store.records[i].trajectory());
        order.sort_by(|&a, &b| ids(a).cmp(&ids(b)));
        let mut pieces = Vec::with_capacity(order.len());
        for block in order.chunks(TRACKS) {
            let made: io::Result<Vec<Made>> = block.par_iter().map(|&track| self.made(store, track)).collect();
            match made {
                Ok(made) => made.into_iter().for_each(|made| {
                    counts.add(&made.counts);
                    problems.append(made.problems);
                    pieces.extend(made.pieces);
                }),
                Err(error) => {
                    problems.push(unusable_temporary_file(&error));
                    break;
                }
            }
        }
        let track = |piece: &Piece| &store.records[piece.track];
        for of_one in pieces.chunk_by_mut(|a, b| track(a).environment() == track(b).environment()) {
            of_one.sort_by_cached_key(|piece| piece.id(track(piece)).into_owned());
            for (first, second) in of_one.iter().zip(of_one.iter().skip(1)) {
                let id = second.id(track(second));
                if first.id(track(first)) == id {
                    let whose = whose(track(if first.number + u32::from(first.is_end) > 0 { first } else { second }));
                    let found = format!("trajectory {} a second time: a piece of {whose} has its id", shown(&id));
                    let problem = Problem::new(Kind::InvalidId, found, "each id once", "rename the other trajectory");
                    problems.push(problem.setting("import.table"));
                }
            }
        }
        for (position, (index, channel)) in settings.states().enumerate() {
            if counts.observed[position] == 0 && !any_broken && !problems.has(&[Kind::InputSpan]) {
                let found = format!("no value of channel {} in any row", shown(&channel.column));
                let expected = "an observed value at least once: a hidden state cannot be learned";
                let remedy = "leave the channel out, or correct `import.table.missing`";
                let problem = Problem::new(Kind::NeverObserved, found, expected, remedy);
                problems.push(problem.file(&files[0].path).setting(format!("import.channels[{index}].column")));
            }
        }
        pieces
    }

    /// Makes the trajectories of one track.
    fn made(&self, store: &Store, position: usize) -> io::Result<Made> {
        let settings = self.settings;
        let (table, track) = (&settings.table, &store.records[position]);
        let whose = whose(track);
        let (mut problems, mut counts) = (Problems::default(), Counts::new(settings));
        let samples = self.gather(store, position, &whose, &mut counts, &mut problems)?;
        counts.add_states(&samples.states, !samples.inputs.is_empty());
        let observed = samples.observed();
        let position_of = |i: usize| observed.as_ref().map_or(i, |observed| observed[i]);
        let times: Cow<'_, [f64]> = match &observed {
            Some(observed) => observed.iter().map(|&t| samples.times[t]).collect(),
            None => samples.times.as_slice().into(),
        };
        let cuts = cut(&times, table.split_gap, table.split_length, &mut counts);
        let piece = |place, range: Range<usize>| match range.is_empty() {
            true => Piece::of(position, &samples, place, 0..0),
            false => {
                // What leads to the first observed state belongs to it.
                let start = if range.start == 0 { 0 } else { position_of(range.start) };
                Piece::of(position, &samples, place, start..position_of(range.end - 1) + 1)
            }
        };
        let mut pieces = Vec::new();
        let count = cuts.len();
        let share = end_share(&settings.splits, track.environment());
        for (number, range) in (1..).zip(cuts) {
            let number = if count == 1 { 0 } else { number };
            let end = share.map_or(0, |share| ((share * range.len() as f64).ceil() as usize).max(2));
            let at = if range.len() >= end + 2 { range.end - end } else { range.end };
            pieces.push(piece((number, false), range.start..at));
            pieces.extend((at < range.end).then(|| piece((number, true), at..range.end)));
        }
        Ok(Made { pieces, counts, problems })
    }
}

/// What one track gives.
struct Made {
    pieces: Vec<Piece>,
    counts: Counts,
    problems: Problems,
}

/// Names a track in problems.
fn whose(track: &StoredRecord) -> String {
    format!("trajectory {} of environment {}", shown(track.trajectory()), shown(track.environment()))
}

/// The samples at times in the dataset's unit, which may be too coarse for them.
fn timed(series: Series, first: Option<Moment>, rules: &MergeRules<'_>, problems: &mut Problems) -> Samples {
    let Series { moments, states, lines: places, .. } = series;
    let time = |moment: Moment| rules.clock.time(moment, first.unwrap_or(moment));
    let collide = |pair: &[Moment]| pair[0] < pair[1] && time(pair[0]) >= time(pair[1]);
    if let Some(t) = moments.windows(2).position(collide) {
        let [a, b] = [t, t + 1].map(|t| rules.clock.shown(moments[t]));
        let found = format!("times {a} and {b} of {}, which are the same number in the unit of time", rules.whose);
        let remedy = "set `import.table.origin = \"first\"`";
        let problem = Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy);
        problems.extend(places.get(t + 1).map(|place| rules.at(place, problem)));
    }
    Samples { times: moments.into_iter().map(time).collect(), states, inputs: Vec::new(), places }
}

/// The samples between which no two are further apart than `gap`; single ones are left out, unless all are.
fn cut(times: &[f64], gap: Option<f64>, length: Option<f64>, counts: &mut Counts) -> Vec<Range<usize>> {
    let (gap, length) = match (gap, length) {
        (None, None) => return std::iter::once(0..times.len()).collect(),
        (gap, length) => (gap.unwrap_or(f64::INFINITY), length.unwrap_or(f64::INFINITY)),
    };
    let mut cuts = Vec::new();
    let mut start = 0;
    for t in 1..times.len() {
        if times[t] - times[t - 1] > gap || times[t] - times[start] > length {
            cuts.push(t);
            start = t;
        }
    }
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([times.len()]);
    let (pieces, single): (Vec<_>, Vec<_>) = starts.zip(ends).map(|(a, b)| a..b).partition(|piece| piece.len() >= 2);
    counts.cuts += cuts.len() as u64;
    if pieces.is_empty() {
        return single;
    }
    counts.single += single.len() as u64;
    pieces
}

/// Ends the id of a trajectory's end that was cut off.
pub(crate) const LAST: &str = ".last";

/// The share of an environment's trajectories to cut off their ends, each as a trajectory of its own.
pub(crate) fn end_share(splits: &Splits, environment: &str) -> Option<f64> {
    match splits.estimates_all() || splits.adapt.iter().any(|id| id == environment) {
        true => splits.adapt_test.last,
        false => splits.validation.last.or(splits.test.last),
    }
}
