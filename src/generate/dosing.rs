//! The inputs of simulated trajectories: amounts that are given at once, and known signals.
//!
//! The sample of a time comes before what is given then. A dataset has the sum of all amounts so far as an input, which is held, and a sample without
//! a measurement wherever one is given or a signal bends.

use super::amounts::Amounts;
use super::course::Course;
use super::settings::Settings;
use crate::problems::Problems;
use crate::schema::Between;
use crate::signals::Signal;
use crate::systems::{Rise, System};

/// Most amounts of one line of the settings.
const MOST: usize = 10_000;

/// What is given by the inputs of a system.
pub(crate) struct Dosing {
    /// Time, index of the input, amount, in the order of time.
    pub given: Vec<(f64, usize, f64)>,
    /// Of each input `[U]` that is a signal.
    signals: Vec<Option<Signal>>,
    /// The times of the first and the last sample.
    start: f64,
    end: f64,
}

impl Dosing {
    /// The amounts of `settings` before the last of the samples at `times`, and the signals.
    pub(crate) fn new(settings: &Settings, system: &System, times: &[f64]) -> Self {
        let [start, end] = [times.first(), times.last()].map(|time| time.copied().unwrap_or(0.0));
        let of_line = |line: &Amounts| {
            let input = system.inputs.iter().position(|it| it.name == line.input).unwrap_or_default();
            let (first, interval, amount) = (line.time, line.interval.unwrap_or_default(), line.amount);
            (0..line.count).map(move |n| (first + n as f64 * interval, input, amount))
        };
        let mut given: Vec<(f64, usize, f64)> =
            settings.doses.iter().flat_map(of_line).filter(|it| it.0 < end && it.2 > 0.0).collect();
        given.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // A dataset has the sum of what is given at one time.
        given.dedup_by(|next, before| {
            let is_same = (next.0, next.1) == (before.0, before.1);
            before.2 += if is_same { next.2 } else { 0.0 };
            is_same
        });
        let signal = |name: &String| settings.signals.iter().find(|it| it.input == *name).map(Course::signal);
        Dosing { given, signals: system.inputs.iter().map(|it| signal(&it.name)).collect(), start, end }
    }

    /// How an input goes on between samples.
    pub(crate) fn between(&self, input: usize) -> Between {
        self.signals[input].as_ref().map_or(Between::Hold, |it| it.between)
    }

    /// The inputs `[U]` at a time: signals, and sums of amounts that were given until then.
    fn values(&self, time: f64) -> Vec<f64> {
        let value = |(input, signal): (usize, &Option<Signal>)| match signal {
            Some(signal) => signal.at(time),
            None => self.given.iter().filter(|it| it.0 <= time && it.1 == input).map(|it| it.2).sum(),
        };
        self.signals.iter().enumerate().map(value).collect()
    }

    /// `parameters` with the inputs from a time on behind them, as a field reads them.
    pub(crate) fn with_inputs(&self, parameters: &[f64], time: f64) -> Vec<f64> {
        let mut all = parameters.to_vec();
        if self.signals.is_empty() {
            return all;
        }
        for (value, signal) in self.values(time).into_iter().zip(&self.signals) {
            let slope = signal.as_ref().filter(|it| it.between == Between::Linear).map_or(0.0, |it| slope(it, time));
            all.extend([value, slope]);
        }
        all.push(time);
        all
    }

    /// The times at which signals jump or bend, with the index of each and by how much it rises there.
    pub(crate) fn bends(&self) -> impl Iterator<Item = (f64, usize, f64)> {
        self.signals.iter().enumerate().flat_map(|(input, signal)| {
            signal.iter().flat_map(move |signal| {
                let held = signal.between == Between::Hold;
                (0..signal.times.len()).map(move |n| {
                    let before = if n > 0 { signal.values[n - 1] } else { signal.values[0] };
                    (signal.times[n], input, if held { signal.values[n] - before } else { 0.0 })
                })
            })
        })
    }

    /// The sudden changes of the inputs, as the samples of a trajectory show them: a signal rises from 0 at the first one.
    pub(crate) fn rises(&self) -> Vec<Rise> {
        let amounts = self.given.iter().map(|&(time, input, by)| Rise { time, input, by });
        let at_start = self.signals.iter().enumerate().filter_map(|(input, signal)| {
            let signal = signal.as_ref().filter(|it| it.between == Between::Hold)?;
            Some(Rise { time: self.start, input, by: signal.at(self.start) })
        });
        let later = self.bends().filter(|it| it.0 > self.start && it.0 <= self.end);
        let later = later.map(|(time, input, by)| Rise { time, input, by });
        let mut rises: Vec<Rise> = amounts.chain(at_start).chain(later).filter(|it| it.by != 0.0).collect();
        rises.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.input.cmp(&b.input)));
        rises
    }

    /// Samples `channels [T, C]` at `times [T]` with one more, without measurements, wherever something is given or bends between them; and the inputs
    /// `[T, U]` at all of them.
    pub(crate) fn with_samples(&self, times: Vec<f64>, channels: Vec<f64>) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        if self.signals.is_empty() {
            return (times, channels, Vec::new());
        }
        let c = channels.len() / times.len().max(1);
        let (mut all, mut values) = (Vec::new(), Vec::new());
        let first = times.first().copied().unwrap_or(0.0);
        let mut changes: Vec<f64> = self.given.iter().map(|it| it.0).chain(self.bends().map(|it| it.0)).collect();
        changes.retain(|at| *at >= first);
        changes.sort_by(f64::total_cmp);
        let mut changes = changes.into_iter().peekable();
        for (time, sample) in times.iter().zip(channels.chunks_exact(c)) {
            while let Some(at) = changes.next_if(|at| at < time) {
                if all.last().is_none_or(|last| *last < at) {
                    all.push(at);
                    values.extend(std::iter::repeat_n(f64::NAN, c));
                }
            }
            all.push(*time);
            values.extend(sample);
        }
        let inputs = all.iter().flat_map(|time| self.values(*time)).collect();
        (all, values, inputs)
    }
}

