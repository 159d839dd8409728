//! Inputs on the time grid of their trajectory.
//!
//! The grid holds every time, from the first observed state to the last, at which a state or an input was sampled or an input changes; it
//! begins at the record's first event where that lies before, for equations that know the state there. At a
//! time `t` between its samples at `t_n` and `t_{n+1}` an input is `u_n` (hold) or `(1 - s) u_n + s u_{n+1}` with
//! `s = (t - t_n) / (t_{n+1} - t_n)` (linear). Before its first sample and after its last it keeps the nearest value, and may do so for as
//! long as the longest of its intervals: that much is taken for known between two samples as well.

use super::report::Counts;
use super::samples::Samples;
use crate::import::rows::source_lines::SourceLine;
use crate::import::settings::{Channel, Settings};
use crate::problems::{Kind, Problem, shown};
use crate::signals::Signal;

/// The trajectory, of `samples` whose states are followed by the inputs among the channels, on the grid.
/// `events` gives the other inputs, where states were observed between two times and all samples are at others; the first of them acts
/// from `lead` on.
///
/// # Errors
/// What is not known of an input, with the sample beside which it is not.
pub(crate) fn drive(
    samples: Samples,
    settings: &Settings,
    lead: Option<f64>,
    events: impl FnOnce((f64, f64), &[f64]) -> Result<Vec<Signal>, Vec<Problem>>,
    whose: &str,
    counts: &mut Counts,
) -> Result<Samples, Vec<(Problem, Option<SourceLine>)>> {
    let (states, width) = (settings.states().count(), settings.sampled().count());
    let Samples { times, states: cells, places, .. } = &samples;
    if times.is_empty() || settings.inputs().next().is_none() {
        return Ok(samples);
    }
    let of_row = |t: usize| &cells[t * width..(t + 1) * width];
    let is_observed = |&t: &usize| of_row(t)[..states].iter().any(|value| !value.is_nan());
    let first = (0..times.len()).find(is_observed);
    let last = (0..times.len()).rev().find(is_observed);
    let rows = match (first, last) {
        (Some(first), Some(last)) if first < last => first..last + 1,
        _ => 0..times.len(),
    };
    let span = (times[rows.start], times[rows.end - 1]);

    let mut problems = Vec::new();
    let mut signals = Vec::new();
    for (u, (index, channel)) in settings.driving().enumerate() {
        let known: Vec<usize> = (0..times.len()).filter(|&t| !of_row(t)[states + u].is_nan()).collect();
        let signal = Signal {
            times: known.iter().map(|&t| times[t]).collect(),
            values: known.iter().map(|&t| of_row(t)[states + u]).collect(),
            between: channel.between.unwrap_or_default(),
        };
        if let Some(problem) =
            too_short(channel, &signal.times, span, whose).filter(|_| first.is_some() || signal.times.is_empty())
        {
            let place = places.get(known.last().map_or(rows.start, |&t| t));
            problems.push((problem.setting(format!("import.channels[{index}]")), place));
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
    // Where all inputs are known from the first event on, so is the trajectory driven.
    let is_known = |lead: f64| {
        let mut of_channels = settings.driving().zip(&signals);
        of_channels.all(|((_, channel), signal)| too_short(channel, &signal.times, (lead, span.1), whose).is_none())
    };
    let lead = lead.filter(|&lead| first.is_some() && lead < span.0 && is_known(lead));
    counts.led += u64::from(lead.is_some());
    let span = (lead.unwrap_or(span.0), span.1);
    let rows = times.partition_point(|&time| time < span.0).min(rows.start)..rows.end;

    // Where an input changes at no sample's time, the sample before says where it stands.
    let mut grid: Vec<(f64, Option<usize>)> = rows.clone().map(|t| (times[t], Some(t))).collect();
    let inside = |time: &&f64| **time >= span.0 && **time <= span.1;
    for signal in signals.iter().skip(width - states) {
        grid.extend(signal.times.iter().filter(inside).map(|&time| (time, None)));
    }
    grid.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.is_none().cmp(&b.1.is_none())));
    grid.dedup_by(|later, first| later.0 == first.0);

    counts.outside += (times.len() - rows.len()) as u64;
    let mut driven = Samples::default();
    let mut at = rows.start;
    for &(time, row) in &grid {
        at = row.unwrap_or(at);
        driven.times.push(time);
        places.get(at).into_iter().for_each(|place| driven.places.push(place));
        match row {
            Some(t) => driven.states.extend_from_slice(&of_row(t)[..states]),
            None => driven.states.extend(std::iter::repeat_n(f64::NAN, states)),
        }
        driven.inputs.extend(signals.iter().map(|signal| signal.at(time)));
        for (u, count) in counts.interpolated.iter_mut().enumerate() {
            *count += u64::from(row.is_none_or(|t| of_row(t)[states + u].is_nan()));
        }
    }
    Ok(driven)
}

/// The problem with an input that is not known over the span of the states.
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
