//! Reads one row of a table: its ids, its time and its values.

use std::collections::BTreeSet;

use super::columns::{ChannelNames, ID_SEPARATOR, TableColumns};
use super::petab::PREEQUILIBRATION;
use crate::import::tables::cell::{Cell, CellError, Notation};
use crate::import::tables::clock::{Clock, Moment};
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Row;
use crate::problems::{Kind, Problem, Problems, shown, suggestion};
use crate::units::Conversion;

/// Separates the environment id from the trajectory id in a record's key; no id contains it.
pub(crate) const KEY_SEPARATOR: char = '\u{1f}';

/// Most doses after that of a row.
const MOST_REPEATS: f64 = 100_000.0;

/// A row of a file, and how it is read.
pub(crate) struct RowReader<'a> {
    pub file: &'a SourceFile,
    pub header: &'a [String],
    pub row: &'a Row<'a>,
    pub columns: &'a TableColumns,
    pub notation: &'a Notation,
}

impl RowReader<'_> {
    /// Places a problem at a cell of the row.
    pub(crate) fn at(&self, column: usize, problem: Problem) -> Problem {
        problem.file(&self.file.path).line(self.row.line).column(column, &self.header[column])
    }

    /// Whether the row meets all conditions of the table.
    pub(crate) fn is_selected(&self) -> bool {
        self.columns.conditions.iter().all(|(column, condition)| self.notation.meets(condition, self.row.cell(*column)))
    }

    /// Whether the row is an event, which is reported: the conditions of the settings could have left it out.
    pub(crate) fn is_event(&self, problems: &mut Problems) -> bool {
        let Some(column) = self.columns.event else { return false };
        let cell = self.row.cell(column);
        let is_event = cell != Cell::Missing && self.notation.number(cell) != Ok(0.0);
        if is_event {
            let name = &self.header[column];
            let found = format!("an event row, {name} {}: a dose or the like", cell.shown());
            let remedy = format!(
                "read them as an input with [[import.events]], or leave them out with `rows.{name} = 0` in [import.table]; what is \
                 constant in an environment can also be a parameter from [import.side_table]"
            );
            problems.push(self.at(column, Problem::new(Kind::EventRow, found, "rows of observations", remedy)));
        }
        is_event
    }

    /// Whether the row depends on a PEtab column that is not read, which is reported. Adds the columns of parameters that the row fills in to
    /// `filled`.
    pub(crate) fn is_refused_by_petab(&self, filled: &mut BTreeSet<String>, problems: &mut Problems) -> bool {
        let unread = &self.columns.petab;
        for &column in unread.overrides.iter().filter(|&&column| self.row.cell(column) != Cell::Missing) {
            if !filled.contains(&self.header[column]) {
                filled.insert(self.header[column].clone());
            }
        }
        let Some(column) = unread.preequilibration else { return false };
        let cell = self.row.cell(column);
        if cell == Cell::Missing {
            return false;
        }
        let found = format!("the pre-equilibration condition {}", shown(&cell.text()));
        let remedy = format!(
            "a steady state before the first measurement is not simulated: leave these rows out with `rows.{PREEQUILIBRATION} = \"\"` in \
             [import.table], or list the conditions to keep there: their trajectories then start at their first measurements"
        );
        problems.push(self.at(column, Problem::new(Kind::Petab, found, "none", remedy)));
        true
    }

    /// The time; `None` if it cannot be read, which is reported.
    pub(crate) fn time(&self, clock: &mut Clock, problems: &mut Problems) -> Option<Moment> {
        let (column, conversion) = self.columns.time?;
        let cell = self.row.cell(column);
        let report = |error: CellError| {
            let mut problem = error.problem(cell);
            match error {
                CellError::Missing => {
                    problem.remedy = "fill it in or remove the row: a time is never missing".to_owned()
                }
                CellError::Text | CellError::Censored => {
                    problem.remedy = "correct the cell or remove the row".to_owned()
                }
                _ => {}
            }
            problems.push(self.at(column, problem));
        };
        clock.moment(cell, self.notation, conversion).map_err(report).ok()
    }

    /// The converted value of a cell, NaN where it is missing; `None` if it cannot be read, which is reported.
    fn value(&self, column: usize, conversion: Conversion, problems: &mut Problems) -> Option<f64> {
        let cell = self.row.cell(column);
        let value =
            self.notation.value(cell).map_err(|error| problems.push(self.at(column, error.problem(cell)))).ok()?;
        let converted = conversion.apply(value);
        if converted.is_infinite() {
            problems.push(self.at(column, CellError::Infinite.problem(cell)));
            return None;
        }
        Some(converted)
    }

    /// The amount of an event; `None` if it is missing or cannot be read, which is reported.
    pub(crate) fn amount(&self, column: usize, conversion: Conversion, problems: &mut Problems) -> Option<f64> {
        let amount = self.value(column, conversion, problems)?;
        if amount.is_nan() {
            let mut problem = CellError::Missing.problem(self.row.cell(column));
            problem.remedy = "fill it in, or narrow `rows` to the events that have an amount".to_owned();
            problems.push(self.at(column, problem));
        }
        Some(amount).filter(|amount| !amount.is_nan())
    }

    /// The number of doses after that of the row and the time between them; `None` if they cannot be read, which is reported.
    pub(crate) fn repeats(
        &self,
        (additional, interval): (usize, usize),
        problems: &mut Problems,
    ) -> Option<(usize, f64)> {
        let count = self.value(additional, Conversion::NONE, problems)?;
        if count.is_nan() || count == 0.0 {
            return Some((0, 0.0));
        }
        let problem = |column: usize, expected: &str, remedy: &str| {
            self.at(column, Problem::new(Kind::Dose, self.row.cell(column).shown(), expected, remedy))
        };
        if count.fract() != 0.0 || !(0.0..=MOST_REPEATS).contains(&count) {
            let remedy = "correct the number of additional doses, or write a row for each";
            problems.push(problem(additional, "a whole number from 0 to 100000", remedy));
            return None;
        }
        // Converted as the times of its file are: no interval has a column of its own unit.
        let conversion = self.columns.time.map_or(Conversion::NONE, |(_, conversion)| conversion);
        let time = self.value(interval, conversion, problems)?;
        if time.is_nan() || time <= 0.0 {
            let remedy = "fill in the interval, or remove the additional doses";
            problems.push(problem(interval, "a time above 0 between additional doses", remedy));
            return None;
        }
        Some((count as usize, time))
    }

    /// Reports an amount below 0 of what is given at once; whether it is none.
    pub(crate) fn is_amount(&self, column: usize, amount: f64, problems: &mut Problems) -> bool {
        if amount < 0.0 {
            let found = self.row.cell(column).shown();
            let remedy = "correct it, or narrow `rows` to what is given; what is taken away at once cannot be said";
            problems.push(self.at(column, Problem::new(Kind::Dose, found, "an amount of at least 0", remedy)));
        }
        amount >= 0.0
    }

    /// Reads the channels of a row of a wide table into `state` `[C]`; false if one cannot be read.
    pub(crate) fn state(&self, state: &mut Vec<f64>, problems: &mut Problems) -> bool {
        state.clear();
        for &(column, conversion) in &self.columns.channels {
            state.extend(column.and_then(|column| self.value(column, conversion, problems)));
        }
        state.len() == self.columns.channels.len()
    }

    /// The channel of a row of a long table: `None` if the row is to be left out, `Some(None)` if the channel is unknown, which is reported.
    pub(crate) fn channel(&self, names: &mut ChannelNames, problems: &mut Problems) -> Option<Option<usize>> {
        let Some(column) = self.columns.channel else { return Some(None) };
        let cell = self.row.cell(column);
        let name = cell.text();
        match names.positions.get(name.as_ref()) {
            Some(None) => None,
            Some(&Some(position)) => {
                if !names.seen[position] {
                    names.seen[position] = true;
                    names.named.push((name.to_string(), position));
                    names.met.insert(name.into_owned());
                }
                Some(Some(position))
            }
            None => {
                if names.unknown.insert(name.to_string()) {
                    let known = names.positions.keys().map(String::as_str);
                    let remedy = format!(
                        "{} otherwise add it to `[[import.channels]]` or `import.table.ignored_channels`",
                        suggestion(&name, known)
                    );
                    let problem = Problem::new(Kind::UnknownChannel, cell.shown(), "the name of a channel", remedy);
                    problems.push(self.at(column, problem));
                }
                names.met.insert(name.into_owned());
                Some(None)
            }
        }
    }

    /// The value of a row of a long table; `position` is that of its channel.
    pub(crate) fn long_value(&self, position: Option<usize>, problems: &mut Problems) -> Option<f64> {
        let conversion = position.map_or(Conversion::NONE, |position| self.columns.channels[position].1);
        self.value(self.columns.value?, conversion, problems)
    }

    /// Writes the key of the row's record: environment id, [`KEY_SEPARATOR`], trajectory id.
    pub(crate) fn write_key(&self, key: &mut String) {
        key.clear();
        self.write_id(&self.columns.environment, &self.columns.file_environment, key);
        key.push(KEY_SEPARATOR);
        self.write_id(&self.columns.trajectory, &self.columns.file_trajectory, key);
    }

    /// Whether [`RowReader::write_key`] would write this key.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        let rest = self.without_id(&self.columns.environment, &self.columns.file_environment, key);
        let rest = rest.and_then(|rest| rest.strip_prefix(KEY_SEPARATOR));
        rest.and_then(|rest| self.without_id(&self.columns.trajectory, &self.columns.file_trajectory, rest)) == Some("")
    }

    /// The rest of a key after the id that [`RowReader::write_id`] would write.
    fn without_id<'k>(&self, columns: &[usize], otherwise: &str, mut key: &'k str) -> Option<&'k str> {
        if columns.is_empty() {
            return key.strip_prefix(otherwise);
        }
        for (i, &column) in columns.iter().enumerate() {
            if i > 0 {
                key = key.strip_prefix(ID_SEPARATOR)?;
            }
            key = key.strip_prefix(self.row.cell(column).text().as_ref())?;
        }
        Some(key)
    }

    /// Appends the joined cells of id columns, or `otherwise` where there are none.
    fn write_id(&self, columns: &[usize], otherwise: &str, key: &mut String) {
        if columns.is_empty() {
            key.push_str(otherwise);
        }
        for (i, &column) in columns.iter().enumerate() {
            if i > 0 {
                key.push_str(ID_SEPARATOR);
            }
            key.push_str(&self.row.cell(column).text());
        }
    }

    /// Reports cells that cannot be an id or part of one; whether there are none. The key of such a row never equals that of a valid one: it
    /// has more separators, or an empty part.
    pub(crate) fn check_ids(&self, problems: &mut Problems) -> bool {
        let mut usable = true;
        for columns in [&self.columns.environment, &self.columns.trajectory] {
            for &column in columns {
                let cell = self.row.cell(column);
                let text = cell.text();
                let (expected, remedy) = if text.is_empty() || text.contains(char::is_control) {
                    ("an id in printable characters".to_owned(), "fill it in or remove the row")
                } else if columns.len() > 1 && text.contains(ID_SEPARATOR) {
                    (format!("an id without `{ID_SEPARATOR}`, which joins the id columns"), "write another character")
                } else {
                    continue;
                };
                problems.push(self.at(column, Problem::new(Kind::InvalidId, cell.shown(), expected, remedy)));
                usable = false;
            }
        }
        usable
    }
}
