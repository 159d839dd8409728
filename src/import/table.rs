//! The columns of a table that the settings name, and what a row of it says.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, Flaw, Writing};
use super::clock::{Clock, Moment};
use super::conversions::Units;
use super::counts::Conversions;
use super::events::EventColumns;
use super::files::SourceFile;
use super::marks::{Marked, find_of_resets, find_of_samples};
use super::petab::Unread;
use super::problem::{Kind, Problem, Problems, shown, suggestion};
use super::settings::{Condition, Layout, Names, Settings};
use super::source::{Row, Source};
use super::unit::Conversion;

/// Joins the cells of several id columns.
pub(super) const ID_SEPARATOR: &str = "/";

/// Positions in one file of the columns that the settings name; those that the header lacks are left out.
#[derive(Default)]
pub(super) struct TableColumns {
    pub environment: Vec<usize>,
    pub trajectory: Vec<usize>,
    pub time: Option<(usize, Conversion)>,
    /// Of each channel: its column, in a wide table, and the conversion of its values.
    pub channels: Vec<(Option<usize>, Conversion)>,
    /// Of a long table.
    pub channel: Option<usize>,
    pub value: Option<usize>,
    /// Columns that say whether a row is kept, and what they must be.
    pub conditions: Vec<(usize, Condition)>,
    /// The column that marks events: doses and the like.
    pub event: Option<usize>,
    /// Of the inputs that events make whose rows stand here.
    pub events: Vec<(usize, EventColumns)>,
    pub petab: Unread,
    /// Columns that change what measurements mean and are not read, and those of resets.
    pub of_samples: Marked,
    pub of_resets: Marked,
    /// Whether every column was found.
    pub complete: bool,
    /// Ids where no column tells.
    pub file_environment: String,
    pub file_trajectory: String,
}

impl TableColumns {
    pub fn find(
        settings: &Settings,
        file: &SourceFile,
        source: &Source,
        warnings: &mut Vec<Problem>,
        conversions: &mut Conversions,
        problems: &mut Problems,
    ) -> Self {
        let table = &settings.table;
        let mut complete = true;
        let mut find = |key: &str, name: &str, problems: &mut Problems| {
            let column = source.column(&format!("import.{key}"), name, problems);
            complete &= column.is_some();
            column
        };
        let mut find_all = |key: &str, columns: &Names, problems: &mut Problems| -> Vec<usize> {
            columns.0.iter().filter_map(|name| find(key, name, problems)).collect()
        };
        let environment = find_all("table.environment", &table.environment, problems);
        let trajectory = find_all("table.trajectory", &table.trajectory, problems);
        if table.environment.0.is_empty() && table.trajectory.0.is_empty() {
            problems.extend(source.mixed_parts());
        }
        let time = find("table.time", &table.time, problems);
        let mut conditions = Vec::new();
        for (name, condition) in &table.rows {
            conditions
                .extend(find(&format!("table.rows.{name}"), name, problems).map(|column| (column, condition.clone())));
        }
        let (channel, value) = match table.layout {
            Layout::Wide => (None, None),
            Layout::Long => {
                let mut find =
                    |key: &str, name: &Option<String>| name.as_ref().and_then(|name| find(key, name, problems));
                (find("table.channel", &table.channel), find("table.value", &table.value))
            }
        };
        let mut units = Units { source, warnings, conversions, problems };
        let mut channels = Vec::new();
        for (index, wanted) in settings.sampled() {
            let key = format!("import.channels[{index}]");
            let (column, conversion) = match table.layout {
                Layout::Wide => {
                    let column = find(&format!("channels[{index}].column"), &wanted.column, units.problems);
                    let stated = wanted.column_unit.as_deref();
                    (column, column.map(|column| units.conversion(column, &key, &wanted.unit, stated)))
                }
                Layout::Long => {
                    let columns = channel.zip(value);
                    (None, columns.map(|(names, values)| units.of_channel(names, values, &key, wanted)))
                }
            };
            channels.push((column, conversion.unwrap_or(Conversion::NONE)));
        }
        let stated = table.time_column_unit.as_deref();
        let time = time.map(|time| (time, units.conversion(time, "import.time_unit", &settings.time_unit, stated)));
        let mut events = Vec::new();
        for index in (0..settings.events.len()).filter(|&index| settings.events[index].file.is_none()) {
            let (found, is_whole) = EventColumns::find(settings, index, &mut units);
            complete &= is_whole;
            events.push((index, found));
        }
        let environments_in_file = match (&file.environment, &file.trajectory) {
            (Some(environment), _) => environment.clone(),
            (None, Some(_)) => settings.dataset.clone(),
            (None, None) => file.stem().to_owned(),
        };
        let mut read: Vec<usize> = environment.iter().chain(&trajectory).copied().collect();
        read.extend(time.map(|time| time.0).into_iter().chain(channel).chain(value));
        read.extend(channels.iter().filter_map(|channel: &(Option<usize>, _)| channel.0));
        read.extend(conditions.iter().map(|condition: &(usize, _)| condition.0));
        TableColumns {
            environment,
            trajectory,
            time,
            channels,
            channel,
            value,
            conditions,
            event: source.header.iter().position(|name| name.eq_ignore_ascii_case("EVID")),
            events,
            petab: Unread::find(settings, &source.header),
            of_samples: find_of_samples(&source.header, &read),
            of_resets: find_of_resets(&source.header),
            complete,
            file_environment: environments_in_file,
            file_trajectory: file.trajectory.clone().unwrap_or_else(|| "1".to_owned()),
        }
    }

