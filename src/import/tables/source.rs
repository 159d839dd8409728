//! A source file of any format: its header, then its rows of cells.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::batch::{Batch, Batches};
use super::cell::Cell;
use super::csv::{CsvError, CsvReader, CsvRow, Syntax};
use super::files::{SourceFile, files_in};
use super::formats;
use super::text::{decompressed, open_with_head};
use crate::problems::{Kind, Problem, Problems, listing, shown, suggestion};
use crate::progress::Interrupt;
use crate::regular;
use crate::units::split_header;

/// Rows between two checks for a request to stop.
const ROWS_BETWEEN_CHECKS: u64 = 1 << 14;

/// What to do about a file that ends early or makes no sense.
const COPIED_WHOLE: &str = "check that the file was copied whole";

/// An open source file, its header read.
pub(crate) struct Source {
    pub path: PathBuf,
    /// Names of the columns, trimmed.
    pub header: Vec<String>,
    /// Unit of each column, from the file's metadata.
    stated: Vec<Option<String>>,
    header_line: Option<u64>,
    content: Content,
}

enum Content {
    Text(CsvReader<Box<dyn Read>>),
    Columnar(Batches),
}

/// A row with as many cells as the header.
pub(crate) struct Row<'a> {
    /// Line on which it starts, from 1; in a columnar file, the number of the row.
    pub line: u64,
    cells: Cells<'a>,
}

enum Cells<'a> {
    Text(&'a CsvRow<'a>),
    Batch(&'a Batch, usize),
}

impl Row<'_> {
    /// The batch that the row belongs to, and its position in it; `None` in a text file.
    pub(crate) fn in_batch(&self) -> Option<(&Batch, usize)> {
        match self.cells {
            Cells::Text(_) => None,
            Cells::Batch(batch, row) => Some((batch, row)),
        }
    }

    pub(crate) fn cell(&self, column: usize) -> Cell<'_> {
        match self.cells {
            Cells::Text(row) => Cell::from_text(row.cell(column)),
            Cells::Batch(batch, row) => batch.cell(column, row),
        }
    }
}

impl Source {
    /// Opens a file of any format; `None` and a problem if it cannot be read. `key` is the setting that names it.
    pub(crate) fn open(file: &SourceFile, key: &str, syntax: Syntax, problems: &mut Problems) -> Option<Source> {
        let path = &file.path;
        let mut report = |problem: Problem| problems.push(problem.file(path).setting(key));
        let (opened, head) = open_with_head(path).map_err(|error| report(unreadable(file, &error))).ok()?;
        let source = match formats::of_file(&head).map(|format| (format.open)(path)) {
            Some(Ok(batches)) => Source {
                path: path.clone(),
                header: batches.names.clone(),
                stated: batches.units.clone(),
                header_line: None,
                content: Content::Columnar(batches),
            },
            Some(Err((found, remedy))) => {
                report(Problem::new(Kind::UnsupportedFile, found, "a file with columns of numbers", remedy));
                return None;
            }
            None => {
                let text = decompressed(opened, &head).map_err(|error| report(unreadable(file, &error))).ok()?;
                let text = text.map_err(|(found, remedy)| {
                    report(Problem::new(Kind::UnsupportedFile, found, formats::in_words(), remedy));
                });
                let mut reader = CsvReader::new(text.ok()?, syntax);
                let (header, line) = read_header(&mut reader, path, key, problems)?;
                Source {
                    path: path.clone(),
                    header,
                    stated: Vec::new(),
                    header_line: Some(line),
                    content: Content::Text(reader),
                }
            }
        };
        source.report_repeated_names(problems);
        Some(source)
    }

