//! Elapsed times, without a date: `49:30:00`, `0 days 12:00:00.5`, `PT1H30M`.
//!
//! ```text
//! time  = [sign] [days ("d" | "day" | "days") [","]] [sign] clock | "P".. as in ISO 8601 | "1h 30m" and the like
//! clock = [days ":"] hours ":" minutes ":" seconds | hours ":" minutes
//! ```
//!
//! The first part has no upper limit: 25 hours are a day and an hour.

use jiff::{Span, SpanRelativeTo};

const SECOND: i128 = 1_000_000_000;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;
const DAY: i128 = 24 * HOUR;

/// Directives of a date; the format of a time stamp has at least one of them.
const OF_DATES: &str = "YyCGdemBbhjDFxcsUVW";

/// Parses an elapsed time in any of these forms, in nanoseconds.
pub(crate) fn elapsed(text: &str) -> Option<i64> {
    i64::try_from(clocked(text.trim()).or_else(|| spanned(text))?).ok()
}

/// Whether a time has only two parts: read as hours and minutes, it may be minutes and seconds.
pub(crate) fn is_short(text: &str) -> bool {
    text.matches(':').count() == 1 && clocked(text.trim()).is_some()
}

fn clocked(text: &str) -> Option<i128> {
    let (sign, rest) = signed(text);
    let (days, of_clock, clock) = match rest.split_once(['d', 'D']) {
        None => (0, sign, rest),
        Some((days, rest)) => {
            let rest = ["ays", "ay"].iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(rest);
            let (own, clock) = signed(rest.trim_start_matches(',').trim_start());
            (whole(days.trim_end())?, own.or(sign), clock)
        }
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let clock = match *parts.as_slice() {
        [hours, minutes] => whole(hours)? * HOUR + part(minutes, 60)? * MINUTE,
        [hours, minutes, seconds] => whole(hours)? * HOUR + part(minutes, 60)? * MINUTE + fraction(seconds, true)?,
        [days, hours, minutes, seconds] => {
            whole(days)? * DAY + part(hours, 24)? * HOUR + part(minutes, 60)? * MINUTE + fraction(seconds, true)?
        }
        _ => return None,
    };
    Some(sign.unwrap_or(1) * days * DAY + of_clock.unwrap_or(1) * clock)
}

/// An ISO 8601 duration, or one in words; days have 24 hours.
fn spanned(text: &str) -> Option<i128> {
    // A text with a clock belongs to `clocked`.
    let span: Span = text.parse().ok().filter(|_| !text.contains(':'))?;
    Some(span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.as_nanos())
}

fn signed(text: &str) -> (Option<i128>, &str) {
    match text.split_at_checked(1) {
        Some(("-", rest)) => (Some(-1), rest),
        Some(("+", rest)) => (Some(1), rest),
        _ => (None, text),
    }
}

/// A whole number of at most nine digits.
fn whole(text: &str) -> Option<i128> {
    let is_whole = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_whole)
}

fn part(text: &str, end: i128) -> Option<i128> {
    whole(text).filter(|&number| number < end)
}

/// Nanoseconds of decimal seconds, below 60 if they are the last part of a clock.
fn fraction(text: &str, is_part: bool) -> Option<i128> {
    let (seconds, rest) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let digits = rest.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{rest:0<9}"))?;
    let seconds = if is_part { part(seconds, 60)? } else { whole(seconds)? };
    Some(seconds * SECOND + digits.get(..9)?.parse::<i128>().ok()?)
}

/// A format of elapsed times: hours, minutes and seconds only.
#[derive(Clone, Debug)]
pub(crate) struct Format(Vec<Token>);

#[derive(Clone, Debug)]
enum Token {
    Text(String),
    Hours,
    Minutes,
    Seconds,
}