    /// Whether no column says which rows are left out.
    pub fn keeps_every_row(&self) -> bool {
        let is_read_alone = self.petab.is_empty() && self.of_samples.is_empty() && self.of_resets.is_empty();
        is_read_alone && self.conditions.is_empty() && self.event.is_none() && self.events.is_empty()
    }
}

/// The channels of a long table, and which of them have been met.
pub(super) struct ChannelNames {
    /// Position of each channel, by what names it in the table; `None` for one to leave out.
    positions: BTreeMap<String, Option<usize>>,
    seen: Vec<bool>,
    /// Those that have been met, by their names.
    named: Vec<(String, usize)>,
    unknown: BTreeSet<String>,
    met: BTreeSet<String>,
}

impl ChannelNames {
    pub fn new(settings: &Settings) -> Self {
        let ignored = settings.table.ignored_channels.iter().map(|name| (name.trim().to_owned(), None));
        let all = settings.channels.iter().map(|channel| (channel.column.trim().to_owned(), None));
        let read = settings.sampled().enumerate().map(|(i, (_, c))| (c.column.trim().to_owned(), Some(i)));
        ChannelNames {
            seen: vec![false; settings.sampled().count()],
            named: Vec::new(),
            positions: ignored.chain(all).chain(read).collect(),
            unknown: BTreeSet::new(),
            met: BTreeSet::new(),
        }
    }

    /// The position of a channel that rows have named before.
    pub fn known(&self, name: &str) -> Option<usize> {
        self.named.iter().find(|named| named.0 == name).map(|named| named.1)
    }

    /// Reports the channels that no row names.
    pub fn all_seen(&self, settings: &Settings, file: &SourceFile, problems: &mut Problems) -> bool {
        for (_, (index, channel)) in settings.sampled().enumerate().filter(|(position, _)| !self.seen[*position]) {
            let found = format!("no row of channel {}", shown(&channel.column));
            let remedy = suggestion(&channel.column, self.met.iter().map(String::as_str));
            let problem = Problem::new(Kind::MissingColumn, found, "rows of every channel", remedy);
            problems.push(problem.file(&file.path).setting(format!("import.channels[{index}].column")));
        }
        self.seen.iter().all(|&seen| seen)
    }
}

/// One row of one file, and how it is read.
pub(super) struct RowReader<'a> {
    pub file: &'a SourceFile,
    pub header: &'a [String],
    pub row: &'a Row<'a>,
    pub columns: &'a TableColumns,
    pub writing: &'a Writing,
}