    /// Reports columns of the same name.
    fn report_repeated_names(&self, problems: &mut Problems) {
        let mut seen = BTreeMap::new();
        for (index, name) in self.header.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = seen.insert(name, index) {
                let found = format!("the same name as column {}", first + 1);
                let problem = Problem::new(Kind::DuplicateColumn, found, "each name once", "rename one of the columns");
                problems.push(self.in_header(problem).column(index, name));
            }
        }
    }

    /// Places a problem at the header.
    fn in_header(&self, problem: Problem) -> Problem {
        let problem = problem.file(&self.path);
        match self.header_line {
            Some(line) => problem.line(line),
            None => problem,
        }
    }

    /// Position of a column, named with or without its unit or group; `None` and a problem if there is none, or more than one. `key` is the
    /// setting that names it.
    pub(crate) fn column(&self, key: &str, name: &str, problems: &mut Problems) -> Option<usize> {
        let name = name.trim();
        if let Some(exact) = self.header.iter().position(|column| column == name) {
            return Some(exact);
        }
        let is_alike =
            |column: &str| column == name || matches!(self.content, Content::Columnar(_)) && last(column) == name;
        let alike: Vec<usize> = (0..self.header.len()).filter(|&i| is_alike(split_header(&self.header[i]).0)).collect();
        let mut kind = Kind::MissingColumn;
        let (found, expected, remedy) = match (alike.as_slice(), self.header.as_slice()) {
            ([only], _) => return Some(*only),
            ([], [only]) if only.contains([',', ';', '\t', '|']) => {
                kind = Kind::SingleColumn;
                let remedy = "the header is a single column: correct the delimiter in the settings".to_owned();
                (format!("no column {}", shown(name)), "a column of that name", remedy)
            }
            ([], header) => match self.unread(name) {
                Some(what) => {
                    let found = format!("the column {} {what}, which is not read", shown(name));
                    (found, "numbers, texts or time stamps", "write the column as one of these".to_owned())
                }
                None => {
                    let remedy = suggestion(name, header.iter().map(String::as_str));
                    (format!("no column {}", shown(name)), "a column of that name", remedy)
                }
            },
            (several, _) => {
                let found = format!("{} columns {}, of different units or groups", several.len(), shown(name));
                (found, "one column", format!("write the whole header, such as `{}`", self.header[several[0]]))
            }
        };
        let problem = Problem::new(kind, found, expected, remedy);
        problems.push(self.in_header(problem).setting(key));
        None
    }

    /// What a column is, in words, if the file has it but it cannot be read.
    fn unread(&self, name: &str) -> Option<&str> {
        let Content::Columnar(batches) = &self.content else { return None };
        let is_alike = |column: &str| column == name || split_header(column).0 == name || last(column) == name;
        let (_, kind) = batches.unread.iter().find(|(column, _)| is_alike(column))?;
        Some(kind)
    }

    /// The problem of a file of several parts where the settings do not tell them apart.
    pub(crate) fn mixed_parts(&self) -> Option<Problem> {
        let Content::Columnar(batches) = &self.content else { return None };
        let first = batches.apart.first()?;
        let found = format!("several parts, told apart by {}", listing(&batches.apart));
        let remedy = format!("set `environment = {first:?}`, or `trajectory` where they are of one environment");
        let problem = Problem::new(Kind::Setting, found, "a column that tells them apart in [import.table]", remedy);
        Some(problem.file(&self.path).setting("import.table.environment"))
    }

    /// Names of columns that cannot be read, and what they are.
    pub(crate) fn all_unread(&self) -> &[(String, String)] {
        match &self.content {
            Content::Columnar(batches) => &batches.unread,
            Content::Text(_) => &[],
        }
    }

    /// The unit in a column's header, else the one in the file's metadata.
    pub(crate) fn unit(&self, column: usize) -> Option<&str> {
        split_header(&self.header[column]).1.or_else(|| self.stated_unit(column))
    }

    /// The unit of a column in the file's metadata.
    pub(crate) fn stated_unit(&self, column: usize) -> Option<&str> {
        self.stated.get(column)?.as_deref()
    }

    /// Places a problem at a cell of the header.
    pub(crate) fn at_header(&self, column: usize, problem: Problem) -> Problem {
        self.in_header(problem).column(column, &self.header[column])
    }

    /// Calls `row` with every row that has as many cells as the header, and reports the others. False if a request to stop cut it short.
    pub(crate) fn rows(
        &mut self,
        interrupt: &Interrupt,
        problems: &mut Problems,
        mut row: impl FnMut(&Row<'_>, &mut Problems),
    ) -> bool {
        self.rows_in_bulk(interrupt, problems, |first, problems| {
            row(first, problems);
            1
        })
    }

    /// As [`Source::rows`]; `row` returns how many rows it has dealt with: in a columnar file, it may take further rows of the batch.
    pub(crate) fn rows_in_bulk(
        &mut self,
        interrupt: &Interrupt,
        problems: &mut Problems,
        row: impl FnMut(&Row<'_>, &mut Problems) -> usize,
    ) -> bool {
        let Source { path, header, content, .. } = self;
        let mut check = StopCheck { interrupt, calls: 0 };
        let finished = match content {
            Content::Text(reader) => text_rows(reader, path, header.len(), &mut check, problems, row),
            Content::Columnar(batches) => columnar_rows(batches, path, &mut check, problems, row),
        };
        if finished && check.calls == 0 {
            let problem = Problem::new(Kind::NoRows, "a header without rows", "at least one row", COPIED_WHOLE);
            problems.push(problem.file(path));
        }
        finished
    }
}

/// Looks for a request to stop now and then.
struct StopCheck<'a> {
    interrupt: &'a Interrupt,
    calls: u64,
}

