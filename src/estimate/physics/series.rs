//! One observed trajectory, from where the system starts.
//!
//! State values that the equations give hold where the system starts: at `t = 0` if time occurs in the equations or they simulated the data,
//! else at the first sample or event. If nothing is given, a trajectory starts at its first observed sample.

use super::model::Model;
use crate::estimate::settings::InitialState;
use crate::schema::Between;
use crate::systems::{InitialValue, Rise};

/// A trajectory with the channels in the order of the system.
#[derive(Clone)]
pub(crate) struct Series {
    /// `[T]`.
    times: Vec<f64>,
    /// `[T, C]`, on a grid `[T, C, n_1, .., n_k]`; NaN where nothing was observed.
    observed: Vec<f64>,
    /// `[T, U]`, in the order of the system.
    inputs: Vec<f64>,
    /// `[T, M]`, numbers of the samples that are beside what was observed.
    beside: Vec<f64>,
    /// Values of a sample.
    size: usize,
    /// The sample at which the system starts; earlier ones are not fitted.
    first: usize,
    /// Whether that sample was inserted, since the system starts between samples of the trajectory, or before them.
    starts_apart: bool,
    /// The rises of inputs before the trajectory of which this is a segment came here, and the inputs `[U]` just before; empty for a whole one.
    earlier: Vec<Rise>,
    level: Vec<f64>,
}

impl Series {
    /// All samples of a trajectory: `times [T]`, `observed [T, C]` with `size` values of a sample, and `inputs [T, U]`.
    pub(crate) fn new(times: Vec<f64>, observed: Vec<f64>, inputs: Vec<f64>, size: usize) -> Self {
        let (beside, earlier, level) = (Vec::new(), Vec::new(), Vec::new());
        Series { times, observed, inputs, beside, size, first: 0, starts_apart: false, earlier, level }
    }

    /// With numbers of the samples `[T, M]`, such as their standard deviations.
    pub(crate) fn with_beside(self, beside: Vec<f64>) -> Self {
        Series { beside, ..self }
    }

    /// The numbers `[M]` beside a sample, counted from where the system starts.
    pub(crate) fn beside(&self, sample: usize) -> &[f64] {
        let m = self.beside.len().checked_div(self.times.len()).unwrap_or(0);
        &self.beside[(self.first + sample) * m..(self.first + sample + 1) * m]
    }

    /// `[T]` from where the system starts.
    pub(crate) fn times(&self) -> &[f64] {
        &self.times[self.first..]
    }

    /// `[T, C]` from where the system starts; NaN where nothing was observed.
    pub(crate) fn observed(&self) -> &[f64] {
        &self.observed[self.first * self.size..]
    }

    /// `[T, U]` from where the system starts.
    pub(crate) fn inputs(&self) -> &[f64] {
        &self.inputs[self.first * self.input_count()..]
    }

    /// The changes of all inputs from sample to sample, from 0 at the first one, in the order of time; those before the system starts too.
    pub(crate) fn rises(&self) -> Vec<Rise> {
        let count = self.input_count();
        let mut level = if self.level.is_empty() { vec![0.0; count] } else { self.level.clone() };
        let mut rises = self.earlier.clone();
        for (row, time) in self.inputs.chunks_exact(count.max(1)).zip(&self.times) {
            for (input, (value, level)) in row.iter().zip(&mut level).enumerate() {
                let by = value - *level;
                rises.extend((by != 0.0).then_some(Rise { time: *time, input, by }));
                *level = *value;
            }
        }
        rises
    }

    /// Number of inputs.
    fn input_count(&self) -> usize {
        self.inputs.len().checked_div(self.times.len()).unwrap_or(0)
    }

    /// The state `[C]` that was observed where the system starts; none where the system starts apart from the samples.
    pub(crate) fn first_observed(&self) -> Option<&[f64]> {
        (!self.starts_apart).then(|| self.observed().get(..self.size)).flatten()
    }

    /// Number of samples before the start of the system at which something was observed.
    pub(crate) fn left_out(&self) -> usize {
        let early = self.observed.chunks_exact(self.size).take(self.first);
        early.filter(|state| state.iter().any(|value| !value.is_nan())).count()
    }

