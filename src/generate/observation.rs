//! What sensors make of a simulated trajectory.
//!
//! ```text
//! taken at    t_k = (k + a_k) dt            a_k uniform on [-irregular_times, irregular_times), a_0 = 0
//! recorded    s_k = t_k + b_k dt            b_k uniform on [-jitter, jitter), b_0 = 0
//! value       z_kc = (y_c(t_k) + n_kc hypot(noise_c, relative_noise_c |y_c(t_k)|)) exp(log_noise_c m_kc)      n_kc, m_kc standard normal
//! ```
//!
//! With `degrees_of_freedom_c`, `n_kc` is of Student's distribution: a normal draw times `sqrt(degrees_of_freedom / q)`, `q` chi-squared.
//! `y [C]` channels, `k` sample, `c` channel, `dt` sampling interval; on a grid every point has noise of its own. A sample is missing with probability `missing`; the first
//! and the last never are. A cell of a sample is missing with probability `missing_cells_c`, but for those of the first; a sample of which
//! every recorded cell is missing is left out, and of the last one all are then there. A rollout starts at the first sample, noise and all,
//! as it does with measured data.
//!
//! Times, missing samples, missing cells and noise have streams of their own, keyed by (seed, split, environment, trajectory): setting one
//! changes neither what is simulated nor the draws of the others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::problems::Problems;
use crate::random::Stream;
use crate::schema::Split;

/// How trajectories are observed; each key that is left out does nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Observation {
    /// Standard deviation of Gaussian noise in the unit of the channel: one number, or a table by channel.
    pub noise: PerChannel,
    /// Standard deviation of Gaussian noise as a share of the value: one number, or a table by channel.
    pub relative_noise: PerChannel,
    /// Degrees of freedom of Student's distribution, from 1 on: one number, or a table by channel. Noise then has its heavier tails, and `noise` and
    /// `relative_noise` are its scale; where absent, 0, or a million or more, it is Gaussian.
    #[serde(skip_serializing_if = "PerChannel::is_zero")]
    pub degrees_of_freedom: PerChannel,
    /// Standard deviation of Gaussian noise of the natural logarithm of the value: one number, or a table by channel. It multiplies values that already
    /// have the other noise.
    #[serde(skip_serializing_if = "PerChannel::is_zero")]
    pub log_noise: PerChannel,
    /// Probability that a sample is missing, all channels at once. The first and the last sample of a trajectory never are.
    #[schemars(range(min = 0, max = 1))]
    pub missing: f64,
    /// Probability that a cell, one channel of a sample, is missing: one number, or a table by channel. Those of the first sample never are.
    pub missing_cells: PerChannel,
    /// How far a sample may be taken from its place on the grid, as a share of `dt`; its true time is recorded.
    #[schemars(range(min = 0, max = 0.5))]
    pub irregular_times: f64,
    /// How far a recorded time may be from the true one, as a share of `dt`.
    #[schemars(range(min = 0, max = 0.5))]
    pub jitter: f64,
    /// Channels that nobody records, in any split.
    pub dropped: Vec<String>,
    /// The splits that are observed so. `test` and `adapt_test` hold the truth unless they are named here; `calibrate` is observed where `adapt` or
    /// `grid` is, for it is to be like them.
    pub splits: Vec<Split>,
}

impl Default for Observation {
    fn default() -> Self {
        Observation {
            noise: PerChannel::Every(0.0),
            relative_noise: PerChannel::Every(0.0),
            degrees_of_freedom: PerChannel::Every(0.0),
            log_noise: PerChannel::Every(0.0),
            missing: 0.0,
            missing_cells: PerChannel::Every(0.0),
            irregular_times: 0.0,
            jitter: 0.0,
            dropped: Vec::new(),
            splits: vec![Split::Train, Split::Validation, Split::Adapt, Split::Grid],
        }
    }
}

impl Observation {
    /// Whether a split is observed so.
    pub(crate) fn is_of(&self, split: Split) -> bool {
        let is_named = |split| self.splits.contains(&split);
        is_named(split) || split == Split::Calibrate && (is_named(Split::Adapt) || is_named(Split::Grid))
    }
}

