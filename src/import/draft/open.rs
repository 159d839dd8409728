//! Opening the archive at a path: a table, a folder of tables, or a PEtab problem.

use std::fs;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::petab;
use crate::import::tables::cell::Cell;
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::formats;
use crate::import::tables::source::Source;
use crate::import::tables::text::beginning;
use crate::problems::{Kind, Problem, Problems, shown};
use crate::regular;

/// The setting that problems name.
const KEY: &str = "guess";

/// An archive whose first table is open.
pub(crate) struct Opened {
    pub archive: Archive,
    pub file: SourceFile,
    pub source: Source,
    /// What is wrong with its header.
    pub problems: Problems,
    /// The other tables of the same kind in the folder.
    others: Vec<PathBuf>,
    syntax: Syntax,
}

/// The problem with an archive at `path` of which no mapping can be drafted.
pub(crate) fn no_table(path: &Path, found: &str, remedy: &str) -> Vec<Problem> {
    let expected = "a table, a folder of tables, a PEtab problem, or fields on a grid";
    vec![Problem::new(Kind::UnreadableFile, found, expected, remedy).file(path)]
}

/// Opens the archive at `path`.
///
/// # Errors
/// If there is no table with a header.
pub(crate) fn open(path: &Path) -> Result<Opened, Vec<Problem>> {
    let refused = |found: &str, remedy: &str| no_table(path, found, remedy);
    if !path.exists() {
        return Err(refused("no such file", "check the path"));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut archive = Archive { directory: parent.to_owned(), ..Archive::default() };
    let mut others = Vec::new();
    let first = match path.extension().and_then(|ending| ending.to_str()) {
        _ if path.is_dir() => {
            archive.directory = path.to_owned();
            let mut files = tables_in(path).into_iter();
            let first = files.next().ok_or_else(|| refused("a folder without a table", "name a file"))?;
            others.extend(files.filter(|file| file.extension() == first.extension()));
            archive.pattern = first.extension().map(|ending| format!("{{environment}}.{}", ending.display()));
            first
        }
        Some("yaml" | "yml") => {
            let text = regular::read_to_string(path)
                .map_err(|error| refused(&error.to_string(), "name a file that can be read"))?;
            let tables = petab::tables(&text).map_err(|unusable| {
                let (found, remedy) = unusable.in_words();
                refused(&found, remedy)
            })?;
            archive.conditions = tables.conditions;
            path.with_file_name(tables.measurements)
        }
        _ => path.to_owned(),
    };
    let name = first.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let file = SourceFile::new(name, first);
    if let Some(text) = beginning(&file.path) {
        archive.sniff(&text);
    }
    let syntax = Syntax::parse(&archive.delimiter, archive.comment.then_some("#")).ok_or_else(Vec::new)?;
    let mut problems = Problems::default();
    let Some(source) = Source::open(&file, KEY, syntax, &mut problems) else { return Err(problems.into_vec()) };
    if let Some((found, remedy)) = no_header(&source.header, &archive) {
        return Err(refused(&found, remedy));
    }
    archive.unread = source.all_unread().to_vec();
    Ok(Opened { archive, file, source, problems, others, syntax })
}

impl Opened {
    /// The other tables of the same kind, where they can be opened.
    pub(super) fn others(&self) -> impl Iterator<Item = Source> {
        self.others.iter().filter_map(|path| {
            let name = path.display().to_string();
            let file = SourceFile::new(name, path);
            Source::open(&file, KEY, self.syntax, &mut Problems::default())
        })
    }
}

/// Why the first row is not a header, and what to do: half of its cells or more are numbers.
fn no_header(header: &[String], archive: &Archive) -> Option<(String, &'static str)> {
    let notation = archive.notation();
    let is_number = |cell: &&String| notation.number(Cell::from_text(cell)).is_ok();
    let first = header.iter().find(is_number)?;
    let is_none = 2 * header.iter().filter(is_number).count() >= header.len();
    let remedy = match archive.comment {
        true => "put a row of names before the numbers; if one stands there behind `#`, take the `#` away",
        false => "put a row of names before the numbers",
    };
    is_none.then(|| (format!("no names of columns, for the first row holds numbers such as {}", shown(first)), remedy))
}

/// The files in a folder that look like tables, in the order of their names.
fn tables_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.retain(|file| file.extension().and_then(|ending| ending.to_str()).is_some_and(formats::is_ending));
    files
}
