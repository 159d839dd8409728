//! A table of inputs over time, written as the tables of the archive are.
//!
//! Times are numbers that count as the dataset does, or numbers or time stamps from a given origin on. A cell may be empty: each input has
//! samples of its own.

use std::path::Path;

use super::input_columns::{FoundColumn, TABLE, WantedColumn, find_columns};
use crate::import::settings::Settings;
use crate::import::settings::table::Origin;
use crate::import::tables::cell::{Cell, CellError, Notation};
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::{Row, Source};
use crate::problems::{Kind, Problem, Problems, shown};
use crate::progress::Interrupt;
use crate::schema::Input;
use crate::units::Conversion;

/// The setting that problems with the origin name.
const ORIGIN: &str = "origin";
/// The column of times, if it is not named as in the archive.
const TIME: &str = "time";

/// Samples of inputs, in the units of the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputSamples {
    /// Increasing times `[N]` of the dataset.
    pub times: Vec<f64>,
    /// `[N, U]`; NaN where a cell is empty, but never a whole column.
    pub values: Vec<f64>,
    /// What the user should know though nothing is wrong.
    pub warnings: Vec<Problem>,
}

/// Which inputs a table is to hold, and how it is written.
#[derive(Clone, Copy, Debug)]
pub struct InputTable<'a> {
    /// Inputs `[U]` of the model.
    pub inputs: &'a [Input],
    /// Which of them `[U]` are sums of what is given, which never fall; empty where none is.
    pub sums: &'a [bool],
    /// The dataset's unit of time.
    pub time_unit: &'a str,
    /// How the tables of the dataset's archive are written; CSV with decimal points where there is none.
    pub archive: Option<&'a Settings>,
    /// The time, as the table writes times, at which that of the dataset is zero.
    pub origin: Option<&'a str>,
}

