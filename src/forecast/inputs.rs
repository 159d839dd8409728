//! The inputs of a forecast over time.

use std::path::Path;

use super::read_inputs::{InputSamples, InputTable};
use crate::problems::Problem;
use crate::schema::Input;
use crate::signals::Signal;

/// How far apart two times may be that rounding alone set apart, relative to the length of a forecast.
pub(crate) const ROUNDING: f64 = 1e-9;

/// The inputs of a model as known signals.
pub struct KnownInputs(Vec<KnownInput>);

#[derive(Clone)]
struct KnownInput {
    name: String,
    /// Whether it keeps its first and last value beyond its samples (`extend` of the archive's channel).
    extend: bool,
    signal: Signal,
}

impl KnownInput {
    /// The sum of what is given up to a time; rows within `slack` of it count.
    fn given_by(&self, time: f64, slack: f64) -> f64 {
        let Signal { times, values, .. } = &self.signal;
        times.partition_point(|row| *row <= time + slack).checked_sub(1).map_or(0.0, |row| values[row])
    }
}

/// An input that is not known over all of a forecast.
#[derive(Debug)]
pub struct TooShort {
    /// Name of the input.
    pub name: String,
    /// The first and the last time at which it is known.
    pub known: (f64, f64),
    /// The first and the last time of the forecast.
    pub wanted: (f64, f64),
}

