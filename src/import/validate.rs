//! Checks the settings of an import before any file is opened.

use std::collections::BTreeSet;

use super::settings::events::Shape;
use super::settings::table::{Layout, Table};
use super::settings::{Role, Selection, Settings, SideTable, Splits};
use super::tables::csv::Delimiter;
use super::tables::files::{ids_in, is_pattern};
use super::validate_fields::{conversion, stays_inside, validate_fields};
use crate::dataset::RESERVED;
use crate::expressions::Formula;
use crate::problems::{Kind, Problem, shown};

impl Settings {
    /// Every impossible value and contradiction in the settings themselves; opens no file.
    pub fn validate(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut report = |key: String, found: String, expected: &str, remedy: &str| {
            problems.push(Problem::new(Kind::Setting, found, expected, remedy).setting(format!("import.{key}")));
        };

        let is_file_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.dataset.is_empty() || self.dataset.starts_with('.') || !self.dataset.chars().all(is_file_name) {
            let expected = "a name of letters, digits, `-`, `_` and `.` that does not start with `.`";
            report("dataset".into(), shown(&self.dataset), expected, "rename the dataset");
        }
        for (key, text) in [("directory", &self.directory), ("license", &self.license), ("time_unit", &self.time_unit)]
        {
            if text.trim().is_empty() {
                report(key.into(), shown(text), "some text", "fill it in");
            }
        }

        if let Some(side) = &self.side_table {
            side_table(side, &mut report);
        }
        match &self.fields {
            Some(fields) => validate_fields(self, fields, &mut report),
            None if self.table.is_absent() => {
                let remedy = "add [import.table] for tables, or [import.fields] for fields on a grid";
                report("table".into(), "none".into(), "the files with the trajectories", remedy);
            }
            None => {
                table_files(&self.table, &mut report);
                text_format("table", &self.table.delimiter, &self.table.decimal, &mut report);
                times_and_comments(self, &mut report);
                table_layout(&self.table, &mut report);
                channels(self, &mut report);
                events(self, &mut report);
            }
        }
        names_and_units(self, &mut report);
        repeated_columns(self, &mut report);
        parameters(self, &mut report);
        splits(&self.splits, &mut report);
        problems.extend(self.publication.problems().into_iter().map(|problem| problem.within("import.publication")));
        problems
    }
}

fn side_table(side: &SideTable, report: &mut impl FnMut(String, String, &str, &str)) {
    if is_pattern(&side.file) {
        report("side_table.file".into(), shown(&side.file), "the name of one file", "join the files into one");
    } else if !stays_inside(&side.file) {
        let remedy = "put the folder into `import.directory`";
        report("side_table.file".into(), shown(&side.file), "a path inside `import.directory`", remedy);
    }
    text_format("side_table", &side.delimiter, &side.decimal, report);
}

fn channels(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    if settings.states().next().is_none() {
        let found = if settings.channels.is_empty() { "none" } else { "none that is a state" };
        let expected = "at least one of `role = \"state\"`";
        report("channels".into(), found.into(), expected, "add an `[[import.channels]]`");
    }
    for (index, channel) in settings.channels.iter().enumerate() {
        for (key, given) in [("between", channel.between.is_some()), ("extend", channel.extend)] {
            if given && channel.role != Role::Input {
                let remedy = "set `role = \"input\"`, or remove it: states are never filled in";
                report(format!("channels[{index}].{key}"), "a value".into(), "none but for an input", remedy);
            }
        }
        if let Some(stated) = &channel.column_unit {
            conversion(format!("channels[{index}].column_unit"), stated, &channel.unit, report);
        }
    }
}

fn repeated_columns(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    let mut columns = BTreeSet::new();
    for (index, channel) in settings.channels.iter().enumerate() {
        if !columns.insert(channel.column.trim()) {
            let found = format!("{} a second time", shown(&channel.column));
            let remedy = "remove one of the two channels";
            report(format!("channels[{index}].column"), found, "each column once", remedy);
        }
    }
}

