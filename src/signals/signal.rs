//! A known signal: its samples, and its values between them.
//!
//! ```text
//! hold      u(t) = u_n
//! linear    u(t) = (1 - s) u_n + s u_{n+1},    s = (t - t_n) / (t_{n+1} - t_n)
//! ```
//!
//! for `t` in `[t_n, t_{n+1})`. Before its first sample and after its last a signal keeps the nearest value; whoever reads it there decides
//! whether that may be taken for known.

use crate::schema::Between;

/// Samples of one input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Signal {
    /// Strictly increasing `[N]`, `N > 0`.
    pub times: Vec<f64>,
    /// `[N]`.
    pub values: Vec<f64>,
    pub between: Between,
}

impl Signal {
    /// The times of the first and the last sample.
    pub(crate) fn span(&self) -> (f64, f64) {
        (self.times[0], self.times[self.times.len() - 1])
    }

    /// `u(t)`, which is exactly the sample's value at the time of a sample: what a dataset stores.
    pub(crate) fn at(&self, time: f64) -> f64 {
        let Signal { times, values, between } = self;
        let (n, next) = self.around(time);
        if *between == Between::Hold || n == next || times[n] == time {
            return values[n];
        }
        let share = (time - times[n]) / (times[next] - times[n]);
        (1.0 - share) * values[n] + share * values[next]
    }

    /// `u(t)` as `u_n + du_n (t - t_n)`, rounded as integrators round it ([`Between::step`]).
    ///
    /// A sample at most `slack` later counts as reached: an input that jumps there has jumped, where a step of the integrator would
    /// otherwise begin with the value before.
    pub(crate) fn at_step(&self, time: f64, slack: f64) -> f64 {
        let Signal { times, values, between } = self;
        let (first, last) = self.span();
        let time = time.clamp(first, last);
        let (n, next) = self.around(time + slack);
        let (value, slope) = between.step(values[n], values[next], times[next] - times[n]);
        value + slope * (time - times[n]).max(0.0)
    }

    /// Counts the values of a held signal from the one that it has just before a time on.
    pub(crate) fn count_from(&mut self, time: f64) {
        let before = self.times.partition_point(|&sample| sample < time);
        let level = self.values[before.saturating_sub(1)];
        self.values.iter_mut().for_each(|value| *value = (*value - level).max(0.0));
    }

    /// The last sample at or before a time, and the one after it; the nearest sample twice where there is none.
    fn around(&self, time: f64) -> (usize, usize) {
        let next = self.times.partition_point(|&sample| sample <= time);
        (next.saturating_sub(1), next.min(self.times.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(between: Between) -> Signal {
        Signal { times: vec![0.0, 1.0, 3.0], values: vec![1.0, 2.0, 4.0], between }
    }

    #[test]
    fn a_signal_is_held_or_linear_between_its_samples_and_constant_beyond() {
        let times = [-1.0, 0.0, 0.5, 1.0, 1.5, 3.0, 4.0];
        for (between, expected) in [
            (Between::Hold, [1.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]),
            (Between::Linear, [1.0, 1.0, 1.5, 2.0, 2.5, 4.0, 4.0]),
        ] {
            let signal = signal(between);
            assert_eq!(times.map(|time| signal.at(time)), expected);
            assert_eq!(times.map(|time| signal.at_step(time, 0.0)), expected);
        }
    }

    #[test]
    fn a_step_that_begins_within_the_slack_of_a_sample_sees_its_value() {
        let held = signal(Between::Hold);
        assert_eq!([0.0, 1e-9].map(|slack| held.at_step(1.0_f64.next_down(), slack)), [1.0, 2.0]);
        assert_eq!(signal(Between::Linear).at_step(1.0_f64.next_down(), 1e-9), 2.0);
    }
}
