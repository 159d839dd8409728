//! A known signal as its samples give it.

use crate::schema::Between;

/// What is known of an input of one trajectory.
pub(crate) struct Signal {
    /// Increasing times `[N]`, `N > 0`.
    pub times: Vec<f64>,
    /// Values `[N]`.
    pub values: Vec<f64>,
    pub between: Between,
}

impl Signal {
    pub(crate) fn at(&self, time: f64) -> f64 {
        let Signal { times, values, between } = self;
        let after = times.partition_point(|&sample| sample <= time);
        match after.checked_sub(1) {
            None => values[0],
            Some(n) if *between == Between::Hold || after == times.len() || times[n] == time => values[n],
            Some(n) => {
                let share = (time - times[n]) / (times[after] - times[n]);
                (1.0 - share) * values[n] + share * values[after]
            }
        }
    }
}
