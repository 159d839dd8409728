//! The samples of one trajectory, put in the order of time.

use super::problem::{Kind, Problem, shown};
use super::settings::Disorder;

/// Samples as they stand in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    /// Sample times `[T]`.
    pub times: Vec<f64>,
    /// States `[T, C]`, row-major.
    pub states: Vec<f64>,
    /// Line of each sample `[T]`, to point at.
    pub lines: Vec<u64>,
}

impl Series {
    pub fn push(&mut self, time: f64, state: &[f64], line: u64) {
        self.times.push(time + 0.0); // -0.0 is the same time as 0.0
        self.states.extend_from_slice(state);
        self.lines.push(line);
    }

    /// Puts the samples in the order of time, and says whether no time stands twice. `whose` names the trajectory in
    /// problems, which lack their file.
    pub fn order(&mut self, disorder: Disorder, whose: &str, report: &mut impl FnMut(Problem)) -> bool {
        let falls: Vec<usize> = (1..self.times.len()).filter(|&i| self.times[i] < self.times[i - 1]).collect();
        if let (Some(&first), Disorder::Error) = (falls.first(), disorder) {
            let (before, after) = (self.times[first - 1], self.times[first]);
            let more = match falls.len() {
                1 => String::new(),
                falls => format!(", and at {} more rows", falls - 1),
            };
            let found = format!("time {after} after time {before} of line {} in {whose}{more}", self.lines[first - 1]);
            let remedy = "correct the ids or sort the rows, or set `import.table.disorder = \"sort\"`";
            report(
                Problem::new(Kind::UnsortedTime, found, "increasing times in a trajectory", remedy)
                    .line(self.lines[first]),
            );
        }
        if !falls.is_empty() {
            self.sort();
        }
        let mut distinct = true;
        for i in 1..self.times.len() {
            if self.times[i] == self.times[i - 1] {
                distinct = false;
                let (first, second) = (self.lines[i - 1].min(self.lines[i]), self.lines[i - 1].max(self.lines[i]));
                let found = format!("time {} a second time in {whose}, after line {first}", self.times[i]);
                let remedy = "remove one of the two rows, or tell their trajectories apart by an id";
                report(Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy).line(second));
            }
        }
        distinct
    }

    fn sort(&mut self) {
        let channels = self.states.len() / self.times.len();
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        self.states = order.iter().flat_map(|&i| &self.states[i * channels..(i + 1) * channels]).copied().collect();
        self.times = order.iter().map(|&i| self.times[i]).collect();
        self.lines = order.iter().map(|&i| self.lines[i]).collect();
    }
}

/// Joins one series per channel, each of increasing times, into one of all channels; `None` and a problem for each
/// channel that lacks a time of the others.
pub(super) fn join(channels: &[(&str, &Series)], whose: &str, report: &mut impl FnMut(Problem)) -> Option<Series> {
    let mut union: Vec<(f64, u64)> = Vec::new();
    for (_, series) in channels {
        union.extend(series.times.iter().copied().zip(series.lines.iter().copied()));
    }
    union.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    union.dedup_by(|later, first| later.0 == first.0);

    let mut columns = Vec::with_capacity(channels.len());
    for (name, series) in channels {
        let position = |time: f64| series.times.partition_point(|&other| other < time);
        let value = |&(time, _): &(f64, u64)| {
            let i = position(time);
            (series.times.get(i) == Some(&time)).then(|| series.states[i])
        };
        let column: Vec<Option<f64>> = union.iter().map(value).collect();
        let gaps: Vec<usize> = (0..union.len()).filter(|&i| column[i].is_none()).collect();
        if let Some(&first) = gaps.first() {
            let (time, line) = union[first];
            let count = format!("{} of the {} times", gaps.len(), union.len());
            let found = format!("no value of channel {} at {count} of {whose}, first at {time}", shown(name));
            let remedy = "missing values are not supported yet: remove the other channels' rows at these times";
            let expected = "every channel at every time";
            report(Problem::new(Kind::IncompleteChannel, found, expected, remedy).line(line));
        }
        columns.push(column);
    }
    let mut joined = Series::default();
    for (i, &(time, line)) in union.iter().enumerate() {
        let state: Option<Vec<f64>> = columns.iter().map(|column| column[i]).collect();
        joined.push(time, &state?, line);
    }
    Some(joined)
}
