//! Merges the rows of a record into samples on one grid of increasing times, with NaN where a channel was not observed.

use std::collections::HashMap;
use std::ops::Range;

use super::set_back::{HOUR, SET_BACK};
use super::source_lines::{SourceLine, SourceLines};
use crate::import::settings::table::{Disorder, Duplicates};
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, shown};

/// Samples in the order in which they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    /// Sample times `[T]`.
    pub moments: Vec<Moment>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// The source line of each sample `[T]`.
    pub lines: SourceLines,
    /// Equal rows directly after a sample, by its source line.
    pub repeats: HashMap<SourceLine, Repeats>,
}

/// Consecutive rows that equal the one before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeats {
    pub count: u64,
    /// The line of the first of them.
    pub first: SourceLine,
}

/// What merging changed beside the order of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Values averaged with, or replaced by, another value of the same time.
    pub merged: u64,
    /// Samples left out because no channel was observed.
    pub emptied: u64,
    /// Times at which differing values were merged.
    pub differing: Vec<Moment>,
}

impl Changes {
    /// Adds the counts of another trajectory; its times are not taken over.
    pub(crate) fn add(&mut self, other: &Changes) {
        self.merged += other.merged;
        self.emptied += other.emptied;
    }
}

/// How unordered and simultaneous samples are treated, and how to name them in problems.
pub(crate) struct MergeRules<'a> {
    pub disorder: Disorder,
    pub duplicates: Duplicates,
    /// The trajectory, in words.
    pub whose: &'a str,
    /// Names of the channels `[C]`.
    pub channels: &'a [&'a str],
    pub clock: &'a Clock,
    /// Whether times are local time stamps, without their offset from UTC.
    pub local: bool,
    pub files: &'a [SourceFile],
}

impl MergeRules<'_> {
    /// Places a problem at a line.
    pub(crate) fn at(&self, line: SourceLine, problem: Problem) -> Problem {
        problem.file(&self.files[line.file()].path).line(line.line())
    }

    /// A line in words, in a problem placed at another: with its file if that is another one.
    fn line_in_words(&self, line: SourceLine, at: SourceLine) -> String {
        match line.file() == at.file() {
            true => format!("line {}", line.line()),
            false => format!("line {} of {}", line.line(), self.files[line.file()].name),
        }
    }
}

impl Series {
    /// An empty series with capacity for `count` samples of `width` values.
    pub(crate) fn with_capacity(count: usize, width: usize) -> Self {
        let (moments, states) = (Vec::with_capacity(count), Vec::with_capacity(count * width));
        Series { moments, states, ..Series::default() }
    }

    /// How many equal rows a sample stands for, itself included.
    pub(crate) fn copies(&self, sample: usize) -> u64 {
        1 + self.repeats_of(sample).map_or(0, |repeats| repeats.count)
    }

    fn repeats_of(&self, sample: usize) -> Option<Repeats> {
        if self.repeats.is_empty() { None } else { self.repeats.get(&self.lines.get(sample)?).copied() }
    }

    pub(crate) fn push(&mut self, moment: Moment, state: &[f64], line: SourceLine) {
        self.moments.push(moment);
        self.states.extend_from_slice(state);
        self.lines.push(line);
    }

    /// Times and lines of the samples in which a state was observed. The record has `parts` parts, of which this series is number `part`: a
    /// single one of all channels, or one per channel; the first `states` channels are states.
    pub(crate) fn observed(
        &self,
        part: usize,
        parts: usize,
        states: usize,
    ) -> impl Iterator<Item = (Moment, SourceLine)> {
        let own = if parts == 1 { states } else { usize::from(part < states) };
        let width = self.states.len() / self.moments.len().max(1);
        let is_observed = move |&i: &usize| self.states[i * width..][..own].iter().any(|value| !value.is_nan());
        (0..self.moments.len()).filter(is_observed).filter_map(|i| Some((self.moments[i], self.lines.get(i)?)))
    }

    /// Sorts the samples by time, those of one time by source line; reports times that fall where that is refused.
    fn sort(&mut self, rules: &MergeRules<'_>, report: &mut impl FnMut(Problem)) {
        let falls: Vec<usize> = (1..self.moments.len()).filter(|&i| self.moments[i] < self.moments[i - 1]).collect();
        if falls.is_empty() {
            return;
        }
        let is_clock = falls.iter().all(|&i| rules.clock.passed_midnight(self.moments[i - 1], self.moments[i]));
        if rules.disorder == Disorder::Error || is_clock {
            self.report_falls(&falls, rules, report);
        }
        let channels = self.states.len() / self.moments.len();
        let mut order: Vec<(Moment, usize)> = self.moments.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let order: Vec<usize> = order.into_iter().map(|(_, i)| i).collect();
        self.states = order.iter().flat_map(|&i| &self.states[i * channels..(i + 1) * channels]).copied().collect();
        self.moments = order.iter().map(|&i| self.moments[i]).collect();
        self.lines = order.iter().filter_map(|&i| self.lines.get(i)).collect();
    }