fn parameters(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    for (index, parameter) in settings.parameters.iter().enumerate() {
        if let Err(fault) = Formula::parse(&parameter.expression) {
            let found = format!("{} at character {} of {}", fault.found, fault.character, shown(&parameter.expression));
            let remedy = format!("{}; a column whose name is not a plain word stands in braces", fault.remedy);
            report(format!("parameters[{index}].expression"), found, &fault.expected, &remedy);
        }
    }
    if settings.side_table.is_none() && settings.fields.is_none() && !settings.parameters.is_empty() {
        let remedy = "add `[import.side_table]`, or remove the parameters";
        report("side_table".into(), "none".into(), "a side table to compute the parameters from", remedy);
    }
}

fn table_layout(table: &Table, report: &mut impl FnMut(String, String, &str, &str)) {
    let long_only = [("channel", table.channel.is_some()), ("value", table.value.is_some())];
    for (key, given) in long_only {
        match (table.layout, given) {
            (Layout::Long, false) => {
                let expected = "the column that names the channel, and the one that holds its value, in a long table";
                report(format!("table.{key}"), "nothing".into(), expected, "name the column");
            }
            (Layout::Wide, true) => {
                let remedy = "remove it, or set `import.table.layout = \"long\"`";
                report(format!("table.{key}"), "a column".into(), "none in a wide table", remedy);
            }
            _ => {}
        }
    }
    if table.layout == Layout::Wide && !table.ignored_channels.is_empty() {
        let remedy = "remove it: other columns of a wide table are ignored anyway";
        report("table.ignored_channels".into(), "names of channels".into(), "none in a wide table", remedy);
    }
    let mut roles = BTreeSet::from([table.time.trim()]);
    for (key, columns) in [("environment", &table.environment), ("trajectory", &table.trajectory)] {
        for column in &columns.0 {
            if !roles.insert(column.trim()) {
                let found = format!("{} a second time", shown(column));
                let expected = "each column in one role: environment, trajectory or time";
                report(format!("table.{key}"), found, expected, "remove it from one of them");
            }
        }
    }
}

/// The files of the table, and the ids in their names.
fn table_files(table: &Table, report: &mut impl FnMut(String, String, &str, &str)) {
    if table.file.0.is_empty() {
        report("table.file".into(), "none".into(), "at least one file", "name the files with the trajectories");
    }
    for name in &table.file.0 {
        if !stays_inside(name) {
            let remedy = "put the folder into `import.directory`";
            report("table.file".into(), shown(name), "a path inside `import.directory`", remedy);
        }
        let (environments, trajectories) = ids_in(name);
        for (id, count, columns) in
            [("environment", environments, &table.environment), ("trajectory", trajectories, &table.trajectory)]
        {
            if count > 1 {
                let found = format!("`{{{id}}}` {count} times in {}", shown(name));
                report("table.file".into(), found, "each id once", "write `*` in the other places");
            }
            if count > 0 && !columns.0.is_empty() {
                let found = format!("`{{{id}}}` in `file`, and a column");
                report(format!("table.{id}"), found, "one of them", "remove the column, or write `*` in `file`");
            }
        }
    }
}

/// The delimiter and the decimal mark of a file; `key` is its section.
fn text_format(key: &str, delimiter: &str, decimal: &str, report: &mut impl FnMut(String, String, &str, &str)) {
    if Delimiter::parse(delimiter).is_none() {
        let expected = "one ASCII character that is no quote, letter, digit, `.`, `+` or `-`; or `whitespace`";
        let remedy = "write the character that separates cells";
        report(format!("{key}.delimiter"), shown(delimiter), expected, remedy);
    }
    if ![".", ","].contains(&decimal) {
        report(format!("{key}.decimal"), shown(decimal), "`.` or `,`", "write one of the two");
    } else if decimal == delimiter {
        let found = "a comma, which is the delimiter too";
        let remedy = "correct the delimiter: such files mostly use `;`";
        report(format!("{key}.decimal"), found.into(), "another character than the delimiter", remedy);
    }
}

