//! The samples of one record: its rows in the order of time, with its inputs at their times.

use std::io;

use super::equal_times::Timeline;
use super::event::{Event, merged};
use super::event_inputs::{count_idle, inputs_of_events, lead};
use super::event_store::EventStore;
use super::report::Counts;
use super::resample::resample;
use super::samples::Samples;
use crate::import::rows::merge::{MergeRules, Series, first_observed, merge};
use crate::import::rows::set_back::shown_twice;
use crate::import::rows::store::Store;
use crate::import::settings::Settings;
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, Problems, many};

/// Reads records from what all files have given.
pub(crate) struct RecordReader<'a> {
    pub settings: &'a Settings,
    pub files: &'a [SourceFile],
    pub clock: &'a Clock,
    pub events: &'a EventStore,
}

impl RecordReader<'_> {
    /// Orders and merges the samples of the record at a position; `whose` names it in problems.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(super) fn samples(
        &self,
        store: &Store,
        record: usize,
        whose: &str,
        counts: &mut Counts,
        problems: &mut Problems,
    ) -> io::Result<Samples> {
        let channels: Vec<&str> = self.settings.sampled().map(|(_, channel)| channel.name.as_str()).collect();
        let (disorder, duplicates) = (self.settings.table.disorder, self.settings.table.duplicates);
        let (clock, files) = (self.clock, self.files);
        let local = clock.reads_stamps() && self.settings.table.time_zone.is_some();
        let rules = MergeRules { disorder, duplicates, whose, channels: &channels, clock, local, files };
        let mut rows = store.rows(record)?;
        let first = first_observed(&rows, self.settings.states().count());
        let record = &store.records[record];
        let time = |moment| self.clock.time(moment, first.unwrap_or(moment));
        let mut events = self.events.read(self.settings, record.environment(), record.trajectory(), time)?;
        if let Some(first) = first {
            let (rows, events) = (rows.as_mut_slice(), events.as_mut_slice());
            let timeline = Timeline { settings: self.settings, clock: self.clock, first, whose, rows, events };
            timeline.order_equal_times(&mut counts.ties, problems);
        }
        let events: Vec<Vec<Event>> = events.into_iter().map(merged).collect();
        let (series, changes) = merge(rows, &rules, &mut |problem| problems.push(problem));
        counts.changes.add(&changes);
        for &moment in &changes.differing {
            counts.differing.add(|| format!("time {} of {whose}", clock.shown(moment)));
        }
        if let (true, [begin, .., end]) = (local, series.moments.as_slice())
            && let Some((from, to, times)) = shown_twice(changes.differing, (*begin, *end))
        {
            let [from, to] = [from, to].map(|moment| clock.shown(moment));
            counts.set_back.add(|| format!("rows of {} from {from} to {to} in {whose}", many(times as u64, "time")));
        }
        let samples = timed(series, first, &rules, problems);
        let inputs = |span, times: &[f64]| inputs_of_events(self.settings, &events, span, times, whose);
        let resampled = resample(samples, self.settings, lead(self.settings, &events), inputs, whose, counts);
        if let Ok(Samples { times, .. }) = &resampled
            && let [begin, .., end] | [begin @ end] = times[..]
        {
            let idle = count_idle(self.settings, &events, (begin, end));
            counts.idle.iter_mut().zip(idle).for_each(|(sum, count)| *sum += count);
        }
        Ok(resampled.unwrap_or_else(|found| {
            problems.extend(found.into_iter().map(|(problem, line)| match line {
                Some(line) => rules.at(line, problem),
                None => problem,
            }));
            Samples::default()
        }))
    }
}

/// The samples at times in the dataset's unit; reports two times that become the same number.
fn timed(series: Series, first: Option<Moment>, rules: &MergeRules<'_>, problems: &mut Problems) -> Samples {
    let Series { moments, states, lines, .. } = series;
    let time = |moment: Moment| rules.clock.time(moment, first.unwrap_or(moment));
    let collide = |pair: &[Moment]| pair[0] < pair[1] && time(pair[0]) >= time(pair[1]);
    if let Some(t) = moments.windows(2).position(collide) {
        let [a, b] = [t, t + 1].map(|t| rules.clock.shown(moments[t]));
        let found = format!("times {a} and {b} of {}, which are the same number in the unit of time", rules.whose);
        let remedy = "set `import.table.origin = \"first\"`";
        let problem = Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy);
        problems.extend(lines.get(t + 1).map(|line| rules.at(line, problem)));
    }
    Samples { times: moments.into_iter().map(time).collect(), states, inputs: Vec::new(), lines }
}
