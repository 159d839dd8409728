//! Which came first, if a sample and an event of one record have the same time `t`.
//!
//! It matters for an amount given at once, which is represented by a brief pulse of duration `D`: where the pulse lies decides what the
//! sample sees of it.
//!
//! ```text
//! sample first    pulse in [t, t + D]    the sample sees nothing
//! event first     pulse in [t - D, t]    the sample sees all of it
//! ```
//!
//! A pulse is brief if `D <= d / 50`, where `d` is the time from `t` to the nearest other sample of the record; so it covers no other
//! sample. Nothing of a longer pulse, an infusion, has acted at `t`, whichever came first; and cumulative amounts and times since the last
//! event need no order. An amount that is given at once by itself, `bolus`, is the same with `D` a [`MOMENT`] of `d`. If some samples at `t` came before an event and some after, those before move to `t - D`.

use super::event::Event;
use super::tally::Tally;
use crate::import::rows::merge::Series;
use crate::import::rows::source_lines::SourceLine;
use crate::import::settings::Settings;
use crate::import::settings::events::{EqualTimes, Shape};
use crate::import::settings::table::Disorder;
use crate::import::tables::clock::{Clock, Moment};
use crate::problems::{Kind, Problem, Problems, many};

/// Largest duration of a brief pulse, as a share of the time to the nearest other sample.
const BRIEF: f64 = 1.0 / 50.0;
/// The same of a pulse that may have been meant as a brief one.
const DOUBTFUL: f64 = 0.5;
/// How long before a sample an amount is given at once that the sample sees, as a share of the time to the nearest other sample: the least
/// of these that times can resolve.
const MOMENT: [f64; 3] = [1e-9, 1e-6, 1e-3];
/// Relative rounding error of a share.
const ROUNDING: f64 = 1e-9;

/// Counts of samples at the time of an event whose order matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ties {
    /// Samples at the time of brief pulses, and those of them that were taken as after one.
    pub samples: u64,
    pub after: u64,
    /// Those whose order nothing tells.
    pub unknown: Tally,
    /// Samples in a row after the event of a longer pulse, which may have been meant as a brief one.
    pub doubtful: Tally,
}

impl Ties {
    /// Adds the counts of later records.
    pub(crate) fn extend(&mut self, later: &Ties) {
        self.samples += later.samples;
        self.after += later.after;
        self.unknown.extend(&later.unknown);
        self.doubtful.extend(&later.doubtful);
    }

    /// The problem with samples whose order neither the rows nor the settings tell.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let Tally { count, first } = &self.unknown;
        let found = format!("{} ({})", many(*count, "sample"), first.as_ref()?);
        let found = format!("{found} at the time of a brief pulse, and nothing that tells which came first");
        let remedy = "write `at_equal_times = \"sample-first\"` or \"event-first\" in [import]";
        let expected = "this setting, unless rows of one file in the order of time tell it";
        Some(Problem::new(Kind::EqualTimes, found, expected, remedy).setting("import.at_equal_times"))
    }

    /// Warns of samples that were taken as before a pulse though its row comes first.
    pub(crate) fn warning(&self) -> Option<Problem> {
        let Tally { count, first } = &self.doubtful;
        let found = format!("{} ({}) at which a pulse begins", many(*count, "sample"), first.as_ref()?);
        let found = format!("{found} whose row comes first, and which is too long for an amount given at once");
        let expected = "at most a fiftieth of the time to the nearest other sample as duration, if the sample is to see the whole amount";
        let remedy = "nothing of it has acted at the sample, which is right for an infusion (say so by `at_equal_times = \"sample-first\"`); \
                      else shorten `duration`";
        Some(Problem::new(Kind::EqualTimes, found, expected, remedy).setting("import.at_equal_times"))
    }
}

/// Whether events may be amounts that are given at once.
fn is_sudden(shape: Shape) -> bool {
    matches!(shape, Shape::Pulse | Shape::Bolus)
}

/// A time of pulses at which states were observed too.
struct Tie {
    moment: Moment,
    /// Where the rows of the samples stand.
    samples: Vec<SourceLine>,
    /// The nearest other times at which a state was observed, before and after.
    nearest: [Option<Moment>; 2],
}

/// The samples and events of one record.
pub(crate) struct Timeline<'a> {
    pub settings: &'a Settings,
    pub clock: &'a Clock,
    /// Time of its first observed sample.
    pub first: Moment,
    /// Names it in problems.
    pub whose: &'a str,
    /// Its rows, part by part.
    pub rows: &'a mut [Series],
    /// Its events of each input, in order.
    pub events: &'a mut [Vec<Event>],
}