/// The slope of a signal on straight lines from a time on.
fn slope(signal: &Signal, time: f64) -> f64 {
    let next = signal.times.partition_point(|at| *at <= time);
    match (next.checked_sub(1), signal.times.get(next)) {
        (Some(n), Some(at)) => (signal.values[next] - signal.values[n]) / (at - signal.times[n]),
        _ => 0.0,
    }
}

impl Settings {
    /// Adds what is wrong with `doses` and `signals`, and inputs of the system that nothing drives.
    pub(super) fn check_inputs(&self, system: &System, problems: &mut Problems) {
        let index_of = |name: &str| system.inputs.iter().position(|it| it.name == name);
        // Sums of amounts: doses, resets, and intervals of steady states.
        let is_sum = |name: &str| {
            let index = index_of(name);
            system.doses.iter().any(|doses| {
                let mut of_ways = doses.ways.iter().map(|way| way.input).chain(doses.reset);
                index.is_some_and(|index| of_ways.any(|it| it == index) || doses.intervals().any(|it| it.0 == index))
            })
        };
        let all = || system.inputs.iter().map(|it| it.name.as_str());
        let is_signal = |name: &str| self.signals.iter().any(|it| it.input == name);
        let idle: Vec<&str> = all().filter(|name| !is_sum(name) && !is_signal(name)).collect();
        if !idle.is_empty() {
            problems.add(
                "signals",
                format!("`{}` with the inputs {}, which nothing drives", system.name, idle.join(", ")),
                "a signal for every input that is no sum of amounts",
                "add [[generate.signals]] with `input`, `times` and `values`, or write it as a function of `t`",
            );
        }
        let sums: Vec<&str> = all().filter(|name| is_sum(name)).collect();
        let others: Vec<&str> = all().filter(|name| !is_sum(name)).collect();
        for (index, line) in self.signals.iter().enumerate() {
            let key = |name: &str| format!("signals.{index}.{name}");
            if !others.contains(&line.input.as_str()) {
                problems.unknown(key("input"), &line.input, "input that is a signal", &others);
            }
            if self.signals[..index].iter().any(|it| it.input == line.input) {
                problems.add(key("input"), format!("`{}` again", line.input), "each input once", "remove one of them");
            }
            let ascends = line.times.array_windows().all(|[a, b]| a < b) && line.times.iter().all(|it| it.is_finite());
            let shown = format!("{:?}", line.times);
            problems.require(ascends && !line.times.is_empty(), key("times"), shown, "ascending times", "correct them");
            let is_read =
                index_of(&line.input).is_some_and(|input| system.doses.iter().any(|doses| doses.reads(input)));
            problems.require(
                line.between == Between::Hold || !is_read,
                key("between"),
                format!("\"linear\" for `{}`, an infusion that may be in its steady state", line.input),
                "a rate that rises and falls at once",
                "leave `between` out",
            );
            let is_whole = line.values.len() == line.times.len() && line.values.iter().all(|it| it.is_finite());
            problems.require(
                is_whole,
                key("values"),
                format!("{} values for {} times", line.values.len(), line.times.len()),
                "a finite number for each time",
                "correct them",
            );
        }
        for (index, line) in self.doses.iter().enumerate() {
            let key = |name: &str| format!("doses.{index}.{name}");
            if !sums.contains(&line.input.as_str()) {
                problems.unknown(key("input"), &line.input, "input by which amounts are given", &sums);
            }
            for (name, value) in [("time", line.time), ("amount", line.amount)] {
                let is_size = value.is_finite() && value >= 0.0;
                problems.require(is_size, key(name), value, "a finite number, zero or more", "correct it");
            }
            problems.require((1..=MOST).contains(&line.count), key("count"), line.count, "1 to 10000", "correct it");
            let has_interval = line.interval.is_some_and(|it| it.is_finite() && it > 0.0);
            problems.require(
                has_interval || line.interval.is_none() && line.count == 1,
                key("interval"),
                line.interval.map_or_else(|| "none".to_owned(), |it| it.to_string()),
                "a number above zero where there is more than one",
                "say how long after each the next one is given",
            );
        }
    }
}
