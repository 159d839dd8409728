//! Writes results to stdout and messages to stderr. A closed pipe (EPIPE) is ignored.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::log;
use super::log::Entry;
use crate::pipeline::Error;
use crate::printable::{printable, printable_lines, printable_strings};
use crate::problems::Problem;

/// Prints text to stdout, with control characters escaped. If that fails, reports it and ends the process with exit code 1; a closed pipe is
/// no failure.
pub(crate) fn print(text: &str) {
    write(&printable_lines(text));
}

/// The same for TOML or JSON: control characters are escaped inside their strings, so the text stays valid.
pub(crate) fn print_file(text: &str) {
    write(&printable_strings(text));
}

fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!(
                "error: the result cannot be written to stdout ({error}); the files of the run are complete"
            ));
            std::process::exit(1);
        }
        _ => {}
    }
}

/// Prints one JSON value and a newline to stdout.
pub(crate) fn print_json(value: &Value) {
    print_file(&format!("{value:#}\n"));
}

/// Prints one or more lines to stderr, with control characters escaped, and keeps them in the log file.
pub(crate) fn complain(line: &str) {
    say(&Entry::of_words(line));
}

/// The same of warnings, a line each.
pub(crate) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
}

/// Prints a line to stderr and keeps it in the log file.
pub(crate) fn say(entry: &Entry<'_>) {
    keep(entry);
    print_entry(entry);
}

/// Prints a line to stderr as the log's format has it.
pub(crate) fn print_entry(entry: &Entry<'_>) {
    let _ = writeln!(io::stderr().lock(), "{}", log::shown(entry));
}

/// Keeps a line in the log file, without printing it.
pub(crate) fn keep(entry: &Entry<'_>) {
    if let Err(warning) = log::keep(entry) {
        print_entry(&Entry::of_words(&warning));
    }
}

/// Problems of settings that are options, under the names of these: `inputs` becomes `--inputs`.
pub(crate) fn of_options(mut problems: Vec<Problem>) -> Vec<Problem> {
    for problem in problems.iter_mut().filter(|problem| !problem.key.is_empty()) {
        problem.key.insert_str(0, "--");
    }
    problems
}

/// An error as the JSON object that is printed in place of the result.
pub(crate) fn error_as_json(error: &Error) -> Value {
    json!({
        "error": {
            "kind": error.kind(),
            "message": error.to_string(),
            "exit_code": error.exit_code(),
            "problems": error.problems(),
        }
    })
}

/// Columns become no wider than this for the sake of one cell, which sets its own row out of line.
const WIDEST: usize = 60;

/// Rows as columns of equal width, two spaces apart; the first row is the header.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let printable = |row: &Vec<String>| row.iter().map(|cell| printable(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(printable).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let widths = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A number with four significant digits; an exponent below 1e-3 and from 1e5 on.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        value.to_string()
    } else if (1e-3..1e5).contains(&magnitude) {
        let decimals = (3 - magnitude.log10().floor() as i32).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_id_widens_no_other_row() {
        let long = "n".repeat(3000);
        let rows = [["environment", "status"], ["a", "ok"], [&long, "ok"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), format!("environment  status\na            ok\n{long}  ok\n"));
    }
}