impl StopCheck<'_> {
    /// Whether to go on; called for every row or block of rows.
    fn goes_on(&mut self) -> bool {
        self.calls += 1;
        !self.calls.is_multiple_of(ROWS_BETWEEN_CHECKS) || self.interrupt.requested().is_none()
    }
}

/// The names of the columns and the line on which they stand; `None` and a problem if there are none.
fn read_header(
    reader: &mut CsvReader<Box<dyn Read>>,
    path: &Path,
    key: &str,
    problems: &mut Problems,
) -> Option<(Vec<String>, u64)> {
    let problem = match reader.next() {
        Ok(Some(Ok(row))) => {
            return Some(((0..row.len()).map(|column| row.cell(column).to_owned()).collect(), row.line));
        }
        Ok(Some(Err((line, error)))) => problem_of_row(error).line(line),
        Ok(None) => Problem::new(Kind::EmptyFile, "an empty file", "a header and rows", COPIED_WHOLE).setting(key),
        Err(error) => broken(&error),
    };
    problems.push(problem.file(path));
    None
}

/// Hands over the rows of a text file; false if a request to stop cut it short.
fn text_rows(
    reader: &mut CsvReader<Box<dyn Read>>,
    path: &Path,
    columns: usize,
    check: &mut StopCheck<'_>,
    problems: &mut Problems,
    mut row: impl FnMut(&Row<'_>, &mut Problems) -> usize,
) -> bool {
    loop {
        let read = match reader.next() {
            Ok(None) => return true,
            Ok(Some(read)) => read,
            Err(error) => {
                problems.push(broken(&error).file(path));
                return true;
            }
        };
        if !check.goes_on() {
            return false;
        }
        match read {
            Ok(cells) if cells.len() == columns => {
                row(&Row { line: cells.line, cells: Cells::Text(&cells) }, problems);
            }
            Ok(cells) => {
                let found = format!("{} cells", cells.len());
                let expected = format!("{columns}, as in the header");
                let remedy =
                    "check the row for a missing or stray delimiter or quote, or a number with the delimiter in it";
                let problem = Problem::new(Kind::RaggedRow, found, expected, remedy);
                problems.push(problem.file(path).line(cells.line));
            }
            Err((line, error)) => problems.push(problem_of_row(error).file(path).line(line)),
        }
    }
}

/// Hands over the rows of a columnar file, reading the next batch meanwhile; false if a request to stop cut it short.
fn columnar_rows(
    batches: &mut Batches,
    path: &Path,
    check: &mut StopCheck<'_>,
    problems: &mut Problems,
    mut row: impl FnMut(&Row<'_>, &mut Problems) -> usize,
) -> bool {
    let mut rows_before = 0;
    let mut next = batches.next();
    while let Some(batch) = next.take() {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                problems.push(broken(&error).file(path));
                break;
            }
        };
        let mut index = 0;
        let mut goes_on = check.interrupt.requested().is_none();
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| next = batches.next());
            while goes_on && index < batch.rows() {
                goes_on = check.goes_on();
                if goes_on {
                    let line = rows_before + index as u64 + 1;
                    index += row(&Row { line, cells: Cells::Batch(&batch, index) }, problems);
                }
            }
        });
        if !goes_on {
            return false;
        }
        rows_before += index as u64;
    }
    true
}

