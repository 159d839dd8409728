//! Where rows stand, many of them in few numbers.

/// Numbers of a run: see [`Runs`].
pub(crate) const RUN: usize = 2;

const LOWER_HALF: u64 = u32::MAX as u64;

/// Numbers as runs of equal steps: the first, then the step in the upper half and the count in the lower. Rows mostly stand line after
/// line, or every so many lines; any two that increase make a run, so that a row in no order takes a single number still.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs(pub Vec<[u64; RUN]>);

/// The places of the samples of a series, each to be found by its position.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places {
    runs: Runs,
    /// How many places the runs hold up to the end of each.
    ends: Vec<usize>,
}

impl Runs {
    /// Appends so many numbers from `first` on, each greater by one than that before.
    pub fn push(&mut self, first: u64, count: u64) {
        if let Some([start, rest]) = self.0.last_mut() {
            let (step, length) = (*rest >> 32, *rest & LOWER_HALF);
            let step = if length == 1 && count == 1 { first.wrapping_sub(*start) } else { step };
            let follows = step <= LOWER_HALF && start.wrapping_add(step.wrapping_mul(length)) == first;
            if follows && (count == 1 || step == 1) && length + count <= LOWER_HALF {
                *rest = step << 32 | (length + count);
                return;
            }
        } else {
            self.0.reserve_exact(1); // mostly the only one
        }
        self.0.push([first, 1 << 32 | count]);
    }

    /// The last number.
    pub fn last(&self) -> Option<u64> {
        self.0.last().map(|&run| number(run, (run[1] & LOWER_HALF) - 1))
    }
}

/// Number `i` of a run.
fn number([start, rest]: [u64; RUN], i: u64) -> u64 {
    start.wrapping_add((rest >> 32).wrapping_mul(i))
}

impl Places {
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub fn push(&mut self, place: Place) {
        let end = self.len() + 1;
        self.runs.push(place.bits(), 1);
        self.ends.truncate(self.runs.0.len() - 1);
        self.ends.push(end);
    }

    pub fn append(&mut self, runs: &[[u64; RUN]]) {
        let mut end = self.len();
        self.ends.extend(runs.iter().map(|run| {
            end += (run[1] & LOWER_HALF) as usize;
            end
        }));
        self.runs.0.extend_from_slice(runs);
    }

    /// The place at a position, if there is one.
    pub fn get(&self, position: usize) -> Option<Place> {
        let run = self.ends.partition_point(|&end| end <= position);
        let before = run.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.runs.0.get(run).map(|&run| Place::from_bits(number(run, (position - before) as u64)))
    }

    pub fn iter(&self) -> impl Iterator<Item = Place> {
        let numbers = |&run: &[u64; RUN]| (0..run[1] & LOWER_HALF).map(move |i| Place::from_bits(number(run, i)));
        self.runs.0.iter().flat_map(numbers)
    }
}

impl FromIterator<Place> for Places {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Self {
        let mut all = Places::default();
        places.into_iter().for_each(|place| all.push(place));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_come_back_whatever_their_steps(
            pushed in proptest::collection::vec((prop_oneof![0..9_u64, any::<u64>()], 1..4_u64), 0..40)
        ) {
            let mut runs = Runs::default();
            let mut expected = Vec::new();
            for (first, count) in pushed {
                let first = first.min(u64::MAX - count);
                runs.push(first, count);
                expected.extend((first..first + count).map(Place::from_bits));
                prop_assert_eq!(runs.last().map(Place::from_bits), expected.last().copied());
            }
            let one_by_one: Places = expected.iter().copied().collect();
            let mut together = Places::default();
            let (half, rest) = runs.0.split_at(runs.0.len() / 2);
            together.append(half);
            together.append(rest);
            for places in [one_by_one, together] {
                prop_assert_eq!(places.iter().collect::<Vec<_>>(), expected.clone());
                let found = (0..=expected.len()).map(|i| places.get(i));
                prop_assert!(found.eq(expected.iter().copied().map(Some).chain([None])));
                prop_assert_eq!(places.len(), expected.len());
            }
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

/// A line of one of the files; orders as the files do, then as the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(u64);

/// Bits of a line's number; the others hold that of the file.
pub(crate) const LINE_BITS: u32 = 40;

impl Place {
    pub fn new(file: usize, line: u64) -> Self {
        Place((file as u64) << LINE_BITS | line & ((1 << LINE_BITS) - 1))
    }

    /// The line so many after it in its file.
    pub fn after(self, lines: u64) -> Self {
        Place(self.0 + lines)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Self {
        Place(bits)
    }

    pub fn file(self) -> usize {
        (self.0 >> LINE_BITS) as usize
    }

    pub fn line(self) -> u64 {
        self.0 & ((1 << LINE_BITS) - 1)
    }
}
