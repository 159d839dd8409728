//! One observed trajectory, from where the system starts.
//!
//! A state that the equations give holds where the system starts: at `t = 0` where time stands in the equations, or the data were simulated
//! by them, else at the first sample or event. Where nothing is given a trajectory starts at its first observed sample, whatever it is.

use super::experiment::Model;
use crate::estimate::settings::InitialState;
use crate::schema::Between;

/// Channels in the order of the system.
pub(crate) struct Series {
    /// `[T]`.
    pub times: Vec<f64>,
    /// `[T, C]`, on a grid `[T, C, n_1, .., n_k]`; NaN where nothing was observed.
    pub observed: Vec<f64>,
    /// `[T, U]`, in the order of the system.
    pub inputs: Vec<f64>,
    /// Samples of the trajectory before the system starts, and how many of them were measured.
    pub skipped: usize,
    pub left_out: usize,
    /// Whether the system starts between samples of the trajectory, or before them: the first of these is then none of them.
    pub starts_apart: bool,
}

impl Series {
    /// All samples of a trajectory.
    pub fn new(times: Vec<f64>, observed: Vec<f64>, inputs: Vec<f64>) -> Self {
        Series { times, observed, inputs, skipped: 0, left_out: 0, starts_apart: false }
    }

    /// The samples from where the system starts.
    pub fn started(mut self, model: &Model, initial_state: InitialState) -> Self {
        let is_given = initial_state == InitialState::Estimated && model.given.iter().any(Option::is_some);
        match model.start {
            Some(start) if is_given => self.start_at(start, model),
            _ if is_given => {}
            _ => {
                let states = self.observed.chunks_exact(model.size());
                let unseen = states.take_while(|state| state.iter().all(|value| value.is_nan())).count();
                if unseen < self.times.len() {
                    self.skip(unseen, model.size());
                }
            }
        }
        self
    }

    /// Begins at `start`, unless all samples lie before it, or the inputs are not known there.
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
            self.times.insert(before, start);
            let cells = before * model.size();
            self.observed.splice(cells..cells, std::iter::repeat_n(f64::NAN, model.size()));
            self.starts_apart = true;
        }
        self.skip(before, model.size());
    }

    fn skip(&mut self, samples: usize, size: usize) {
        let inputs = self.inputs.len().checked_div(self.times.len()).unwrap_or(0);
        let is_measured = |state: &&[f64]| state.iter().any(|value| !value.is_nan());
        self.left_out = self.observed.chunks_exact(size).take(samples).filter(is_measured).count();
        self.times.drain(..samples);
        self.observed.drain(..samples * size);
        self.inputs.drain(..samples * inputs);
        self.skipped = samples;
    }

    /// In pieces of at most so many samples, each from the last sample of the one before.
    pub fn pieces(&self, samples: usize, size: usize) -> impl Iterator<Item = Series> {
        let (length, inputs) = (self.times.len(), self.inputs.len().checked_div(self.times.len()).unwrap_or(0));
        let starts = (0..length.saturating_sub(1).max(1)).step_by(samples - 1);
        starts.map(move |start| {
            let end = (start + samples).min(length);
            let inputs = self.inputs[start * inputs..end * inputs].to_vec();
            Series::new(self.times[start..end].to_vec(), self.observed[start * size..end * size].to_vec(), inputs)
        })
    }

    /// States `[T, C]` at these times as states at all samples of the trajectory: NaN at those before the start.
    pub fn of_all_samples(&self, states: &[f64], size: usize) -> Vec<f64> {
        let own = if self.starts_apart { size } else { 0 };
        let mut all = vec![f64::NAN; self.skipped * size];
        all.extend(states.iter().skip(own));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::physics::experiment::Law;
    use crate::systems;

    fn model(given: Option<f64>, start: Option<f64>, between: &[Between]) -> Model {
        let dynamics = systems::find("lotka-volterra").unwrap().presets[0].dynamics.clone();
        Model {
            law: Law::Simulated(dynamics, 0.1),
            channels: 1,
            points: 1,
            between: between.to_vec(),
            parameters: Vec::new(),
            estimated: Vec::new(),
            coordinates: Vec::new(),
            given: vec![given],
            start,
        }
    }

    fn started(model: &Model, times: &[f64], observed: &[f64], inputs: &[f64]) -> Series {
        let series = Series::new(times.to_vec(), observed.to_vec(), inputs.to_vec());
        series.started(model, InitialState::Estimated)
    }

    #[test]
    fn a_given_state_holds_where_the_system_starts() {
        let unseen = f64::NAN;
        let (times, observed) = ([-1.0, 1.0, 3.0], [unseen, 5.0, 6.0]);
        let from_zero = model(Some(2.0), Some(0.0), &[]);
        let series = started(&from_zero, &times, &observed, &[]);
        assert_eq!((series.times.as_slice(), series.skipped, series.starts_apart), (&[0.0, 1.0, 3.0][..], 1, true));
        assert!(series.observed[0].is_nan() && series.observed[1..] == [5.0, 6.0]);
        let all = series.of_all_samples(&[2.0, 4.0, 8.0], 1);
        assert!(all[0].is_nan() && all[1..] == [4.0, 8.0]);
        let series = started(&from_zero, &[0.0, 1.0], &[1.0, 5.0], &[]);
        assert_eq!((series.times.as_slice(), series.skipped, series.starts_apart), (&[0.0, 1.0][..], 0, false));
        assert_eq!(started(&from_zero, &[2.0, 3.0], &[1.0, 5.0], &[]).times, [0.0, 2.0, 3.0]);
        // Without a time of its own, at the first sample or event; where nothing is given, at the first observed one.
        assert_eq!(started(&model(Some(2.0), None, &[]), &times, &observed, &[]).times, times);
        let series = started(&model(None, None, &[]), &times, &observed, &[]);
        assert_eq!((series.times.as_slice(), series.skipped), (&[1.0, 3.0][..], 1));
        assert_eq!(started(&model(None, None, &[]), &times, &[unseen; 3], &[]).times, times);
    }

    #[test]
    fn inputs_are_those_of_the_start() {
        let linear = model(Some(2.0), Some(0.0), &[Between::Linear]);
        let series = started(&linear, &[-1.0, 1.0, 3.0], &[1.0, 5.0, 6.0], &[10.0, 20.0, 30.0]);
        assert_eq!((series.times, series.inputs), (vec![0.0, 1.0, 3.0], vec![15.0, 20.0, 30.0]));
        let held = model(Some(2.0), Some(0.0), &[Between::Hold]);
        assert_eq!(started(&held, &[-1.0, 1.0], &[1.0, 5.0], &[10.0, 20.0]).inputs, [10.0, 20.0]);
        // What drove the system before the first sample is not known.
        assert_eq!(started(&held, &[2.0, 3.0], &[1.0, 5.0], &[10.0, 20.0]).times, [2.0, 3.0]);
    }
}