impl InputTable<'_> {
    /// Reads the table at `path`.
    ///
    /// # Errors
    /// Every problem in it, under the settings `inputs` (the table) and `origin`.
    pub fn read(&self, path: &Path) -> Result<InputSamples, Vec<Problem>> {
        let mut problems = Problems::default();
        match self.samples(path, &mut problems) {
            Some(samples) if problems.is_empty() => Ok(samples),
            _ => Err(problems.into_vec()),
        }
    }

    fn samples(&self, path: &Path, problems: &mut Problems) -> Option<InputSamples> {
        let table = self.archive.map(|archive| &archive.table);
        let notation = Notation::new(
            table.map_or(".", |table| &table.decimal),
            table.map_or(&[][..], |table| table.missing.as_slice()),
        );
        let mut source = self.open(path, problems)?;
        let mut samples = InputSamples::default();
        let columns = find_columns(&self.wanted_columns(), &source, &mut samples.warnings, problems)?;
        let (&time, inputs) = columns.split_first()?;
        let counted_from = if self.origin.is_some() { Origin::First } else { Origin::File };
        let mut clock = Clock::for_table(table, Some(counted_from), self.time_unit);
        let origin = self.given_origin(&clock, &notation, time.1).map_err(|problem| problems.push(*problem)).ok()?;

        let header = source.header.clone();
        let at = |row: &Row<'_>, column: usize, problem: Problem| {
            problem.file(path).line(row.line).column(column, &header[column])
        };
        let (mut values, mut is_placed) = (Vec::with_capacity(inputs.len()), true);
        let mut sums = vec![f64::NEG_INFINITY; inputs.len()];
        source.rows(&Interrupt::new(), problems, |row, problems| {
            let cell = row.cell(time.0);
            let moment = clock.moment(cell, &notation, time.1);
            let moment = moment.map_err(|flaw| problems.push(at(row, time.0, problem_with_time(flaw, cell)))).ok();
            values.clear();
            for &(column, conversion) in inputs {
                match value(&notation, row.cell(column), conversion) {
                    Ok(value) => values.push(value),
                    Err(flaw) => problems.push(at(row, column, problem_with_value(flaw, row.cell(column)))),
                }
            }
            let Some(moment) = moment.filter(|_| is_placed) else { return };
            if let Some(problem) = self.misplaced(&clock, origin.as_ref(), cell) {
                is_placed = false;
                problems.push(at(row, time.0, problem));
                return;
            }
            let now = clock.time(moment, origin.as_ref().map_or(moment, |origin| origin.moment));
            if let Some(last) = samples.times.last().filter(|last| **last >= now) {
                let found = format!("the time {now} after {last}");
                let remedy = "put the rows in the order of time, each time once";
                let problem = Problem::new(Kind::UnsortedTime, found, "times that increase", remedy);
                problems.push(at(row, time.0, problem));
            } else if values.len() == inputs.len() {
                for (u, sum) in sums.iter_mut().enumerate().filter(|(u, _)| self.sums.get(*u) == Some(&true)) {
                    if values[u] < *sum {
                        let found = format!("{} after {sum}", values[u]);
                        let remedy = "add each amount to those before it";
                        let problem = Problem::new(Kind::Dose, found, "the sum of all that was given so far", remedy);
                        problems.push(at(row, inputs[u].0, problem));
                    }
                    *sum = sum.max(values[u]);
                }
                samples.times.push(now);
                samples.values.extend(&values);
            }
        });
        if clock.lacks_unit() {
            let found = format!("time stamps, and the dataset's unit of time {}", shown(self.time_unit));
            let problem = Problem::new(Kind::TimeStamp, found, "numbers", "write times as the dataset counts them");
            problems.push(problem.file(path).setting(TABLE));
        }
        if problems.is_empty() {
            problems.extend(empty_columns(&samples, inputs).map(|column| {
                let remedy = "fill in what is known, at least a value before the forecast begins";
                let problem = Problem::new(Kind::MissingValue, "no value", "an input over the forecast", remedy);
                problem.file(path).column(column, &header[column])
            }));
        }
        Some(samples)
    }

    fn open(&self, path: &Path, problems: &mut Problems) -> Option<Source> {
        let table = self.archive.map(|archive| &archive.table);
        let delimiter = table.map_or(",", |table| &table.delimiter);
        let syntax = Syntax::parse(delimiter, table.and_then(|table| table.comment.as_deref()))?;
        if let Ok(false) = path.try_exists() {
            let remedy = "check the path, which is relative to the current directory";
            let problem = Problem::new(Kind::UnreadableFile, "no such file", "a table", remedy);
            problems.push(problem.file(path).setting(TABLE));
            return None;
        }
        let name = path.display().to_string();
        let file = SourceFile::new(name, path);
        Source::open(&file, TABLE, syntax, problems)
    }

    /// The column of times, then one for each input.
    fn wanted_columns(&self) -> Vec<WantedColumn<'_>> {
        let table = self.archive.map(|archive| &archive.table);
        let time = WantedColumn {
            name: TIME,
            unit: self.time_unit,
            archived: table.map(|table| table.time.as_str()),
            stated: table.and_then(|table| table.time_column_unit.as_deref()),
        };
        let inputs = self.inputs.iter().map(|input| {
            let name = input.quantity.name.as_str();
            let channel = self.archive.and_then(|archive| archive.driving().find(|(_, channel)| channel.name == name));
            WantedColumn {
                name,
                unit: &input.quantity.unit,
                archived: channel.map(|(_, channel)| channel.column.as_str()),
                stated: channel.and_then(|(_, channel)| channel.column_unit.as_deref()),
            }
        });
        std::iter::once(time).chain(inputs).collect()
    }

    /// Whether the dataset counts time stamps from 1970, as its archive does: then no origin is needed.
    fn counts_from_1970(&self) -> bool {
        self.archive.is_some_and(|archive| archive.table.origin == Some(Origin::File))
    }

    /// The given origin, if any.
    ///
    /// # Errors
    /// If it cannot be read, or the dataset needs none.
    fn given_origin(
        &self,
        clock: &Clock,
        notation: &Notation,
        conversion: Conversion,
    ) -> Result<Option<GivenOrigin>, Box<Problem>> {
        let Some(text) = self.origin else { return Ok(None) };
        if self.counts_from_1970() {
            let expected = "none: the dataset counts from the zero of the archive (`import.table.origin`)";
            let problem = Problem::new(Kind::Setting, shown(text), expected, "leave it out");
            return Err(Box::new(problem.setting(ORIGIN)));
        }
        let (cell, mut clock) = (Cell::from_text(text.trim()), clock.clone());
        let refused = |flaw: CellError| {
            let remedy = match flaw {
                CellError::NoZone => "add the offset, such as `Z`",
                _ => "give a time as the table writes it",
            };
            Box::new(Problem { remedy: remedy.to_owned(), ..flaw.problem(cell) }.setting(ORIGIN))
        };
        let moment = clock.moment(cell, notation, conversion).map_err(refused)?;
        Ok(Some(GivenOrigin { moment, is_stamp: clock.reads_stamps() }))
    }

    /// Why the time in `cell`, which `clock` has just read, has no place among those of the dataset.
    fn misplaced(&self, clock: &Clock, origin: Option<&GivenOrigin>, cell: Cell<'_>) -> Option<Problem> {
        let (found, expected, remedy) = match origin {
            Some(origin) if clock.reads_stamps() != origin.is_stamp => (
                format!("{} in the table and {} as origin", cell.shown(), shown(self.origin.unwrap_or_default())),
                "both numbers or both time stamps",
                "give the origin as the table writes times, or leave it out where these already count as the dataset does"
                    .to_owned(),
            ),
            None if clock.reads_stamps() && !self.counts_from_1970() => (
                format!("the time stamp {}", cell.shown()),
                "times that count as those of the dataset, from the first sample of a trajectory",
                format!(
                    "give the time stamp at which the trajectory's time is 0 as origin, or write numbers in {}",
                    shown(self.time_unit)
                ),
            ),
            _ => return None,
        };
        Some(Problem::new(Kind::TimeStamp, found, expected, remedy).setting(ORIGIN))
    }
}