/// A number for every channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PerChannel {
    /// The same for all.
    Every(f64),
    /// By name of the channel; zero for the others.
    Each(BTreeMap<String, f64>),
}

impl PerChannel {
    fn is_zero(&self) -> bool {
        *self == PerChannel::Every(0.0)
    }

    fn get(&self, channel: &str) -> f64 {
        match self {
            PerChannel::Every(value) => *value,
            PerChannel::Each(values) => values.get(channel).copied().unwrap_or(0.0),
        }
    }
}

/// The key of a trajectory's random draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub seed: u64,
    pub split: Split,
    pub environment: usize,
    pub trajectory: usize,
}

impl Key {
    fn stream(&self, what: &str) -> Stream {
        let purpose = format!("{} {what}", self.split);
        Stream::new(self.seed, &purpose, &[self.environment as u64, self.trajectory as u64])
    }
}

/// Degrees of freedom from which on Student's distribution is taken as Gaussian: its variance is larger by two millionths.
const GAUSSIAN: f64 = 1e6;

impl Observation {
    /// Standard deviation of the noise of a channel: absolute, and as a share of the value, where that is small. Of Student's noise that of Gaussian
    /// noise which says as much: the information about its centre is `(n + 1) / (n + 3)` over the squared scale.
    pub(crate) fn deviations(&self, channel: &str) -> (f64, f64) {
        let less = match self.degrees_of_freedom.get(channel) {
            0.0 => 1.0,
            n => ((n + 3.0) / (n + 1.0)).sqrt(),
        };
        let relative = (less * self.relative_noise.get(channel)).hypot(self.log_noise.get(channel));
        (less * self.noise.get(channel), relative)
    }

    /// The true times `[T]` of the samples planned at `times [T]`, ascending.
    pub(crate) fn times(&self, key: Key, times: &[f64], time_step: f64) -> Vec<f64> {
        moved(times, self.irregular_times * time_step, key.stream("times"))
    }

    /// Recorded times and states of the samples that are not missing, from `states [T, C]` (`[T, C, n_1, .., n_k]` on a grid) at
    /// `times [T]`.
    pub(crate) fn record(
        &self,
        key: Key,
        channels: &[&str],
        times: &[f64],
        states: &[f64],
        time_step: f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let size = states.len() / times.len();
        let points = size / channels.len();
        let of_channels = channels.iter().map(|channel| {
            let of = |noise: &PerChannel| noise.get(channel);
            let tails = Some(of(&self.degrees_of_freedom))
                .filter(|n| *n > 0.0 && *n < GAUSSIAN)
                .and_then(|n| ChiSquared::new(n).ok());
            (of(&self.noise), of(&self.relative_noise), of(&self.log_noise), tails)
        });
        let deviations: Vec<(f64, f64, f64, Option<ChiSquared>)> =
            of_channels.flat_map(|of_channel| std::iter::repeat_n(of_channel, points)).collect();
        // Per cell: the probability that it is missing, and whether its channel is recorded.
        let of_channels = channels
            .iter()
            .map(|&channel| (self.missing_cells.get(channel), self.dropped.iter().all(|dropped| dropped != channel)));
        let cells: Vec<(f64, bool)> = of_channels.flat_map(|it| std::iter::repeat_n(it, points)).collect();
        let cells_go_missing = cells.iter().any(|(probability, _)| *probability > 0.0);
        let (mut missing, mut noise) = (key.stream("missing"), key.stream("noise"));
        let mut log_noise = key.stream("log noise");
        let mut of_tails = key.stream("tails");
        let mut missing_cells = key.stream("missing cells");
        let recorded = moved(times, self.jitter * time_step, key.stream("jitter"));
        let (mut kept_times, mut kept_states) = (Vec::new(), Vec::new());
        for (sample, (time, state)) in recorded.iter().zip(states.chunks_exact(size)).enumerate() {
            // Every sample draws, so that its draws do not depend on which others are missing.
            let is_missing = missing.unit() < self.missing;
            let noisy = state.iter().zip(&deviations).map(|(value, (absolute, relative, of_log, tails))| {
                let draw =
                    noise.normal() * tails.map_or(1.0, |it| (it.freedom() / it.inverse_cdf(of_tails.unit())).sqrt());
                let value = match absolute.hypot(relative * value) {
                    0.0 => *value,
                    deviation => value + deviation * draw,
                };
                if *of_log == 0.0 { value } else { value * (of_log * log_noise.normal()).exp() }
            });
            let mut noisy: Vec<f64> = noisy.collect();
            let (is_first, is_last) = (sample == 0, sample + 1 == times.len());
            let mut is_empty = false;
            if cells_go_missing && !is_first {
                let hit: Vec<bool> = cells.iter().map(|(probability, _)| missing_cells.unit() < *probability).collect();
                is_empty = hit.iter().zip(&cells).all(|(is_hit, (_, is_recorded))| *is_hit || !is_recorded);
                if !is_empty {
                    noisy.iter_mut().zip(hit).filter(|(_, is_hit)| *is_hit).for_each(|(value, _)| *value = f64::NAN);
                }
            }
            if !(is_missing || is_empty) || is_first || is_last {
                kept_times.push(*time);
                kept_states.extend(noisy);
            }
        }
        (kept_times, kept_states)
    }

