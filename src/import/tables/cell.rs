//! Cells of a table, and the numbers in them.

use std::borrow::Cow;

use crate::import::settings::forms::Condition;
use crate::problems::{Kind, Problem, shown};

/// Usual spellings of a missing value, in lower case.
const MISSING: [&str; 12] = ["", "nan", "na", "n/a", "#n/a", "null", "none", "nil", ".", "-", "?", "??"];

/// Usual spellings of a value below or above the measurable range, in lower-case letters only.
const BEYOND: [&str; 13] =
    ["bql", "bloq", "blq", "lloq", "loq", "lod", "bdl", "bld", "nd", "nq", "aloq", "uloq", "belowlod"];
/// Characters that begin a bound.
const BOUNDS: [char; 4] = ['<', '>', '≤', '≥'];
/// Separators of thousands other than point and comma.
const THOUSANDS: [char; 5] = [' ', '\'', '’', '\u{a0}', '\u{202f}'];

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Number(f64),
    /// Nanoseconds since 1970 (UTC).
    Instant(i64),
    /// Not empty, trimmed.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    pub(crate) fn from_text(text: &'a str) -> Self {
        if text.is_empty() { Cell::Missing } else { Cell::Text(text) }
    }

    /// The cell as text; whole numbers have no decimal point.
    pub(crate) fn text(self) -> Cow<'a, str> {
        match self {
            Cell::Missing => Cow::Borrowed(""),
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Number(number) => Cow::Owned(number.to_string()),
            Cell::Instant(instant) => {
                Cow::Owned(jiff::Timestamp::from_nanosecond(instant.into()).unwrap_or_default().to_string())
            }
        }
    }

    /// The cell in a message.
    pub(crate) fn shown(self) -> String {
        match self {
            Cell::Missing => "an empty cell".to_owned(),
            cell => shown(&cell.text()),
        }
    }
}

/// Why a cell is not a number, or not a time, that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellError {
    Missing,
    Infinite,
    TimeStamp,
    DecimalComma,
    DecimalPoint,
    /// Thousands are separated; with the decimal mark, if there is one.
    Thousands(Option<char>),
    /// A bound in place of a value.
    Censored,
    Text,
    /// A time stamp in the wrong format.
    UnreadableStamp,
    /// An elapsed time in the wrong format.
    UnreadableElapsed,
    /// The format of times has no date.
    NoDate,
    /// A local time, without a declared zone.
    NoZone,
    /// A local time that was skipped or came twice when clocks were changed.
    Ambiguous,
    /// A time stamp before 1678 or after 2261.
    Distant,
    /// A number among time stamps, or a time stamp among numbers.
    MixedTimes,
}

impl CellError {
    /// The problem, not yet located; `cell` is the cell.
    pub(crate) fn problem(self, cell: Cell<'_>) -> Problem {
        let number = "a finite number";
        let (kind, expected, remedy) = match self {
            CellError::Missing => {
                let remedy = "if it stands for a missing value, add its spelling to `import.table.missing`";
                (Kind::MissingValue, number, remedy)
            }
            CellError::Infinite => (Kind::NotFinite, number, "correct the cell or remove the row"),
            CellError::TimeStamp => {
                (Kind::UnsupportedNumber, number, "name another column, or write the value as a number")
            }
            CellError::DecimalComma => {
                let remedy = "if it is a decimal comma, set `decimal = \",\"`; if it separates thousands, remove it";
                (Kind::UnsupportedNumber, number, remedy)
            }
            CellError::DecimalPoint => {
                let remedy = "if it is a decimal point, remove `decimal = \",\"`; if it separates thousands, remove it";
                (Kind::UnsupportedNumber, number, remedy)
            }
            CellError::Thousands(decimal) => {
                let remedy = match decimal {
                    Some(',') => "remove the thousands separators from the file, and set `decimal = \",\"`",
                    Some(_) => {
                        "remove the thousands separators from the file; the decimal point is read by `decimal = \".\"`, the default"
                    }
                    None => "remove the thousands separators from the file",
                };
                (Kind::UnsupportedNumber, "a finite number without thousands separators", remedy)
            }
            CellError::Censored => {
                let remedy = "bounds (censored values) are not supported: add the spelling to `import.table.missing`, which treats the value as not \
                              measured, or write a number in its place";
                (Kind::NotANumber, number, remedy)
            }
            CellError::Text => {
                let remedy =
                    "correct the cell, or add its spelling to `import.table.missing` if it stands for a missing value";
                (Kind::NotANumber, number, remedy)
            }
            CellError::UnreadableStamp => {
                let remedy = "correct the cell, or say how times are written in `import.table.time_format`";
                let expected =
                    "a number, an elapsed time such as `26:30:00`, or a time stamp such as `2020-03-01T12:00:00+01:00`";
                (Kind::TimeStamp, expected, remedy)
            }
            CellError::UnreadableElapsed => {
                let expected = "hours, minutes and seconds as `import.table.time_format` says; only the first may exceed its usual range";
                (Kind::TimeStamp, expected, "correct the cell or the format")
            }
            CellError::NoDate => {
                let expected = "a date, or an elapsed time of %H, %M and %S alone, in `import.table.time_format`";
                let remedy = "a time of day needs its date: join the two in one column, and add the date to the format (%Y-%m-%d)";
                (Kind::TimeStamp, expected, remedy)
            }
            CellError::NoZone => {
                let remedy = "set `import.table.time_zone`, such as \"UTC\" or \"Europe/Paris\"";
                (Kind::TimeStamp, "a time stamp with its offset from UTC", remedy)
            }
            CellError::Ambiguous => {
                let remedy = "clocks were changed around it: write it with its offset from UTC; if the logger keeps one offset all year, set \
                              `import.table.time_zone` to it, such as \"UTC\", or \"Etc/GMT-1\" for an hour ahead of UTC";
                (Kind::TimeStamp, "a local time that occurs once", remedy)
            }
            CellError::Distant => {
                (Kind::TimeStamp, "a time from 1678 to 2261", "correct the cell, or write times as numbers")
            }
            CellError::MixedTimes => {
                let remedy = "write all times in one of these ways";
                (Kind::TimeStamp, "times that are all numbers, all elapsed times or all time stamps", remedy)
            }
        };
        Problem::new(kind, cell.shown(), expected, remedy)
    }
}