fn times_and_comments(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    let table = &settings.table;
    if let Some(comment) = &table.comment {
        let is_mark = comment.len() == 1 && comment.bytes().all(|byte| byte.is_ascii_punctuation() && byte != b'"');
        if !is_mark || *comment == table.delimiter {
            let expected = "one ASCII character that is no letter, digit, quote or delimiter";
            report("table.comment".into(), shown(comment), expected, "write the character, such as `#`");
        }
    }
    if let Some(zone) = table.time_zone.as_ref().filter(|zone| jiff::tz::TimeZone::get(zone).is_err()) {
        let remedy = "write a name of the IANA database, such as `UTC` or `Europe/Paris`";
        report("table.time_zone".into(), shown(zone), "the name of a time zone", remedy);
    }
    if let Some(format) = table.time_format.as_ref().filter(|format| !format.contains('%')) {
        let remedy = "write for example `%d.%m.%Y %H:%M:%S`";
        report(
            "table.time_format".into(),
            shown(format),
            "a pattern with `%` and letters for the parts of a time",
            remedy,
        );
    }
    if let Some(length) = table.split_length.filter(|length| !(length.is_finite() && *length > 0.0)) {
        let remedy = "write the longest duration of one trajectory";
        report("table.split_length".into(), length.to_string(), "a positive number", remedy);
    }
    if let Some(gap) = table.split_gap.filter(|gap| !(gap.is_finite() && *gap > 0.0)) {
        let remedy = "write the longest time between two samples of one trajectory";
        report("table.split_gap".into(), gap.to_string(), "a positive number", remedy);
    }
    if let Some(stated) = &table.time_column_unit {
        conversion("table.time_column_unit".into(), stated, &settings.time_unit, report);
    }
}

/// Reports what cannot be said of additional doses and of amounts given at once.
fn bolus(settings: &Settings, index: usize, say: &mut impl FnMut(&str, &str, &str, &str)) {
    let event = &settings.events[index];
    match (&event.additional, &event.interval) {
        (Some(_), None) => {
            say(
                "interval",
                "nothing, and `additional` doses",
                "the column of the time between them",
                "name it, such as II",
            );
        }
        (None, Some(_)) => say(
            "interval",
            "a column, and no `additional` doses",
            "both or neither",
            "name the column of their number in `additional`, such as ADDL; for doses in their steady state write a section of its own with \
             `shape = \"bolus\"`, the intervals as its `column`, and `rows.SS = 1`",
        ),
        _ => {}
    }
    if event.shape != Shape::Bolus {
        return;
    }
    if event.column.is_none() && event.unit.trim() != "1" {
        say(
            "unit",
            &shown(&event.unit),
            "`1` where nothing but events is counted",
            "write `unit = \"1\"`, or name the `column`",
        );
    }
    let splits = &settings.splits;
    let is_cut = settings.table.split_gap.is_some() || settings.table.split_length.is_some();
    if is_cut || [&splits.validation, &splits.test, &splits.adapt_test].iter().any(|it| it.last.is_some()) {
        say(
            "shape",
            "amounts given at once, and trajectories that are cut (`split_gap`, `split_length`, `last`)",
            "whole trajectories: what was given before a cut would be given again behind it",
            "remove the cut, or `shape = \"pulse\"`",
        );
    }
}