/// The problem of a file that cannot be opened, or whose first bytes cannot be read.
fn unreadable(file: &SourceFile, error: &io::Error) -> Problem {
    let path = &file.path;
    let parent = path.parent().unwrap_or(path);
    if error.kind() == io::ErrorKind::NotFound && path.is_symlink() {
        return dangling_link(path);
    }
    let (found, remedy) = match error.kind() {
        _ if let Some(special) = regular::special(path) => {
            (special.to_owned(), "name a regular file, or leave it out".to_owned())
        }
        io::ErrorKind::NotFound if parent.is_dir() => {
            let base =
                if path.is_relative() { "; `import.directory` is relative to the current directory" } else { "" };
            ("no such file".into(), files_in(parent, &file.name) + base)
        }
        io::ErrorKind::NotFound => {
            let remedy = "correct `import.directory`, which does not exist; it is relative to the current directory";
            ("no such file".to_owned(), remedy.to_owned())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            (format!("a damaged file: {error}"), COPIED_WHOLE.to_owned())
        }
        _ => (format!("a file that cannot be read: {error}"), "make it readable".to_owned()),
    };
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let kind = if is_missing { Kind::MissingFile } else { Kind::UnreadableFile };
    Problem::new(kind, found, "a table", remedy)
}

/// The problem of a symbolic link to nothing.
pub(crate) fn dangling_link(path: &Path) -> Problem {
    let target = fs::read_link(path).unwrap_or_default();
    let found = format!("a link to {}, which is not there", shown(&target.to_string_lossy()));
    let remedy = "bring back what it leads to, or remove the link";
    Problem::new(Kind::MissingFile, found, "a table", remedy).file(path)
}

/// The name of a variable without its group.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The problem of a file that ends early or is damaged behind its header.
fn broken(error: &dyn Display) -> Problem {
    let found = format!("a file that cannot be read to its end: {error}");
    Problem::new(Kind::UnreadableFile, found, "a whole file", COPIED_WHOLE)
}

/// The problem of a row of text, not yet located.
fn problem_of_row(error: CsvError) -> Problem {
    match error {
        CsvError::NotUtf8(byte) => {
            let remedy = "convert the file, for example with `iconv -f LATIN1 -t UTF-8`";
            Problem::new(Kind::InvalidText, format!("the byte 0x{byte:02x}"), "UTF-8 text", remedy)
        }
        CsvError::TextAfterQuote => {
            let remedy = "write a quote within a quoted cell twice";
            Problem::new(Kind::RaggedRow, "text after a closing quote", "a delimiter or the line's end", remedy)
        }
        CsvError::UnclosedQuote => {
            let remedy = "close it, or remove it";
            Problem::new(
                Kind::RaggedRow,
                "a quote at the start of a cell that is never closed",
                "a closing quote",
                remedy,
            )
        }
        CsvError::TooLong => {
            let remedy = "check the file for a quote that is never closed, and that it is text";
            Problem::new(Kind::RaggedRow, "a row of more than 16 MiB", "rows of text", remedy)
        }
    }
}
