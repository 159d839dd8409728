//! The samples of one trajectory: cells in the order of time, on one grid of times, with NaN where a channel was not observed.

use std::collections::HashMap;
use std::ops::Range;

use super::places::{Place, Places};
use crate::import::settings::table::{Disorder, Duplicates};
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, shown};

/// Samples as they stand in the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    /// Sample times `[T]`.
    pub moments: Vec<Moment>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// Where each sample stands `[T]`, to point at.
    pub places: Places,
    /// Equal rows that followed a sample at once, by its place.
    pub repeats: HashMap<Place, Repeats>,
}

/// Rows that are equal to the one before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeats {
    pub count: u64,
    /// Where the first of them stands.
    pub first: Place,
}

/// What gathering did beside ordering samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Values that went into the mean with another, or gave way to one.
    pub merged: u64,
    /// Samples without any observed cell, which were left out.
    pub emptied: u64,
    /// Times of a trajectory at which values that differ were merged.
    pub differing: Vec<Moment>,
}

impl Changes {
    /// Adds what another trajectory's has counted; times are those of one.
    pub fn add(&mut self, other: &Changes) {
        self.merged += other.merged;
        self.emptied += other.emptied;
    }
}

/// How samples that stand out of order, or at one time, are dealt with.
pub(crate) struct Rules<'a> {
    pub disorder: Disorder,
    pub duplicates: Duplicates,
    /// Names the trajectory in problems.
    pub whose: &'a str,
    /// Names of the channels `[C]`.
    pub channels: &'a [&'a str],
    pub clock: &'a Clock,
    /// Whether times are stamps that do not say their offset from UTC.
    pub local: bool,
    pub files: &'a [SourceFile],
}

impl Rules<'_> {
    pub fn at(&self, place: Place, problem: Problem) -> Problem {
        problem.file(&self.files[place.file()].path).line(place.line())
    }

    /// A line as it is named in a problem that stands at another.
    fn line(&self, place: Place, beside: Place) -> String {
        match place.file() == beside.file() {
            true => format!("line {}", place.line()),
            false => format!("line {} of {}", place.line(), self.files[place.file()].name),
        }
    }
}

impl Series {
    /// With room for so many samples of `width` values.
    pub fn with_capacity(count: usize, width: usize) -> Self {
        let (moments, states) = (Vec::with_capacity(count), Vec::with_capacity(count * width));
        Series { moments, states, ..Series::default() }
    }

    /// How many equal rows a sample stands for.
    pub fn copies(&self, sample: usize) -> u64 {
        1 + self.repeats_of(sample).map_or(0, |repeats| repeats.count)
    }

    fn repeats_of(&self, sample: usize) -> Option<Repeats> {
        if self.repeats.is_empty() { None } else { self.repeats.get(&self.places.get(sample)?).copied() }
    }

    pub fn push(&mut self, moment: Moment, state: &[f64], place: Place) {
        self.moments.push(moment);
        self.states.extend_from_slice(state);
        self.places.push(place);
    }

    /// Times and places of the samples in which one of the first `states` channels of a trajectory was observed; the series is one of its
    /// `parts`, of one channel each, or its only part, of all.
    pub fn observed(&self, part: usize, parts: usize, states: usize) -> impl Iterator<Item = (Moment, Place)> {
        let own = if parts == 1 { states } else { usize::from(part < states) };
        let width = self.states.len() / self.moments.len().max(1);
        let is_observed = move |&i: &usize| self.states[i * width..][..own].iter().any(|value| !value.is_nan());
        (0..self.moments.len()).filter(is_observed).filter_map(|i| Some((self.moments[i], self.places.get(i)?)))
    }

