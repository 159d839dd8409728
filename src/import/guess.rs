//! A first mapping of an archive: what its columns look like, as an `[import]` section to start from.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::cell::{Cell, Flaw, Writing, is_time_stamp};
use super::files::SourceFile;
use super::problem::{Kind, Problem, Problems};
use super::records::Delimiter;
use super::source::{Source, head, syntax};
use super::unit::{Unit, split_header};
use crate::dataset::RESERVED;
use crate::progress::Interrupt;

/// Rows that are looked at, as a request to stop is seen after them.
const ROWS: usize = 1 << 14;

/// Different values of a column that are kept.
const VALUES: usize = 64;

const TIMES: &[&str] =
    &["time", "t", "timestamp", "date", "datetime", "day", "days", "hour", "hours", "seconds", "minutes", "week"];
const ENVIRONMENTS: &[&str] = &[
    "environment",
    "env",
    "environment_id",
    "id",
    "subject",
    "patient",
    "experiment",
    "simulationconditionid",
    "tank",
    "device",
    "ball",
    "animal",
    "sample",
    "unit",
    "well",
    "cell",
    "battery",
    "site",
    "station",
];
const TRAJECTORIES: &[&str] =
    &["trajectory", "trajectory_id", "run", "trial", "replicate", "replicateid", "rep", "repeat", "drop", "cycle"];
const CHANNELS: &[&str] = &[
    "channel",
    "variable",
    "observable",
    "observableid",
    "species",
    "signal",
    "sensor",
    "what",
    "measure",
    "quantity",
    "name",
    "key",
];
const VALUE_NAMES: &[&str] =
    &["value", "measurement", "individuals", "amount", "reading", "result", "count", "y", "dv"];

/// Columns of event tables that say what is given, where, and how.
const DOSES: &[&str] = &["amt", "cmt", "mdv", "rate", "ii", "addl", "ss"];

/// What a column looks like.
struct Look {
    header: String,
    name: String,
    unit: Option<String>,
    numbers: usize,
    empty: usize,
    stamps: usize,
    texts: usize,
    values: BTreeSet<String>,
    /// Rows whose cell differs from that of the row before.
    changes: usize,
    last: String,
    /// Spellings among numbers of what is none.
    strange: BTreeSet<String>,
}

impl Look {
    fn is_number(&self) -> bool {
        self.numbers > 0 && self.numbers >= 4 * (self.texts + self.stamps)
    }

    fn is_called(&self, names: &[&str]) -> bool {
        names.contains(&self.name.to_lowercase().as_str())
    }

    /// The unit of a column of times, in brackets or after `_`, where it is called one.
    fn unit_of_time(&self) -> Option<&str> {
        let (name, ending) = self.name.split_once('_').unwrap_or((&self.name, ""));
        let unit =
            self.unit.as_deref().unwrap_or(if TIMES.contains(&name.to_lowercase().as_str()) { ending } else { "" });
        Unit::parse(unit).and(Some(unit))
    }
}

/// An `[import]` section, with comments, that reads the file at `path`, or all files of one kind in the folder at `path`.
///
/// # Errors
/// If there is no table that can be read.
pub fn guess(path: &Path) -> Result<String, Vec<Problem>> {
    let mut problems = Problems::default();
    let nothing = |found: &str, remedy: &str| {
        vec![
            Problem::new(Kind::UnreadableFile, found, "a table, a folder of tables, or a PEtab problem", remedy)
                .file(path),
        ]
    };
    let mut archive = Archive { directory: path.parent().unwrap_or(path).to_owned(), ..Archive::default() };
    let file = match path.extension().and_then(|ending| ending.to_str()) {
        _ if path.is_dir() => {
            archive.directory = path.to_owned();
            let first = first_table(path).ok_or_else(|| nothing("a folder without a table", "name a file"))?;
            archive.pattern = first.extension().map(|ending| format!("{{environment}}.{}", ending.display()));
            first
        }
        Some("yaml" | "yml") => {
            let text = fs::read_to_string(path)
                .map_err(|error| nothing(&error.to_string(), "name a file that can be read"))?;
            archive.conditions = listed(&text, "condition_files").into_iter().next();
            let measurements = listed(&text, "measurement_files").into_iter().next();
            path.with_file_name(
                measurements.ok_or_else(|| nothing("no `measurement_files`", "name the table of measurements"))?,
            )
        }
        _ => path.to_owned(),
    };
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let file = SourceFile { name, path: file, environment: None, trajectory: None };
    if let Some(text) = head(&file.path) {
        archive.sniff(&text);
    }
    let cut = syntax(&archive.delimiter, archive.comment.then_some("#")).ok_or_else(Vec::new)?;
    let Some(mut source) = Source::open(&file, "--guess", cut, &mut problems) else { return Err(problems.into_vec()) };
    let looks = archive.look(&mut source, &mut problems);
    let remedy = "check the delimiter, or name another file";
    archive.mapping(&file, &looks).ok_or_else(|| nothing("no column of numbers beside a time", remedy))
}

/// The first file in a folder that looks like a table.
fn first_table(folder: &Path) -> Option<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let is_table = |ending: &str| ["csv", "tsv", "txt", "gz", "zst", "parquet", "h5", "hdf5"].contains(&ending);
    files.into_iter().find(|file| file.extension().and_then(|ending| ending.to_str()).is_some_and(is_table))
}

