//! Amounts that are given at once to simulated trajectories.
//!
//! ```text
//! y+ = y- + F a e_i        at the time t + l
//! ```
//!
//! `a` amount given at `t`, `F` its bioavailability, `l` its lag, `e_i` the unit vector of its state. The sample of a time comes before what is given
//! then. A dataset has the sum of all amounts so far as an input, which is held, and a sample without a measurement wherever one is given.

use super::amounts::Amounts;
use super::settings::Settings;
use crate::expressions::Dual;
use crate::problems::Problems;
use crate::systems::System;

/// Most amounts of one line of the settings.
const MOST: usize = 10_000;

/// What is given by the inputs of a system.
pub(crate) struct Dosing {
    /// Time, index of the input, amount, in the order of time.
    given: Vec<(f64, usize, f64)>,
    inputs: usize,
}

impl Dosing {
    /// The amounts of `settings` before `end`.
    pub(crate) fn new(settings: &Settings, system: &System, end: f64) -> Self {
        let of_line = |line: &Amounts| {
            let input = system.inputs.iter().position(|it| it.name == line.input).unwrap_or_default();
            let (first, interval, amount) = (line.time, line.interval.unwrap_or_default(), line.amount);
            (0..line.count).map(move |n| (first + n as f64 * interval, input, amount))
        };
        let mut given: Vec<(f64, usize, f64)> =
            settings.doses.iter().flat_map(of_line).filter(|it| it.0 < end && it.2 > 0.0).collect();
        given.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Dosing { given, inputs: system.inputs.len() }
    }

    /// The sums of amounts `[U]` that were given up to a time.
    fn sums(&self, time: f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.inputs];
        self.given.iter().filter(|it| it.0 <= time).for_each(|it| sums[it.1] += it.2);
        sums
    }

    /// `parameters` with the inputs at a time behind them, as a field reads them.
    pub(crate) fn with_inputs(&self, parameters: &[f64], time: f64) -> Vec<f64> {
        let mut all = parameters.to_vec();
        if self.inputs > 0 {
            all.extend(self.sums(time).into_iter().flat_map(|sum| [sum, 0.0]));
            all.push(time);
        }
        all
    }

    /// The jumps of states: time, index of the state, and by how much, in the order of time.
    pub(crate) fn jumps(&self, system: &System, parameters: &[f64]) -> Vec<(f64, usize, f64)> {
        let Some(doses) = &system.doses else { return Vec::new() };
        let all: Vec<Dual> = self.with_inputs(parameters, 0.0).into_iter().map(Dual::from).collect();
        let mut of_ways = vec![Dual::default(); 2 * doses.ways.len()];
        doses.field.first(&all, Dual::from(0.0), &[], &mut of_ways);
        let ways = || doses.ways.iter().zip(of_ways.chunks_exact(2));
        let jumps = self.given.iter().flat_map(|&(time, input, amount)| {
            let own = ways().filter(move |(way, _)| way.input == input);
            own.map(move |(way, of)| (time + of[1].value, way.state, amount * of[0].value))
        });
        // Inputs jump when something is given, states a lag later.
        let mut jumps: Vec<(f64, usize, f64)> = jumps.chain(self.given.iter().map(|it| (it.0, 0, 0.0))).collect();
        jumps.sort_by(|a, b| a.0.total_cmp(&b.0));
        jumps
    }

    /// Samples `channels [T, C]` at `times [T]` with one more, without measurements, wherever something is given between them; and the inputs `[T, U]`
    /// at all of them.
    pub(crate) fn with_samples(&self, times: Vec<f64>, channels: Vec<f64>) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        if self.inputs == 0 {
            return (times, channels, Vec::new());
        }
        let c = channels.len() / times.len().max(1);
        let (mut all, mut values) = (Vec::new(), Vec::new());
        let mut given = self.given.iter().map(|it| it.0).peekable();
        for (time, sample) in times.iter().zip(channels.chunks_exact(c)) {
            while let Some(at) = given.next_if(|at| at < time) {
                if all.last().is_none_or(|last| *last < at) {
                    all.push(at);
                    values.extend(std::iter::repeat_n(f64::NAN, c));
                }
            }
            all.push(*time);
            values.extend(sample);
        }
        let inputs = all.iter().flat_map(|time| self.sums(*time)).collect();
        (all, values, inputs)
    }
}

impl Settings {
    /// Adds what is wrong with `doses`, and inputs of the system that nothing drives.
    pub(super) fn check_doses(&self, system: &System, problems: &mut Problems) {
        let is_given = |name: &str| {
            let index = system.inputs.iter().position(|it| it.name == name);
            system.doses.iter().flat_map(|doses| &doses.ways).any(|way| Some(way.input) == index)
        };
        let others: Vec<&str> =
            system.inputs.iter().map(|it| it.name.as_str()).filter(|name| !is_given(name)).collect();
        if !others.is_empty() {
            problems.add(
                "system",
                format!("`{}` with the inputs {}", system.name, others.join(", ")),
                "a system whose inputs are amounts that are given at once: `generate` has no other signals to drive it with",
                "fit it to a dataset that has them (`estimate.method = \"physics\"`), or write them as functions of `t`",
            );
        }
        let names: Vec<&str> = system.inputs.iter().map(|it| it.name.as_str()).filter(|name| is_given(name)).collect();
        for (index, line) in self.doses.iter().enumerate() {
            let key = |name: &str| format!("doses.{index}.{name}");
            if !names.contains(&line.input.as_str()) {
                problems.unknown(key("input"), &line.input, "input by which amounts are given", &names);
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