    /// The trajectory from where the system starts.
    pub(crate) fn started(mut self, model: &Model, initial_state: InitialState) -> Self {
        // Hidden states start nowhere else, however the others do.
        let obeys = initial_state == InitialState::Estimated || model.has_hidden();
        let is_given = obeys && model.initial.iter().any(|it| *it != InitialValue::AsObserved);
        match model.start {
            Some(start) if is_given => self.start_at(start, model),
            _ if is_given => {}
            _ => {
                let states = self.observed.chunks_exact(self.size);
                let unseen = states.take_while(|state| state.iter().all(|value| value.is_nan())).count();
                if unseen < self.times.len() {
                    self.first = unseen;
                }
            }
        }
        self
    }

    /// Starts at the time `start`, unless all samples lie before it, or the inputs are unknown there.
    fn start_at(&mut self, start: f64, model: &Model) {
        let before = self.times.partition_point(|time| *time < start);
        let inputs = model.between.len();
        let is_known = inputs == 0 || before > 0;
        if before == self.times.len() || self.times[before] != start && !is_known {
            return;
        }
        if self.times[before] != start {
            let drive = (0..inputs).map(|u| {
                let [from, to] = [before - 1, before].map(|sample| self.inputs[sample * inputs + u]);
                let dt = self.times[before] - self.times[before - 1];
                let (value, slope): (f64, f64) = Between::step(model.between[u], from, to, dt);
                value + slope * (start - self.times[before - 1])
            });
            let drive: Vec<f64> = drive.collect();
            self.inputs.splice(before * inputs..before * inputs, drive);
            let m = self.beside.len() / self.times.len();
            self.beside.splice(before * m..before * m, std::iter::repeat_n(f64::NAN, m));
            self.times.insert(before, start);
            let cells = before * self.size;
            self.observed.splice(cells..cells, std::iter::repeat_n(f64::NAN, self.size));
            self.starts_apart = true;
        }
        self.first = before;
    }

    /// With samples at `times` too, ascending, as far as they lie between where the system starts and the last sample, and there is none yet:
    /// nothing was observed at them, and inputs are as `between [U]` says.
    pub(crate) fn refined(&self, times: &[f64], between: &[Between]) -> Self {
        let (u, m) = (self.input_count(), self.beside.len().checked_div(self.times.len()).unwrap_or(0));
        let empty = || Vec::with_capacity(self.times.len() + times.len());
        let mut fine =
            Series { times: empty(), observed: Vec::new(), inputs: Vec::new(), beside: Vec::new(), ..self.clone() };
        let mut later = times.iter().copied().peekable();
        for (t, now) in self.times.iter().copied().enumerate() {
            fine.times.push(now);
            fine.observed.extend(&self.observed[t * self.size..(t + 1) * self.size]);
            fine.inputs.extend(&self.inputs[t * u..(t + 1) * u]);
            fine.beside.extend(&self.beside[t * m..(t + 1) * m]);
            while later.next_if(|time| *time <= now).is_some() {}
            let Some(&next) = self.times.get(t + 1).filter(|_| t >= self.first) else { continue };
            while let Some(time) = later.next_if(|time| *time < next) {
                fine.times.push(time);
                fine.observed.extend(std::iter::repeat_n(f64::NAN, self.size));
                fine.beside.extend(std::iter::repeat_n(f64::NAN, m));
                fine.inputs.extend(between.iter().enumerate().map(|(input, between)| {
                    let [from, to] = [t, t + 1].map(|sample| self.inputs[sample * u + input]);
                    let (value, slope): (f64, f64) = between.step(from, to, next - now);
                    value + slope * (time - now)
                }));
            }
        }
        fine
    }

