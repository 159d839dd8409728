//! Inputs on the time grid of their trajectory.
//!
//! The grid has every time, from the first observed state to the last, at which a state or an input was sampled or an input changes. If the
//! record's first event is earlier, the grid begins there, for equations that know the state at that time. Inputs at these times follow
//! from their samples ([`Signal::at`]). Before its first sample and after its last an input keeps the nearest value, at most for as long as
//! the longest of its own intervals: that much is taken for known between two samples too.

use std::ops::Range;

use super::report::Counts;
use super::samples::Samples;
use crate::import::rows::source_lines::SourceLine;
use crate::import::settings::events::Shape;
use crate::import::settings::{Channel, Settings};
use crate::problems::{Kind, Problem, shown};
use crate::signals::Signal;

/// The `samples` on the grid; their states are followed by the inputs among the channels. `events` makes the other inputs, given the span
/// of the observed states and the times of all samples; the first of them acts from `lead` on.
///
/// # Errors
/// Each input that is not known over the span, with the place of the nearest sample.
pub(crate) fn resample(
    samples: Samples,
    settings: &Settings,
    lead: Option<f64>,
    events: impl FnOnce((f64, f64), &[f64]) -> Result<Vec<Signal>, Vec<Problem>>,
    whose: &str,
    counts: &mut Counts,
) -> Result<Samples, Vec<(Problem, Option<SourceLine>)>> {
    if samples.times.is_empty() || settings.inputs().next().is_none() {
        return Ok(samples);
    }
    let cells = Cells { samples: &samples, states: settings.states().count(), width: settings.sampled().count() };
    let times = &samples.times;
    let observed = cells.observed_rows();
    let is_observed = observed.is_some();
    let rows = observed.filter(|rows| rows.len() > 1).unwrap_or(0..times.len());
    let span = (times[rows.start], times[rows.end - 1]);

    let mut problems = Vec::new();
    let mut signals = Vec::new();
    for (u, (index, channel)) in settings.driving().enumerate() {
        let (signal, known) = cells.signal(u, channel);
        if let Some(problem) =
            too_short(channel, &signal.times, span, whose).filter(|_| is_observed || signal.times.is_empty())
        {
            let line = samples.lines.get(known.last().map_or(rows.start, |&t| t));
            problems.push((problem.setting(format!("import.channels[{index}]")), line));
        }
        signals.push(signal);
    }
    match events(span, times) {
        Ok(made) => signals.extend(made),
        Err(found) => problems.extend(found.into_iter().map(|problem| (problem, None))),
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // If all inputs are known from the first event on, the trajectory begins there.
    let is_known = |lead: f64| {
        let mut of_channels = settings.driving().zip(&signals);
        of_channels.all(|((_, channel), signal)| too_short(channel, &signal.times, (lead, span.1), whose).is_none())
    };
    let lead = lead.filter(|&lead| is_observed && lead < span.0 && is_known(lead));
    counts.led += u64::from(lead.is_some());
    let span = (lead.unwrap_or(span.0), span.1);
    let rows = times.partition_point(|&time| time < span.0).min(rows.start)..rows.end;
    counts.outside += (times.len() - rows.len()) as u64;
    // What was given before a trajectory is not given at its beginning.
    let driving = signals.len() - settings.events.len();
    let begin = rows.clone().next().map_or(span.0, |row| times[row].min(span.0));
    let of_events = settings.events.iter().zip(&mut signals[driving..]);
    of_events.filter(|(event, _)| event.shape == Shape::Bolus).for_each(|(_, signal)| signal.count_from(begin));
    let grid = cells.grid(rows, span, &signals[cells.width - cells.states..]);
    Ok(cells.on_grid(&grid, &signals, counts))
}

/// The samples of a record whose states `[T, C]` are still followed by the inputs among the channels.
struct Cells<'a> {
    samples: &'a Samples,
    /// `C`.
    states: usize,
    /// Cells of a sample: states and inputs.
    width: usize,
}