    /// Adds its problems; `known [C]` are the channels.
    pub(crate) fn add_problems(&self, known: &[&str], problems: &mut Problems) {
        let tables = [
            ("noise", &self.noise),
            ("relative_noise", &self.relative_noise),
            ("log_noise", &self.log_noise),
            ("degrees_of_freedom", &self.degrees_of_freedom),
            ("missing_cells", &self.missing_cells),
        ];
        for (name, values) in tables {
            let values: Vec<(String, f64)> = match values {
                PerChannel::Every(value) => vec![(format!("observation.{name}"), *value)],
                PerChannel::Each(values) => {
                    for channel in values.keys().filter(|channel| !known.contains(&channel.as_str())) {
                        problems.unknown(format!("observation.{name}.{channel}"), channel, "channel", known);
                    }
                    values.iter().map(|(channel, value)| (format!("observation.{name}.{channel}"), *value)).collect()
                }
            };
            for (key, value) in values {
                if name == "missing_cells" {
                    let is_probability = (0.0..=1.0).contains(&value);
                    let help = "0.1 leaves out every tenth cell";
                    problems.require(is_probability, key, value, "a probability from 0 to 1", help);
                } else if name == "degrees_of_freedom" {
                    let is_tail = value == 0.0 || value.is_finite() && value >= 1.0;
                    problems.require(is_tail, key, value, "a number from 1 on", "leave it out for Gaussian noise");
                } else {
                    let is_deviation = value.is_finite() && value >= 0.0;
                    problems.require(is_deviation, key, value, "a finite number, zero or more", "0 is no noise");
                }
            }
        }
        problems.require(
            (0.0..=1.0).contains(&self.missing),
            "observation.missing",
            self.missing,
            "a probability from 0 to 1",
            "0.1 leaves out every tenth sample",
        );
        for (name, value) in [("irregular_times", self.irregular_times), ("jitter", self.jitter)] {
            let is_share = (0.0..0.5).contains(&value);
            let key = format!("observation.{name}");
            problems.require(is_share, key, value, "a share of `dt` from 0 to below 0.5", "lower it");
        }
        problems.require(
            self.irregular_times + self.jitter < 0.5,
            "observation.jitter",
            format!("{} beside irregular_times = {}", self.jitter, self.irregular_times),
            "a sum below 0.5, so that times ascend",
            "lower one of them",
        );
        for (index, name) in self.dropped.iter().enumerate() {
            let key = format!("observation.dropped.{index}");
            if !known.contains(&name.as_str()) {
                problems.unknown(key, name, "channel", known);
            } else if self.dropped[..index].contains(name) {
                problems.add(key, format!("`{name}` again"), "each channel once", "remove it");
            }
        }
        problems.require(
            known.iter().any(|channel| !self.dropped.iter().any(|dropped| dropped == channel)),
            "observation.dropped",
            "all channels",
            "at least one channel that is left",
            "remove one from the list",
        );
    }
}

