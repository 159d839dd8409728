//! Times of rows: numbers with a unit, or time stamps of any zone.

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Error, Timestamp};

use super::cell::{Cell, Flaw, Writing, is_time_stamp};
use super::settings::{Origin, Settings, Table};
use super::unit::{Conversion, Unit};

/// A time as an integer that orders as time does: nanoseconds since the beginning of 1970 (UTC), or the bits of a number put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(i64);

impl Moment {
    fn of_number(number: f64) -> Self {
        Moment(in_order((number + 0.0).to_bits() as i64)) // -0.0 is the same time as 0.0
    }

    pub fn bits(self) -> u64 {
        self.0 as u64
    }

    pub fn from_bits(bits: u64) -> Self {
        Moment(bits as i64)
    }

    /// Nanoseconds from another to it, where both are time stamps.
    pub fn after(self, other: Moment) -> i64 {
        self.0.saturating_sub(other.0)
    }

    fn number(self) -> f64 {
        f64::from_bits(in_order(self.0) as u64)
    }
}

/// Turns the bits of negative numbers around, as [`f64::total_cmp`] does; its own inverse.
fn in_order(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Reads times and tells them in the dataset's unit.
#[derive(Clone)]
pub(super) struct Clock {
    format: Option<String>,
    zone: Option<TimeZone>,
    origin: Option<Origin>,
    /// Nanoseconds of the dataset's unit of time, if that is one.
    unit: Option<f64>,
    /// Whether the first time was a stamp.
    stamps: Option<bool>,
}

impl Clock {
    /// The settings have been validated.
    pub fn new(settings: &Settings) -> Self {
        Clock::of(Some(&settings.table), settings.table.origin, &settings.time_unit)
    }

    /// Reads times as they stand in `table`, or as they do where nothing is said, and counts them from `origin`.
    pub fn of(table: Option<&Table>, origin: Option<Origin>, time_unit: &str) -> Self {
        let nanosecond = Unit::parse("ns").and_then(|ns| Unit::parse(time_unit)?.to(ns));
        let zone = table.and_then(|table| table.time_zone.as_ref());
        Clock {
            format: table.and_then(|table| table.time_format.clone()),
            zone: zone.and_then(|zone| TimeZone::get(zone).ok()),
            origin,
            unit: nanosecond.map(|conversion| conversion.apply(1.0)),
            stamps: None,
        }
    }

    /// Whether times are stamps.
    pub fn reads_stamps(&self) -> bool {
        self.stamps == Some(true)
    }

    /// Whether times are stamps, and the dataset's unit is none of time.
    pub fn lacks_unit(&self) -> bool {
        self.reads_stamps() && self.unit.is_none()
    }

    /// Whether times have been numbers so far, and not written in a way of their own.
    pub fn reads_numbers(&self) -> bool {
        self.format.is_none() && self.stamps == Some(false)
    }

    /// The time that is a finite number; `conversion` is that of the column's unit to the dataset's.
    pub fn moment_of(&self, number: f64, conversion: Conversion) -> Moment {
        Moment::of_number(conversion.apply(number))
    }

    /// The time in a cell; `conversion` is that of the column's unit to the dataset's.
    pub fn moment(&mut self, cell: Cell<'_>, writing: &Writing, conversion: Conversion) -> Result<Moment, Flaw> {
        let number = if self.format.is_none() { writing.number(cell) } else { Err(Flaw::TimeStamp) };
        let (moment, is_stamp) = match (number, cell) {
            (Ok(number), _) => (self.moment_of(number, conversion), false),
            (Err(Flaw::Missing | Flaw::Infinite), _) if self.format.is_none() => return Err(number.unwrap_err()),
            (Err(_), Cell::Missing) => return Err(Flaw::Missing),
            (Err(_), Cell::Instant(instant)) => (Moment(instant), true),
            (Err(flaw), Cell::Text(text)) => match self.stamp(text) {
                Ok(moment) => (moment, true),
                Err(Flaw::UnreadableStamp) if flaw != Flaw::TimeStamp && !is_time_stamp(text) => return Err(flaw),
                Err(flaw) => return Err(flaw),
            },
            (Err(flaw), Cell::Number(_)) => return Err(flaw),
        };
        if *self.stamps.get_or_insert(is_stamp) == is_stamp { Ok(moment) } else { Err(Flaw::MixedTimes) }
    }

    fn stamp(&self, text: &str) -> Result<Moment, Flaw> {
        let (with_offset, local): (Option<Timestamp>, Result<DateTime, Error>) = match &self.format {
            Some(format) => {
                let parsed = strtime::parse(format, text).map_err(|_| Flaw::UnreadableStamp)?;
                let midnight = || Ok(parsed.to_date()?.to_datetime(jiff::civil::Time::midnight()));
                (parsed.to_timestamp().ok(), parsed.to_datetime().or_else(|_: Error| midnight()))
            }
            None => (text.parse().ok(), text.parse()),
        };
        let timestamp = match (with_offset, local, &self.zone) {
            (Some(timestamp), ..) => timestamp,
            (None, Err(_), _) => return Err(Flaw::UnreadableStamp),
            (None, Ok(_), None) => return Err(Flaw::NoZone),
            (None, Ok(local), Some(zone)) => {
                zone.to_ambiguous_timestamp(local).unambiguous().map_err(|_| Flaw::Ambiguous)?
            }
        };
        i64::try_from(timestamp.as_nanosecond()).map(Moment).map_err(|_| Flaw::Distant)
    }

    /// A time as it is written in messages.
    pub fn shown(&self, moment: Moment) -> String {
        match self.stamps {
            Some(true) => Cell::Instant(moment.0).text().into_owned(),
            _ => moment.number().to_string(),
        }
    }

    /// The moment so long before another, in the dataset's unit.
    pub fn before(&self, moment: Moment, duration: f64) -> Moment {
        match self.stamps {
            Some(true) => Moment(moment.0.saturating_sub((duration * self.unit.unwrap_or(1.0)).round() as i64)),
            _ => Moment::of_number(moment.number() - duration),
        }
    }

    /// A time in the dataset's unit, where the first sample of its trajectory is at `first`.
    pub fn time(&self, moment: Moment, first: Moment) -> f64 {
        match (self.stamps, self.origin) {
            (Some(true), Some(Origin::File)) => moment.0 as f64 / self.unit.unwrap_or(1.0),
            (Some(true), _) => (i128::from(moment.0) - i128::from(first.0)) as f64 / self.unit.unwrap_or(1.0),
            (_, Some(Origin::First)) => moment.number() - first.number(),
            _ => moment.number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clock(zone: Option<&str>, format: Option<&str>) -> Clock {
        let zone = zone.map(|zone| TimeZone::get(zone).unwrap());
        Clock { format: format.map(str::to_owned), zone, origin: None, unit: Some(1e9), stamps: None }
    }

    /// Seconds from the first to each of the times.
    fn seconds(mut clock: Clock, texts: &[&str]) -> Result<Vec<f64>, Flaw> {
        let writing = Writing::default();
        let moments: Result<Vec<_>, _> =
            texts.iter().map(|text| clock.moment(Cell::from_text(text), &writing, Conversion::NONE)).collect();
        let moments = moments?;
        Ok(moments.iter().map(|&moment| clock.time(moment, moments[0])).collect())
    }

    #[test]
    fn stamps_of_any_offset_and_spelling_are_read() {
        let stamps =
            ["2020-03-29T00:30:00Z", "2020-03-29 02:30:00.25+01:00", "2020-03-28T19:31:00-05:00[America/New_York]"];
        assert!(seconds(clock(None, None), &stamps[..2]).is_ok_and(|times| times == [0.0, 3600.25]));
        let paris = || clock(Some("Europe/Paris"), None);
        assert_eq!(
            seconds(paris(), &["2020-03-29T01:30:00", "2020-03-29T03:30", "2020-03-29T01:30:00Z"]),
            Ok(vec![0.0, 3600.0, 3600.0])
        );
        let german = clock(Some("UTC"), Some("%d.%m.%Y %H:%M"));
        assert_eq!(seconds(german, &["01.02.2021 00:00", "01.02.2021 12:00"]), Ok(vec![0.0, 43_200.0]));
        let days = clock(Some("UTC"), Some("%d.%m.%Y"));
        assert_eq!(seconds(days, &["01.02.2021", "02.02.2021"]), Ok(vec![0.0, 86_400.0]));
    }

    #[test]
    fn what_is_no_time_is_told_apart() {
        for (zone, texts, flaw) in [
            (None, &["2020-03-29T01:30:00"][..], Flaw::NoZone),
            (Some("Europe/Paris"), &["2020-03-29T02:30:00"], Flaw::Ambiguous),
            (Some("Europe/Paris"), &["2020-10-25T02:30:00"], Flaw::Ambiguous),
            (None, &["2020-13-29T01:30:00Z"], Flaw::UnreadableStamp),
            (None, &["0001-01-01T00:00:00Z"], Flaw::Distant),
            (None, &["1", "2020-03-29T01:30:00Z"], Flaw::MixedTimes),
            (None, &["2020-03-29T01:30:00Z", "1"], Flaw::MixedTimes),
            (None, &["soon"], Flaw::Text),
            (None, &["NA"], Flaw::Missing),
        ] {
            assert_eq!(seconds(clock(zone, None), texts), Err(flaw), "{texts:?}");
        }
    }

    proptest! {
        #[test]
        fn moments_order_as_numbers_do(a in proptest::num::f64::NORMAL | proptest::num::f64::ZERO, b in -1e3..1e3f64) {
            prop_assert_eq!(Moment::of_number(a).number(), a);
            prop_assert_eq!(Moment::of_number(a).cmp(&Moment::of_number(b)), a.partial_cmp(&b).unwrap());
        }
    }
}
