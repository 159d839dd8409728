//! The time of day, as records and logs state it. Nothing that a stage makes depends on it.

use jiff::Timestamp;

/// Now, UTC, to the millisecond: `2024-03-01T12:00:00.000Z`.
pub fn now() -> String {
    stated(Timestamp::now())
}

/// A time in the same form.
pub(crate) fn stated(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Seconds since 1970 of a time that [`now`] stated; `None` if it is no time.
pub(crate) fn seconds(stated: &str) -> Option<f64> {
    Some(stated.parse::<Timestamp>().ok()?.as_millisecond() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_stated_to_the_millisecond_and_read_back() {
        // From `date -u -d @1709294400`.
        assert_eq!(stated(Timestamp::from_millisecond(1_709_294_400_250).unwrap()), "2024-03-01T12:00:00.250Z");
        assert_eq!(seconds("2024-03-01T12:00:00.250Z"), Some(1_709_294_400.25));
        assert_eq!(seconds("yesterday"), None);
    }
}
