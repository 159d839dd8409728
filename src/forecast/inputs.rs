//! Inputs of a forecast, from a table of times and values.

use std::path::Path;

use super::read_inputs::{self, Known};
use crate::import;
use crate::problems::{Kind, Problem};
use crate::schema::Between;

/// How far apart equal times may be that were reached in different ways, relative to the length of a forecast.
const ROUNDING: f64 = 1e-9;

/// Known signals over time.
pub struct Signals(Vec<Signal>);

/// A signal that is not known over all of a forecast.
#[derive(Debug)]
pub struct TooShort {
    /// The input.
    pub name: String,
    /// The first and the last time at which it is known.
    pub known: (f64, f64),
    /// Those of the forecast.
    pub wanted: (f64, f64),
}

/// One of them.
struct Signal {
    name: String,
    between: Between,
    /// Whether it keeps its first and last value beyond them (`extend` of the archive's channel).
    extend: bool,
    /// Strictly increasing `[N]`, `N > 0`.
    times: Vec<f64>,
    /// `[N]`.
    values: Vec<f64>,
}

impl Signals {
    /// Reads the table at `path`; with it, what to warn of.
    ///
    /// # Errors
    /// [`import::Error`] with every problem of the table, or of the arguments.
    pub fn read(path: &Path, known: &Known) -> Result<(Self, Vec<Problem>), import::Error> {
        let read_inputs::Signals { times, values, warnings } = known.read(path).map_err(|problems| {
            let is_argument = |it: &Problem| it.kind == Kind::UnreadableFile || it.place.path().is_none();
            match problems.iter().all(is_argument) {
                true => import::Error::Settings(problems),
                false => import::Error::Data(problems),
            }
        })?;
        let signal = |(u, input): (usize, &crate::schema::Input)| {
            let sampled = times.iter().zip(values.iter().skip(u).step_by(known.inputs.len()));
            let (times, values) = sampled.filter(|(_, value)| !value.is_nan()).unzip();
            let name = input.quantity.name.clone();
            let channel = known.archive.and_then(|archive| archive.channels.iter().find(|it| it.name == name));
            Signal { name, between: input.between, extend: channel.is_some_and(|it| it.extend), times, values }
        };
        Ok((Signals(known.inputs.iter().enumerate().map(signal).collect()), warnings))
    }

    /// Ascending `times` with those between its ends at which a signal may bend, so that a forecast follows it there; a bend that rounding
    /// puts beside a time is at it.
    pub fn with_bends(&self, times: Vec<f64>) -> Vec<f64> {
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return times };
        let bends = self.0.iter().flat_map(|signal| signal.times.iter().copied());
        let slack = ROUNDING * (last - first);
        let is_apart = |bend: &f64| {
            let next = times.partition_point(|time| time <= bend);
            *bend - times[next.max(1) - 1] > slack && times.get(next).is_some_and(|time| time - bend > slack)
        };
        let mut bends: Vec<f64> = bends.filter(|bend| first < *bend && *bend < last && is_apart(bend)).collect();
        bends.sort_by(f64::total_cmp);
        bends.dedup_by(|later, bend| *later - *bend <= slack);
        let mut times: Vec<f64> = times.into_iter().chain(bends).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// The signals at ascending `times [T]`: `[T, U]`.
    ///
    /// # Errors
    /// The first that begins after the first time or ends before the last; none for no time.
    pub fn at(&self, times: &[f64]) -> Result<Vec<f64>, TooShort> {
        let (Some(&begin), Some(&end)) = (times.first(), times.last()) else { return Ok(Vec::new()) };
        let slack = ROUNDING * (end - begin);
        for Signal { name, times, .. } in self.0.iter().filter(|signal| !signal.extend) {
            let (first, last) = (times[0], times[times.len() - 1]);
            if begin < first - slack || end > last + slack {
                return Err(TooShort { name: name.clone(), known: (first, last), wanted: (begin, end) });
            }
        }
        Ok(times.iter().flat_map(|&time| self.0.iter().map(move |signal| signal.at(time, slack))).collect())
    }
}

impl Signal {
    /// The value at a time; that at its first sample before it, and at its last after it. A sample less than `slack` later is reached:
    /// what jumps there has jumped, or a step of the solver would see the value before.
    fn at(&self, time: f64, slack: f64) -> f64 {
        let Signal { between, times, values, .. } = self;
        let time = time.clamp(times[0], times[times.len() - 1]);
        let next = times.partition_point(|sample| *sample <= time + slack);
        let (before, after) = (next - 1, next.min(times.len() - 1));
        let (value, slope) = between.step(values[before], values[after], times[after] - times[before]);
        value + slope * (time - times[before]).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_held_or_drawn_between_rows() {
        let signal = |between, values| {
            let (name, times) = ("u".to_owned(), vec![0.0, 1.0, 3.0]);
            Signal { name, between, extend: false, times, values }
        };
        let hold = signal(Between::Hold, vec![1.0, 2.0, 4.0]);
        let signals = Signals(vec![hold, signal(Between::Linear, vec![1.0, 2.0, 6.0])]);
        assert_eq!(signals.with_bends(vec![0.0, 2.0]), [0.0, 1.0, 2.0]);
        assert_eq!(signals.at(&[0.0, 0.5, 1.0, 2.0, 3.0]).unwrap(), [1.0, 1.0, 1.0, 1.5, 2.0, 2.0, 2.0, 4.0, 4.0, 6.0]);
        assert!(signals.at(&[-0.5]).is_err() && signals.at(&[3.5]).is_err());
        let kept = Signals(vec![Signal { extend: true, ..signal(Between::Linear, vec![1.0, 2.0, 6.0]) }]);
        assert_eq!(kept.at(&[-0.5, 3.5]).unwrap(), [1.0, 6.0]);
        assert_eq!(signals.at(&[2.0, 3.0_f64.next_up()]).unwrap()[2..], [4.0, 6.0]);
        assert_eq!(signals.with_bends(vec![0.0, 1.0_f64.next_down(), 2.0]), [0.0, 1.0_f64.next_down(), 2.0]);
        assert_eq!(signals.with_bends(vec![0.0, 1.0_f64.next_up(), 2.0]), [0.0, 1.0_f64.next_up(), 2.0]);
        assert_eq!(signals.at(&[0.0, 1.0_f64.next_down(), 2.0]).unwrap()[2..4], [2.0, 2.0]);
    }
}