impl RowReader<'_> {
    pub fn at(&self, column: usize, problem: Problem) -> Problem {
        problem.file(&self.file.path).line(self.row.line).column(column, &self.header[column])
    }

    /// Whether the row is one to keep.
    pub fn is_selected(&self) -> bool {
        self.columns.conditions.iter().all(|(column, condition)| self.writing.meets(condition, self.row.cell(*column)))
    }

    /// Whether the row is an event, which is reported: the settings have had the chance to leave it out.
    pub fn is_event(&self, problems: &mut Problems) -> bool {
        let Some(column) = self.columns.event else { return false };
        let cell = self.row.cell(column);
        let is_event = cell != Cell::Missing && self.writing.number(cell) != Ok(0.0);
        if is_event {
            let name = &self.header[column];
            let found = format!("an event row, {name} {}: a dose or the like", cell.shown());
            let remedy = format!(
                "make an input of them with [[import.events]], or leave them out with `rows.{name} = 0` in [import.table]; what they say \
                 of an environment can also be a parameter of [import.side_table]"
            );
            problems.push(self.at(column, Problem::new(Kind::EventRow, found, "rows of observations", remedy)));
        }
        is_event
    }

    pub fn time(&self, clock: &mut Clock, problems: &mut Problems) -> Option<Moment> {
        let (column, conversion) = self.columns.time?;
        let cell = self.row.cell(column);
        let report = |flaw: Flaw| {
            let mut problem = flaw.problem(cell);
            match flaw {
                Flaw::Missing => problem.remedy = "fill it in or remove the row: a time is never missing".to_owned(),
                Flaw::Text | Flaw::Censored => problem.remedy = "correct the cell or remove the row".to_owned(),
                _ => {}
            }
            problems.push(self.at(column, problem));
        };
        clock.moment(cell, self.writing, conversion).map_err(report).ok()
    }

    /// The value of a channel, NaN where it is missing.
    fn value(&self, column: usize, conversion: Conversion, problems: &mut Problems) -> Option<f64> {
        let cell = self.row.cell(column);
        let value = self.writing.value(cell).map_err(|flaw| problems.push(self.at(column, flaw.problem(cell)))).ok()?;
        let converted = conversion.apply(value);
        if converted.is_infinite() {
            problems.push(self.at(column, Flaw::Infinite.problem(cell)));
            return None;
        }
        Some(converted)
    }

    /// The amount of an event.
    pub fn amount(&self, column: usize, conversion: Conversion, problems: &mut Problems) -> Option<f64> {
        let amount = self.value(column, conversion, problems)?;
        if amount.is_nan() {
            let mut problem = Flaw::Missing.problem(self.row.cell(column));
            problem.remedy = "fill it in, or narrow `rows` to the events that have an amount".to_owned();
            problems.push(self.at(column, problem));
        }
        Some(amount).filter(|amount| !amount.is_nan())
    }

    /// The values of all channels of a wide table into `state`; false if one is lacking.
    pub fn state(&self, state: &mut Vec<f64>, problems: &mut Problems) -> bool {
        state.clear();
        for &(column, conversion) in &self.columns.channels {
            state.extend(column.and_then(|column| self.value(column, conversion, problems)));
        }
        state.len() == self.columns.channels.len()
    }

    /// The channel of a row of a long table: `None` if it is to be left out, `Some(None)` if it is not known.
    pub fn channel(&self, names: &mut ChannelNames, problems: &mut Problems) -> Option<Option<usize>> {
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

    /// The value of a row of a long table, of the channel at `position`.
    pub fn long_value(&self, position: Option<usize>, problems: &mut Problems) -> Option<f64> {
        let conversion = position.map_or(Conversion::NONE, |position| self.columns.channels[position].1);
        self.value(self.columns.value?, conversion, problems)
    }

    /// Writes the environment's and the trajectory's id into `key`, one after the other with [`IDS_APART`] between them.
    pub fn ids(&self, key: &mut String) {
        key.clear();
        self.id(&self.columns.environment, &self.columns.file_environment, key);
        key.push(IDS_APART);
        self.id(&self.columns.trajectory, &self.columns.file_trajectory, key);
    }

    /// Whether [`RowReader::ids`] would write this key.
    pub fn has_ids(&self, key: &str) -> bool {
        let rest = self.without_id(&self.columns.environment, &self.columns.file_environment, key);
        let rest = rest.and_then(|rest| rest.strip_prefix(IDS_APART));
        rest.and_then(|rest| self.without_id(&self.columns.trajectory, &self.columns.file_trajectory, rest)) == Some("")
    }

    /// What stands in a key behind the id that [`RowReader::id`] would write.
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

    fn id(&self, columns: &[usize], otherwise: &str, key: &mut String) {
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

    /// Reports the cells that cannot be an id, or part of one; whether all can. A key with such a cell is never that of good ones: it has
    /// more separators, or an empty part.
    pub fn check_ids(&self, problems: &mut Problems) -> bool {
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

/// Stands between the two ids of a key; no id holds it.
pub(super) const IDS_APART: char = '\u{1f}';
