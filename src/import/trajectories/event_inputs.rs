//! Events to inputs. With events of amounts `a_k` at times `e_k`, an input at time `t` is
//!
//! ```text
//! cumulative   sum of a_k over e_k <= t
//! bolus        sum of a_k over e_k <= t, from the beginning of the trajectory
//! pulse        sum of a_k / D over e_k <= t < e_k + D
//! since        t - max of e_k over e_k <= t
//! ```
//!
//! `since` drops at an event, but a linear input is continuous: it drops over the last [`FALL`] of the time since the sample or event
//! before, and a sample of its own marks where the drop begins.

use super::event::Event;
use crate::import::settings::Settings;
use crate::import::settings::events::{EventInput, Shape};
use crate::problems::{Kind, Problem};
use crate::schema::Between;
use crate::signals::Signal;
use crate::units::{Conversion, Unit};

/// Share of the time since the sample or event before over which `since` drops.
const FALL: f64 = 1e-6;

/// The inputs made of the events of a trajectory, whose states were observed within `span`, and which has samples at `times`.
///
/// # Errors
/// A problem for each input that is not known at the beginning of `span`, or whose pulses are shorter than times can resolve.
pub(crate) fn inputs_of_events(
    settings: &Settings,
    events: &[Vec<Event>],
    span: (f64, f64),
    times: &[f64],
    whose: &str,
) -> Result<Vec<Signal>, Vec<Problem>> {
    let (lead, mut signals, mut problems) = (lead(settings, events), Vec::new(), Vec::new());
    for (index, (input, events)) in settings.events.iter().zip(events).enumerate() {
        match input.shape {
            Shape::Cumulative => signals.push(cumulative(events, |event| event.time)),
            Shape::Bolus => signals.push(cumulative(events, |event| event.begins)),
            Shape::Pulse => match pulse(events, input.duration.unwrap_or(1.0)) {
                Ok(signal) => signals.push(signal),
                Err(time) => problems.push(too_brief(index, input.duration.unwrap_or(1.0), time, whose)),
            },
            Shape::Since => match since(input, &settings.time_unit, events, span, times, lead) {
                Some(signal) => signals.push(signal),
                None => problems.push(unknown_before(index, events, span, whose)),
            },
        }
    }
    if problems.is_empty() { Ok(signals) } else { Err(problems) }
}

/// How many events of each input have no effect, as they end before the `span` of their trajectory or begin after it.
pub(crate) fn count_idle<'a>(
    settings: &'a Settings,
    events: &'a [Vec<Event>],
    span: (f64, f64),
) -> impl Iterator<Item = u64> + use<'a> {
    settings.events.iter().zip(events).map(move |(input, events)| {
        let ends = |event: &Event| match input.shape {
            Shape::Pulse => event.ends(input.duration.unwrap_or(1.0)),
            Shape::Bolus if event.begins < span.0 => f64::NEG_INFINITY,
            Shape::Bolus => f64::INFINITY,
            // Amounts and times of earlier events count.
            Shape::Cumulative | Shape::Since => f64::INFINITY,
        };
        events.iter().filter(|event| ends(event) <= span.0 || event.time > span.1).count() as u64
    })
}

/// When the first event begins to act; `None` if an input would not be known then.
pub(crate) fn lead(settings: &Settings, events: &[Vec<Event>]) -> Option<f64> {
    let lead = events.iter().flatten().map(|event| event.begins).reduce(f64::min)?;
    let is_known = |(input, events): (&EventInput, &Vec<Event>)| {
        input.shape != Shape::Since || input.before.is_some() || events.first().is_some_and(|event| event.time <= lead)
    };
    Some(lead).filter(|_| settings.events.iter().zip(events).all(is_known))
}

fn unknown_before(index: usize, events: &[Event], span: (f64, f64), whose: &str) -> Problem {
    let found = match events.first() {
        Some(event) => format!("the first event of {whose} at time {}", event.time),
        None => format!("no event of {whose}"),
    };
    let expected = format!("one no later than its first observed state, at time {}", span.0);
    let remedy = "say in `before` what the time since the last event is until then";
    Problem::new(Kind::InputSpan, found, expected, remedy).setting(format!("import.events[{index}].before"))
}