    /// Reports samples `falls` whose time is before that of their predecessor.
    fn report_falls(&self, falls: &[usize], rules: &MergeRules<'_>, report: &mut impl FnMut(Problem)) {
        let [first, others @ ..] = falls else { return };
        let (Some(before), Some(at)) = (self.lines.get(first - 1), self.lines.get(*first)) else { return };
        let more = if others.is_empty() { String::new() } else { format!(", and at {} more rows", others.len()) };
        let [earlier, later] = [first - 1, *first].map(|i| rules.clock.shown(self.moments[i]));
        let line = rules.line_in_words(before, at);
        let found = format!("time {later} after time {earlier} of {line} in {}{more}", rules.whose);
        let mut remedy = match rules.clock.reads_elapsed() {
            true => {
                "correct the ids or sort the rows; where a clock passed midnight, write the date too, or hours beyond 24"
            }
            false => "correct the ids or sort the rows, or set `import.table.disorder = \"sort\"`",
        }
        .to_owned();
        let is_set_back = |&i: &usize| self.moments[i - 1].after(self.moments[i]) <= HOUR;
        if rules.local && falls.iter().all(is_set_back) {
            remedy = format!("{SET_BACK}; else {remedy}");
        }
        let problem = Problem::new(Kind::UnsortedTime, found, "increasing times in a trajectory", remedy);
        report(rules.at(at, problem));
    }

    /// The value of channel `c` of this series in `samples`, which have one time; NaN if it was not observed.
    fn merged_value(
        &self,
        samples: Range<usize>,
        c: usize,
        name: &str,
        rules: &MergeRules<'_>,
        changes: &mut Changes,
        report: &mut impl FnMut(Problem),
    ) -> f64 {
        let channels = self.states.len() / self.moments.len();
        let moment = self.moments[samples.start];
        let mut observed = samples.filter(|&i| !self.states[i * channels + c].is_nan());
        let Some(first) = observed.next() else { return f64::NAN };
        let second = observed.next();
        let again = self.repeats_of(first).map(|repeats| repeats.first).or_else(|| self.lines.get(second?));
        let (Some(line), Some(again)) = (self.lines.get(first), again) else {
            return self.states[first * channels + c];
        };
        // Each value and how often it occurs.
        let mut values: Vec<(f64, u64)> = std::iter::once(first)
            .chain(second)
            .chain(observed)
            .map(|i| (self.states[i * channels + c], self.copies(i)))
            .collect();
        let count: u64 = values.iter().map(|(_, copies)| copies).sum();
        changes.merged += count - 1;
        changes.differing.extend(values.iter().any(|value| value.0 != values[0].0).then_some(moment));
        match rules.duplicates {
            Duplicates::Error => {
                let (before, after) = (line.min(again), line.max(again));
                let (time, whose) = (rules.clock.shown(moment), rules.whose);
                let found = format!(
                    "channel {} at time {time} a second time in {whose}, after {}",
                    shown(name),
                    rules.line_in_words(before, after)
                );
                let mut remedy = "remove one of the two rows, tell their trajectories apart by an id, or set \
                                  `import.table.duplicates` to `mean`, `first` or `last`"
                    .to_owned();
                if rules.local {
                    remedy = format!("{SET_BACK}; else {remedy}");
                }
                let problem = Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy);
                report(rules.at(after, problem));
                values[0].0
            }
            Duplicates::First => values[0].0,
            Duplicates::Last => values[values.len() - 1].0,
            Duplicates::Mean => {
                // Summed in ascending order, equal values at once: the result does not depend on the order of the rows.
                values.sort_by(|a, b| a.0.total_cmp(&b.0));
                let equal = values.chunk_by(|a, b| a.0.to_bits() == b.0.to_bits());
                let sum: f64 = equal.map(|all| all[0].0 * all.iter().map(|it| it.1).sum::<u64>() as f64).sum();
                sum / count as f64
            }
        }
    }
}

/// The first time at which one of the first `states` channels was observed, else the first time of all; `parts` are those of one record.
pub(crate) fn first_observed(parts: &[Series], states: usize) -> Option<Moment> {
    let times = parts.iter().enumerate().flat_map(|(part, series)| series.observed(part, parts.len(), states));
    let all = || parts.iter().flat_map(|series| series.moments.iter().copied()).min();
    times.map(|(moment, _)| moment).min().or_else(all)
}

