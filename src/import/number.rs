//! Cells to numbers.

use super::problem::{Kind, Problem, shown};

/// Spellings of a missing value, in lower case.
const MISSING: [&str; 12] = ["", "nan", "na", "n/a", "#n/a", "null", "none", "nil", ".", "-", "?", "??"];

/// Why a cell is no number that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    Missing,
    Infinite,
    TimeStamp,
    DecimalComma,
    Text,
}

/// Reads a finite number with a decimal point.
pub(super) fn number(cell: &str) -> Result<f64, Flaw> {
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(number) if number.is_infinite() => Err(Flaw::Infinite),
        _ if is_missing(cell) => Err(Flaw::Missing),
        _ if is_time_stamp(cell) => Err(Flaw::TimeStamp),
        _ if cell.matches(',').count() == 1 && cell.replace(',', ".").parse::<f64>().is_ok() => Err(Flaw::DecimalComma),
        _ => Err(Flaw::Text),
    }
}

impl Flaw {
    /// The problem with `cell`, without its place.
    pub(super) fn problem(self, cell: &str) -> Problem {
        let (kind, remedy) = match self {
            Flaw::Missing => {
                (Kind::MissingValue, "if it stands for a missing value, add its spelling to `import.table.missing`")
            }
            Flaw::Infinite => (Kind::NotFinite, "correct the cell or remove the row"),
            Flaw::TimeStamp => {
                (Kind::UnsupportedNumber, "time stamps are not supported yet: write the time as a number")
            }
            Flaw::DecimalComma => {
                (Kind::UnsupportedNumber, "decimal commas are not supported yet: write a decimal point")
            }
            Flaw::Text => (Kind::NotANumber, "correct the cell or remove the row"),
        };
        let found = if cell.is_empty() { "an empty cell".to_owned() } else { shown(cell) };
        Problem::new(kind, found, "a finite number", remedy)
    }
}

/// The declared spellings of a missing value.
#[derive(Clone, Debug, Default)]
pub(super) struct Markers {
    texts: Vec<String>,
    /// Those that are numbers, which a cell may write otherwise.
    numbers: Vec<f64>,
}

impl Markers {
    pub fn new(spellings: &[String]) -> Self {
        let texts: Vec<String> = spellings.iter().map(|spelling| spelling.trim().to_owned()).collect();
        let numbers = texts.iter().filter_map(|text| text.parse().ok()).filter(|number: &f64| number.is_finite());
        Markers { numbers: numbers.collect(), texts }
    }

    /// The cell's number, or NaN if it is empty or one of the markers.
    pub fn value(&self, cell: &str) -> Result<f64, Flaw> {
        if cell.is_empty() || self.texts.iter().any(|text| text == cell) {
            return Ok(f64::NAN);
        }
        let number = number(cell)?;
        Ok(if self.numbers.contains(&number) { f64::NAN } else { number })
    }
}

/// Whether a cell is a usual spelling of a missing value.
fn is_missing(cell: &str) -> bool {
    let cell = cell.trim_start_matches(['+', '-']);
    MISSING.contains(&cell.to_lowercase().as_str())
}

fn is_time_stamp(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    let marks = cell.bytes().filter(|byte| matches!(byte, b':' | b'/' | b'-')).count();
    let others = cell.bytes().all(|byte| byte.is_ascii_digit() || b":/-.+ TZ".contains(&byte));
    others && digits >= 3 && marks >= 1 && cell.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_apart() {
        for (cell, expected) in [("1", 1.0), ("-.5e-3", -0.5e-3), ("+7.", 7.0)] {
            assert_eq!(number(cell).unwrap(), expected);
        }
        for (cell, flaw) in [
            ("", Flaw::Missing),
            ("NaN", Flaw::Missing),
            ("-nan", Flaw::Missing),
            ("N/A", Flaw::Missing),
            ("inf", Flaw::Infinite),
            ("1e999", Flaw::Infinite),
            ("1,5", Flaw::DecimalComma),
            ("2020-01-02", Flaw::TimeStamp),
            ("12:30", Flaw::TimeStamp),
            ("2020-01-02T12:30:00Z", Flaw::TimeStamp),
            ("5 oz", Flaw::Text),
            ("1-", Flaw::Text),
        ] {
            assert_eq!(number(cell), Err(flaw), "{cell}");
        }
    }
}
