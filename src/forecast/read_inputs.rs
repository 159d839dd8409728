//! Known signals of a time to come, from one table that is written as those of the archive are.
//!
//! A column is found by the name of its input, or by the one that it has in the archive; a unit in its header is converted into the
//! dataset's. Times are numbers that count as the dataset does, or anything from a given origin on. A cell may be empty: each signal has
//! samples of its own.

use std::path::Path;

use crate::import::rows::columns::TableColumns;
use crate::import::rows::header_units::ConvertedColumns;
use crate::import::rows::header_units::HeaderUnits;
use crate::import::rows::row::RowReader;
use crate::import::settings::Settings;
use crate::import::settings::table::Origin;
use crate::import::tables::cell::{Cell, CellError, Notation};
use crate::import::tables::clock::Clock;
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::shown;
use crate::problems::{Kind, Problem, Problems};
use crate::progress::Interrupt;
use crate::schema::Input;
use crate::units::is_same_unit;
use crate::units::{Conversion, Unit, split_header};

/// What problems call the table, and its origin.
const TABLE: &str = "--inputs";
const ORIGIN: &str = "--origin";
/// The column of times, if it is not named as in the archive.
const TIME: &str = "time";

/// Samples of signals, in the units of their inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// Increasing times `[N]` of the dataset.
    pub times: Vec<f64>,
    /// `[N, U]`; NaN where a cell is empty, but not in all of a column.
    pub values: Vec<f64>,
    /// What the user should know though nothing is wrong.
    pub warnings: Vec<Problem>,
}

/// Which signals a table is to hold, and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub inputs: &'a [Input],
    /// The dataset's unit of time.
    pub time_unit: &'a str,
    /// How the tables of the dataset's archive are written; CSV with decimal points where there is none.
    pub archive: Option<&'a Settings>,
    /// The time, as the table writes it, at which that of the dataset is zero.
    pub origin: Option<&'a str>,
}

/// What a column is called and measured in.
struct Wanted<'a> {
    name: &'a str,
    unit: &'a str,
    /// The same in the archive, as far as its settings say it.
    archived: Option<&'a str>,
    stated: Option<&'a str>,
}

