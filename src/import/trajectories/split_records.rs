//! Records to the trajectories of the dataset: cut at gaps, their ends held out.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::record_reader::RecordReader;
use super::report::Counts;
use super::segment::{Part, Segment};
use crate::import::rows::store::{Store, StoredRecord, unusable_temporary_file};
use crate::import::settings::Splits;
use crate::problems::{Kind, Problem, Problems, shown};

/// Records that are split at a time.
const RECORDS: usize = 1 << 12;

/// Splits all records, in the order of their environments, then of the ids of trajectories. What follows from a row that was left out is
/// not reported.
pub(crate) fn split_records(
    reader: &RecordReader<'_>,
    store: &Store,
    counts: &mut Counts,
    problems: &mut Problems,
) -> Vec<Segment> {
    let whole = !problems.has(&[Kind::RaggedRow, Kind::InvalidId, Kind::UnknownChannel, Kind::InvalidText]);
    let any_broken = !whole || store.records.iter().any(|record| record.broken);
    let mut order: Vec<usize> = (0..store.records.len()).collect();
    let ids = |i: usize| (store.records[i].environment(), store.records[i].trajectory());
    order.sort_by(|&a, &b| ids(a).cmp(&ids(b)));
    let mut segments = Vec::with_capacity(order.len());
    for block in order.chunks(RECORDS) {
        let split: io::Result<Vec<SplitRecord>> =
            block.par_iter().map(|&record| SplitRecord::new(reader, store, record)).collect();
        match split {
            Ok(records) => records.into_iter().for_each(|record| {
                counts.extend(&record.counts);
                problems.append(record.problems);
                segments.extend(record.segments);
            }),
            Err(error) => {
                problems.push(unusable_temporary_file(&error));
                break;
            }
        }
    }
    let record = |segment: &Segment| &store.records[segment.record];
    for of_one in segments.chunk_by_mut(|a, b| record(a).environment() == record(b).environment()) {
        of_one.sort_by_cached_key(|segment| segment.id(record(segment).trajectory()).into_owned());
        problems.extend(of_one.windows(2).filter_map(|pair| repeated_id(&pair[0], &pair[1], record)));
    }
    if !any_broken && !problems.has(&[Kind::InputSpan]) {
        problems.extend(never_observed(reader, counts));
    }
    segments
}

/// The problem with two segments of one id.
fn repeated_id<'a>(
    first: &Segment,
    second: &Segment,
    record: impl Fn(&Segment) -> &'a StoredRecord,
) -> Option<Problem> {
    let id = second.id(record(second).trajectory());
    if first.id(record(first).trajectory()) != id {
        return None;
    }
    let whose = whose(record(if first.is_part() { first } else { second }));
    let found = format!("trajectory {} a second time: a segment of {whose} has its id", shown(&id));
    let problem = Problem::new(Kind::InvalidId, found, "each id once", "rename the other trajectory");
    Some(problem.setting("import.table"))
}

/// The problems with channels without any value.
fn never_observed(reader: &RecordReader<'_>, counts: &Counts) -> Vec<Problem> {
    let channels = reader.settings.states().zip(&counts.observed).filter(|(_, observed)| **observed == 0);
    let problem = |(index, column): (usize, &str)| {
        let found = format!("no value of channel {} in any row", shown(column));
        let expected = "an observed value at least once: a hidden state cannot be learned";
        let remedy = "leave the channel out, or correct `import.table.missing`";
        let problem = Problem::new(Kind::NeverObserved, found, expected, remedy);
        problem.file(&reader.files[0].path).setting(format!("import.channels[{index}].column"))
    };
    channels.map(|((index, channel), _)| problem((index, &channel.column))).collect()
}

/// The segments of one record, with what was counted and found wrong on the way.
struct SplitRecord {
    segments: Vec<Segment>,
    counts: Counts,
    problems: Problems,
}

impl SplitRecord {
    fn new(reader: &RecordReader<'_>, store: &Store, position: usize) -> io::Result<Self> {
        let settings = reader.settings;
        let (table, record) = (&settings.table, &store.records[position]);
        let (mut problems, mut counts) = (Problems::default(), Counts::new(settings));
        let samples = reader.samples(store, position, &whose(record), &mut counts, &mut problems)?;
        counts.add_states(&samples.states, !samples.inputs.is_empty());
        let observed = samples.observed();
        let position_of = |i: usize| observed.as_ref().map_or(i, |observed| observed[i]);
        let times: Cow<'_, [f64]> = match &observed {
            Some(observed) => observed.iter().map(|&t| samples.times[t]).collect(),
            None => samples.times.as_slice().into(),
        };
        let cuts = cut(&times, table.split_gap, table.split_length, &mut counts);
        let segment = |part: Part, range: Range<usize>| match range.is_empty() {
            true => Segment::new(position, &samples, part, 0..0),
            false => {
                // The samples before the first observed state belong to its segment.
                let start = if range.start == 0 { 0 } else { position_of(range.start) };
                Segment::new(position, &samples, part, start..position_of(range.end - 1) + 1)
            }
        };
        let mut segments = Vec::new();
        let count = cuts.len();
        let share = end_share(&settings.splits, record.environment());
        for (number, range) in (1..).zip(cuts) {
            let number = if count == 1 { 0 } else { number };
            let end = share.map_or(0, |share| ((share * range.len() as f64).ceil() as usize).max(2));
            let at = if range.len() >= end + 2 { range.end - end } else { range.end };
            segments.push(segment(Part { number, is_end: false }, range.start..at));
            segments.extend((at < range.end).then(|| segment(Part { number, is_end: true }, at..range.end)));
        }
        Ok(SplitRecord { segments, counts, problems })
    }
}

/// Names a record in problems.
fn whose(record: &StoredRecord) -> String {
    format!("trajectory {} of environment {}", shown(record.trajectory()), shown(record.environment()))
}

/// The runs of samples in which no two are further apart than `gap` and which are no longer than `length`; those of a single sample are
/// left out, unless all are.
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
    let (segments, single): (Vec<_>, Vec<_>) = starts.zip(ends).map(|(a, b)| a..b).partition(|run| run.len() >= 2);
    counts.cuts += cuts.len() as u64;
    if segments.is_empty() {
        return single;
    }
    counts.single += single.len() as u64;
    segments
}

/// The share of each trajectory of an environment that is cut off its end and held out as a trajectory of its own.
pub(crate) fn end_share(splits: &Splits, environment: &str) -> Option<f64> {
    if splits.calibrate.iter().any(|id| id == environment) {
        return None;
    }
    match splits.estimates_all() || splits.adapt.iter().any(|id| id == environment) {
        true => splits.adapt_test.last,
        false => splits.validation.last.or(splits.test.last),
    }
}
