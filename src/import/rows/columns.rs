//! The columns of a table that the settings name, and what a row of it says.

use std::collections::{BTreeMap, BTreeSet};

use super::header_units::{Conversions, Units};
use super::marks::{Marked, find_of_events, find_of_resets, find_of_samples};
use super::petab::Unread;
use crate::import::settings::Settings;
use crate::import::settings::forms::{Condition, Names};
use crate::import::settings::table::Layout;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, shown, suggestion};
use crate::units::Conversion;

/// Joins the cells of several id columns.
pub(crate) const ID_SEPARATOR: &str = "/";

/// Positions in one file of the columns that the settings name; those that the header lacks are left out.
#[derive(Default)]
pub(crate) struct TableColumns {
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
pub(crate) struct ChannelNames {
    /// Position of each channel, by what names it in the table; `None` for one to leave out.
    pub(crate) positions: BTreeMap<String, Option<usize>>,
    pub(crate) seen: Vec<bool>,
    /// Those that have been met, by their names.
    pub(crate) named: Vec<(String, usize)>,
    pub(crate) unknown: BTreeSet<String>,
    pub(crate) met: BTreeSet<String>,
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

/// Columns of one kind of events in a file.
pub(crate) struct EventColumns {
    pub amount: Option<(usize, Conversion)>,
    pub conditions: Vec<(usize, Condition)>,
    /// Columns that change what these events mean and are not read.
    pub marks: Marked,
}

impl EventColumns {
    /// Finds them in a file; false if one is lacking.
    pub fn find(settings: &Settings, index: usize, units: &mut Units<'_>) -> (Self, bool) {
        let event = &settings.events[index];
        let key = format!("import.events[{index}]");
        let column =
            |key: String, name: &String, units: &mut Units<'_>| units.source.column(&key, name, units.problems);
        let amount = event.column.as_ref().and_then(|name| column(format!("{key}.column"), name, units));
        let mut complete = amount.is_some() == event.column.is_some();
        let mut conditions = Vec::new();
        for (name, condition) in &event.rows {
            let found = column(format!("{key}.rows.{name}"), name, units);
            complete &= found.is_some();
            conditions.extend(found.map(|column| (column, condition.clone())));
        }
        let wanted = event.amount_unit(&settings.time_unit);
        let stated = event.column_unit.as_deref();
        let amount = amount.map(|amount| (amount, units.conversion(amount, &key, &wanted, stated)));
        let read: Vec<usize> =
            amount.iter().map(|it| it.0).chain(conditions.iter().map(|condition: &(usize, _)| condition.0)).collect();
        let marks = find_of_events(&units.source.header, &read);
        (EventColumns { amount, conditions, marks }, complete)
    }
}
