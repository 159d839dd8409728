//! An `[import]` section from what the columns of an archive look like.

use super::{look, roles};
use std::fs;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::look::Look;
use super::mapping::HeldOut;
use crate::import::check::check;
use crate::import::settings::Settings;
use crate::import::tables::cell::Cell;
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::import::tables::text::beginning;
use crate::problems::{Kind, Problem, Problems, listing, shown};
use crate::regular;

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
    if !path.exists() {
        return Err(nothing("no such file", "check the path"));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut archive = Archive { directory: parent.to_owned(), ..Archive::default() };
    let mut others = Vec::new();
    let file = match path.extension().and_then(|ending| ending.to_str()) {
        _ if path.is_dir() => {
            archive.directory = path.to_owned();
            let mut files = tables_in(path).into_iter();
            let first = files.next().ok_or_else(|| nothing("a folder without a table", "name a file"))?;
            others.extend(files.filter(|file| file.extension() == first.extension()));
            archive.pattern = first.extension().map(|ending| format!("{{environment}}.{}", ending.display()));
            first
        }
        Some("yaml" | "yml") => {
            let text = regular::read_to_string(path)
                .map_err(|error| nothing(&error.to_string(), "name a file that can be read"))?;
            if let Some((found, remedy)) = unread_petab(&text) {
                return Err(nothing(&found, remedy));
            }
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
    if let Some(text) = beginning(&file.path) {
        archive.sniff(&text);
    }
    let cut = Syntax::parse(&archive.delimiter, archive.comment.then_some("#")).ok_or_else(Vec::new)?;
    let Some(mut source) = Source::open(&file, "--guess", cut, &mut problems) else { return Err(problems.into_vec()) };
    if let Some((found, remedy)) = no_header(&source.header, &archive) {
        return Err(nothing(&found, remedy));
    }
    archive.unread = source.all_unread().to_vec();
    let mut looks = look::look(&mut source, &archive.notation(), &mut problems);
    let mut left = look::ROWS;
    for other in others {
        let name = other.display().to_string();
        let other = SourceFile { name, path: other, environment: None, trajectory: None };
        let opened = Source::open(&other, "--guess", cut, &mut Problems::default());
        if let Some(mut source) = opened.filter(|_| left > 0) {
            look::look_elsewhere(&mut looks, &mut source, &archive.notation(), &mut left);
        }
    }
    let Some(roles) = roles::roles(&looks, archive.pattern.is_some()) else {
        let (found, remedy) = why_no_channel(&looks, &archive.unread);
        return Err(if problems.is_empty() { nothing(&found, remedy) } else { problems.into_vec() });
    };
    let first = archive.mapping(&file, &roles, HeldOut::Trajectories, false);
    if fs::metadata(&file.path).is_ok_and(|metadata| metadata.len() > LARGE) {
        return Ok(format!(
            "# Too large to be read whole for a guess: `paramill check` says what is wrong with it.\n{first}"
        ));
    }
    let problems = wrong_with(&first);
    if problems.is_empty() {
        return Ok(first);
    }
    let mut tries = Vec::new();
    for extended in [false, true].into_iter().filter(|&extended| !extended || first.contains("role = \"input\"")) {
        for held_out in [HeldOut::Trajectories, HeldOut::Ends, HeldOut::Nothing] {
            tries.push((held_out, extended));
        }
    }
    let mut texts =
        tries.into_iter().skip(1).map(|(held_out, extended)| archive.mapping(&file, &roles, held_out, extended));
    Ok(texts.find(|text| wrong_with(text).is_empty()).unwrap_or_else(|| with_problems(&first, &problems)))
}

/// Bytes of a file up to which a guess is tried on all of it.
const LARGE: u64 = 1 << 26;
/// Problems that a guess names, and those of a kind.
const NAMED: usize = 10;
const NAMED_OF_A_KIND: usize = 3;

/// What `paramill check` would say of a mapping.
fn wrong_with(text: &str) -> Vec<Problem> {
    let wrong = |found: String| vec![Problem::new(Kind::Setting, found, "an [import] section", "correct it")];
    let section = text.parse::<::toml::Table>().map(|mut table| table.remove("import"));
    match section.map(|section| section.map(::toml::Value::try_into::<Settings>)) {
        Ok(Some(Ok(settings))) => check(&settings, Path::new("")),
        Ok(Some(Err(error))) => wrong(error.to_string()),
        Ok(None) => wrong("none".to_owned()),
        Err(error) => wrong(error.to_string()),
    }
}

fn with_problems(text: &str, problems: &[Problem]) -> String {
    let mut head = String::from("# To be filled in or corrected before it can be run:\n");
    let mut named: Vec<&Problem> = Vec::new();
    for problem in problems {
        if named.len() < NAMED && named.iter().filter(|other| other.kind == problem.kind).count() < NAMED_OF_A_KIND {
            named.push(problem);
        }
    }
    for problem in &named {
        head += &format!("#   {}\n", problem.to_string().replace(char::is_control, " "));
    }
    if problems.len() > named.len() {
        head += &format!("#   and {} more: `paramill check` lists them\n", problems.len() - named.len());
    }
    head + text
}

/// Why the first row is no header, and what to do: half of its cells or more are numbers.
fn no_header(header: &[String], archive: &Archive) -> Option<(String, &'static str)> {
    let notation = archive.notation();
    let number = |cell: &&String| notation.number(Cell::from_text(cell)).is_ok();
    let first = header.iter().find(number)?;
    let is_none = 2 * header.iter().filter(number).count() >= header.len();
    let remedy = match archive.comment {
        true => "put a row of names before the numbers; if one stands there behind `#`, take the `#` away",
        false => "put a row of names before the numbers",
    };
    is_none.then(|| (format!("no names of columns, for the first row holds numbers such as {}", shown(first)), remedy))
}

/// Why no column can be a channel, and what to do.
fn why_no_channel(looks: &[Look], unread: &[(String, String)]) -> (String, &'static str) {
    let rows = looks.iter().map(|look| look.numbers + look.stamps + look.texts).max().unwrap_or(0);
    let named = |is: &dyn Fn(&Look) -> bool| {
        let names: Vec<&str> = looks.iter().filter(|look| is(look)).map(|look| look.header.as_str()).collect();
        (!names.is_empty()).then(|| listing(&names))
    };
    if rows == 0 {
        return ("a header without rows".to_owned(), "name a file with measurements");
    }
    if let [(name, what), ..] = unread {
        let found = format!("no column that can be a channel, and {} {what}, which is not read", shown(name));
        return (found, "write that column as numbers or time stamps, or the samples as CSV");
    }
    if let [only] = looks {
        let found = format!("a single column {}", shown(&only.header));
        return (found, "if it should be several, they are separated by something unusual: write the mapping by hand");
    }
    if rows == 1 {
        return ("a single row".to_owned(), "name a file with several measurements over time");
    }
    if let Some(names) = named(&|look| look.is_number() && look.values.len() == 1) {
        let remedy = "nothing is learned from a constant: name a file in which something changes over time";
        return (format!("beside a time only values that never change, in {names}"), remedy);
    }
    if let Some(names) = named(&|look| look.numbers > 0 && !look.is_number()) {
        let found = format!("numbers and other text mixed in {names}");
        return (found, "correct the cells, or write the mapping by hand and declare its markers under `missing`");
    }
    if let Some(names) = named(&|look| look.is_number()) {
        let found = format!("only {names} with numbers, and no measurement beside them");
        return (found, "name a file with a column of times and one of measurements at least");
    }
    let names = listing(&looks.iter().map(|look| look.header.as_str()).collect::<Vec<_>>());
    (format!("no column of numbers among {names}"), "name a file with measurements")
}

/// The files in a folder that look like tables, in the order of their names.
fn tables_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let is_table = |ending: &str| {
        let known = ["csv", "tsv", "txt", "gz", "zst", "parquet", "h5", "hdf5", "hdf", "nc", "nc4", "mat"];
        known.contains(&ending)
    };
    files.retain(|file| file.extension().and_then(|ending| ending.to_str()).is_some_and(is_table));
    files
}

/// What a PEtab problem has that its mapping could not say, and what to do.
fn unread_petab(text: &str) -> Option<(String, &'static str)> {
    let keys = ["experiment_files", "condition_files", "measurement_files"];
    let [experiments, conditions, measurements] = keys.map(|key| listed(text, key).len());
    let many = text.lines().filter(|line| line.contains("measurement_files:")).count();
    if experiments > 0 || text.lines().any(|line| line.replace(' ', "").starts_with("format_version:2")) {
        return Some(("a PEtab problem of version 2".to_owned(), "write it in version 1 of the format"));
    }
    if many > 1 {
        return Some((format!("{many} PEtab problems in one file"), "write each into a file of its own"));
    }
    let several = [("condition_files", conditions), ("measurement_files", measurements)];
    let (key, count) = several.into_iter().find(|several| several.1 > 1)?;
    Some((format!("{count} {key}"), "join them into one table"))
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