    /// Puts the samples in the order of time, those of one time in the order of the files.
    fn order(&mut self, rules: &Rules<'_>, report: &mut impl FnMut(Problem)) {
        let falls: Vec<usize> = (1..self.moments.len()).filter(|&i| self.moments[i] < self.moments[i - 1]).collect();
        let Some(&first) = falls.first() else { return };
        let is_clock = falls.iter().all(|&i| rules.clock.passed_midnight(self.moments[i - 1], self.moments[i]));
        if rules.disorder == Disorder::Error || is_clock {
            let [before, after] = [first - 1, first].map(|i| rules.clock.shown(self.moments[i]));
            let more = match falls.len() {
                1 => String::new(),
                falls => format!(", and at {} more rows", falls - 1),
            };
            if let (Some(place), Some(beside)) = (self.places.get(first - 1), self.places.get(first)) {
                let line = rules.line(place, beside);
                let found = format!("time {after} after time {before} of {line} in {}{more}", rules.whose);
                let mut remedy = match rules.clock.reads_elapsed() {
                    true => {
                        "correct the ids or sort the rows; where a clock passed midnight, write the date too, or hours that go on beyond 24"
                    }
                    false => "correct the ids or sort the rows, or set `import.table.disorder = \"sort\"`",
                }
                .to_owned();
                let is_set_back = |&i: &usize| self.moments[i - 1].after(self.moments[i]) <= HOUR;
                if rules.local && falls.iter().all(is_set_back) {
                    remedy = format!("{SET_BACK}; else {remedy}");
                }
                let problem = Problem::new(Kind::UnsortedTime, found, "increasing times in a trajectory", remedy);
                report(rules.at(beside, problem));
            }
        }
        let channels = self.states.len() / self.moments.len();
        let mut order: Vec<(Moment, usize)> = self.moments.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let order: Vec<usize> = order.into_iter().map(|(_, i)| i).collect();
        self.states = order.iter().flat_map(|&i| &self.states[i * channels..(i + 1) * channels]).copied().collect();
        self.moments = order.iter().map(|&i| self.moments[i]).collect();
        self.places = order.iter().filter_map(|&i| self.places.get(i)).collect();
    }

    /// The value in `samples` of one time of channel `c` of this series' own; NaN if none has one.
    fn at_one_time(
        &self,
        samples: Range<usize>,
        c: usize,
        name: &str,
        rules: &Rules<'_>,
        changes: &mut Changes,
        report: &mut impl FnMut(Problem),
    ) -> f64 {
        let channels = self.states.len() / self.moments.len();
        let moment = self.moments[samples.start];
        let mut observed = samples.filter(|&i| !self.states[i * channels + c].is_nan());
        let Some(first) = observed.next() else { return f64::NAN };
        let second = observed.next();
        let again = self.repeats_of(first).map(|repeats| repeats.first).or_else(|| self.places.get(second?));
        let (Some(place), Some(again)) = (self.places.get(first), again) else {
            return self.states[first * channels + c];
        };
        // Each value, and how often it stands there.
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
                let (before, after) = (place.min(again), place.max(again));
                let (time, whose) = (rules.clock.shown(moment), rules.whose);
                let found = format!(
                    "channel {} at time {time} a second time in {whose}, after {}",
                    shown(name),
                    rules.line(before, after)
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
                // Summed in one order, equal ones at once, whatever the order of the rows.
                values.sort_by(|a, b| a.0.total_cmp(&b.0));
                let equal = values.chunk_by(|a, b| a.0.to_bits() == b.0.to_bits());
                let sum: f64 = equal.map(|all| all[0].0 * all.iter().map(|it| it.1).sum::<u64>() as f64).sum();
                sum / count as f64
            }
        }
    }
}

/// The first time of `parts`, side by side those of the trajectory, at which one of the first `states` channels was observed; else the first of
/// all.
pub(crate) fn first_observed(parts: &[Series], states: usize) -> Option<Moment> {
    let times = parts.iter().enumerate().flat_map(|(part, series)| series.observed(part, parts.len(), states));
    let all = || parts.iter().flat_map(|series| series.moments.iter().copied()).min();
    times.map(|(moment, _)| moment).min().or_else(all)
}

/// Brings `parts`, whose channels side by side are those of the trajectory, onto one grid of increasing times; samples
/// without any observed cell are left out, unless fewer than two would stay: then the trajectory keeps them all, and whoever estimates it says
/// that there are no data.
pub(crate) fn gather(mut parts: Vec<Series>, rules: &Rules<'_>, report: &mut impl FnMut(Problem)) -> (Series, Changes) {
    for part in &mut parts {
        part.order(rules, report);
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
    let mut union: Vec<(Moment, Place)> = Vec::new();
    for part in &parts {
        union.extend(part.moments.iter().copied().zip(part.places.iter()));
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
                states[t * width + offset + c] = part.at_one_time(from..to, c, name, rules, &mut changes, report);
            }
            from = to;
        }
        offset += own;
    }
    let is_observed = |state: &[f64]| state.iter().any(|value| !value.is_nan());
    let keeps_all = states.chunks_exact(width).filter(|state| is_observed(state)).count() < 2;
    let mut gathered = Series::default();
    for (&(moment, place), state) in union.iter().zip(states.chunks_exact(width)) {
        if keeps_all || is_observed(state) {
            gathered.push(moment, state, place);
        } else {
            changes.emptied += 1;
        }
    }
    (gathered, changes)
}

