//! The inputs of a forecast over time.

use std::path::Path;

use super::read_inputs::{InputSamples, InputTable};
use crate::problems::Problem;
use crate::schema::Input;
use crate::signals::Signal;

/// How far apart two times may be that rounding alone set apart, relative to the length of a forecast.
const ROUNDING: f64 = 1e-9;

/// The inputs of a model as known signals.
pub struct KnownInputs(Vec<KnownInput>);

#[derive(Clone)]
struct KnownInput {
    name: String,
    /// Whether it keeps its first and last value beyond its samples (`extend` of the archive's channel).
    extend: bool,
    signal: Signal,
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

    /// As [`KnownInputs::at`]; of inputs that are `sums [U]` of what is given since the first time, nothing is given before the first row and after the
    /// last.
    ///
    /// # Errors
    /// As [`KnownInputs::at`].
    pub fn at_with(&self, times: &[f64], sums: &[bool]) -> Result<Vec<f64>, TooShort> {
        let pairs = || self.0.iter().zip(sums);
        let given =
            |known: &KnownInput, time: f64| if time < known.signal.span().0 { 0.0 } else { known.signal.at(time) };
        let others = KnownInputs(pairs().filter(|(_, is_sum)| !**is_sum).map(|(known, _)| known.clone()).collect());
        let mut of_others = others.at(times)?.into_iter();
        let row = |time: f64| -> Vec<f64> {
            pairs()
                .map(|(known, is_sum)| if *is_sum { given(known, time) } else { of_others.next().unwrap_or(f64::NAN) })
                .collect()
        };
        Ok(times.iter().copied().flat_map(row).collect())
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