impl Known<'_> {
    /// Reads the table at `path`.
    ///
    /// # Errors
    /// Every problem in it.
    pub fn read(&self, path: &Path) -> Result<Signals, Vec<Problem>> {
        let mut problems = Problems::default();
        match self.signals(path, &mut problems) {
            Some(signals) if problems.is_empty() => Ok(signals),
            _ => Err(problems.into_vec().into_iter().map(of_one_file).collect()),
        }
    }

    fn signals(&self, path: &Path, problems: &mut Problems) -> Option<Signals> {
        let table = self.archive.map(|archive| &archive.table);
        let delimiter = table.map_or(",", |table| &table.delimiter);
        let syntax = Syntax::parse(delimiter, table.and_then(|table| table.comment.as_deref()))?;
        let markers: &[String] = table.map_or(&[], |table| &table.missing);
        let notation = Notation::new(table.map_or(".", |table| &table.decimal), markers);
        let name = path.display().to_string();
        let file = SourceFile { name, path: path.to_owned(), environment: None, trajectory: None };
        let mut source = Source::open(&file, TABLE, syntax, problems)?;
        let mut signals = Signals::default();
        let (mut conversions, warnings) = (ConvertedColumns::new(), &mut signals.warnings);
        let mut units = HeaderUnits { source: &source, warnings, conversions: &mut conversions, problems };
        let columns: Vec<_> = self.wanted().iter().map(|wanted| wanted.find(&mut units)).collect();
        let mut columns = columns.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let time = columns.next()?;
        let channels = columns.map(|(column, conversion)| (Some(column), conversion)).collect();
        let columns = TableColumns { time: Some(time), channels, ..TableColumns::default() };

        let counts_from_file = table.is_some_and(|table| table.origin == Some(Origin::File));
        let counted = if self.origin.is_some() { Origin::First } else { Origin::File };
        let mut clock = Clock::for_table(table, Some(counted), self.time_unit);
        let mut clock_of_origin = clock.clone();
        let origin = match self.origin {
            Some(text) if counts_from_file => {
                let expected = "none: the dataset counts from the zero of the archive (`import.table.origin`)";
                problems.push(Problem::new(Kind::Setting, shown(text), expected, "leave it out").setting(ORIGIN));
                return None;
            }
            Some(text) => {
                let cell = Cell::from_text(text.trim());
                let moment = clock_of_origin.moment(cell, &notation, time.1);
                let report = |flaw: CellError| {
                    let remedy = match flaw {
                        CellError::NoZone => "add the offset, such as `Z`",
                        _ => "give a time as the table writes it",
                    };
                    problems.push(Problem { remedy: remedy.to_owned(), ..flaw.problem(cell) }.setting(ORIGIN));
                };
                Some(moment.map_err(report).ok()?)
            }
            None => None,
        };
        let header = source.header.clone();
        let (mut state, mut is_placed) = (Vec::new(), true);
        source.rows(&Interrupt::new(), problems, |row, problems| {
            let reader = RowReader { file: &file, header: &header, row, columns: &columns, notation: &notation };
            let moment = reader.time(&mut clock, problems);
            let is_usable = reader.state(&mut state, problems);
            let Some(moment) = moment.filter(|_| is_placed) else { return };
            if origin.is_some() && clock.reads_stamps() != clock_of_origin.reads_stamps() {
                is_placed = false;
                let given = self.origin.unwrap_or_default();
                let found = format!("{} in the table and {} as {ORIGIN}", row.cell(time.0).shown(), shown(given));
                let remedy =
                    format!("give {ORIGIN} as the table writes times, or leave it out where these count already");
                let expected = "both numbers or both time stamps";
                problems.push(reader.at(time.0, Problem::new(Kind::TimeStamp, found, expected, remedy)));
                return;
            }
            if clock.reads_stamps() && origin.is_none() && !counts_from_file {
                is_placed = false;
                let found = format!("the time stamp {}", row.cell(time.0).shown());
                let expected = "times that count as those of the dataset, from the first sample of a trajectory";
                let remedy = format!(
                    "say by {ORIGIN} at which time stamp the trajectory's time is 0, or write numbers in {}",
                    shown(self.time_unit)
                );
                problems.push(reader.at(time.0, Problem::new(Kind::TimeStamp, found, expected, remedy)));
                return;
            }
            let now = clock.time(moment, origin.unwrap_or(moment));
            if let Some(last) = signals.times.last().filter(|last| **last >= now) {
                let found = format!("the time {now} after {last}");
                let remedy = "put the rows in the order of time, each time once";
                let problem = Problem::new(Kind::UnsortedTime, found, "times that increase", remedy);
                problems.push(reader.at(time.0, problem));
            } else if is_usable {
                signals.times.push(now);
                signals.values.extend(&state);
            }
        });
        if clock.lacks_unit() {
            let found = format!("time stamps, and the dataset's unit of time {}", shown(self.time_unit));
            let problem = Problem::new(Kind::TimeStamp, found, "numbers", "write times as the dataset counts them");
            problems.push(problem.file(path).setting(TABLE));
        }
        for (u, (column, _)) in columns.channels.iter().enumerate() {
            let mut values = signals.values.iter().skip(u).step_by(self.inputs.len());
            if let Some(column) = column.filter(|_| problems.is_empty() && values.all(|value| value.is_nan())) {
                let remedy = "fill in what is known, a value before the forecast begins at least";
                let problem = Problem::new(Kind::MissingValue, "no value", "a signal over the forecast", remedy);
                problems.push(problem.file(path).column(column, &header[column]));
            }
        }
        Some(signals)
    }

    /// The column of times, then one an input.
    fn wanted(&self) -> Vec<Wanted<'_>> {
        let table = self.archive.map(|archive| &archive.table);
        let time = Wanted {
            name: TIME,
            unit: self.time_unit,
            archived: table.map(|table| table.time.as_str()),
            stated: table.and_then(|table| table.time_column_unit.as_deref()),
        };
        let inputs = self.inputs.iter().map(|input| {
            let name = input.quantity.name.as_str();
            let channel = self.archive.and_then(|archive| archive.driving().find(|(_, channel)| channel.name == name));
            Wanted {
                name,
                unit: &input.quantity.unit,
                archived: channel.map(|(_, channel)| channel.column.as_str()),
                stated: channel.and_then(|(_, channel)| channel.column_unit.as_deref()),
            }
        });
        std::iter::once(time).chain(inputs).collect()
    }
}

