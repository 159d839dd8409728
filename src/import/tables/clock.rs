//! Times of rows: numbers with a unit, elapsed times, or time stamps of any zone.

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Error, Timestamp};

use super::cell::{Cell, Flaw, Writing, is_time_stamp};
use super::elapsed::{Format, elapsed, has_date, is_short};
use crate::import::settings::Settings;
use crate::import::settings::table::{Origin, Table};
use crate::units::{Conversion, Unit};

/// Nanoseconds.
const HOUR: f64 = 3.6e12;

/// A time as an integer that orders as time does: nanoseconds since the beginning of 1970 (UTC), or the bits of a number put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

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

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Numbers,
    /// Of hours, minutes and seconds, which become numbers.
    Elapsed,
    Stamps,
}

/// Reads times and tells them in the dataset's unit.
#[derive(Clone)]
pub(crate) struct Clock {
    format: Option<String>,
    /// The format, if it is one of elapsed times.
    elapsed: Option<Format>,
    zone: Option<TimeZone>,
    origin: Option<Origin>,
    /// Nanoseconds of the dataset's unit of time, if that is one.
    unit: Option<f64>,
    /// How the first time was written.
    kind: Option<Kind>,
    /// An elapsed time of two parts.
    short: Option<String>,
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
        let format = table.and_then(|table| table.time_format.clone());
        Clock {
            elapsed: format.as_deref().and_then(Format::parse),
            format,
            zone: zone.and_then(|zone| TimeZone::get(zone).ok()),
            origin,
            unit: nanosecond.map(|conversion| conversion.apply(1.0)),
            kind: None,
            short: None,
        }
    }

    /// Whether times are stamps.
    pub fn reads_stamps(&self) -> bool {
        self.kind == Some(Kind::Stamps)
    }

    /// Whether times are of hours, minutes and seconds.
    pub fn reads_elapsed(&self) -> bool {
        self.kind == Some(Kind::Elapsed)
    }

    /// A time that was taken for hours and minutes, and may be one of minutes and seconds.
    pub fn short(&self) -> Option<&str> {
        self.short.as_deref()
    }

    /// Whether a time that falls is that of a clock which passed midnight.
    pub fn passed_midnight(&self, before: Moment, after: Moment) -> bool {
        let hours = |moment: Moment| moment.number() * self.unit.unwrap_or(1.0) / HOUR;
        self.reads_elapsed() && hours(before) < 24.0 && hours(before) - hours(after) > 12.0
    }

    /// Whether times are no plain numbers, and the dataset's unit is none of time.
    pub fn lacks_unit(&self) -> bool {
        (self.reads_stamps() || self.reads_elapsed()) && self.unit.is_none()
    }

    /// Whether times have been numbers so far, and not written in a way of their own.
    pub fn reads_numbers(&self) -> bool {
        self.format.is_none() && self.kind == Some(Kind::Numbers)
    }

    /// The time that is a finite number; `conversion` is that of the column's unit to the dataset's.
    pub fn moment_of(&self, number: f64, conversion: Conversion) -> Moment {
        Moment::of_number(conversion.apply(number))
    }

    /// The time in a cell; `conversion` is that of the column's unit to the dataset's.
    pub fn moment(&mut self, cell: Cell<'_>, writing: &Writing, conversion: Conversion) -> Result<Moment, Flaw> {
        let number = if self.format.is_none() { writing.number(cell) } else { Err(Flaw::TimeStamp) };
        let (moment, kind) = match (number, cell) {
            (Ok(number), _) => (self.moment_of(number, conversion), Kind::Numbers),
            (Err(Flaw::Missing | Flaw::Infinite), _) if self.format.is_none() => return Err(number.unwrap_err()),
            (Err(_), Cell::Missing) => return Err(Flaw::Missing),
            (Err(_), Cell::Instant(instant)) => (Moment(instant), Kind::Stamps),
            (Err(flaw), Cell::Text(text)) => match self.written(text) {
                Ok(read) => read,
                Err(Flaw::UnreadableStamp) if flaw != Flaw::TimeStamp && !is_time_stamp(text) => return Err(flaw),
                Err(flaw) => return Err(flaw),
            },
            (Err(flaw), Cell::Number(_)) => return Err(flaw),
        };
        if *self.kind.get_or_insert(kind) == kind { Ok(moment) } else { Err(Flaw::MixedTimes) }
    }

    fn written(&mut self, text: &str) -> Result<(Moment, Kind), Flaw> {
        match self.reads_stamps() {
            true => self.stamp(text).or_else(|flaw| self.elapsed(text).ok_or(flaw)),
            false => self.elapsed(text).map_or_else(|| self.stamp(text), Ok),
        }
    }

    /// An elapsed time, which counts from zero as a number does.
    fn elapsed(&mut self, text: &str) -> Option<(Moment, Kind)> {
        let nanoseconds = match &self.elapsed {
            Some(format) => format.read(text),
            None if self.format.is_some() => None,
            None => elapsed(text),
        };
        if self.format.is_none() && self.short.is_none() && is_short(text) {
            self.short = Some(text.to_owned());
        }
        Some((Moment::of_number(nanoseconds? as f64 / self.unit.unwrap_or(1.0)), Kind::Elapsed))
    }

    fn stamp(&self, text: &str) -> Result<(Moment, Kind), Flaw> {
        if self.format.as_deref().is_some_and(|format| !has_date(format)) {
            return Err(if self.elapsed.is_some() { Flaw::UnreadableElapsed } else { Flaw::NoDate });
        }
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
        let instant = i64::try_from(timestamp.as_nanosecond()).map_err(|_| Flaw::Distant)?;
        Ok((Moment(instant), Kind::Stamps))
    }

    /// A time as it is written in messages.
    pub fn shown(&self, moment: Moment) -> String {
        match self.kind {
            Some(Kind::Stamps) => Cell::Instant(moment.0).text().into_owned(),
            _ => moment.number().to_string(),
        }
    }

    /// The moment so long before another, in the dataset's unit.
    pub fn before(&self, moment: Moment, duration: f64) -> Moment {
        match self.kind {
            Some(Kind::Stamps) => Moment(moment.0.saturating_sub((duration * self.unit.unwrap_or(1.0)).round() as i64)),
            _ => Moment::of_number(moment.number() - duration),
        }
    }

    /// A time in the dataset's unit, where the first sample of its trajectory is at `first`.
    pub fn time(&self, moment: Moment, first: Moment) -> f64 {
        match (self.kind, self.origin) {
            (Some(Kind::Stamps), Some(Origin::File)) => moment.0 as f64 / self.unit.unwrap_or(1.0),
            (Some(Kind::Stamps), _) => (i128::from(moment.0) - i128::from(first.0)) as f64 / self.unit.unwrap_or(1.0),
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
        let elapsed = format.and_then(Format::parse);
        let format = format.map(str::to_owned);
        Clock { format, elapsed, zone, origin: None, unit: Some(1e9), kind: None, short: None }
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
    fn elapsed_times_count_from_zero() {
        for format in [None, Some("%H:%M:%S")] {
            let mut clock = clock(Some("UTC"), format);
            clock.unit = Some(3.6e12);
            let moments = ["23:59:60", "23:59:00", "24:00:00", "26:30:00"]
                .map(|text| clock.moment(Cell::from_text(text), &Writing::default(), Conversion::NONE));
            let flaw = if format.is_some() { Flaw::UnreadableElapsed } else { Flaw::UnreadableStamp };
            assert_eq!(moments[0], Err(flaw));
            let last = clock.time(moments[3].unwrap(), moments[1].unwrap());
            assert_eq!((last, moments[1].unwrap() < moments[2].unwrap(), clock.short()), (26.5, true, None));
        }
        let mut clock = clock(None, None);
        assert!(clock.moment(Cell::from_text("1:30"), &Writing::default(), Conversion::NONE).is_ok());
        assert_eq!(clock.short(), Some("1:30"));
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
            (None, &["10:00:00", "1"], Flaw::MixedTimes),
            (None, &["10:00:00", "2020-03-29T01:30:00Z"], Flaw::MixedTimes),
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
