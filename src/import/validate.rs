//! What can be wrong with the settings of an import before any file is opened.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::expression::Expression;
use super::problem::{Kind, Problem, shown};
use super::settings::{Layout, Selection, Settings, Splits, Table};
use super::source::Delimiter;
use crate::dataset::RESERVED;

impl Settings {
    /// Every contradiction and impossible value in the settings themselves; opens no file.
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

        let mut files = vec![("table", &self.table.file, &self.table.delimiter)];
        files.extend(self.side_table.iter().map(|side| ("side_table", &side.file, &side.delimiter)));
        for (key, file, delimiter) in files {
            if file.contains(['*', '?']) {
                let remedy =
                    "several files are not supported yet: join them into one with a column that tells them apart";
                report(format!("{key}.file"), shown(file), "the name of one file", remedy);
            } else if !stays_inside(file) {
                let remedy = "put the folder into `import.directory`";
                report(format!("{key}.file"), shown(file), "a path inside `import.directory`", remedy);
            }
            if Delimiter::parse(delimiter).is_none() {
                let expected = "one ASCII character that is no quote, letter, digit, `.`, `+` or `-`; or `whitespace`";
                report(
                    format!("{key}.delimiter"),
                    shown(delimiter),
                    expected,
                    "write the character that separates cells",
                );
            }
        }

        layout(&self.table, &mut report);

        if self.channels.is_empty() {
            report("channels".into(), "none".into(), "at least one channel", "add an `[[import.channels]]`");
        }
        quantities(self, &mut report);
        let mut columns = BTreeSet::new();
        for (index, channel) in self.channels.iter().enumerate() {
            if !columns.insert(channel.column.trim()) {
                let found = format!("{} a second time", shown(&channel.column));
                report(
                    format!("channels[{index}].column"),
                    found,
                    "each column once",
                    "remove one of the two channels",
                );
            }
        }

        for (index, parameter) in self.parameters.iter().enumerate() {
            match Expression::parse(&parameter.expression) {
                Ok(_) => {}
                Err(error) => {
                    let found =
                        format!("{} at character {} of {}", error.found, error.character, shown(&parameter.expression));
                    let remedy = "correct the expression; a column whose name is not a plain word stands in braces";
                    report(format!("parameters[{index}].expression"), found, &error.expected, remedy);
                }
            }
        }
        if self.side_table.is_none() && !self.parameters.is_empty() {
            let remedy = "add `[import.side_table]`, or remove the parameters";
            report("side_table".into(), "none".into(), "a side table to compute the parameters from", remedy);
        }

        splits(&self.splits, &mut report);
        problems
    }
}

fn stays_inside(file: &str) -> bool {
    !file.trim().is_empty() && Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
}

fn layout(table: &Table, report: &mut impl FnMut(String, String, &str, &str)) {
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
        let remedy = "remove it: columns of a wide table that are no channel are ignored anyway";
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

fn quantities(settings: &Settings, report: &mut impl FnMut(String, String, &str, &str)) {
    let channels = settings.channels.iter().map(|channel| (&channel.name, &channel.unit)).enumerate();
    let parameters = settings.parameters.iter().map(|parameter| (&parameter.name, &parameter.unit)).enumerate();
    let all =
        channels.map(|quantity| ("channels", quantity)).chain(parameters.map(|quantity| ("parameters", quantity)));
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
            report(key, found, "each name once among channels and parameters", "rename one of the two");
        }
        if unit.trim().is_empty() {
            report(format!("{list}[{index}].unit"), shown(unit), "a unit", "write `1` for a number without unit");
        }
    }
}

fn splits(splits: &Splits, report: &mut impl FnMut(String, String, &str, &str)) {
    let mut environments = BTreeSet::new();
    for environment in &splits.adapt {
        if !environments.insert(environment) {
            let found = format!("{} a second time", shown(environment));
            report("splits.adapt".into(), found, "each environment once", "remove one of the two");
        }
    }
    let selections = [("validation", &splits.validation), ("test", &splits.test), ("adapt_test", &splits.adapt_test)];
    for (key, Selection { trajectories, fraction }) in selections {
        if !trajectories.is_empty() && fraction.is_some() {
            let found = "both `trajectories` and `fraction`";
            report(format!("splits.{key}"), found.into(), "one of them", "choose by id or by lot");
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
            if splits.seed.is_none() && !problems_already_named(&selections, key) {
                report("splits.seed".into(), "none".into(), "a seed for the draws", "write any whole number");
            }
        }
    }
    if splits.validation.is_empty() {
        let expected = "trajectories that choose the model: without them training cannot tell when it overfits";
        let remedy = "name some under `trajectories`, or draw them with `fraction` and `import.splits.seed`";
        report("splits.validation".into(), "none".into(), expected, remedy);
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

/// Whether an earlier selection already draws by lot, so that the missing seed has been reported.
fn problems_already_named(selections: &[(&str, &Selection)], key: &str) -> bool {
    selections.iter().take_while(|(name, _)| *name != key).any(|(_, selection)| selection.fraction.is_some())
}
