//! Units of time since a date: `hours since 2020-01-01 00:00:00`.
//!
//! ```text
//! unit = name " since " date [ ("T" | " ") clock ] [ zone ]      date = year "-" month "-" day      clock = hour [ ":" minute [ ":" second ] ]
//! zone = "Z" | "UTC" | "GMT" | ("+" | "-") hour [ ":" minute ]
//! ```

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::import::tables::batch::Failure;
use crate::problems::shown;
use crate::units::Unit;

const SECOND: f64 = 1e9;
/// Nanoseconds of the longest unit of a fixed length: months and years vary.
const WEEK: f64 = 604_800.0 * SECOND;

/// Calendars that agree with the Gregorian one since 1582.
const CALENDARS: [&str; 3] = ["standard", "gregorian", "proleptic_gregorian"];
/// The first day of the Gregorian calendar.
const GREGORIAN: Date = Date::constant(1582, 10, 15);

/// A unit of time and the date from which times count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Since {
    /// The unit in nanoseconds.
    unit: f64,
    /// The date in nanoseconds since 1970 (UTC).
    date: i128,
}

impl Since {
    /// Parses a unit; `None` if it has no date.
    ///
    /// # Errors
    /// What a variable with this unit is, in words, if the calendar cannot be read.
    pub(super) fn parse(unit: &str, calendar: Option<&str>) -> Result<Option<Self>, String> {
        let Some((unit, (day, date))) = parts(unit) else { return Ok(None) };
        let calendar = calendar.map(str::trim).unwrap_or(CALENDARS[0]).to_lowercase();
        if !CALENDARS.contains(&calendar.as_str()) {
            return Err(format!("in the calendar {}", shown(&calendar)));
        }
        if day < GREGORIAN && calendar != CALENDARS[2] {
            return Err(format!("of times since {day}, before the Gregorian calendar"));
        }
        Ok(Some(Since { unit, date }))
    }

    /// A time in nanoseconds since 1970 (UTC); `None` if it is NaN.
    ///
    /// # Errors
    /// If it does not fit.
    pub(crate) fn instant(&self, number: f64) -> Result<Option<i64>, Failure> {
        if number.is_nan() {
            return Ok(None);
        }
        // The whole part stays exact.
        let (whole, part) = (number.trunc() as i128, (number.fract() * self.unit).round() as i128);
        let nanoseconds = whole.checked_mul(self.unit as i128).and_then(|whole| whole.checked_add(self.date + part));
        let instant = nanoseconds.and_then(|instant| i64::try_from(instant).ok());
        instant.map(Some).ok_or_else(|| "a time before 1678 or after 2261".to_owned())
    }
}

/// The unit in nanoseconds, the day of the date, and the date in nanoseconds since 1970 (UTC).
fn parts(unit: &str) -> Option<(f64, (Date, i128))> {
    let small = unit.to_lowercase();
    let (unit, date) = small.split_once(" since ")?;
    let nanoseconds = Unit::parse(unit)?.to(Unit::parse("ns")?)?.apply(1.0);
    (1.0..=WEEK).contains(&nanoseconds).then_some((nanoseconds, instant(date.trim())?))
}

/// The day of a date, and the date in nanoseconds since 1970 (UTC).
fn instant(text: &str) -> Option<(Date, i128)> {
    let (date, rest) = text.split_at(text.find(['t', ' ']).unwrap_or(text.len()));
    let [year, month, day] = *date.split('-').collect::<Vec<_>>() else { return None };
    let day = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    let rest = rest.trim_start_matches('t').trim();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let midnight = TimeZone::UTC.to_timestamp(day.to_datetime(Time::midnight())).ok()?.as_nanosecond();
    let nanoseconds = seconds(clock)? * SECOND - offset(zone.trim())? * SECOND;
    Some((day, midnight + nanoseconds.round() as i128))
}

/// Seconds since midnight.
fn seconds(clock: &str) -> Option<f64> {
    if clock.is_empty() {
        return Some(0.0);
    }
    let parts = clock.split(':').map(|part| part.parse::<f64>().ok()).collect::<Option<Vec<_>>>()?;
    (parts.len() <= 3).then(|| parts.iter().zip([3600.0, 60.0, 1.0]).map(|(part, scale)| part * scale).sum())
}

/// Seconds by which a zone is ahead of UTC.
fn offset(zone: &str) -> Option<f64> {
    if ["", "z", "utc", "gmt"].contains(&zone) {
        return Some(0.0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1.0, rest),
        ("-", rest) => (-1.0, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 4 => rest.split_at_checked(2)?,
        None => (rest, "0"),
    };
    Some(sign * (hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(unit: &str, calendar: Option<&str>, number: f64) -> Option<i64> {
        Since::parse(unit, calendar).unwrap().and_then(|since| since.instant(number).unwrap())
    }

    #[test]
    fn dates_are_read_as_archives_write_them() {
        let hour = 3600 * SECOND as i64;
        for (unit, number, hours) in [
            ("hours since 1970-01-01", 2.5, 2.5),
            ("Hours since 1970-1-1 00:00:0.0", 2.5, 2.5),
            ("seconds since 1970-01-01T01:00:00Z", 1800.0, 1.5),
            ("min since 1970-01-01 00:00 UTC", 90.0, 1.5),
            ("days since 1970-01-02 00:00:00 -6:00", 1.0, 54.0),
            ("ms since 1970-01-01 01:00:00+0130", 0.0, -0.5),
            ("microseconds since 1969-12-31 23:00", 1e6, -1.0 + 1.0 / 3600.0),
        ] {
            assert_eq!(
                instant(unit, Some("proleptic_gregorian"), number),
                Some((hours * hour as f64) as i64),
                "{unit}"
            );
        }
        assert_eq!(instant("days since 2000-01-01", None, f64::NAN), None);
    }

    #[test]
    fn what_counts_from_no_date_or_in_another_calendar_is_told_apart() {
        for unit in
            ["s", "hours since the start", "years since 2000-01-01", "months since 2000-01-01", "m since 2000-01-01"]
        {
            assert_eq!(Since::parse(unit, Some("noleap")), Ok(None), "{unit}");
        }
        assert_eq!(Since::parse("days since 2000-01-01", Some("NoLeap")), Err("in the calendar \"noleap\"".to_owned()));
        assert!(Since::parse("days since 0001-01-01", None).unwrap_err().contains("before the Gregorian"));
        assert!(Since::parse("days since 0001-01-01", Some("proleptic_gregorian")).unwrap().is_some());
        assert!(Since::parse("days since 2000-01-01", None).unwrap().unwrap().instant(1e9).is_err());
    }
}