/// The time at which that of the dataset is zero.
struct GivenOrigin {
    moment: Moment,
    is_stamp: bool,
}

/// The value of a cell in the dataset's unit; NaN if it is empty or a marker of a missing value.
fn value(notation: &Notation, cell: Cell<'_>, conversion: Conversion) -> Result<f64, CellError> {
    let value = conversion.apply(notation.value(cell)?);
    if value.is_infinite() { Err(CellError::Infinite) } else { Ok(value) }
}

/// The columns of inputs without any value.
fn empty_columns(samples: &InputSamples, inputs: &[FoundColumn]) -> impl Iterator<Item = usize> {
    let of_input = |u: usize| samples.values.iter().skip(u).step_by(inputs.len());
    inputs.iter().enumerate().filter(move |(u, _)| of_input(*u).all(|value| value.is_nan())).map(|(_, column)| column.0)
}

/// The problem with the time in `cell`, with a remedy in the table: the settings of the archive belong to a dataset that is already made.
fn problem_with_time(flaw: CellError, cell: Cell<'_>) -> Problem {
    match flaw {
        CellError::Missing => {
            let remedy = "fill it in or remove the row: a time is never missing".to_owned();
            Problem { remedy, ..flaw.problem(cell) }
        }
        CellError::Text | CellError::Censored => {
            Problem { remedy: "correct the cell or remove the row".to_owned(), ..flaw.problem(cell) }
        }
        _ => problem_with_value(flaw, cell),
    }
}

/// The same of the value in a cell.
fn problem_with_value(flaw: CellError, cell: Cell<'_>) -> Problem {
    let problem = flaw.problem(cell);
    let remedy = match flaw {
        CellError::Missing | CellError::Text | CellError::Censored => "leave the cell empty where there is no value",
        CellError::DecimalComma | CellError::DecimalPoint | CellError::Thousands(_) => {
            "write numbers as in the archive, without separators of thousands"
        }
        CellError::UnreadableStamp
        | CellError::UnreadableElapsed
        | CellError::NoDate
        | CellError::NoZone
        | CellError::Ambiguous => {
            "write it as in the archive, with its offset from UTC unless a time zone is declared there"
        }
        CellError::Infinite | CellError::TimeStamp | CellError::Distant | CellError::MixedTimes => return problem,
    };
    Problem { remedy: remedy.to_owned(), ..problem }
}