impl KnownInputs {
    /// Reads the table at `path`; with it, what to warn of.
    ///
    /// # Errors
    /// Every problem of the table and of its origin.
    pub fn read(path: &Path, table: &InputTable) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let InputSamples { times, values, warnings } = table.read(path)?;
        let known = |(u, input): (usize, &Input)| {
            let sampled = times.iter().zip(values.iter().skip(u).step_by(table.inputs.len()));
            let (times, values) = sampled.filter(|(_, value)| !value.is_nan()).unzip();
            let name = input.quantity.name.clone();
            let channel = table.archive.and_then(|archive| archive.channels.iter().find(|it| it.name == name));
            let signal = Signal { times, values, between: input.between };
            KnownInput { name, extend: channel.is_some_and(|channel| channel.extend), signal }
        };
        Ok((KnownInputs(table.inputs.iter().enumerate().map(known).collect()), warnings))
    }

    /// Ascending `times`, and between the first and the last of them every sample of an input, where the input may jump or kink: a forecast
    /// then takes a step of its own from there. A sample within rounding of one of `times` adds none.
    pub fn with_bends(&self, times: Vec<f64>) -> Vec<f64> {
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return times };
        let bends = self.0.iter().flat_map(|known| known.signal.times.iter().copied());
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

    /// As [`KnownInputs::at`] from the time `known_until` on; before it signals are 0. Inputs that are `sums [U]` of what is given count from the first time
    /// on: nothing is given before the first row and after the last, and what rows before the first time say is not given again.
    ///
    /// # Errors
    /// As [`KnownInputs::at`].
    pub fn at_with(&self, times: &[f64], sums: &[bool], known_until: f64) -> Result<Vec<f64>, TooShort> {
        let (Some(&begin), Some(&end)) = (times.first(), times.last()) else { return Ok(Vec::new()) };
        let slack = ROUNDING * (end - begin);
        let first = times.partition_point(|time| *time < known_until);
        let pairs = || self.0.iter().zip(sums);
        let others = KnownInputs(pairs().filter(|(_, is_sum)| !**is_sum).map(|(known, _)| known.clone()).collect());
        let mut of_others = vec![0.0; first * others.0.len()];
        of_others.extend(others.at(&times[first..])?);
        let mut of_others = of_others.into_iter();
        let levels: Vec<f64> = self.0.iter().map(|known| known.given_by(begin, -slack)).collect();
        let row = |time: f64| -> Vec<f64> {
            let of_input = |((known, is_sum), level): ((&KnownInput, &bool), &f64)| match is_sum {
                true => known.given_by(time, slack) - level,
                false => of_others.next().unwrap_or(f64::NAN),
            };
            pairs().zip(&levels).map(of_input).collect()
        };
        Ok(times.iter().copied().flat_map(row).collect())
    }

    /// The inputs among `sums [U]` of which more is given from one time to another, both without rounding.
    pub fn given_between(&self, (from, to): (f64, f64), sums: &[bool]) -> Vec<String> {
        let pairs = self.0.iter().zip(sums).filter(|(_, is_sum)| **is_sum);
        let given = pairs.filter(|(known, _)| known.given_by(to, 0.0) != known.given_by(from, 0.0));
        given.map(|(known, _)| known.name.clone()).collect()
    }

    /// The inputs at ascending `times [T]`: `[T, U]`.
    ///
    /// # Errors
    /// The first input whose samples begin after the first time or end before the last, unless it is extended.
    pub fn at(&self, times: &[f64]) -> Result<Vec<f64>, TooShort> {
        let (Some(&begin), Some(&end)) = (times.first(), times.last()) else { return Ok(Vec::new()) };
        let slack = ROUNDING * (end - begin);
        for KnownInput { name, signal, .. } in self.0.iter().filter(|known| !known.extend) {
            let (first, last) = signal.span();
            if begin < first - slack || end > last + slack {
                return Err(TooShort { name: name.clone(), known: (first, last), wanted: (begin, end) });
            }
        }
        Ok(times.iter().flat_map(|&time| self.0.iter().map(move |known| known.signal.at_step(time, slack))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Between;

    /// A sum of doses at 1, 3 and 6, and a signal that is known from 4 on.
    #[test]
    fn what_is_given_counts_from_the_first_time() {
        let known = |times: Vec<f64>, values| KnownInput {
            name: "u".to_owned(),
            extend: false,
            signal: Signal { times, values, between: Between::Hold },
        };
        let doses = known(vec![1.0, 3.0, 6.0], vec![5.0, 7.0, 17.0]);
        let inputs = KnownInputs(vec![doses, known(vec![4.0, 9.0], vec![0.5, 0.25])]);
        let sums = [true, false];
        let at = |times: &[f64], until: f64| inputs.at_with(times, &sums, until).unwrap();
        assert_eq!(at(&[4.0, 6.0, 8.0], f64::NEG_INFINITY), [0.0, 0.5, 10.0, 0.5, 10.0, 0.5]);
        // What is given at the first time is given, also where rounding sets it apart.
        for first in [3.0, 3.0_f64.next_up(), 3.0_f64.next_down()] {
            assert_eq!(at(&[first, 4.0, 8.0], 4.0), [2.0, 0.0, 2.0, 0.5, 12.0, 0.5]);
        }
        assert_eq!(at(&[0.0, 1.0_f64.next_down(), 3.5, 5.0], 4.0)[..6], [0.0, 0.0, 5.0, 0.0, 7.0, 0.0]);
        assert!(inputs.at_with(&[3.0, 8.0], &sums, f64::NEG_INFINITY).is_err());
        assert_eq!(inputs.given_between((f64::NEG_INFINITY, 4.0), &sums), ["u"]);
        assert!(inputs.given_between((3.0, 5.0), &sums).is_empty());
    }

    #[test]
    fn inputs_are_held_or_linear_between_rows() {
        let known = |between, values, extend| {
            let signal = Signal { times: vec![0.0, 1.0, 3.0], values, between };
            KnownInput { name: "u".to_owned(), extend, signal }
        };
        let hold = known(Between::Hold, vec![1.0, 2.0, 4.0], false);
        let inputs = KnownInputs(vec![hold, known(Between::Linear, vec![1.0, 2.0, 6.0], false)]);
        assert_eq!(inputs.with_bends(vec![0.0, 2.0]), [0.0, 1.0, 2.0]);
        assert_eq!(inputs.at(&[0.0, 0.5, 1.0, 2.0, 3.0]).unwrap(), [1.0, 1.0, 1.0, 1.5, 2.0, 2.0, 2.0, 4.0, 4.0, 6.0]);
        assert!(inputs.at(&[-0.5]).is_err() && inputs.at(&[3.5]).is_err());
        let kept = KnownInputs(vec![known(Between::Linear, vec![1.0, 2.0, 6.0], true)]);
        assert_eq!(kept.at(&[-0.5, 3.5]).unwrap(), [1.0, 6.0]);
        assert_eq!(inputs.at(&[2.0, 3.0_f64.next_up()]).unwrap()[2..], [4.0, 6.0]);
        assert_eq!(inputs.with_bends(vec![0.0, 1.0_f64.next_down(), 2.0]), [0.0, 1.0_f64.next_down(), 2.0]);
        assert_eq!(inputs.with_bends(vec![0.0, 1.0_f64.next_up(), 2.0]), [0.0, 1.0_f64.next_up(), 2.0]);
        assert_eq!(inputs.at(&[0.0, 1.0_f64.next_down(), 2.0]).unwrap()[2..4], [2.0, 2.0]);
    }
}