impl Wanted<'_> {
    /// The column, and how its values become those of the dataset; none with a problem that says why.
    fn find(&self, units: &mut HeaderUnits<'_>) -> Option<(usize, Conversion)> {
        let Wanted { name, unit, .. } = *self;
        let archived = self.archived.map(str::trim).filter(|archived| *archived != name);
        let mut missing = Problems::default();
        let by_name = units.source.column(TABLE, name, &mut missing);
        let by_archive = archived.and_then(|archived| {
            let bare = split_header(archived).0;
            let written_so = units.source.column(TABLE, archived, &mut missing);
            written_so.or_else(|| units.source.column(TABLE, bare, &mut missing).filter(|_| bare != archived))
        });
        let header = &units.source.header;
        let alike: Vec<String> =
            header.iter().filter(|column| split_header(column).0 == name).map(|column| shown(column)).collect();
        if alike.len() > 1 {
            let found = format!("the columns {}, each of which may be {}", alike.join(" and "), shown(name));
            let problem = Problem::new(Kind::DuplicateColumn, found, "one of them", "remove or rename the others");
            units.problems.push(problem.file(&units.source.path).setting(TABLE));
            return None;
        }
        let column = match (by_name, by_archive) {
            (Some(named), Some(other)) if named != other => {
                let [named, other] = [named, other].map(|column| shown(&units.source.header[column]));
                let found = format!("the columns {named} and {other}, either of which may be {}", shown(name));
                let problem = Problem::new(Kind::DuplicateColumn, found, "one of them", "remove or rename the other");
                units.problems.push(problem.file(&units.source.path).setting(TABLE));
                return None;
            }
            (Some(column), _) | (None, Some(column)) => column,
            (None, None) => {
                let problem = missing.into_vec().into_iter().next()?;
                let also = archived.map_or_else(String::new, |it| format!(", or {} as in the archive", shown(it)));
                let expected = format!("{}{also}: one column of times and one an input", problem.expected);
                units.problems.push(Problem { expected, ..problem });
                return None;
            }
        };
        let header = units.source.unit(column).map(str::to_owned);
        let is_shared = self.archived.is_some_and(|archived| split_header(archived).0 == name);
        let stated = match (header, self.stated) {
            (Some(header), stated) => stated.filter(|_| Unit::parse(&header).is_none()),
            (None, stated) if by_archive.is_some() => stated,
            (None, Some(stated)) if is_shared && is_same_unit(stated, unit) != Some(true) => {
                let [archived, wanted] = [stated, unit].map(shown);
                let found = format!("no unit in the header, where the archive has {archived} and the dataset {wanted}");
                let remedy = format!("write it: `{name} [{stated}]` or `{name} [{unit}]`");
                let problem = Problem::new(Kind::MissingColumn, found, "the unit of the values", remedy);
                units.problems.push(units.source.at_header(column, problem));
                return None;
            }
            (None, _) => None,
        };
        Some((column, units.conversion(column, TABLE, unit, stated)))
    }
}

/// The problem with a remedy in the table itself: settings of the archive are those of a dataset that has been made.
fn of_one_file(mut problem: Problem) -> Problem {
    let is_of_settings = ["import.", "setting", "decimal ="].iter().any(|part| problem.remedy.contains(part));
    let remedy = match problem.kind {
        Kind::Unit => "convert the values, and say in the header what they are in",
        _ if !is_of_settings => return problem,
        Kind::UnreadableFile => "check the path, which is relative to the current directory",
        Kind::MissingColumn => "separate the cells as in the archive",
        Kind::MissingValue | Kind::NotANumber => "leave the cell empty where there is no value",
        Kind::UnsupportedNumber => "write numbers as in the archive, without separators of thousands",
        Kind::TimeStamp => "write it as in the archive, with its offset from UTC unless a time zone is declared there",
        _ => "correct the table",
    };
    problem.remedy = remedy.to_owned();
    problem
}