impl Cells<'_> {
    fn row(&self, t: usize) -> &[f64] {
        &self.samples.states[t * self.width..(t + 1) * self.width]
    }

    /// From the first sample with an observed state to the last.
    fn observed_rows(&self) -> Option<Range<usize>> {
        let is_observed = |&t: &usize| self.row(t)[..self.states].iter().any(|value| !value.is_nan());
        let first = (0..self.samples.times.len()).find(is_observed)?;
        let last = (0..self.samples.times.len()).rev().find(is_observed)?;
        Some(first..last + 1)
    }

    /// The input at position `u` among the channels, and the samples that it was observed at.
    fn signal(&self, u: usize, channel: &Channel) -> (Signal, Vec<usize>) {
        let value = |t: usize| self.row(t)[self.states + u];
        let known: Vec<usize> = (0..self.samples.times.len()).filter(|&t| !value(t).is_nan()).collect();
        let signal = Signal {
            times: known.iter().map(|&t| self.samples.times[t]).collect(),
            values: known.iter().map(|&t| value(t)).collect(),
            between: channel.between.unwrap_or_default(),
        };
        (signal, known)
    }

    /// The times of the grid, each with its sample if there is one: those of `rows`, and those within `span` at which an input of events
    /// changes.
    fn grid(&self, rows: Range<usize>, span: (f64, f64), events: &[Signal]) -> Vec<(f64, Option<usize>)> {
        let mut grid: Vec<(f64, Option<usize>)> = rows.map(|t| (self.samples.times[t], Some(t))).collect();
        let inside = |time: &&f64| **time >= span.0 && **time <= span.1;
        for signal in events {
            grid.extend(signal.times.iter().filter(inside).map(|&time| (time, None)));
        }
        grid.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.is_none().cmp(&b.1.is_none())));
        grid.dedup_by(|later, first| later.0 == first.0);
        grid
    }

    /// States and inputs at the times of the grid. A time without a sample has no state, and the line of the sample before.
    fn on_grid(&self, grid: &[(f64, Option<usize>)], signals: &[Signal], counts: &mut Counts) -> Samples {
        let mut resampled = Samples::default();
        let mut at = grid.iter().find_map(|(_, row)| *row).unwrap_or(0);
        for &(time, row) in grid {
            at = row.unwrap_or(at);
            resampled.times.push(time);
            self.samples.lines.get(at).into_iter().for_each(|line| resampled.lines.push(line));
            match row {
                Some(t) => resampled.states.extend_from_slice(&self.row(t)[..self.states]),
                None => resampled.states.extend(std::iter::repeat_n(f64::NAN, self.states)),
            }
            resampled.inputs.extend(signals.iter().map(|signal| signal.at(time)));
            for (u, count) in counts.interpolated.iter_mut().enumerate() {
                *count += u64::from(row.is_none_or(|t| self.row(t)[self.states + u].is_nan()));
            }
        }
        resampled
    }
}

/// The problem with an input that is not known over the span of the observed states.
fn too_short(channel: &Channel, times: &[f64], span: (f64, f64), whose: &str) -> Option<Problem> {
    let name = shown(&channel.column);
    let needed = format!("values of it from time {} to {}, where states were observed", span.0, span.1);
    let [first, .., last] = times else {
        return match times {
            [_] if channel.extend => None,
            [only] if (*only, *only) == span => None,
            [only] => {
                let found = format!("a single value of input {name} in {whose}, at time {only}");
                let remedy = "set `extend = true` if it was constant, or leave the trajectory or the input out";
                Some(Problem::new(Kind::InputSpan, found, needed, remedy))
            }
            _ => {
                let found = format!("no value of input {name} in {whose}");
                let remedy = "leave the trajectory out by `import.table.rows`, or the input by `role = \"ignore\"`";
                Some(Problem::new(Kind::InputSpan, found, needed, remedy))
            }
        };
    };
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    if channel.extend || first - span.0 <= longest && span.1 - last <= longest {
        return None;
    }
    let found = format!("values of input {name} in {whose} from time {first} to {last} only");
    let needed = format!("{needed}, or all but {longest} of it, the longest interval between two of its values");
    let remedy = "set `extend = true` if it kept its first and last value, or leave out the rows beyond";
    Some(Problem::new(Kind::InputSpan, found, needed, remedy))
}
