//! What columns look like, as a mapping.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Archive;
use super::look::{CHANNELS, DOSES, ENVIRONMENTS, Look, TIMES, TRAJECTORIES, VALUE_NAMES};
use crate::dataset::RESERVED;
use crate::import::files::SourceFile;
use crate::import::unit::Unit;

/// Channels of a long table at most; a column of more names is something else.
const MOST_CHANNELS: usize = 64;

/// What is kept from training to choose the model.
#[derive(Clone, Copy)]
pub(super) enum HeldOut {
    /// Some trajectories, where a column tells them apart; else ends.
    Trajectories,
    /// The end of each trajectory.
    Ends,
    /// Nothing, and nothing trains.
    Nothing,
}

impl Archive {
    /// The mapping with such splits; `None` if no column can be a channel.
    pub fn mapping(&self, file: &SourceFile, looks: &[Look], held_out: HeldOut) -> Option<String> {
        let mut free: Vec<&Look> = looks.iter().filter(|look| !look.name.is_empty()).collect();
        let mut take = |is: &dyn Fn(&Look) -> bool| {
            let position = free.iter().position(|look| is(look))?;
            Some(free.remove(position))
        };
        let time = take(&|look| look.is_called(TIMES) || look.unit.is_none() && look.unit_of_time().is_some())
            .or_else(|| take(&|look| look.stamps > look.numbers))
            .or_else(|| take(&|look| look.is_number() && !look.is_called(ENVIRONMENTS)));
        let event = take(&|look| look.name.eq_ignore_ascii_case("EVID"));
        let environment = match self.pattern {
            Some(_) => None,
            None => take(&|look| look.is_called(ENVIRONMENTS)),
        };
        let trajectory = take(&|look| look.is_called(TRAJECTORIES));
        let channel = take(&|look| look.is_called(CHANNELS) && !look.is_number() && look.values.len() <= MOST_CHANNELS);
        let value = channel.and_then(|_| take(&|look| look.is_called(VALUE_NAMES) && look.is_number()));
        let value = value.or_else(|| channel.and_then(|_| take(&|look| look.is_number() && look.values.len() > 1)));
        // Rows of one environment mostly stand together.
        let is_text = |look: &Look| {
            look.texts > 0 && !look.is_number() && look.values.len() > 1 && look.changes < look.values.len()
        };
        let environment = environment.or_else(|| if self.pattern.is_some() { None } else { take(&is_text) });
        let is_covariate = |look: &Look| environment.is_some_and(|environment| look.changes <= environment.changes);
        let is_dose = |look: &Look| event.is_some() && look.is_called(DOSES);
        let is_channel =
            |look: &&&Look| look.is_number() && look.values.len() > 1 && !is_covariate(look) && !is_dose(look);
        let wide: Vec<&Look> =
            if channel.is_some() { Vec::new() } else { free.iter().filter(is_channel).copied().collect() };
        if wide.is_empty() && value.is_none() {
            return None;
        }
        let left: Vec<&Look> =
            free.iter().filter(|look| !wide.iter().any(|other| std::ptr::eq(*other, **look))).copied().collect();

        let mut text = Toml::default();
        let of_folder = self.directory.file_name().and_then(|name| name.to_str()).filter(|_| self.pattern.is_some());
        let dataset = identifier(of_folder.unwrap_or(file.stem())).replace('_', "-");
        text.line("# A guess from the first rows: read every line before you run it.");
        text.line("[import]");
        text.pair("dataset", &dataset, "");
        text.pair("directory", &self.directory.display().to_string(), "");
        match time.and_then(Look::unit_of_time) {
            Some(unit) => text.pair("time_unit", unit, "as in the header"),
            None => text.pair("time_unit", "s", "not said in the file: correct it"),
        }

        text.line("\n[import.table]");
        text.pair(
            "file",
            self.pattern.as_ref().unwrap_or(&file.name),
            "`{environment}.csv` takes ids from the names of files",
        );
        if self.delimiter != "," {
            text.pair("delimiter", &self.delimiter, "");
        }
        if self.decimal_comma {
            text.pair("decimal", ",", "");
        }
        if self.comment {
            text.pair("comment", "#", "");
        }
        match (environment, &self.pattern) {
            (Some(environment), _) => text.pair("environment", &environment.header, "what has parameters of its own"),
            (None, Some(_)) => {}
            (None, None) => text.line("# environment = \"COLUMN\"    # without it the file is one environment"),
        }
        if let Some(trajectory) = trajectory {
            text.pair("trajectory", &trajectory.header, "");
        }
        match time {
            Some(time) => text.pair("time", &time.header, ""),
            None => text.pair("time", "TIME", "no column looks like a time"),
        }
        if time.is_some_and(|time| time.stamps > 0) {
            text.pair("time_zone", "UTC", "of time stamps that do not say theirs");
        }
        if let (Some(channel), Some(value)) = (channel, value) {
            text.pair("layout", "long", "");
            text.pair("channel", &channel.header, "");
            text.pair("value", &value.header, "");
        }
        let markers: BTreeSet<&String> = wide.iter().copied().chain(value).flat_map(|look| &look.strange).collect();
        if !markers.is_empty() {
            text.line(&format!(
                "missing = {}    # not numbers; empty cells are missing anyway",
                list(markers.into_iter())
            ));
        }
        if let Some(event) = event {
            text.line(&format!(
                "rows.{} = 0    # the others are events, such as doses: [[import.events]] makes inputs of them",
                key(&event.header)
            ));
        }
        text.line("# disorder = \"sort\"    # if the order of rows means nothing");
        text.line("# duplicates = \"mean\"    # if a channel may have two values at one time");
        for look in left {
            let why = match look {
                look if look.values.len() == 1 => ", always the same",
                look if is_covariate(look) => ", the same within an environment: a parameter of [import.side_table]?",
                _ => "",
            };
            text.line(&format!("# left out: {:?}{why}", look.header));
        }

        let mut names = BTreeSet::new();
        for look in &wide {
            text.channel(&look.header, &look.name, look.unit.as_deref(), &mut names);
        }
        if let (Some(channel), Some(value)) = (channel, value) {
            for name in &channel.values {
                text.channel(name, name, value.unit.as_deref(), &mut names);
            }
        }

        if let Some(conditions) = &self.conditions {
            text.line("\n# Not read of the PEtab problem: its model, its parameters, and what the observables' table says of formulas, noise and scale.");
            text.line("\n[import.side_table]    # parameters follow from it: [[import.parameters]]");
            text.pair("file", conditions, "");
            text.pair("delimiter", "\t", "");
            text.pair("key", "conditionId", "");
        }
        text.line("\n[import.splits]");
        let known = environment.map(|environment| list(environment.values.iter().take(1)));
        let known = known.as_deref().unwrap_or("[\"ID\"]");
        match held_out {
            HeldOut::Nothing => {
                text.line("adapt = [\"*\"]    # all, for an estimate by equations: there is too little to train on");
            }
            _ => text.line(&format!("adapt = []    # environments to estimate, such as {known}")),
        }
        match held_out {
            HeldOut::Nothing => {}
            HeldOut::Trajectories if trajectory.is_some() => {
                text.line("validation = { fraction = 0.2 }    # trajectories that choose the model\nseed = 0");
            }
            _ => text.line("validation = { last = 0.25 }    # the end of each trajectory chooses the model"),
        }
        Some(text.text)
    }
}