/// The first and last of the times at which rows `differ`, and how many they are, if there are no others than hours that a clock set back has
/// shown twice: within an hour each, and seldom.
pub(crate) fn shown_twice(mut differ: Vec<Moment>, span: (Moment, Moment)) -> Option<(Moment, Moment, usize)> {
    differ.sort_unstable();
    differ.dedup();
    let (first, last) = (*differ.first()?, *differ.last()?);
    let hours: Vec<&[Moment]> = differ.chunk_by(|earlier, later| later.after(*earlier) < HOUR).collect();
    let is_an_hour = hours.iter().all(|hour| hour[hour.len() - 1].after(hour[0]) < HOUR);
    let seldom = hours.len() as i64 <= 1 + span.1.after(span.0) / (SEASON * HOUR);
    (is_an_hour && seldom).then_some((first, last, differ.len()))
}

/// What to do where a clock was set back.
pub(crate) const SET_BACK: &str =
    "where the clock was set back an hour, write the times with their offsets from UTC (`+01:00`), or in UTC";
/// Nanoseconds.
const HOUR: i64 = 3_600_000_000_000;
/// Hours between two times at which clocks are set back, at least.
const SEASON: i64 = 2400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tables::cell::{Cell, Writing};
    use crate::units::Conversion;

    const SETTINGS: &str = "dataset = 'd'\ndirectory = '.'\ntime_unit = 's'\ntable = { file = 'f', time = 't' }\n\
                            channels = []\nsplits = {}";

    const N: f64 = f64::NAN;

    fn clock() -> Clock {
        Clock::new(&toml::from_str(SETTINGS).unwrap())
    }

    fn moment(time: f64) -> Moment {
        clock().moment(Cell::Number(time), &Writing::default(), Conversion::NONE).unwrap()
    }

    fn series(samples: &[(f64, &[f64])]) -> Series {
        let mut series = Series::default();
        for (line, (time, state)) in (2..).zip(samples) {
            series.push(moment(*time), state, Place::new(0, line));
        }
        series
    }

    fn gathered(parts: Vec<Series>, duplicates: Duplicates) -> (Vec<f64>, Vec<f64>, u64, usize) {
        let file = SourceFile { name: "f".into(), path: "f".into(), environment: None, trajectory: None };
        let (channels, clock, files) = (&["a", "b"], clock(), [file]);
        let rules = Rules {
            disorder: Disorder::Sort,
            duplicates,
            whose: "it",
            channels,
            clock: &clock,
            local: false,
            files: &files,
        };
        let mut problems = 0;
        let (series, changes) = gather(parts, &rules, &mut |_| problems += 1);
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
        let (times, states, ..) = gathered(parts, Duplicates::Error);
        assert_eq!(times, [0.0, 1.0, 2.0]);
        assert_eq!(bits(&states), bits(&[10.0, N, N, 5.0, 20.0, 6.0]));
    }

    #[test]
    fn a_sample_without_any_observed_cell_is_left_out() {
        let samples: [(f64, &[f64]); 3] = [(0.0, &[N, N]), (1.0, &[N, 1.0]), (2.0, &[3.0, N])];
        let (times, states, ..) = gathered(vec![series(&samples)], Duplicates::Error);
        assert_eq!(times, [1.0, 2.0]);
        assert_eq!(bits(&states), bits(&[N, 1.0, 3.0, N]));
        let (times, states, ..) = gathered(vec![series(&samples[..2])], Duplicates::Error);
        assert_eq!(times, [0.0, 1.0]);
        assert_eq!(bits(&states), bits(&[N, N, N, 1.0]));
    }

    #[test]
    fn two_values_at_one_time_follow_the_setting() {
        let parts = || vec![series(&[(1.0, &[3.0, N]), (0.0, &[0.0, 0.0]), (1.0, &[1.0, 7.0]), (1.0, &[8.0, N])])];
        for (duplicates, value) in [(Duplicates::Mean, 4.0), (Duplicates::First, 3.0), (Duplicates::Last, 8.0)] {
            assert_eq!(gathered(parts(), duplicates), (vec![0.0, 1.0], vec![0.0, 0.0, value, 7.0], 2, 0));
        }
        assert_eq!(gathered(parts(), Duplicates::Error).3, 1);
    }
}