fn events(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    for (index, event) in settings.events.iter().enumerate() {
        let shape = event.shape;
        let mut say = |key: &str, found: &str, expected: &str, remedy: &str| {
            report(format!("events[{index}].{key}"), found.to_owned(), expected, remedy);
        };
        let only = |given: bool, wants: bool| (given != wants).then_some(if given { "a value" } else { "nothing" });
        let wants_column = shape != Shape::Since && (shape != Shape::Bolus || event.column.is_some());
        if let Some(found) = only(event.column.is_some(), wants_column) {
            let expected = "the column of the amounts for `cumulative` and `pulse`, and none for `since`";
            say("column", found, expected, "name it, or remove it: `since` uses only the times of events");
        }
        if event.column.is_none() && event.column_unit.is_some() {
            say("column_unit", "a unit", "none without a column", "remove it");
        }
        if let Some(found) = only(event.duration.is_some(), shape == Shape::Pulse) {
            let remedy = "say how long a pulse takes, in `import.time_unit`, or remove it: other shapes have no end";
            say("duration", found, "a duration for `pulse` alone", remedy);
        }
        if let Some(duration) = event.duration.filter(|duration| !(duration.is_finite() && *duration > 0.0)) {
            say("duration", &duration.to_string(), "a positive number", "say how long a pulse takes");
        }
        bolus(settings, index, &mut say);
        if event.before.is_some() && shape != Shape::Since {
            say("before", "a value", "none but for `since`", "remove it: no amount is given before the first event");
        }
        if let Some(before) = event.before.filter(|before| !before.is_finite()) {
            say("before", &before.to_string(), "a finite number", "correct it");
        }
        match &event.file {
            None => {
                if event.rows.is_empty() {
                    let expected = "a condition that tells events from samples, or a `file` of their own";
                    say("rows", "none", expected, "add for example `rows.EVID = [1, 101]`");
                }
                let of_file = [
                    ("delimiter", event.delimiter.is_some()),
                    ("environment", !event.environment.0.is_empty()),
                    ("trajectory", !event.trajectory.0.is_empty()),
                    ("time", event.time.is_some()),
                ];
                for (key, _) in of_file.iter().filter(|part| part.1) {
                    say(
                        key,
                        "a value",
                        "none without `file`",
                        "remove it: without `file`, rows are read as [import.table] says",
                    );
                }
            }
            Some(file) => {
                if is_pattern(file) || !stays_inside(file) {
                    let expected = "the path of one file inside `import.directory`";
                    say("file", &shown(file), expected, "join the files into one, in that folder");
                }
                if event.environment.0.is_empty() && settings.table.environment.0.is_empty() {
                    let expected = "the column of the environments in that file";
                    say("environment", "nothing", expected, "name it: the table has none of that name");
                }
                if let Some(delimiter) = event.delimiter.as_ref().filter(|it| Delimiter::parse(it).is_none()) {
                    let remedy = "write the character that separates cells";
                    say("delimiter", &shown(delimiter), "one ASCII character, or `whitespace`", remedy);
                }
            }
        }
        let (key, from, to) = match (&event.column_unit, shape) {
            (_, Shape::Since) => ("unit", &settings.time_unit, event.unit.clone()),
            (Some(stated), _) => ("column_unit", stated, event.amount_unit(&settings.time_unit)),
            (None, _) => continue,
        };
        conversion(format!("events[{index}].{key}"), from, &to, report);
    }
}

/// Names and units of channels, events and parameters.
fn names_and_units(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    let channels = settings.channels.iter().map(|channel| (&channel.name, &channel.unit)).enumerate();
    let fields = settings.fields.iter().flat_map(|fields| &fields.channels);
    let fields = fields.map(|channel| (&channel.name, &channel.unit)).enumerate();
    let parameters = settings.parameters.iter().map(|parameter| (&parameter.name, &parameter.unit)).enumerate();
    let events = settings.events.iter().map(|event| (&event.name, &event.unit)).enumerate();
    let all = channels
        .map(|quantity| ("channels", quantity))
        .chain(fields.map(|quantity| ("fields.channels", quantity)))
        .chain(events.map(|quantity| ("events", quantity)))
        .chain(parameters.map(|quantity| ("parameters", quantity)));
    let mut names = BTreeSet::new();
    for (list, (index, (name, unit))) in all {
        let key = format!("{list}[{index}].name");
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            let expected = "a word of ASCII letters, digits and `_` that starts with a letter";
            report(key, shown(name), expected, "rename it: the name becomes a column and a variable in other tools");
        } else if RESERVED.contains(&name.as_str()) {
            report(key, shown(name), "a name that the dataset's format does not use itself", "rename it");
        } else if !names.insert(name) {
            let found = format!("{} a second time", shown(name));
            report(key, found, "each name once among channels, events and parameters", "rename one of the two");
        }
        if unit.trim().is_empty() {
            report(format!("{list}[{index}].unit"), shown(unit), "a unit", "write `1` for a number without unit");
        }
    }
}