/// `times`, each but the first shifted by up to `reach` in either direction.
fn moved(times: &[f64], reach: f64, mut stream: Stream) -> Vec<f64> {
    let moved = times.iter().enumerate().map(|(sample, time)| {
        let by = stream.uniform(-reach, reach);
        if sample == 0 || reach == 0.0 { *time } else { time + by }
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { seed: 3, split: Split::Train, environment: 5, trajectory: 1 };
    const CHANNELS: [&str; 2] = ["x", "y"];
    const SAMPLES: usize = 20_000;

    fn grid() -> Vec<f64> {
        (0..SAMPLES).map(|sample| sample as f64 * 0.5).collect()
    }

    /// Channel `x` is 2, `y` is -10.
    fn states() -> Vec<f64> {
        [2.0, -10.0].repeat(SAMPLES)
    }

    fn record(observation: &Observation) -> (Vec<f64>, Vec<f64>) {
        observation.record(KEY, &CHANNELS, &grid(), &states(), 0.5)
    }

    fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        (mean, (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
    }

    #[test]
    fn observing_nothing_changes_nothing() {
        let observation = Observation::default();
        assert_eq!(record(&observation), (grid(), states()));
        assert_eq!(observation.times(KEY, &grid(), 0.5), grid());
    }

    #[test]
    fn noise_has_the_deviation_asked_for_and_leaves_times_alone() {
        let absolute = PerChannel::Each(BTreeMap::from([("x".to_owned(), 0.3)]));
        let observation =
            Observation { noise: absolute, relative_noise: PerChannel::Every(0.2), ..Observation::default() };
        let (times, states) = record(&observation);
        assert_eq!(times, grid());
        // Five standard errors of the mean and of the deviation of 20,000 normal draws.
        for (channel, value, deviation) in [(0, 2.0, 0.5), (1, -10.0, 2.0)] {
            let (mean, found) = mean_and_deviation(states.iter().skip(channel).step_by(2).copied());
            assert!((mean - value).abs() < 5.0 * deviation / (SAMPLES as f64).sqrt(), "mean {mean}");
            assert!((found - deviation).abs() < 5.0 * deviation / (2.0 * SAMPLES as f64).sqrt(), "deviation {found}");
        }
    }

    /// The shares of draws beyond one and beyond five scales, which two degrees of freedom have in closed form.
    #[test]
    fn tails_are_student_s() {
        let of_x = PerChannel::Each(BTreeMap::from([("x".to_owned(), 2.0)]));
        let observation =
            Observation { noise: PerChannel::Every(0.3), degrees_of_freedom: of_x, ..Observation::default() };
        let (_, states) = record(&observation);
        let (_, gaussian) = record(&Observation { noise: PerChannel::Every(0.3), ..Observation::default() });
        let beyond = |scales: f64| states.iter().step_by(2).filter(|x| (*x - 2.0).abs() > 0.3 * scales).count() as f64;
        for scales in [1.0, 5.0] {
            // P(|T| > t) = 1 - t / sqrt(2 + t^2).
            let expected = 1.0 - scales / f64::sqrt(2.0 + scales * scales);
            let deviation = (SAMPLES as f64 * expected * (1.0 - expected)).sqrt();
            let found = beyond(scales);
            assert!((found - SAMPLES as f64 * expected).abs() < 5.0 * deviation, "{found} {expected}");
        }
        // The other channel draws as before.
        assert!(states.iter().zip(&gaussian).skip(1).step_by(2).all(|(a, b)| a == b));
    }

    #[test]
    fn as_many_samples_are_missing_as_asked_for_and_the_ends_never() {
        let noisy = Observation { noise: PerChannel::Every(0.1), ..Observation::default() };
        let (all_times, all_states) = record(&noisy);
        let (times, states) = record(&Observation { missing: 0.1, ..noisy.clone() });
        let missing = SAMPLES - times.len();
        // Five standard errors of the number of misses.
        assert!((missing as f64 - 2000.0).abs() < 5.0 * (SAMPLES as f64 * 0.09).sqrt(), "{missing}");
        let mut all = all_times.iter().zip(all_states.chunks_exact(2));
        for (time, state) in times.iter().zip(states.chunks_exact(2)) {
            assert!(all.any(|it| it == (time, state)), "the sample at {time} has changed");
        }
        let (times, _) = record(&Observation { missing: 1.0, ..noisy });
        assert_eq!(times, [0.0, (SAMPLES - 1) as f64 * 0.5]);
    }

    #[test]
    fn cells_go_missing_by_channel_and_leave_the_other_draws_alone() {
        let noisy = Observation { noise: PerChannel::Every(0.1), missing: 0.1, ..Observation::default() };
        let (times, states) = record(&noisy);
        let of_y = PerChannel::Each(BTreeMap::from([("y".to_owned(), 0.25)]));
        let (same_times, holed) = record(&Observation { missing_cells: of_y, ..noisy.clone() });
        assert_eq!(times, same_times);
        let mut missing = [0; 2];
        for (cell, (value, all)) in holed.iter().zip(&states).enumerate() {
            missing[cell % 2] += usize::from(value.is_nan());
            assert!(value.is_nan() || value == all);
        }
        let (expected, deviation) = (0.25 * times.len() as f64, (times.len() as f64 * 0.1875).sqrt());
        assert!(missing[0] == 0 && (missing[1] as f64 - expected).abs() < 5.0 * deviation, "{missing:?}");
        assert!(!holed[1].is_nan());

        // A sample without a cell is none, but the ends are there and the first is complete.
        let (times, states) = record(&Observation { missing_cells: PerChannel::Every(0.5), ..Observation::default() });
        let empty = SAMPLES as f64 * 0.25;
        assert!(((SAMPLES - times.len()) as f64 - empty).abs() < 5.0 * (empty * 0.75).sqrt(), "{}", times.len());
        assert!(states.chunks_exact(2).all(|state| state.iter().any(|value| !value.is_nan())));
        let every = Observation { missing_cells: PerChannel::Every(1.0), ..Observation::default() };
        let (times, states) = record(&every);
        assert_eq!((times, states), (vec![0.0, (SAMPLES - 1) as f64 * 0.5], vec![2.0, -10.0, 2.0, -10.0]));

        // What nobody records does not keep a sample.
        let of_y = PerChannel::Each(BTreeMap::from([("y".to_owned(), 1.0)]));
        let alone = Observation { missing_cells: of_y, dropped: vec!["x".to_owned()], ..Observation::default() };
        assert_eq!(record(&alone).0.len(), 2);
    }

    #[test]
    fn times_move_within_their_reach_and_ascend() {
        let observation = Observation { irregular_times: 0.3, jitter: 0.19, ..Observation::default() };
        let taken = observation.times(KEY, &grid(), 0.5);
        let (recorded, states) = observation.record(KEY, &CHANNELS, &taken, &super::tests::states(), 0.5);
        assert_eq!(states, super::tests::states());
        assert_eq!((taken[0], recorded[0]), (0.0, 0.0));
        for (from, to, reach) in [(&grid(), &taken, 0.15), (&taken, &recorded, 0.095)] {
            let moves = from.iter().zip(to).skip(1).map(|(from, to)| to - from);
            assert!(moves.clone().all(|by| by.abs() <= reach + 1e-9));
            let (mean, deviation) = mean_and_deviation(moves);
            assert!(mean.abs() < 5.0 * reach / (3.0 * SAMPLES as f64).sqrt(), "mean {mean}");
            assert!((deviation - reach / 3.0_f64.sqrt()).abs() < 0.02 * reach, "deviation {deviation}");
        }
        assert!(recorded.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn every_trajectory_draws_for_itself() {
        let observation = Observation { noise: PerChannel::Every(1.0), ..Observation::default() };
        let of = |key: Key| observation.record(key, &CHANNELS, &[0.0, 1.0], &[0.0; 4], 1.0).1;
        let mut draws = vec![
            of(KEY),
            of(Key { seed: 4, ..KEY }),
            of(Key { split: Split::Grid, ..KEY }),
            of(Key { environment: 6, ..KEY }),
            of(Key { trajectory: 2, ..KEY }),
        ];
        assert_eq!(draws[0], of(KEY));
        draws.dedup();
        draws.sort_by(|a, b| a[0].total_cmp(&b[0]));
        draws.dedup();
        assert_eq!(draws.len(), 5);
    }
}