/// A held signal that is `first` before its first sample; of samples at one time the last holds.
fn held(first: f64, samples: impl Iterator<Item = (f64, f64)>) -> Signal {
    let mut signal = Signal { times: vec![f64::NEG_INFINITY], values: vec![first], between: Between::Hold };
    for (time, value) in samples {
        if signal.times.last() == Some(&time) {
            signal.times.pop();
            signal.values.pop();
        }
        signal.times.push(time);
        signal.values.push(value);
    }
    signal
}

/// The sum of the amounts so far, each from a time of its event on; events are in the order of these times.
fn cumulative(events: &[Event], time: impl Fn(&Event) -> f64) -> Signal {
    let mut sum = 0.0;
    held(
        0.0,
        events.iter().map(|event| {
            sum += event.amount;
            (time(event), sum)
        }),
    )
}

/// The sum of the rates of all pulses that act, for events in the order in which their pulses begin, and so end.
///
/// # Errors
/// The time of an event whose pulse ends where it begins, as its duration is below the resolution of times.
fn pulse(events: &[Event], duration: f64) -> Result<Signal, f64> {
    let end = |event: &Event| event.ends(duration);
    if let Some(event) = events.iter().find(|event| end(event) <= event.begins) {
        return Err(event.time);
    }
    let mut edges: Vec<f64> = events.iter().flat_map(|event| [event.begins, end(event)]).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let (mut ended, mut begun) = (0, 0);
    let samples = edges.into_iter().map(|edge| {
        begun += events[begun..].iter().take_while(|event| event.begins <= edge).count();
        ended += events[ended..].iter().take_while(|event| end(event) <= edge).count();
        // Summed anew, so that no rounding is left of pulses that have ended; over the rounded duration, so that the whole amount is given.
        let rates = events[ended..begun].iter().map(|event| event.amount / (end(event) - event.begins));
        (edge, rates.fold(0.0, |sum, rate| sum + rate))
    });
    Ok(held(0.0, samples))
}

fn too_brief(index: usize, duration: f64, time: f64, whose: &str) -> Problem {
    let found = format!("a pulse of {duration:?} at time {time:?} of {whose}, which ends where it begins");
    let remedy = "count times from an `origin` nearer to the data, or set a longer duration";
    let problem = Problem::new(Kind::InputSpan, found, "a duration that can be told from 0 at this time", remedy);
    problem.setting(format!("import.events[{index}].duration"))
}

/// The time since the last event; `None` if it is not known at the start of `span`. The trajectory may begin at `lead`, before `span`.
fn since(
    input: &EventInput,
    time_unit: &str,
    events: &[Event],
    span: (f64, f64),
    times: &[f64],
    lead: Option<f64>,
) -> Option<Signal> {
    let conversion = Unit::parse(time_unit).and_then(|from| from.to(Unit::parse(&input.unit)?));
    let conversion = conversion.unwrap_or(Conversion::NONE);
    if input.before.is_none() && events.first().is_none_or(|event| event.time > span.0) {
        return None;
    }
    let value = |time: f64, last: Option<f64>| match last {
        Some(last) => conversion.apply(time - last),
        None => input.before.unwrap_or(0.0),
    };
    let mut signal = Signal { times: Vec::new(), values: Vec::new(), between: Between::Linear };
    let mut push = |time: f64, value: f64| {
        signal.times.push(time);
        signal.values.push(value);
    };
    let mut last = None;
    for time in events.iter().map(|event| event.time) {
        if last == Some(time) {
            continue;
        }
        let sample = times[..times.partition_point(|&sample| sample < time)].last().copied();
        let sample = sample.or(lead.filter(|&lead| lead < time));
        if let Some(before) = sample.into_iter().chain(last).reduce(f64::max) {
            let drop = (time - FALL * (time - before)).min(time.next_down());
            if value(drop, last) != 0.0 && last.is_none_or(|last| drop > last) {
                push(drop, value(drop, last));
            }
        }
        push(time, 0.0);
        last = Some(time);
    }
    if last.is_none_or(|last| last < span.1) {
        push(span.1, value(span.1, last));
    }
    Some(signal)
}
