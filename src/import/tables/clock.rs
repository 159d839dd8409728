//! Times of rows: numbers, elapsed times, or time stamps in any zone.

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Error, Timestamp};

use super::cell::{Cell, CellError, Notation, is_time_stamp};
use super::elapsed::{Format, elapsed, has_date, is_short};
use crate::import::settings::Settings;
use crate::import::settings::table::{Origin, Table};
use crate::units::{Conversion, Unit};

/// Nanoseconds.
const HOUR: f64 = 3.6e12;

/// A time as an integer in the same order: nanoseconds since 1970 (UTC), or the bits of a number, reordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

impl Moment {
    fn from_number(number: f64) -> Self {
        Moment(in_order((number + 0.0).to_bits() as i64)) // -0.0 is the same time as 0.0
    }

    pub(crate) fn bits(self) -> u64 {
        self.0 as u64
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Moment(bits as i64)
    }

    /// Nanoseconds from `other` to this time stamp.
    pub(crate) fn after(self, other: Moment) -> i64 {
        self.0.saturating_sub(other.0)
    }

    fn number(self) -> f64 {
        f64::from_bits(in_order(self.0) as u64)
    }
}

/// Reverses the order of negative numbers, as [`f64::total_cmp`] does; its own inverse.
fn in_order(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The form of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeForm {
    Numbers,
    /// Hours, minutes and seconds, converted into numbers.
    Elapsed,
    Stamps,
}

/// Reads times and converts them to the dataset's unit. The first time fixes the form of all.
#[derive(Clone)]
pub(crate) struct Clock {
    format: Option<String>,
    /// The same format, if it is one of elapsed times.
    elapsed: Option<Format>,
    zone: Option<TimeZone>,
    origin: Option<Origin>,
    /// The dataset's unit in nanoseconds, if it is a unit of time.
    unit: Option<f64>,
    /// The form of the first time.
    form: Option<TimeForm>,
    /// The first elapsed time of only two parts.
    short: Option<String>,
}

impl Clock {
    /// The clock of validated settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        Clock::for_table(Some(&settings.table), settings.table.origin, &settings.time_unit)
    }

    /// A clock for times in the format and zone of `table`, or in the default ones, counted from `origin`.
    pub(crate) fn for_table(table: Option<&Table>, origin: Option<Origin>, time_unit: &str) -> Self {
        let nanosecond = Unit::parse("ns").and_then(|ns| Unit::parse(time_unit)?.to(ns));
        let zone = table.and_then(|table| table.time_zone.as_ref());
        let format = table.and_then(|table| table.time_format.clone());
        Clock {
            elapsed: format.as_deref().and_then(Format::parse),
            format,
            zone: zone.and_then(|zone| TimeZone::get(zone).ok()),
            origin,
            unit: nanosecond.map(|conversion| conversion.apply(1.0)),
            form: None,
            short: None,
        }
    }

    /// Whether times are stamps.
    pub(crate) fn reads_stamps(&self) -> bool {
        self.form == Some(TimeForm::Stamps)
    }

    /// Whether times are elapsed times.
    pub(crate) fn reads_elapsed(&self) -> bool {
        self.form == Some(TimeForm::Elapsed)
    }

    /// A time read as hours and minutes that may have been minutes and seconds.
    pub(crate) fn short(&self) -> Option<&str> {
        self.short.as_deref()
    }

    /// Whether the fall from `before` to `after` looks like a clock that passed midnight.
    pub(crate) fn passed_midnight(&self, before: Moment, after: Moment) -> bool {
        let hours = |moment: Moment| moment.number() * self.unit.unwrap_or(1.0) / HOUR;
        self.reads_elapsed() && hours(before) < 24.0 && hours(before) - hours(after) > 12.0
    }

    /// Whether times need converting from nanoseconds, but the dataset's unit is not one of time.
    pub(crate) fn lacks_unit(&self) -> bool {
        (self.reads_stamps() || self.reads_elapsed()) && self.unit.is_none()
    }

    /// Whether all times so far were numbers and no format is set.
    pub(crate) fn reads_numbers(&self) -> bool {
        self.format.is_none() && self.form == Some(TimeForm::Numbers)
    }

    /// The time of a finite number; `conversion` converts the column's unit to the dataset's.
    pub(crate) fn moment_of(&self, number: f64, conversion: Conversion) -> Moment {
        Moment::from_number(conversion.apply(number))
    }

    /// The time in a cell; `conversion` converts the column's unit to the dataset's.
    ///
    /// # Errors
    /// Why the cell is not a usable time.
    pub(crate) fn moment(
        &mut self,
        cell: Cell<'_>,
        notation: &Notation,
        conversion: Conversion,
    ) -> Result<Moment, CellError> {
        let number = if self.format.is_none() { notation.number(cell) } else { Err(CellError::TimeStamp) };
        let (moment, form) = match (number, cell) {
            (Ok(number), _) => (self.moment_of(number, conversion), TimeForm::Numbers),
            (Err(CellError::Missing | CellError::Infinite), _) if self.format.is_none() => {
                return Err(number.unwrap_err());
            }
            (Err(_), Cell::Missing) => return Err(CellError::Missing),
            (Err(_), Cell::Instant(instant)) => (Moment(instant), TimeForm::Stamps),
            (Err(error), Cell::Text(text)) => match self.parse(text) {
                Ok(read) => read,
                Err(CellError::UnreadableStamp) if error != CellError::TimeStamp && !is_time_stamp(text) => {
                    return Err(error);
                }
                Err(error) => return Err(error),
            },
            (Err(error), Cell::Number(_)) => return Err(error),
        };
        if *self.form.get_or_insert(form) == form { Ok(moment) } else { Err(CellError::MixedTimes) }
    }

    /// A time stamp or an elapsed time, preferring the form of the earlier ones.
    fn parse(&mut self, text: &str) -> Result<(Moment, TimeForm), CellError> {
        match self.reads_stamps() {
            true => self.stamp(text).or_else(|error| self.elapsed(text).ok_or(error)),
            false => self.elapsed(text).map_or_else(|| self.stamp(text), Ok),
        }
    }

    /// An elapsed time, which counts from zero as a number does.
    fn elapsed(&mut self, text: &str) -> Option<(Moment, TimeForm)> {
        let nanoseconds = match &self.elapsed {
            Some(format) => format.read(text),
            None if self.format.is_some() => None,
            None => elapsed(text),
        };
        if self.format.is_none() && self.short.is_none() && is_short(text) {
            self.short = Some(text.to_owned());
        }
        Some((Moment::from_number(nanoseconds? as f64 / self.unit.unwrap_or(1.0)), TimeForm::Elapsed))
    }

    fn stamp(&self, text: &str) -> Result<(Moment, TimeForm), CellError> {
        if self.format.as_deref().is_some_and(|format| !has_date(format)) {
            return Err(if self.elapsed.is_some() { CellError::UnreadableElapsed } else { CellError::NoDate });
        }
        let (with_offset, local): (Option<Timestamp>, Result<DateTime, Error>) = match &self.format {
            Some(format) => {
                let parsed = strtime::parse(format, text).map_err(|_| CellError::UnreadableStamp)?;
                let midnight = || Ok(parsed.to_date()?.to_datetime(jiff::civil::Time::midnight()));
                (parsed.to_timestamp().ok(), parsed.to_datetime().or_else(|_: Error| midnight()))
            }
            None => (text.parse().ok(), text.parse()),
        };
        let timestamp = match (with_offset, local, &self.zone) {
            (Some(timestamp), ..) => timestamp,
            (None, Err(_), _) => return Err(CellError::UnreadableStamp),
            (None, Ok(_), None) => return Err(CellError::NoZone),
            (None, Ok(local), Some(zone)) => {
                zone.to_ambiguous_timestamp(local).unambiguous().map_err(|_| CellError::Ambiguous)?
            }
        };
        let instant = i64::try_from(timestamp.as_nanosecond()).map_err(|_| CellError::Distant)?;
        Ok((Moment(instant), TimeForm::Stamps))
    }

    /// A time in words, for messages.
    pub(crate) fn shown(&self, moment: Moment) -> String {
        match self.form {
            Some(TimeForm::Stamps) => Cell::Instant(moment.0).text().into_owned(),
            _ => moment.number().to_string(),
        }
    }

    /// The time that lies `duration`, in the dataset's unit, before another.
    pub(crate) fn before(&self, moment: Moment, duration: f64) -> Moment {
        match self.form {
            Some(TimeForm::Stamps) => {
                Moment(moment.0.saturating_sub((duration * self.unit.unwrap_or(1.0)).round() as i64))
            }
            _ => Moment::from_number(moment.number() - duration),
        }
    }

    /// A time in the dataset's unit; `first` is the first sample of its trajectory, from which time stamps count by default.
    pub(crate) fn time(&self, moment: Moment, first: Moment) -> f64 {
        match (self.form, self.origin) {
            (Some(TimeForm::Stamps), Some(Origin::File)) => moment.0 as f64 / self.unit.unwrap_or(1.0),
            (Some(TimeForm::Stamps), _) => {
                (i128::from(moment.0) - i128::from(first.0)) as f64 / self.unit.unwrap_or(1.0)
            }
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
        Clock { format, elapsed, zone, origin: None, unit: Some(1e9), form: None, short: None }
    }

    /// Seconds from the first to each of the times.
    fn seconds(mut clock: Clock, texts: &[&str]) -> Result<Vec<f64>, CellError> {
        let notation = Notation::default();
        let moments: Result<Vec<_>, _> =
            texts.iter().map(|text| clock.moment(Cell::from_text(text), &notation, Conversion::NONE)).collect();
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
                .map(|text| clock.moment(Cell::from_text(text), &Notation::default(), Conversion::NONE));
            let error = if format.is_some() { CellError::UnreadableElapsed } else { CellError::UnreadableStamp };
            assert_eq!(moments[0], Err(error));
            let last = clock.time(moments[3].unwrap(), moments[1].unwrap());
            assert_eq!((last, moments[1].unwrap() < moments[2].unwrap(), clock.short()), (26.5, true, None));
        }
        let mut clock = clock(None, None);
        assert!(clock.moment(Cell::from_text("1:30"), &Notation::default(), Conversion::NONE).is_ok());
        assert_eq!(clock.short(), Some("1:30"));
    }

    #[test]
    fn what_is_no_time_is_told_apart() {
        for (zone, texts, error) in [
            (None, &["2020-03-29T01:30:00"][..], CellError::NoZone),
            (Some("Europe/Paris"), &["2020-03-29T02:30:00"], CellError::Ambiguous),
            (Some("Europe/Paris"), &["2020-10-25T02:30:00"], CellError::Ambiguous),
            (None, &["2020-13-29T01:30:00Z"], CellError::UnreadableStamp),
            (None, &["0001-01-01T00:00:00Z"], CellError::Distant),
            (None, &["1", "2020-03-29T01:30:00Z"], CellError::MixedTimes),
            (None, &["2020-03-29T01:30:00Z", "1"], CellError::MixedTimes),
            (None, &["soon"], CellError::Text),
            (None, &["10:00:00", "1"], CellError::MixedTimes),
            (None, &["10:00:00", "2020-03-29T01:30:00Z"], CellError::MixedTimes),
            (None, &["NA"], CellError::Missing),
        ] {
            assert_eq!(seconds(clock(zone, None), texts), Err(error), "{texts:?}");
        }
    }

    proptest! {
        #[test]
        fn moments_order_as_numbers_do(a in proptest::num::f64::NORMAL | proptest::num::f64::ZERO, b in -1e3..1e3f64) {
            prop_assert_eq!(Moment::from_number(a).number(), a);
            prop_assert_eq!(Moment::from_number(a).cmp(&Moment::from_number(b)), a.partial_cmp(&b).unwrap());
        }
    }
}
