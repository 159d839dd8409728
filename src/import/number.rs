//! Cells to numbers.

use super::problem::{Kind, Problem, shown};

/// Spellings of a missing value, in lower case.
const MISSING: [&str; 12] = ["", "nan", "na", "n/a", "#n/a", "null", "none", "nil", ".", "-", "?", "??"];

/// Reads a finite number with a decimal point.
///
/// # Errors
/// A problem without a place: a missing value, an infinity, a time stamp, a decimal comma, or other text.
pub(super) fn number(cell: &str) -> Result<f64, Problem> {
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() => return Ok(number),
        Ok(number) if number.is_infinite() => {
            let remedy = "correct the cell or remove the row";
            return Err(Problem::new(Kind::NotFinite, shown(cell), "a finite number", remedy));
        }
        _ => {}
    }
    let (kind, found, remedy) = if is_missing(cell) {
        let found = if cell.is_empty() { "an empty cell".to_owned() } else { shown(cell) };
        (Kind::MissingValue, found, "missing values are not supported yet: remove the row, or leave out the column")
    } else if is_time_stamp(cell) {
        (Kind::UnsupportedNumber, shown(cell), "time stamps are not supported yet: write the time as a number")
    } else if cell.matches(',').count() == 1 && cell.replace(',', ".").parse::<f64>().is_ok() {
        (Kind::UnsupportedNumber, shown(cell), "decimal commas are not supported yet: write a decimal point")
    } else {
        (Kind::NotANumber, shown(cell), "correct the cell or remove the row")
    };
    Err(Problem::new(kind, found, "a number", remedy))
}

/// Whether a cell stands for a missing value.
pub(super) fn is_missing(cell: &str) -> bool {
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
        for (cell, kind) in [
            ("", Kind::MissingValue),
            ("NaN", Kind::MissingValue),
            ("-nan", Kind::MissingValue),
            ("N/A", Kind::MissingValue),
            ("inf", Kind::NotFinite),
            ("1e999", Kind::NotFinite),
            ("1,5", Kind::UnsupportedNumber),
            ("2020-01-02", Kind::UnsupportedNumber),
            ("12:30", Kind::UnsupportedNumber),
            ("2020-01-02T12:30:00Z", Kind::UnsupportedNumber),
            ("5 oz", Kind::NotANumber),
            ("1-", Kind::NotANumber),
        ] {
            assert_eq!(number(cell).unwrap_err().kind, kind, "{cell}");
        }
    }
}
