//! Sample times of a trajectory.

/// Number of times `0, dt, 2 dt, ..` before the horizon; a multiple of `dt` that equals the horizon up to rounding is not counted.
pub(crate) fn sample_count(horizon: f64, time_step: f64) -> usize {
    (horizon / time_step - 1e-9).ceil() as usize
}

pub(crate) fn sample_times(horizon: f64, time_step: f64) -> Vec<f64> {
    (0..sample_count(horizon, time_step)).map(|sample| sample as f64 * time_step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_itself_is_no_sample() {
        assert_eq!(sample_times(2.0, 0.5), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(sample_count(1.0, 0.05), 20);
        assert_eq!(sample_count(0.3, 0.1), 3);
        assert_eq!(sample_count(1.01, 0.5), 3);
    }
}
