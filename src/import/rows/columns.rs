//! Finds in a file's header the columns that the settings name.

use std::collections::{BTreeMap, BTreeSet};

use super::header_units::{ConvertedColumns, HeaderUnits};
use super::marks::{Marked, event_marks, reset_marks, sample_marks};
use super::petab::UnreadColumns;
use crate::import::settings::Settings;
use crate::import::settings::events::EventInput;
use crate::import::settings::forms::{Condition, Names};
use crate::import::settings::table::Layout;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, shown, suggestion};
use crate::units::Conversion;

/// Joins the cells of several id columns.
pub(crate) const ID_SEPARATOR: &str = "/";

/// Positions of the columns in one file. Columns that the header lacks are left out.
#[derive(Default)]
pub(crate) struct TableColumns {
    pub environment: Vec<usize>,
    pub trajectory: Vec<usize>,
    pub time: Option<(usize, Conversion)>,
    /// Column (in a wide table) and conversion of each channel.
    pub channels: Vec<(Option<usize>, Conversion)>,
    /// Columns of channel names and of values, in a long table.
    pub channel: Option<usize>,
    pub value: Option<usize>,
    /// Conditions on the rows to keep.
    pub conditions: Vec<(usize, Condition)>,
    /// The column `EVID`, which marks doses and other events.
    pub event: Option<usize>,
    /// Columns of the event inputs whose rows are in this file, by index among `[[import.events]]`.
    pub events: Vec<(usize, EventColumns)>,
    pub petab: UnreadColumns,
    /// Columns that are not read but change what measurements mean, and those that mark resets.
    pub of_samples: Marked,
    pub of_resets: Marked,
    /// Whether every column was found.
    pub complete: bool,
    /// The ids of all rows where there are no id columns.
    pub file_environment: String,
    pub file_trajectory: String,
}

impl TableColumns {
    /// Finds the columns of the table in a file; reports those that the header lacks and units that do not fit.
    pub(crate) fn find(
        settings: &Settings,
        file: &SourceFile,
        source: &Source,
        warnings: &mut Vec<Problem>,
        conversions: &mut ConvertedColumns,
        problems: &mut Problems,
    ) -> Self {
        let table = &settings.table;
        let mut lookup = Lookup::new(source);
        let environment = lookup.columns("import.table.environment", &table.environment, problems);
        let trajectory = lookup.columns("import.table.trajectory", &table.trajectory, problems);
        if table.environment.0.is_empty() && table.trajectory.0.is_empty() {
            problems.extend(source.mixed_parts());
        }
        let time = lookup.column("import.table.time", &table.time, problems);
        let conditions = lookup.conditions("import.table.rows", &table.rows, problems);
        let mut long_column = |key: &str, name: &Option<String>| match table.layout {
            Layout::Wide => None,
            Layout::Long => lookup.column(key, name.as_ref()?, problems),
        };
        let channel = long_column("import.table.channel", &table.channel);
        let value = long_column("import.table.value", &table.value);
        let mut units = HeaderUnits { source, warnings, conversions, problems };
        let channels = find_channels(settings, channel.zip(value), &mut lookup, &mut units);
        let stated = table.time_column_unit.as_deref();
        let time = time.map(|time| (time, units.conversion(time, "import.time_unit", &settings.time_unit, stated)));
        let mut complete = lookup.complete;
        let mut events = Vec::new();
        for index in (0..settings.events.len()).filter(|&index| settings.events[index].file.is_none()) {
            let (columns, all_found) = EventColumns::find(settings, index, &mut units);
            complete &= all_found;
            events.push((index, columns));
        }
        let file_environment = match (&file.environment, &file.trajectory) {
            (Some(environment), _) => environment.clone(),
            (None, Some(_)) => settings.dataset.clone(),
            (None, None) => file.stem().to_owned(),
        };
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
            petab: UnreadColumns::find(settings, &source.header),
            of_samples: sample_marks(&source.header, &lookup.found),
            of_resets: reset_marks(&source.header, settings.events.iter().flat_map(EventInput::of_resets)),
            complete,
            file_environment,
            file_trajectory: file.trajectory.clone().unwrap_or_else(|| "1".to_owned()),
        }
    }

    /// Whether every row is a sample, whatever its other cells say.
    pub(crate) fn keeps_every_row(&self) -> bool {
        let no_marks = self.petab.is_empty() && self.of_samples.is_empty() && self.of_resets.is_empty();
        no_marks && self.conditions.is_empty() && self.event.is_none() && self.events.is_empty()
    }
}

/// Column and conversion of each channel that is read; `long` are the columns of names and values of a long table.
fn find_channels(
    settings: &Settings,
    long: Option<(usize, usize)>,
    lookup: &mut Lookup<'_>,
    units: &mut HeaderUnits<'_>,
) -> Vec<(Option<usize>, Conversion)> {
    let mut channels = Vec::new();
    for (index, wanted) in settings.sampled() {
        let key = format!("import.channels[{index}]");
        let (column, conversion) = match settings.table.layout {
            Layout::Wide => {
                let column = lookup.column(&format!("{key}.column"), &wanted.column, units.problems);
                let stated = wanted.column_unit.as_deref();
                (column, column.map(|column| units.conversion(column, &key, &wanted.unit, stated)))
            }
            Layout::Long => {
                (None, long.map(|(names, values)| units.long_channel_conversion(names, values, &key, wanted)))
            }
        };
        channels.push((column, conversion.unwrap_or(Conversion::NONE)));
    }
    channels
}

