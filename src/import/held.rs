//! The rows of one part of a trajectory, as they are held until all have come: numbers of 64 bits, in memory or in a file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::clock::Moment;
use super::series::{Place, Series};

/// Bytes of a number.
const NUMBER: usize = 8;

/// Numbers of a run: see [`Runs`].
const RUN: usize = 2;

/// Rows in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Bits of the times `[T]`.
    moments: Vec<u64>,
    /// States `[T, C]`, row-major.
    states: Vec<f64>,
    places: Runs,
}

/// Where rows of a part lie in the file.
#[derive(Clone, Debug)]
pub(super) struct Written {
    offset: u64,
    samples: usize,
    values: usize,
    runs: usize,
}

/// Numbers as runs of equal steps: the first, then the step in the upper half and the count in the lower. Rows mostly stand line after
/// line, or every so many lines; any two that increase make a run, so that a row in no order takes a single number still.
#[derive(Clone, Debug, Default)]
struct Runs(Vec<[u64; RUN]>);

const LOWER_HALF: u64 = u32::MAX as u64;

impl Runs {
    /// Appends so many numbers from `first` on, each greater by one than that before.
    fn push(&mut self, first: u64, count: u64) {
        if let Some([start, rest]) = self.0.last_mut() {
            let (step, length) = (*rest >> 32, *rest & LOWER_HALF);
            let step = if length == 1 && count == 1 { first.wrapping_sub(*start) } else { step };
            let follows = step <= LOWER_HALF && start.wrapping_add(step.wrapping_mul(length)) == first;
            if follows && (count == 1 || step == 1) && length + count <= LOWER_HALF {
                *rest = step << 32 | (length + count);
                return;
            }
        }
        self.0.push([first, 1 << 32 | count]);
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        let number = |&[start, rest]: &[u64; RUN]| {
            (0..rest & LOWER_HALF).map(move |i| start.wrapping_add((rest >> 32).wrapping_mul(i)))
        };
        self.0.iter().flat_map(number)
    }
}

impl Held {
    /// How many numbers there is room for.
    pub fn capacity(&self) -> usize {
        self.moments.capacity() + self.states.capacity() + RUN * self.places.0.capacity()
    }

    pub fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    pub fn push(&mut self, moment: Moment, state: &[f64], place: Place) {
        self.moments.push(moment.bits());
        self.states.extend_from_slice(state);
        self.places.push(place.bits(), 1);
    }

    /// Appends so many rows of `width` values each, which stand line after line from `first` on.
    pub fn push_all(
        &mut self,
        rows: usize,
        width: usize,
        moment: impl Fn(usize) -> Moment,
        state: impl Fn(usize, usize) -> f64,
        first: Place,
    ) {
        self.moments.extend((0..rows).map(|i| moment(i).bits()));
        let before = self.states.len();
        self.states.resize(before + rows * width, 0.0);
        for c in 0..width {
            let values = self.states[before + c..].iter_mut().step_by(width);
            values.enumerate().for_each(|(i, value)| *value = state(c, i));
        }
        if rows > 0 {
            self.places.push(first.bits(), rows as u64);
        }
    }

    /// Writes the rows at `offset` of a file, which is where `writer` stands.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, writer: &mut impl Write, offset: u64) -> io::Result<Written> {
        writer.write_all(bytemuck::cast_slice(&self.moments))?;
        writer.write_all(bytemuck::cast_slice(&self.states))?;
        writer.write_all(bytemuck::cast_slice(&self.places.0))?;
        let (samples, values, runs) = (self.moments.len(), self.states.len(), self.places.0.len());
        Ok(Written { offset, samples, values, runs })
    }

    /// Appends the rows to a series.
    pub fn append_to(&self, series: &mut Series) {
        series.moments.extend(self.moments.iter().map(|&bits| Moment::from_bits(bits)));
        series.states.extend_from_slice(&self.states);
        series.places.extend(self.places.numbers().map(Place::from_bits));
    }
}

impl Written {
    /// Where in the file the rows end.
    pub fn end(&self) -> u64 {
        self.offset + ((self.samples + self.values + RUN * self.runs) * NUMBER) as u64
    }

    /// # Errors
    /// If they cannot be read.
    pub fn read(&self, file: &File) -> io::Result<Held> {
        let mut offset = self.offset;
        let mut read = |bytes: &mut [u8]| {
            file.read_exact_at(bytes, offset)?;
            offset += bytes.len() as u64;
            io::Result::Ok(())
        };
        let Written { samples, values, runs, .. } = *self;
        let (mut moments, mut states, mut places) = (vec![0; samples], vec![0.0; values], vec![[0; RUN]; runs]);
        read(bytemuck::cast_slice_mut(&mut moments))?;
        read(bytemuck::cast_slice_mut(&mut states))?;
        read(bytemuck::cast_slice_mut(&mut places))?;
        Ok(Held { moments, states, places: Runs(places) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_whatever_their_steps(
            pushed in proptest::collection::vec((prop_oneof![0..9_u64, any::<u64>()], 1..4_u64), 0..40)
        ) {
            let mut runs = Runs::default();
            let mut expected = Vec::new();
            for (first, count) in pushed {
                let first = first.min(u64::MAX - count);
                runs.push(first, count);
                expected.extend(first..first + count);
            }
            prop_assert_eq!(runs.numbers().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn equal_steps_are_one_run() {
        let mut runs = Runs::default();
        runs.push(3, 4);
        runs.push(7, 1);
        runs.push(8, 2);
        assert_eq!(runs.0, [[3, 1 << 32 | 7]]);
        let mut runs = Runs::default();
        (0..9).for_each(|i| runs.push(5 + 3 * i, 1));
        assert_eq!(runs.0, [[5, 3 << 32 | 9]]);
    }
}