fn splits(splits: &Splits, report: &mut impl FnMut(String, String, &str, &str)) {
    let mut environments = BTreeSet::new();
    for (key, named) in [("adapt", &splits.adapt), ("calibrate", &splits.calibrate)] {
        for environment in named {
            if !environments.insert(environment) {
                let found = format!("{} a second time", shown(environment));
                report(format!("splits.{key}"), found, "each environment once", "remove one of the two");
            }
        }
    }
    if splits.estimates_all() && !splits.calibrate.is_empty() {
        let expected = "none where no environment trains (`import.splits.adapt` is [\"*\"])";
        report("splits.calibrate".into(), "environments".into(), expected, "leave it out");
    }
    let selections = [("validation", &splits.validation), ("test", &splits.test), ("adapt_test", &splits.adapt_test)];
    for (key, selection) in selections {
        let Selection { fraction, last, .. } = selection;
        if selection.ways() > 1 {
            let found = "more than one of `trajectories`, `fraction` and `last`";
            report(format!("splits.{key}"), found.into(), "one of them", "choose by id, at random, or by time");
        }
        if let Some(last) = last.filter(|last| !(*last > 0.0 && *last < 1.0)) {
            let remedy = "write the share to cut off, such as 0.25";
            report(format!("splits.{key}.last"), last.to_string(), "a number between 0 and 1", remedy);
        }
        if let Some(fraction) = fraction {
            if !(*fraction > 0.0 && *fraction < 1.0) {
                let key = format!("splits.{key}.fraction");
                report(
                    key,
                    fraction.to_string(),
                    "a number between 0 and 1",
                    "write the share to hold out, such as 0.2",
                );
            }
            if splits.seed.is_none() && !earlier_draws(&selections, key) {
                report("splits.seed".into(), "none".into(), "a seed for the draws", "write any whole number");
            }
        }
    }
    if splits.validation.last.is_some() && splits.test.last.is_some() {
        let remedy = "choose the trajectories of one of the two otherwise";
        report("splits.test.last".into(), "a second `last`".into(), "one: a trajectory has one end", remedy);
    }
    if splits.validation.is_empty() && !splits.estimates_all() {
        let expected = "trajectories to select the model by: without them training cannot detect overfitting";
        let remedy = "name some under `trajectories`, or draw them with `fraction` and `import.splits.seed`";
        report("splits.validation".into(), "none".into(), expected, remedy);
    }
    for (key, selection) in [("splits.validation", &splits.validation), ("splits.test", &splits.test)] {
        if splits.estimates_all() && !selection.is_empty() {
            let expected = "none where no environment trains (`import.splits.adapt` is [\"*\"])";
            report(key.into(), "trajectories".into(), expected, "leave it out");
        }
    }
    if splits.adapt.is_empty() && !splits.adapt_test.is_empty() {
        let expected = "none where no environment is estimated";
        report(
            "splits.adapt_test".into(),
            "trajectories".into(),
            expected,
            "name environments in `import.splits.adapt`",
        );
    }
}

/// Whether a selection before `key` draws at random too: then the missing seed has been reported.
fn earlier_draws(selections: &[(&str, &Selection)], key: &str) -> bool {
    selections.iter().take_while(|(name, _)| *name != key).any(|(_, selection)| selection.fraction.is_some())
}