/// Looks columns up in a header and keeps the positions of those it found.
struct Lookup<'a> {
    source: &'a Source,
    found: Vec<usize>,
    /// Whether every column was found.
    complete: bool,
}

impl<'a> Lookup<'a> {
    fn new(source: &'a Source) -> Self {
        Lookup { source, found: Vec::new(), complete: true }
    }

    /// The position of a column, or `None` and a problem; `key` is the setting that names it.
    fn column(&mut self, key: &str, name: &str, problems: &mut Problems) -> Option<usize> {
        let column = self.source.column(key, name, problems);
        self.complete &= column.is_some();
        self.found.extend(column);
        column
    }

    fn columns(&mut self, key: &str, names: &Names, problems: &mut Problems) -> Vec<usize> {
        names.0.iter().filter_map(|name| self.column(key, name, problems)).collect()
    }

    fn conditions(
        &mut self,
        key: &str,
        conditions: &BTreeMap<String, Condition>,
        problems: &mut Problems,
    ) -> Vec<(usize, Condition)> {
        let find = |(name, condition): (&String, &Condition)| {
            Some((self.column(&format!("{key}.{name}"), name, problems)?, condition.clone()))
        };
        conditions.iter().filter_map(find).collect()
    }
}

/// The channels of a long table, and which of them rows have named so far.
pub(crate) struct ChannelNames {
    /// Position of each channel by its name in the table; `None` for channels to leave out.
    pub positions: BTreeMap<String, Option<usize>>,
    /// Whether a row has named the channel, by position.
    pub seen: Vec<bool>,
    /// Names and positions of the channels that rows have named.
    pub named: Vec<(String, usize)>,
    /// Names in the table that the settings do not have.
    pub unknown: BTreeSet<String>,
    /// All names that rows have, known or not.
    pub met: BTreeSet<String>,
}

impl ChannelNames {
    pub(crate) fn new(settings: &Settings) -> Self {
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

    /// The position of a channel that a row has named before.
    pub(crate) fn seen_position(&self, name: &str) -> Option<usize> {
        self.named.iter().find(|named| named.0 == name).map(|named| named.1)
    }

    /// Reports the channels that no row names; whether there are none.
    pub(crate) fn all_seen(&self, settings: &Settings, file: &SourceFile, problems: &mut Problems) -> bool {
        for (_, (index, channel)) in settings.sampled().enumerate().filter(|(position, _)| !self.seen[*position]) {
            let found = format!("no row of channel {}", shown(&channel.column));
            let remedy = suggestion(&channel.column, self.met.iter().map(String::as_str));
            let problem = Problem::new(Kind::NeverObserved, found, "rows of every channel", remedy);
            problems.push(problem.file(&file.path).setting(format!("import.channels[{index}].column")));
        }
        self.seen.iter().all(|&seen| seen)
    }
}

/// Positions of the columns of one event input in one file.
pub(crate) struct EventColumns {
    pub amount: Option<(usize, Conversion)>,
    /// Columns of the number of additional doses, and of the time between them.
    pub repeats: Option<(usize, usize)>,
    pub conditions: Vec<(usize, Condition)>,
    /// Columns that are not read but change what these events mean.
    pub marks: Marked,
}

impl EventColumns {
    /// Finds the columns of input `index` in the file of `units`; false if the header lacks one.
    pub(crate) fn find(settings: &Settings, index: usize, units: &mut HeaderUnits<'_>) -> (Self, bool) {
        let event = &settings.events[index];
        let key = format!("import.events[{index}]");
        let mut lookup = Lookup::new(units.source);
        let amount =
            event.column.as_ref().and_then(|name| lookup.column(&format!("{key}.column"), name, units.problems));
        let conditions = lookup.conditions(&format!("{key}.rows"), &event.rows, units.problems);
        let mut column = |part: &str, name: &Option<String>| {
            name.as_ref().and_then(|name| lookup.column(&format!("{key}.{part}"), name, units.problems))
        };
        let repeats = column("additional", &event.additional).zip(column("interval", &event.interval));
        let wanted = event.amount_unit(&settings.time_unit);
        let stated = event.column_unit.as_deref();
        let amount = amount.map(|amount| (amount, units.conversion(amount, &key, &wanted, stated)));
        let header = &units.source.header;
        let mut read = lookup.found.clone();
        // What another section says of the same doses is read there.
        let elsewhere: Vec<&String> = settings.events.iter().flat_map(EventInput::of_doses).collect();
        read.extend((0..header.len()).filter(|&column| elsewhere.contains(&&header[column])));
        let marks = event_marks(header, &read);
        (EventColumns { amount, repeats, conditions, marks }, lookup.complete)
    }
}