impl Timeline<'_> {
    /// Puts brief pulses before or after the samples of their time.
    pub(super) fn order_equal_times(mut self, counts: &mut Ties, problems: &mut Problems) {
        let mut is_in_order = None;
        for tie in self.ties() {
            let Some(nearest) = self.nearest(&tie) else { continue };
            let pulses = self.pulses(tie.moment);
            let share = |index: &usize| self.duration(*index, &tie) / nearest;
            let (brief, longer): (Vec<_>, Vec<_>) =
                pulses.into_iter().partition(|(index, _)| share(index) <= BRIEF * (1.0 + ROUNDING));
            let is_in_order = *is_in_order.get_or_insert_with(|| self.is_in_order());
            if brief.is_empty() {
                let precedes = |&(index, k): &(usize, usize)| {
                    share(&index) <= DOUBTFUL
                        && tie.samples.iter().any(|&it| self.precedes((index, k), it, is_in_order) == Ok(true))
                };
                if longer.iter().any(precedes) {
                    counts.doubtful.add(|| format!("first at time {} of {}", self.clock.shown(tie.moment), self.whose));
                }
                continue;
            }
            match self.pulses_before(&tie, &brief, is_in_order) {
                Ok(before) => self.move_pulses(&tie, &brief, &before, counts, problems),
                Err(why) => {
                    counts.samples += 1;
                    let time = self.clock.shown(tie.moment);
                    counts.unknown.add(|| format!("first at time {time} of {}: {why}", self.whose));
                }
            }
        }
    }

    /// The times of pulses at which a state was observed, ascending.
    fn ties(&self) -> Vec<Tie> {
        let is_pulse = |input: usize| is_sudden(self.settings.events[input].shape);
        let pulses =
            self.events.iter().enumerate().filter(|(input, _)| is_pulse(*input)).flat_map(|(_, events)| events);
        let mut moments: Vec<Moment> = pulses.filter(|event| event.amount != 0.0).map(|event| event.moment).collect();
        moments.sort_unstable();
        moments.dedup();
        let mut ties: Vec<Tie> =
            moments.into_iter().map(|moment| Tie { moment, samples: Vec::new(), nearest: [None; 2] }).collect();
        if ties.is_empty() {
            return ties;
        }
        for (moment, place) in self.observed() {
            let next = ties.partition_point(|tie| tie.moment < moment);
            let here = ties.get(next).is_some_and(|tie| tie.moment == moment);
            if here {
                ties[next].samples.push(place);
            }
            if let Some(before) = next.checked_sub(1).map(|i| &mut ties[i].nearest[1]) {
                *before = Some(before.map_or(moment, |other| other.min(moment)));
            }
            if let Some(after) = ties.get_mut(next + usize::from(here)).map(|tie| &mut tie.nearest[0]) {
                *after = Some(after.map_or(moment, |other| other.max(moment)));
            }
        }
        for i in 1..ties.len() {
            ties[i].nearest[0] = ties[i].nearest[0].or(ties[i - 1].nearest[0]);
        }
        for i in (1..ties.len()).rev() {
            ties[i - 1].nearest[1] = ties[i - 1].nearest[1].or(ties[i].nearest[1]);
        }
        ties.retain(|tie| !tie.samples.is_empty());
        ties
    }

    /// Times and places of the rows with an observed state.
    fn observed(&self) -> impl Iterator<Item = (Moment, SourceLine)> {
        let (parts, states) = (self.rows.len(), self.settings.states().count());
        self.rows.iter().enumerate().flat_map(move |(part, series)| series.observed(part, parts, states))
    }

    /// The time in the dataset's unit.
    fn time(&self, moment: Moment) -> f64 {
        self.clock.time(moment, self.first)
    }

    /// The time to the nearest other sample.
    fn nearest(&self, tie: &Tie) -> Option<f64> {
        let apart = |other: Moment| (self.time(other) - self.time(tie.moment)).abs();
        tie.nearest.into_iter().flatten().map(apart).reduce(f64::min)
    }

    /// The duration of a pulse, or how long before a sample an amount is given at once.
    fn duration(&self, input: usize, tie: &Tie) -> f64 {
        let input = &self.settings.events[input];
        if input.shape != Shape::Bolus {
            return input.duration.unwrap_or(1.0);
        }
        let mut moments = MOMENT.map(|share| share * self.nearest(tie).unwrap_or(1.0)).into_iter();
        let is_earlier = |moment: &f64| {
            let before = self.clock.before(tie.moment, *moment);
            before < tie.moment && self.time(before) < self.time(tie.moment)
        };
        moments.find(is_earlier).unwrap_or(MOMENT[2])
    }

    /// The input and position of each pulse at a time.
    fn pulses(&self, moment: Moment) -> Vec<(usize, usize)> {
        let mut pulses = Vec::new();
        for (input, events) in self.events.iter().enumerate() {
            if is_sudden(self.settings.events[input].shape) {
                let first = events.partition_point(|event| event.moment < moment);
                let of_time = events[first..].iter().take_while(|event| event.moment == moment);
                let acting = (first..).zip(of_time).filter(|(_, event)| event.amount != 0.0);
                pulses.extend(acting.map(|(k, _)| (input, k)));
            }
        }
        pulses
    }

    /// Whether an event came before a sample of its time.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn precedes(
        &self,
        (input, k): (usize, usize),
        sample: SourceLine,
        is_in_order: bool,
    ) -> Result<bool, &'static str> {
        let event = &self.events[input][k];
        let said = self.settings.at_equal_times;
        match said {
            Some(EqualTimes::SampleFirst) => return Ok(false),
            Some(EqualTimes::EventFirst) => return Ok(true),
            Some(EqualTimes::Rows) | None => {}
        }
        let place = event.line.ok_or(match self.settings.events[input].file {
            Some(_) => "the events are in a file of their own",
            None => "the event is an additional one, without a row of its own",
        })?;
        if place.file() != sample.file() {
            return Err("the two are in different files");
        }
        if said.is_none() && self.settings.table.disorder == Disorder::Sort {
            return Err("the order of rows means nothing where `disorder = \"sort\"`");
        }
        if said.is_none() && !is_in_order {
            return Err("its rows of samples and events are not in the order of time");
        }
        Ok(place < sample)
    }

    /// Whether the rows of samples and events of each file are in the order of time.
    fn is_in_order(&self) -> bool {
        let mut events: Vec<(SourceLine, Moment)> =
            self.events.iter().flatten().filter_map(|event| Some((event.line?, event.moment))).collect();
        events.sort_unstable();
        let follows = |earlier: (SourceLine, Moment), later: (SourceLine, Moment)| {
            earlier.0.file() != later.0.file() || earlier.1 <= later.1
        };
        events.windows(2).all(|pair| follows(pair[0], pair[1]))
            && self.observed().all(|(moment, place)| {
                let row = (place, moment);
                let next = events.partition_point(|event| event.0 < place);
                next.checked_sub(1).is_none_or(|before| follows(events[before], row))
                    && events.get(next).is_none_or(|&event| follows(row, event))
            })
    }

    /// How many of the `brief` pulses came before each sample of a tie.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn pulses_before(
        &self,
        tie: &Tie,
        brief: &[(usize, usize)],
        is_in_order: bool,
    ) -> Result<Vec<usize>, &'static str> {
        let before = |&sample: &SourceLine| {
            let precedes = |&pulse: &(usize, usize)| self.precedes(pulse, sample, is_in_order);
            let precede: Result<Vec<bool>, _> = brief.iter().map(precedes).collect();
            Ok(precede?.into_iter().filter(|&precedes| precedes).count())
        };
        tie.samples.iter().map(before).collect()
    }

    /// Moves the `brief` pulses of a tie so that each sample sees those that came before it: `before[i]` of them for sample `i`.
    fn move_pulses(
        &mut self,
        tie: &Tie,
        brief: &[(usize, usize)],
        before: &[usize],
        counts: &mut Ties,
        problems: &mut Problems,
    ) {
        let most = before.iter().copied().max().unwrap_or(0);
        let is_split = before.iter().any(|&count| count < most);
        counts.samples += 1 + u64::from(is_split);
        if most == 0 {
            return;
        }
        counts.after += 1;
        if before.iter().any(|&count| 0 < count && count < most) {
            let found =
                format!("samples between several events at time {} of {}", self.clock.shown(tie.moment), self.whose);
            let expected = "samples at the time of an event before it or after it";
            let remedy = "write their times as they were, a moment apart, or say in `at_equal_times` which came first";
            problems.push(Problem::new(Kind::EqualTimes, found, expected, remedy).setting("import.at_equal_times"));
            return;
        }
        let last = tie.samples.iter().zip(before).find(|(_, count)| **count == most).map(|(&place, _)| place);
        let mut start = tie.moment;
        for &(input, k) in brief {
            // A pulse came before all of these samples or before none.
            if last.is_none_or(|last| self.precedes((input, k), last, true) != Ok(true)) {
                continue;
            }
            let begins = self.clock.before(tie.moment, self.duration(input, tie));
            self.events[input][k].begins = self.time(begins);
            start = start.min(begins);
        }
        let first: Vec<SourceLine> =
            tie.samples.iter().zip(before).filter(|(_, count)| **count == 0).map(|(&place, _)| place).collect();
        for series in self.rows.iter_mut().filter(|_| is_split) {
            for (moment, place) in series.moments.iter_mut().zip(series.lines.iter()) {
                if *moment == tie.moment && first.contains(&place) {
                    *moment = start;
                }
            }
        }
    }
}