/// The items under a key of a YAML file: `key: [a, b]`, or lines with a dash.
fn listed(text: &str, key: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.trim_start_matches("- ").starts_with(key));
    let first = lines.next().and_then(|line| line.split_once(':')).map_or("", |(_, rest)| rest);
    items.extend(first.split(['[', ']', ',']).map(str::to_owned));
    items
        .extend(lines.take_while(|line| line.starts_with('-') && !line.contains(':')).map(|line| line[1..].to_owned()));
    items
        .into_iter()
        .map(|item| item.trim().trim_matches(['"', '\'']).to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// What is known of an archive before its columns are.
struct Archive {
    directory: std::path::PathBuf,
    pattern: Option<String>,
    conditions: Option<String>,
    delimiter: String,
    decimal_comma: bool,
    comment: bool,
}

impl Default for Archive {
    fn default() -> Self {
        Archive {
            directory: Default::default(),
            pattern: None,
            conditions: None,
            delimiter: ",".to_owned(),
            decimal_comma: false,
            comment: false,
        }
    }
}

impl Archive {
    /// Finds the delimiter that cuts the lines alike.
    fn sniff(&mut self, text: &str) {
        self.comment = text.lines().any(|line| line.starts_with('#'));
        let whole = text.rsplit_once('\n').map_or(text, |(whole, _)| whole);
        let lines: Vec<&str> = whole
            .lines()
            .filter(|line| !(line.trim().is_empty() || self.comment && line.starts_with('#')))
            .take(50)
            .collect();
        let counts = |delimiter: Delimiter| -> Vec<usize> {
            let count = |line: &&str| match delimiter {
                Delimiter::Character(byte) => line.bytes().filter(|&other| other == byte).count(),
                Delimiter::Whitespace => line.split_whitespace().count() - 1,
            };
            lines.iter().map(count).collect()
        };
        // A comma is the last of the characters: in files of others it may be in numbers.
        for delimiter in ["\t", ";", "|", ",", "whitespace"] {
            let Some(parsed) = Delimiter::parse(delimiter) else { continue };
            let counts = counts(parsed);
            if counts.first().is_some_and(|&first| first > 0 && counts.iter().all(|&count| count == first)) {
                self.delimiter = delimiter.to_owned();
                break;
            }
        }
        let is_split =
            |cell: &str| Writing::new(".", &[]).number(Cell::from_text(cell.trim())) == Err(Flaw::DecimalComma);
        self.decimal_comma = match self.delimiter.as_str() {
            "," => false,
            "whitespace" => lines.iter().any(|line| line.split_whitespace().any(is_split)),
            delimiter => lines.iter().any(|line| line.split(delimiter).any(is_split)),
        };
    }

    fn look(&self, source: &mut Source, problems: &mut Problems) -> Vec<Look> {
        let writing = Writing::new(if self.decimal_comma { "," } else { "." }, &[]);
        let look = |header: &String| {
            let (name, unit) = split_header(header);
            Look {
                header: header.clone(),
                name: name.to_owned(),
                unit: unit.map(str::to_owned),
                numbers: 0,
                empty: 0,
                stamps: 0,
                texts: 0,
                values: BTreeSet::new(),
                changes: 0,
                last: String::new(),
                strange: BTreeSet::new(),
            }
        };
        let mut looks: Vec<Look> = source.header.iter().map(look).collect();
        let stop = Interrupt::new();
        let mut rows = 0;
        source.rows(&stop, problems, |row, _| {
            rows += 1;
            if rows == ROWS {
                stop.request(2);
            }
            for (column, look) in looks.iter_mut().enumerate() {
                let cell = row.cell(column);
                if rows > 1 && cell.text() != look.last {
                    look.changes += 1;
                }
                cell.text().as_ref().clone_into(&mut look.last);
                match writing.number(cell) {
                    Ok(_) => look.numbers += 1,
                    Err(Flaw::Missing) if cell == Cell::Missing => look.empty += 1,
                    Err(Flaw::TimeStamp) => look.stamps += 1,
                    Err(_) if matches!(cell, Cell::Text(text) if is_time_stamp(text)) => look.stamps += 1,
                    Err(_) => look.texts += 1,
                }
                if writing.number(cell).is_err() && cell != Cell::Missing && look.strange.len() < VALUES {
                    look.strange.insert(cell.text().into_owned());
                }
                if cell != Cell::Missing && look.values.len() < VALUES {
                    look.values.insert(cell.text().into_owned());
                }
            }
        });
        looks
    }

    /// The mapping, if a column can be a channel.
    fn mapping(&self, file: &SourceFile, looks: &[Look]) -> Option<String> {
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
        let channel = take(&|look| look.is_called(CHANNELS) && !look.is_number() && look.values.len() < VALUES);
        let value = channel.and_then(|_| take(&|look| look.is_called(VALUE_NAMES) && look.is_number()));
        let value = value.or_else(|| channel.and_then(|_| take(&|look| look.is_number() && look.values.len() > 1)));
        // Rows of one environment mostly stand together.
        let is_text = |look: &Look| look.texts > 0 && look.values.len() > 1 && look.changes < look.values.len();
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
            text.line(&format!("rows.{} = 0    # the others are events, such as doses", key(&event.header)));
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
            text.line("\n[import.side_table]    # parameters follow from it: [[import.parameters]]");
            text.pair("file", conditions, "");
            text.pair("delimiter", "\t", "");
            text.pair("key", "conditionId", "");
        }
        text.line("\n[import.splits]");
        let known = environment.map(|environment| list(environment.values.iter().take(1)));
        text.line(&format!(
            "adapt = []    # environments to estimate, such as {}",
            known.as_deref().unwrap_or("[\"ID\"]")
        ));
        match trajectory {
            Some(_) => text.line("validation = { fraction = 0.2 }    # trajectories that choose the model\nseed = 0"),
            None => text.line("validation = { last = 0.25 }    # the end of each trajectory chooses the model"),
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

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
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