/// How a table writes numbers and missing values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notation {
    decimal_comma: bool,
    /// Declared spellings of missing values.
    markers: Vec<String>,
    /// Those that are numbers, which match however a cell writes them.
    numbers: Vec<f64>,
}

impl Notation {
    pub(crate) fn new(decimal: &str, markers: &[String]) -> Self {
        let decimal_comma = decimal == ",";
        let mut notation = Notation { decimal_comma, markers: Vec::new(), numbers: Vec::new() };
        notation.markers = markers.iter().map(|marker| marker.trim().to_owned()).collect();
        notation.numbers =
            notation.markers.iter().filter_map(|marker| notation.number(Cell::from_text(marker)).ok()).collect();
        notation
    }

    /// Whether some number stands for a missing value.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// The finite number in a cell.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn number(&self, cell: Cell<'_>) -> Result<f64, CellError> {
        let text = match cell {
            Cell::Missing => return Err(CellError::Missing),
            Cell::Number(number) if number.is_finite() => return Ok(number),
            Cell::Number(number) => return Err(if number.is_nan() { CellError::Missing } else { CellError::Infinite }),
            Cell::Instant(_) => return Err(CellError::TimeStamp),
            Cell::Text(text) => text,
        };
        let parsed = match self.decimal_comma {
            false => text.parse::<f64>().ok(),
            true if text.contains('.') => None,
            true => text.replacen(',', ".", 1).parse().ok(),
        };
        match parsed {
            Some(number) if number.is_finite() => Ok(number),
            Some(number) if number.is_infinite() => Err(CellError::Infinite),
            _ if is_missing(text) => Err(CellError::Missing),
            _ if is_time_stamp(text) => Err(CellError::TimeStamp),
            _ => Err(self.why_not_a_number(text)),
        }
    }

    /// Why a text is not a number.
    fn why_not_a_number(&self, text: &str) -> CellError {
        if let Some(decimal) = thousands(text) {
            return CellError::Thousands(decimal);
        }
        match text.contains(',') {
            _ if is_censored(text) => CellError::Censored,
            true if text.replacen(',', ".", 1).parse::<f64>().is_ok() => CellError::DecimalComma,
            false if self.decimal_comma && text.parse::<f64>().is_ok() => CellError::DecimalPoint,
            _ => CellError::Text,
        }
    }

    /// The number in a cell, NaN if it is missing.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn value(&self, cell: Cell<'_>) -> Result<f64, CellError> {
        match cell {
            Cell::Missing => return Ok(f64::NAN),
            Cell::Number(number) if number.is_nan() => return Ok(f64::NAN),
            Cell::Text(text) if self.markers.iter().any(|marker| marker == text) => return Ok(f64::NAN),
            _ => {}
        }
        let number = self.number(cell)?;
        Ok(if self.numbers.contains(&number) { f64::NAN } else { number })
    }

    /// Whether a cell meets a condition.
    pub(crate) fn meets(&self, condition: &Condition, cell: Cell<'_>) -> bool {
        let is_one_of = |values: &[String]| {
            let text = cell.text();
            values.iter().any(|value| value.trim() == text)
                || self.number(cell).is_ok_and(|number| values.iter().any(|value| value.trim().parse() == Ok(number)))
        };
        match condition {
            Condition::Is(values) => is_one_of(values),
            Condition::Not { not } => !is_one_of(not),
        }
    }
}