    /// Goes on at `times`, the first of which is that of the last sample, with `inputs [.., U]` there: nothing was observed. An input that is held
    /// takes its new value at once; `sums [U]` go on from their last value.
    pub(crate) fn continued(mut self, times: &[f64], inputs: &[f64], between: &[Between], sums: &[bool]) -> Self {
        let (u, m) = (self.input_count(), self.beside.len().checked_div(self.times.len()).unwrap_or(0));
        let last = self.inputs.len() - u;
        let level = self.inputs[last..].to_vec();
        let value = |input: usize, value: f64| if sums[input] { level[input] + value } else { value };
        for (t, time) in times.iter().enumerate() {
            let row = &inputs[t * u..(t + 1) * u];
            if t == 0 {
                let held = (0..u).filter(|&input| between[input] == Between::Hold);
                held.for_each(|input| self.inputs[last + input] = value(input, row[input]));
                continue;
            }
            self.times.push(*time);
            self.observed.extend(std::iter::repeat_n(f64::NAN, self.size));
            self.beside.extend(std::iter::repeat_n(f64::NAN, m));
            self.inputs.extend(row.iter().enumerate().map(|(input, it)| value(input, *it)));
        }
        self
    }

    /// The trajectory under what is `given [T, U]` at `times [T]`: up to its last sample inputs are its own, but of `sums [U]` what is given more since
    /// the first of `times` comes to what it has; from there on it goes on under them. Nothing was observed at `times`.
    pub(crate) fn under(&self, times: &[f64], given: &[f64], between: &[Between], sums: &[bool]) -> Self {
        let (u, last) = (between.len(), *self.times.last().unwrap_or(&f64::NEG_INFINITY));
        let mut under = self.refined(times, between);
        if u == 0 {
            let later: Vec<f64> =
                std::iter::once(last).chain(times.iter().copied().filter(|time| *time > last)).collect();
            return under.continued(&later, &[], between, sums);
        }
        // What is given more is held from each time to the next.
        let more = |time: f64, input: usize| match times.partition_point(|it| *it <= time) {
            0 => 0.0,
            t if sums[input] => given[(t - 1) * u + input],
            _ => 0.0,
        };
        for (row, time) in under.inputs.chunks_exact_mut(u).zip(&under.times) {
            row.iter_mut().enumerate().for_each(|(input, value)| *value += more(*time, input));
        }
        let later = times.partition_point(|time| *time <= last);
        if later == times.len() {
            return under;
        }
        let at_last = later.checked_sub(1).filter(|&t| times[t] == last);
        let first = |input: usize| match at_last {
            _ if sums[input] => 0.0,
            Some(t) => given[t * u + input],
            None => under.inputs[under.inputs.len() - u + input],
        };
        let mut rows: Vec<f64> = (0..u).map(first).collect();
        for row in given[later * u..].chunks_exact(u) {
            rows.extend(row.iter().enumerate().map(|(input, value)| value - more(last, input)));
        }
        let times: Vec<f64> = std::iter::once(last).chain(times[later..].iter().copied()).collect();
        under.continued(&times, &rows, between, sums)
    }

    /// The part from a sample at `time` on, of which nothing was observed; it knows what was given before.
    pub(crate) fn going_on_from(&self, time: f64) -> Self {
        let (u, start) = (self.input_count(), self.times.partition_point(|it| *it < time));
        let level =
            start.checked_sub(1).map_or(Vec::new(), |before| self.inputs[before * u..(before + 1) * u].to_vec());
        let times = self.times[start..].to_vec();
        let observed = vec![f64::NAN; times.len() * self.size];
        let earlier = self.rises().into_iter().filter(|rise| rise.time < time).collect();
        Series { earlier, level, ..Series::new(times, observed, self.inputs[start * u..].to_vec(), self.size) }
    }

    /// Segments of at most `samples` samples, each starting at the last sample of the one before; they know the rises of inputs before them
    /// where `has_doses`.
    pub(crate) fn segments(&self, samples: usize, has_doses: bool) -> impl Iterator<Item = Series> {
        let (length, inputs, size) = (self.times().len(), self.input_count(), self.size);
        let starts = (0..length.saturating_sub(1).max(1)).step_by(samples - 1);
        let rises = if has_doses { self.rises() } else { Vec::new() };
        starts.map(move |start| {
            let end = (start + samples).min(length);
            let times = self.times()[start..end].to_vec();
            let observed = self.observed()[start * size..end * size].to_vec();
            let earlier = rises.iter().filter(|rise| rise.time < times[0]).copied().collect();
            // A dose at the very first sample acts after it.
            let before = (self.first + start).checked_sub(1).filter(|_| has_doses);
            let level = before.map_or(Vec::new(), |n| self.inputs[n * inputs..(n + 1) * inputs].to_vec());
            let segment = Series::new(times, observed, self.inputs()[start * inputs..end * inputs].to_vec(), size);
            Series { earlier, level, ..segment }
        })
    }