/// Merges the parts of a record, whose channels side by side are its channels `[C]`, on the union of their times. Samples without an
/// observed channel are left out, unless fewer than two would remain: then all are kept, and the estimate reports that there are no data.
pub(crate) fn merge(
    mut parts: Vec<Series>,
    rules: &MergeRules<'_>,
    report: &mut impl FnMut(Problem),
) -> (Series, Changes) {
    for part in &mut parts {
        part.sort(rules, report);
    }
    let mut changes = Changes::default();
    let is_clean = |part: &Series| {
        let increasing = part.moments.is_sorted_by(|a, b| a < b);
        increasing
            && part.repeats.is_empty()
            && part.states.chunks_exact(rules.channels.len()).all(|state| state.iter().any(|value| !value.is_nan()))
    };
    if parts.len() == 1 && is_clean(&parts[0]) {
        return (parts.swap_remove(0), changes);
    }
    let mut union: Vec<(Moment, SourceLine)> = Vec::new();
    for part in &parts {
        union.extend(part.moments.iter().copied().zip(part.lines.iter()));
    }
    union.sort_unstable();
    union.dedup_by(|later, first| later.0 == first.0);

    let width = rules.channels.len();
    let mut states = vec![f64::NAN; union.len() * width];
    let mut offset = 0;
    for part in &parts {
        let own = width / parts.len();
        let (mut from, mut t) = (0, 0);
        while from < part.moments.len() {
            let moment = part.moments[from];
            let to = from + part.moments[from..].iter().take_while(|&&other| other == moment).count();
            t += union[t..].iter().take_while(|sample| sample.0 < moment).count();
            for c in 0..own {
                let name = rules.channels[offset + c];
                states[t * width + offset + c] = part.merged_value(from..to, c, name, rules, &mut changes, report);
            }
            from = to;
        }
        offset += own;
    }
    let is_observed = |state: &[f64]| state.iter().any(|value| !value.is_nan());
    let keeps_all = states.chunks_exact(width).filter(|state| is_observed(state)).count() < 2;
    let mut merged = Series::default();
    for (&(moment, line), state) in union.iter().zip(states.chunks_exact(width)) {
        if keeps_all || is_observed(state) {
            merged.push(moment, state, line);
        } else {
            changes.emptied += 1;
        }
    }
    (merged, changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tables::cell::{Cell, Notation};
    use crate::units::Conversion;

    const SETTINGS: &str = "dataset = 'd'\ndirectory = '.'\ntime_unit = 's'\ntable = { file = 'f', time = 't' }\n\
                            channels = []\nsplits = {}";

    const N: f64 = f64::NAN;

    fn clock() -> Clock {
        Clock::new(&toml::from_str(SETTINGS).unwrap())
    }

    fn moment(time: f64) -> Moment {
        clock().moment(Cell::Number(time), &Notation::default(), Conversion::NONE).unwrap()
    }

    fn series(samples: &[(f64, &[f64])]) -> Series {
        let mut series = Series::default();
        for (line, (time, state)) in (2..).zip(samples) {
            series.push(moment(*time), state, SourceLine::new(0, line));
        }
        series
    }

    fn merged(parts: Vec<Series>, duplicates: Duplicates) -> (Vec<f64>, Vec<f64>, u64, usize) {
        let file = SourceFile::new("f", "f");
        let (channels, clock, files) = (&["a", "b"], clock(), [file]);
        let rules = MergeRules {
            disorder: Disorder::Sort,
            duplicates,
            whose: "it",
            channels,
            clock: &clock,
            local: false,
            files: &files,
        };
        let mut problems = 0;
        let (series, changes) = merge(parts, &rules, &mut |_| problems += 1);
        let first = moment(0.0);
        (series.moments.iter().map(|&m| clock.time(m, first)).collect(), series.states, changes.merged, problems)
    }

    /// NaN equals NaN.
    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn channels_with_times_of_their_own_share_one_grid() {
        let parts = vec![series(&[(2.0, &[20.0]), (0.0, &[10.0])]), series(&[(1.0, &[5.0]), (2.0, &[6.0])])];
        let (times, states, ..) = merged(parts, Duplicates::Error);
        assert_eq!(times, [0.0, 1.0, 2.0]);
        assert_eq!(bits(&states), bits(&[10.0, N, N, 5.0, 20.0, 6.0]));
    }

    #[test]
    fn a_sample_without_any_observed_cell_is_left_out() {
        let samples: [(f64, &[f64]); 3] = [(0.0, &[N, N]), (1.0, &[N, 1.0]), (2.0, &[3.0, N])];
        let (times, states, ..) = merged(vec![series(&samples)], Duplicates::Error);
        assert_eq!(times, [1.0, 2.0]);
        assert_eq!(bits(&states), bits(&[N, 1.0, 3.0, N]));
        let (times, states, ..) = merged(vec![series(&samples[..2])], Duplicates::Error);
        assert_eq!(times, [0.0, 1.0]);
        assert_eq!(bits(&states), bits(&[N, N, N, 1.0]));
    }

    #[test]
    fn two_values_at_one_time_follow_the_setting() {
        let parts = || vec![series(&[(1.0, &[3.0, N]), (0.0, &[0.0, 0.0]), (1.0, &[1.0, 7.0]), (1.0, &[8.0, N])])];
        for (duplicates, value) in [(Duplicates::Mean, 4.0), (Duplicates::First, 3.0), (Duplicates::Last, 8.0)] {
            assert_eq!(merged(parts(), duplicates), (vec![0.0, 1.0], vec![0.0, 0.0, value, 7.0], 2, 0));
        }
        assert_eq!(merged(parts(), Duplicates::Error).3, 1);
    }
}
