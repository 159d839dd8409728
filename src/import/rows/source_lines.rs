//! Source lines of rows, run-length encoded: regularly spaced lines take a few numbers however many they are.

/// A line of a source file; ordered by file, then by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceLine(u64);

/// Bits that hold the line number; the upper ones hold the file's.
const LINE_BITS: u32 = 40;

impl SourceLine {
    pub(crate) fn new(file: usize, line: u64) -> Self {
        SourceLine((file as u64) << LINE_BITS | line & ((1 << LINE_BITS) - 1))
    }

    /// The line that many lines further on in the same file.
    pub(crate) fn after(self, lines: u64) -> Self {
        SourceLine(self.0 + lines)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        SourceLine(bits)
    }

    pub(crate) fn file(self) -> usize {
        (self.0 >> LINE_BITS) as usize
    }

    pub(crate) fn line(self) -> u64 {
        self.0 & ((1 << LINE_BITS) - 1)
    }
}

/// Words of 64 bits in a run: see [`Runs`].
pub(crate) const RUN: usize = 2;

const LOWER_HALF: u64 = u32::MAX as u64;

/// Numbers as runs `[first, step << 32 | count]` of equal steps. The rows of a trajectory mostly stand on consecutive lines, or on every
/// n-th; any two increasing numbers make a run, so irregular lines cost one word each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs(pub Vec<[u64; RUN]>);

/// The source line of each sample of a series, found by the sample's position.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SourceLines {
    runs: Runs,
    /// Number of lines up to the end of each run.
    ends: Vec<usize>,
}

impl Runs {
    /// Appends the `count` numbers `first`, `first + 1`, ..
    pub(crate) fn push(&mut self, first: u64, count: u64) {
        if let Some([start, rest]) = self.0.last_mut() {
            let (step, length) = (*rest >> 32, *rest & LOWER_HALF);
            let step = if length == 1 && count == 1 { first.wrapping_sub(*start) } else { step };
            let follows = step <= LOWER_HALF && start.wrapping_add(step.wrapping_mul(length)) == first;
            if follows && (count == 1 || step == 1) && length + count <= LOWER_HALF {
                *rest = step << 32 | (length + count);
                return;
            }
        } else {
            self.0.reserve_exact(1); // most series have a single run
        }
        self.0.push([first, 1 << 32 | count]);
    }

    /// The last number.
    pub(crate) fn last(&self) -> Option<u64> {
        self.0.last().map(|&run| number(run, (run[1] & LOWER_HALF) - 1))
    }
}

/// Number `i` of a run.
fn number([start, rest]: [u64; RUN], i: u64) -> u64 {
    start.wrapping_add((rest >> 32).wrapping_mul(i))
}

impl SourceLines {
    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(crate) fn push(&mut self, line: SourceLine) {
        let end = self.len() + 1;
        self.runs.push(line.bits(), 1);
        self.ends.truncate(self.runs.0.len() - 1);
        self.ends.push(end);
    }

    pub(crate) fn append(&mut self, runs: &[[u64; RUN]]) {
        let mut end = self.len();
        self.ends.extend(runs.iter().map(|run| {
            end += (run[1] & LOWER_HALF) as usize;
            end
        }));
        self.runs.0.extend_from_slice(runs);
    }

    /// The line of the sample at a position, if there is one.
    pub(crate) fn get(&self, position: usize) -> Option<SourceLine> {
        let run = self.ends.partition_point(|&end| end <= position);
        let before = run.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.runs.0.get(run).map(|&run| SourceLine::from_bits(number(run, (position - before) as u64)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = SourceLine> {
        let numbers = |&run: &[u64; RUN]| (0..run[1] & LOWER_HALF).map(move |i| SourceLine::from_bits(number(run, i)));
        self.runs.0.iter().flat_map(numbers)
    }
}

impl FromIterator<SourceLine> for SourceLines {
    fn from_iter<I: IntoIterator<Item = SourceLine>>(lines: I) -> Self {
        let mut all = SourceLines::default();
        lines.into_iter().for_each(|line| all.push(line));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_come_back_whatever_their_steps(
            pushed in proptest::collection::vec((prop_oneof![0..9_u64, any::<u64>()], 1..4_u64), 0..40)
        ) {
            let mut runs = Runs::default();
            let mut expected = Vec::new();
            for (first, count) in pushed {
                let first = first.min(u64::MAX - count);
                runs.push(first, count);
                expected.extend((first..first + count).map(SourceLine::from_bits));
                prop_assert_eq!(runs.last().map(SourceLine::from_bits), expected.last().copied());
            }
            let one_by_one: SourceLines = expected.iter().copied().collect();
            let mut together = SourceLines::default();
            let (half, rest) = runs.0.split_at(runs.0.len() / 2);
            together.append(half);
            together.append(rest);
            for lines in [one_by_one, together] {
                prop_assert_eq!(lines.iter().collect::<Vec<_>>(), expected.clone());
                let found = (0..=expected.len()).map(|i| lines.get(i));
                prop_assert!(found.eq(expected.iter().copied().map(Some).chain([None])));
                prop_assert_eq!(lines.len(), expected.len());
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