    /// `values [T, m]` at the times from the start as values at all samples of the trajectory: NaN at the samples before the start.
    pub(crate) fn at_all_samples(&self, values: &[f64]) -> Vec<f64> {
        let m = values.len() / self.times().len().max(1);
        let inserted = if self.starts_apart { m } else { 0 };
        let mut all = vec![f64::NAN; self.first * m];
        all.extend(values.iter().skip(inserted));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::physics::model::Derivatives;
    use crate::systems;

    fn model(given: Option<f64>, start: Option<f64>, between: &[Between]) -> Model {
        let dynamics = systems::find("lotka-volterra").unwrap().presets[0].dynamics.clone();
        Model {
            derivatives: Derivatives::Differences(dynamics, 0.1),
            channels: 1,
            observables: None,
            points: 1,
            between: between.to_vec(),
            parameters: Vec::new(),
            estimated: Vec::new(),
            coordinates: Vec::new(),
            own: Vec::new(),
            initial: vec![given.map_or(InitialValue::AsObserved, InitialValue::Number)],
            starts: None,
            rest: None,
            doses: None,
            start,
        }
    }

    fn started(model: &Model, times: &[f64], observed: &[f64], inputs: &[f64]) -> Series {
        let series = Series::new(times.to_vec(), observed.to_vec(), inputs.to_vec(), 1);
        series.started(model, InitialState::Estimated)
    }

    #[test]
    fn a_given_state_holds_where_the_system_starts() {
        let unseen = f64::NAN;
        let (times, observed) = ([-1.0, 1.0, 3.0], [unseen, 5.0, 6.0]);
        let from_zero = model(Some(2.0), Some(0.0), &[]);
        let series = started(&from_zero, &times, &observed, &[]);
        assert_eq!((series.times(), series.first, series.starts_apart), (&[0.0, 1.0, 3.0][..], 1, true));
        assert!(series.observed()[0].is_nan() && series.observed()[1..] == [5.0, 6.0]);
        let all = series.at_all_samples(&[2.0, 4.0, 8.0]);
        assert!(all[0].is_nan() && all[1..] == [4.0, 8.0]);
        let series = started(&from_zero, &[0.0, 1.0], &[1.0, 5.0], &[]);
        assert_eq!((series.times(), series.first, series.starts_apart), (&[0.0, 1.0][..], 0, false));
        assert_eq!(started(&from_zero, &[2.0, 3.0], &[1.0, 5.0], &[]).times(), [0.0, 2.0, 3.0]);
        // Without a start time the first sample or event is the start; if nothing is given, the first observed sample.
        assert_eq!(started(&model(Some(2.0), None, &[]), &times, &observed, &[]).times(), times);
        let series = started(&model(None, None, &[]), &times, &observed, &[]);
        assert_eq!((series.times(), series.first), (&[1.0, 3.0][..], 1));
        assert_eq!(started(&model(None, None, &[]), &times, &[unseen; 3], &[]).times(), times);
    }

    #[test]
    fn a_series_is_refined_and_goes_on() {
        let both = model(Some(2.0), None, &[Between::Hold, Between::Linear]);
        let series = started(&both, &[0.0, 2.0], &[1.0, 5.0], &[3.0, 10.0, 4.0, 20.0]);
        let fine = series.refined(&[-1.0, 0.0, 0.5, 1.5, 2.0, 3.0], &both.between);
        assert_eq!(fine.times(), [0.0, 0.5, 1.5, 2.0]);
        assert_eq!(fine.inputs(), [3.0, 10.0, 3.0, 12.5, 3.0, 17.5, 4.0, 20.0]);
        assert!(fine.observed()[1].is_nan() && fine.observed()[3] == 5.0);
        let held = |series: &Series| series.rises().into_iter().filter(|rise| rise.input == 0).collect::<Vec<_>>();
        assert_eq!(held(&fine), held(&series));
        let later = series.continued(&[2.0, 3.0], &[1.0, 7.0, 6.0, 8.0], &both.between, &[true, false]);
        assert_eq!((later.times(), &later.inputs()[2..]), (&[0.0, 2.0, 3.0][..], &[5.0, 20.0, 10.0, 8.0][..]));
    }

    /// A sum and a signal that are held: more of the sum is given at 0.5 and 3, and the signal is told from the last sample on.
    #[test]
    fn more_is_given_to_what_a_series_has() {
        let both = model(Some(2.0), None, &[Between::Hold, Between::Hold]);
        let series = started(&both, &[0.0, 1.0, 2.0], &[1.0; 3], &[10.0, 7.0, 30.0, 8.0, 30.0, 9.0]);
        let (times, given) = ([0.0, 0.5, 2.0, 3.0, 4.0], [0.0, 0.0, 4.0, 0.0, 4.0, 5.0, 5.0, 5.0, 5.0, 6.0]);
        let under = series.under(&times, &given, &both.between, &[true, false]);
        assert_eq!(under.times(), [0.0, 0.5, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(under.inputs(), [10.0, 7.0, 14.0, 7.0, 34.0, 8.0, 34.0, 5.0, 35.0, 5.0, 35.0, 6.0]);
        let sums: Vec<Rise> = under.rises().into_iter().filter(|rise| rise.input == 0).collect();
        let rise = |time: f64, by: f64| Rise { time, input: 0, by };
        let all = [rise(0.0, 10.0), rise(0.5, 4.0), rise(1.0, 20.0), rise(3.0, 1.0)];
        assert_eq!(sums, all);
        // From a sample on, what was given before it is known, and what is given at it acts after it.
        for from in [1.0, 2.0] {
            let part = under.going_on_from(from);
            assert_eq!((part.times()[0], part.times().len()), (from, if from == 1.0 { 4 } else { 3 }));
            let sums: Vec<Rise> = part.rises().into_iter().filter(|rise| rise.input == 0).collect();
            assert_eq!(sums, all);
        }
        assert_eq!(series.under(&[0.0, 1.0], &[0.0; 4], &both.between, &[true, false]).inputs(), series.inputs());
    }

    #[test]
    fn segments_know_what_was_given_before_them() {
        let held = model(Some(2.0), None, &[Between::Hold]);
        let series = started(&held, &[0.0, 1.0, 2.0, 3.0, 4.0], &[1.0; 5], &[5.0, 5.0, 8.0, 9.0, 9.0]);
        let rise = |time: f64, by: f64| Rise { time, input: 0, by };
        let all = [rise(0.0, 5.0), rise(2.0, 3.0), rise(3.0, 1.0)];
        assert_eq!(series.rises(), all);
        // What is given at the sample that joins two segments is known to both; it acts after that sample.
        let of_segments: Vec<Vec<Rise>> = series.segments(3, true).map(|segment| segment.rises()).collect();
        assert_eq!(of_segments, [all[..2].to_vec(), all.to_vec()]);
    }

    #[test]
    fn inputs_are_those_of_the_start() {
        let linear = model(Some(2.0), Some(0.0), &[Between::Linear]);
        let series = started(&linear, &[-1.0, 1.0, 3.0], &[1.0, 5.0, 6.0], &[10.0, 20.0, 30.0]);
        assert_eq!((series.times(), series.inputs()), (&[0.0, 1.0, 3.0][..], &[15.0, 20.0, 30.0][..]));
        let held = model(Some(2.0), Some(0.0), &[Between::Hold]);
        assert_eq!(started(&held, &[-1.0, 1.0], &[1.0, 5.0], &[10.0, 20.0]).inputs(), [10.0, 20.0]);
        // Before the first sample the inputs are unknown.
        assert_eq!(started(&held, &[2.0, 3.0], &[1.0, 5.0], &[10.0, 20.0]).times(), [2.0, 3.0]);
    }
}
