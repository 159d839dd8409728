//! A first mapping of an archive: what its columns look like, as an `[import]` section to start from.

use std::fs;
use std::path::{Path, PathBuf};

use super::cell::{Cell, Flaw, Writing};
use super::files::SourceFile;
use super::problem::{Kind, Problem, Problems};
use super::records::Delimiter;
use super::source::{Source, head, syntax};

mod look;
mod mapping;

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
    if let Some(text) = head(&file.path) {
        archive.sniff(&text);
    }
    let cut = syntax(&archive.delimiter, archive.comment.then_some("#")).ok_or_else(Vec::new)?;
    let Some(mut source) = Source::open(&file, "--guess", cut, &mut problems) else { return Err(problems.into_vec()) };
    let looks = look::look(&mut source, archive.decimal_comma, &mut problems);
    let remedy = "check the delimiter, or name another file";
    archive.mapping(&file, &looks).ok_or_else(|| nothing("no column of numbers beside a time", remedy))
}

/// The first file in a folder that looks like a table.
fn first_table(folder: &Path) -> Option<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let is_table = |ending: &str| ["csv", "tsv", "txt", "gz", "zst", "parquet", "h5", "hdf5"].contains(&ending);
    files.into_iter().find(|file| file.extension().and_then(|ending| ending.to_str()).is_some_and(is_table))
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

/// What is known of an archive before its columns are.
struct Archive {
    directory: PathBuf,
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
}