impl Format {
    /// Parses a format; `None` if it has other directives.
    pub(crate) fn parse(format: &str) -> Option<Self> {
        let format = format.replace("%T", "%H:%M:%S").replace("%R", "%H:%M");
        let mut tokens = Vec::new();
        let mut rest = format.as_str();
        while let Some(at) = rest.find('%') {
            tokens.push(Token::Text(rest[..at].to_owned()));
            let directive = rest[at + 1..].trim_start_matches(|c: char| ".-_0".contains(c) || c.is_ascii_digit());
            rest = directive.get(1..)?;
            match directive.as_bytes()[0] {
                b'H' | b'k' => tokens.push(Token::Hours),
                b'M' => tokens.push(Token::Minutes),
                b'S' => tokens.push(Token::Seconds),
                // `%S` reads the fraction too.
                b'f' => {
                    let point =
                        tokens.pop_if(|token| matches!(token, Token::Text(text) if [".", ""].contains(&text.as_str())));
                    point.filter(|_| matches!(tokens.last(), Some(Token::Seconds)))?;
                }
                _ => return None,
            }
        }
        let is_any = !tokens.is_empty();
        tokens.push(Token::Text(rest.to_owned()));
        is_any.then_some(Format(tokens))
    }

    /// Parses a time in this format, in nanoseconds.
    pub(crate) fn read(&self, text: &str) -> Option<i64> {
        let (sign, mut rest) = signed(text.trim());
        let (mut nanoseconds, mut is_part) = (0, false);
        for token in &self.0 {
            if let Token::Text(text) = token {
                rest = rest.strip_prefix(text.as_str())?;
                continue;
            }
            let is_seconds = matches!(token, Token::Seconds);
            let is_of = |c: char| c.is_ascii_digit() || is_seconds && (c == '.' || c == ',');
            let (number, after) = rest.split_at(rest.find(|c| !is_of(c)).unwrap_or(rest.len()));
            rest = after;
            nanoseconds += match token {
                Token::Hours => whole(number)? * HOUR,
                Token::Minutes if is_part => part(number, 60)? * MINUTE,
                Token::Minutes => whole(number)? * MINUTE,
                _ => fraction(number, is_part)?,
            };
            is_part = true;
        }
        if rest.is_empty() { i64::try_from(sign.unwrap_or(1) * nanoseconds).ok() } else { None }
    }
}

/// Whether a format has a directive of a date.
pub(crate) fn has_date(format: &str) -> bool {
    let directives = format.split('%').skip(1);
    let letters =
        directives.filter_map(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).chars().next());
    letters.into_iter().any(|letter| OF_DATES.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        elapsed(text).map(|nanoseconds| nanoseconds as f64 / SECOND as f64)
    }

    #[test]
    fn elapsed_times_are_read_as_archives_write_them() {
        for (text, expected) in [
            ("00:00:00", 0.0),
            ("49:30:05", 178_205.0),
            ("1000:00:00.25", 3_600_000.25),
            ("7:05", 25_500.0),
            ("-00:30:00", -1800.0),
            ("1:02:00:00", 93_600.0),
            ("0 days 00:30:00", 1800.0),
            ("1 day, 2:00:00.5", 93_600.5),
            ("-1 days +23:30:00", -1800.0),
            ("-1 days 01:00:00", -90_000.0),
            ("  2d 00:00:10.00", 172_810.0),
            ("PT1H30M", 5400.0),
            ("P1DT2H", 93_600.0),
            ("-PT0.5S", -0.5),
            ("1h 30m", 5400.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            ":",
            "1:",
            "12",
            "1:60",
            "1:00:60",
            "1:24:00:00",
            "x d 00:00:00",
            "1:2:3:4:5",
            "12:30 PM",
            "P1M",
            "--1:00",
            "1:+2",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn formats_without_a_date_are_elapsed_times() {
        for (format, text, expected) in [
            ("%H:%M:%S", "25:00:01.5", Some(90_001.5)),
            ("%T", "25:00:01", Some(90_001.0)),
            ("%M:%S", "90:30", Some(5430.0)),
            ("%M:%S.%f", "90:30.25", Some(5430.25)),
            ("%M:%S%.f", "-90:30.25", Some(-5430.25)),
            ("%Hh%Mm", "2h05m", Some(7500.0)),
            ("%S s", "90 s", Some(90.0)),
            ("%M:%S", "90:61", None),
            ("%M:%S", "1:90:30", None),
        ] {
            let read = Format::parse(format).unwrap().read(text);
            assert_eq!(read.map(|nanoseconds| nanoseconds as f64 / SECOND as f64), expected, "{format} {text}");
        }
        for format in ["%d.%m.%Y %H:%M", "%I:%M %p", "hours", "%"] {
            assert!(Format::parse(format).is_none(), "{format}");
        }
        assert!(has_date("%d.%m.%Y %H:%M") && has_date("%-d %H") && !has_date("%I:%M %p") && !has_date("%H:%M:%S%.f"));
    }
}
