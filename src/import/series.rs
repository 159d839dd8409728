//! The samples of one trajectory: cells in the order of time, on one grid of times, with NaN where a channel was not observed.

use std::ops::Range;

use super::problem::{Kind, Problem, shown};
use super::settings::{Disorder, Duplicates};

/// Samples as they stand in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    /// Sample times `[T]`.
    pub times: Vec<f64>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// Line of each sample `[T]`, to point at.
    pub lines: Vec<u64>,
}

/// What was done to the samples of one trajectory beside ordering them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    /// Values that went into the mean with another, or gave way to one.
    pub values: u64,
}

/// How samples that stand out of order, or at one time, are dealt with.
pub(super) struct Rules<'a> {
    pub disorder: Disorder,
    pub duplicates: Duplicates,
    /// Names the trajectory in problems.
    pub whose: &'a str,
    /// Names of the channels `[C]`.
    pub channels: &'a [&'a str],
}

impl Series {
    pub fn push(&mut self, time: f64, state: &[f64], line: u64) {
        self.times.push(time + 0.0); // -0.0 is the same time as 0.0
        self.states.extend_from_slice(state);
        self.lines.push(line);
    }

    /// Puts the samples in the order of time, those of one time in the order of the file.
    fn order(&mut self, rules: &Rules<'_>, report: &mut impl FnMut(Problem)) {
        let falls: Vec<usize> = (1..self.times.len()).filter(|&i| self.times[i] < self.times[i - 1]).collect();
        let Some(&first) = falls.first() else { return };
        if rules.disorder == Disorder::Error {
            let (before, after) = (self.times[first - 1], self.times[first]);
            let more = match falls.len() {
                1 => String::new(),
                falls => format!(", and at {} more rows", falls - 1),
            };
            let (line, whose) = (self.lines[first - 1], rules.whose);
            let found = format!("time {after} after time {before} of line {line} in {whose}{more}");
            let remedy = "correct the ids or sort the rows, or set `import.table.disorder = \"sort\"`";
            let problem = Problem::new(Kind::UnsortedTime, found, "increasing times in a trajectory", remedy);
            report(problem.line(self.lines[first]));
        }
        let channels = self.states.len() / self.times.len();
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        self.states = order.iter().flat_map(|&i| &self.states[i * channels..(i + 1) * channels]).copied().collect();
        self.times = order.iter().map(|&i| self.times[i]).collect();
        self.lines = order.iter().map(|&i| self.lines[i]).collect();
    }

    /// The value in `samples` of one time of channel `c` of this series' own; NaN if none has one.
    fn at_one_time(
        &self,
        samples: Range<usize>,
        c: usize,
        name: &str,
        rules: &Rules<'_>,
        merged: &mut Merged,
        report: &mut impl FnMut(Problem),
    ) -> f64 {
        let channels = self.states.len() / self.times.len();
        let from = samples.start;
        let mut observed = samples.filter(|&i| !self.states[i * channels + c].is_nan());
        let Some(first) = observed.next() else { return f64::NAN };
        let Some(second) = observed.next() else { return self.states[first * channels + c] };
        let mut values: Vec<f64> =
            [first, second].into_iter().chain(observed).map(|i| self.states[i * channels + c]).collect();
        merged.values += values.len() as u64 - 1;
        match rules.duplicates {
            Duplicates::Error => {
                let (before, after) =
                    (self.lines[first].min(self.lines[second]), self.lines[first].max(self.lines[second]));
                let (time, whose) = (self.times[from], rules.whose);
                let found =
                    format!("channel {} at time {time} a second time in {whose}, after line {before}", shown(name));
                let remedy = "remove one of the two rows, tell their trajectories apart by an id, or set `import.table.duplicates` \
                              to `mean`, `first` or `last`";
                report(Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy).line(after));
                values[0]
            }
            Duplicates::First => values[0],
            Duplicates::Last => values[values.len() - 1],
            Duplicates::Mean => {
                // Summed in one order, whatever that of the rows.
                values.sort_by(f64::total_cmp);
                values.iter().sum::<f64>() / values.len() as f64
            }
        }
    }
}

/// Brings `parts`, whose channels side by side are those of the trajectory, onto one grid of increasing times; samples
/// without any observed cell are left out.
pub(super) fn gather(mut parts: Vec<Series>, rules: &Rules<'_>, report: &mut impl FnMut(Problem)) -> (Series, Merged) {
    let mut union: Vec<(f64, u64)> = Vec::new();
    for part in &mut parts {
        part.order(rules, report);
        union.extend(part.times.iter().copied().zip(part.lines.iter().copied()));
    }
    union.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    union.dedup_by(|later, first| later.0 == first.0);

    let width = rules.channels.len();
    let mut states = vec![f64::NAN; union.len() * width];
    let mut merged = Merged::default();
    let mut offset = 0;
    for part in &parts {
        let own = part.states.len().checked_div(part.times.len()).unwrap_or(width / parts.len());
        let (mut from, mut t) = (0, 0);
        while from < part.times.len() {
            let to = from + part.times[from..].iter().take_while(|&&time| time == part.times[from]).count();
            t += union[t..].iter().take_while(|sample| sample.0 < part.times[from]).count();
            for c in 0..own {
                let name = rules.channels[offset + c];
                states[t * width + offset + c] = part.at_one_time(from..to, c, name, rules, &mut merged, report);
            }
            from = to;
        }
        offset += own;
    }
    let mut gathered = Series::default();
    for (&(time, line), state) in union.iter().zip(states.chunks_exact(width)) {
        if state.iter().any(|value| !value.is_nan()) {
            gathered.push(time, state, line);
        }
    }
    (gathered, merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: f64 = f64::NAN;

    fn series(samples: &[(f64, &[f64])]) -> Series {
        let mut series = Series::default();
        for (line, (time, state)) in (2..).zip(samples) {
            series.push(*time, state, line);
        }
        series
    }

    fn gathered(parts: Vec<Series>, duplicates: Duplicates) -> (Vec<f64>, Vec<f64>, u64, usize) {
        let rules = Rules { disorder: Disorder::Sort, duplicates, whose: "it", channels: &["a", "b"] };
        let mut problems = 0;
        let (series, merged) = gather(parts, &rules, &mut |_| problems += 1);
        (series.times, series.states, merged.values, problems)
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
        let (times, states, ..) = gathered(vec![series(&[(0.0, &[N, N]), (1.0, &[N, 1.0])])], Duplicates::Error);
        assert_eq!(times, [1.0]);
        assert_eq!(bits(&states), bits(&[N, 1.0]));
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