#[derive(Default)]
struct Toml {
    text: String,
}

impl Toml {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn pair(&mut self, key: &str, value: &str, note: &str) {
        let note = if note.is_empty() { String::new() } else { format!("    # {note}") };
        self.line(&format!("{key} = {}{note}", quoted(value)));
    }

    fn channel(&mut self, column: &str, name: &str, unit: Option<&str>, names: &mut BTreeSet<String>) {
        let mut identifier = identifier(name);
        while RESERVED.contains(&identifier.as_str()) || !names.insert(identifier.clone()) {
            identifier.push_str("_2");
        }
        self.line("\n[[import.channels]]");
        self.pair("column", column, "");
        self.pair("name", &identifier, "");
        match unit {
            Some(unit) if Unit::parse(unit).is_some() => self.pair("unit", unit, "as in the header"),
            Some(unit) => self.pair("unit", unit, "as in the header; spell it as UDUNITS does"),
            None => self.pair("unit", "1", "not said in the file: correct it"),
        }
    }
}

/// A name in lower-case letters, digits and `_` that starts with a letter.
fn identifier(name: &str) -> String {
    let mut identifier = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => identifier.push(c.to_ascii_lowercase()),
            _ if !identifier.ends_with('_') && !identifier.is_empty() => identifier.push('_'),
            _ => {}
        }
    }
    let identifier = identifier.trim_matches('_');
    if identifier.starts_with(|c: char| c.is_ascii_alphabetic()) {
        identifier.to_owned()
    } else {
        format!("x{identifier}")
    }
}

/// A string of TOML in one line: it may stand in a comment, or be a key.
fn quoted(text: &str) -> String {
    let quoted = toml::Value::String(text.to_owned()).to_string();
    match quoted.contains('\n') {
        // Strings of JSON are those of TOML, but for one character.
        true => serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f"),
        false => quoted,
    }
}

fn list<'a>(items: impl Iterator<Item = &'a String>) -> String {
    let mut text = String::from("[");
    for (i, item) in items.enumerate() {
        let _ = write!(text, "{}{}", if i > 0 { ", " } else { "" }, quoted(item));
    }
    text + "]"
}

/// A name as a key of TOML.
fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_bare { name.to_owned() } else { quoted(name) }
}