/// The decimal mark, if any, of a number with separated thousands; `None` for other texts.
fn thousands(text: &str) -> Option<Option<char>> {
    let is_mark = |c: char| c == '.' || c == ',' || THOUSANDS.contains(&c);
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let marks: Vec<char> = body.chars().filter(|&c| is_mark(c)).collect();
    let (&first, &last) = (marks.first()?, marks.last()?);
    let is_single = marks.iter().all(|&mark| mark == first);
    // A single point or comma may be a decimal mark.
    if is_single && marks.len() == 1 && !THOUSANDS.contains(&first) {
        return None;
    }
    let decimal = Some(last).filter(|_| !is_single && !THOUSANDS.contains(&last));
    let whole = decimal.and_then(|decimal| body.rsplit_once(decimal)).map_or(body, |parts| parts.0);
    let groups: Vec<&str> = whole.split(first).collect();
    let is_group = |group: &&str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = (1..=3).contains(&groups[0].len()) && groups[0].bytes().all(|byte| byte.is_ascii_digit());
    let is_number = body.replace(is_mark, "").parse::<f64>().is_ok();
    (is_number && is_whole && groups.len() > 1 && groups[1..].iter().all(is_group)).then_some(decimal)
}

/// Whether a cell is a bound in place of a value, or a usual word for one.
pub(crate) fn is_censored(text: &str) -> bool {
    let letters: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    text.starts_with(BOUNDS) || BEYOND.contains(&letters.as_str())
}

/// Whether a cell is a usual spelling of a missing value.
fn is_missing(cell: &str) -> bool {
    let cell = cell.trim_start_matches(['+', '-']);
    MISSING.contains(&cell.to_lowercase().as_str())
}

/// Whether a cell looks like a date or a time of day.
pub(crate) fn is_time_stamp(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    let marks = cell.bytes().filter(|byte| matches!(byte, b':' | b'/' | b'-')).count();
    let others = cell.bytes().all(|byte| byte.is_ascii_digit() || b":/-.+ TZ".contains(&byte));
    others && digits >= 3 && marks >= 1 && cell.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notation(decimal: &str, markers: &[&str]) -> Notation {
        Notation::new(decimal, &markers.iter().map(|&marker| marker.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn cells_are_told_apart() {
        let number = |cell| notation(".", &[]).number(Cell::from_text(cell));
        for (cell, expected) in [("1", 1.0), ("-.5e-3", -0.5e-3), ("+7.", 7.0)] {
            assert_eq!(number(cell).unwrap(), expected);
        }
        for (cell, error) in [
            ("", CellError::Missing),
            ("NaN", CellError::Missing),
            ("-nan", CellError::Missing),
            ("N/A", CellError::Missing),
            ("inf", CellError::Infinite),
            ("1e999", CellError::Infinite),
            ("1,5", CellError::DecimalComma),
            ("1,234.5", CellError::Thousands(Some('.'))),
            ("4.201,90", CellError::Thousands(Some(','))),
            ("1.234.567", CellError::Thousands(None)),
            ("-1 234,5e-3", CellError::Thousands(Some(','))),
            ("1'234", CellError::Thousands(None)),
            ("1,2,3", CellError::Text),
            ("12 34", CellError::Text),
            ("<0.5", CellError::Censored),
            ("> 1,5", CellError::Censored),
            ("< LOD", CellError::Censored),
            ("BQL", CellError::Censored),
            ("n.d.", CellError::Censored),
            ("2020-01-02", CellError::TimeStamp),
            ("12:30", CellError::TimeStamp),
            ("2020-01-02T12:30:00Z", CellError::TimeStamp),
            ("5 oz", CellError::Text),
            ("1-", CellError::Text),
        ] {
            assert_eq!(number(cell), Err(error), "{cell}");
        }
        let number = |cell| notation(",", &[]).number(Cell::from_text(cell));
        assert_eq!(number("-1,5e3"), Ok(-1500.0));
        assert_eq!(number("1.5"), Err(CellError::DecimalPoint));
        assert_eq!(number("1.234,5"), Err(CellError::Thousands(Some(','))));
        assert_eq!(number("1,234.5"), Err(CellError::Thousands(Some('.'))));
    }

    #[test]
    fn markers_stand_for_missing_values() {
        let notation = notation(".", &["NA", "-999"]);
        for cell in ["", "NA", "-999", "-999.0", "-9.99e2"] {
            assert!(notation.value(Cell::from_text(cell)).unwrap().is_nan(), "{cell}");
        }
        assert!(notation.value(Cell::Number(-999.0)).unwrap().is_nan());
        assert_eq!(notation.value(Cell::Text("-99")), Ok(-99.0));
        assert_eq!(notation.value(Cell::Text("nan")), Err(CellError::Missing));
    }

    #[test]
    fn conditions_compare_text_and_numbers() {
        let condition =
            |text: &str| toml::from_str::<std::collections::BTreeMap<String, Condition>>(text).unwrap()["a"].clone();
        let notation = notation(".", &[]);
        for (toml, met, unmet) in [
            ("a = 0", "0.0", "1"),
            ("a = ['x', 2.5]", "2.50", "y"),
            ("a = { not = ['x', 2] }", "1", "2.0"),
            ("a.not = ''", "1", ""),
        ] {
            assert!(notation.meets(&condition(toml), Cell::from_text(met)), "{toml}");
            assert!(!notation.meets(&condition(toml), Cell::from_text(unmet)), "{toml}");
        }
    }
}
