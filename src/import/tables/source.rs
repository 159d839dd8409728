//! A source file: its header, then its rows of cells, each with its place.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::batch::{Batch, Batches, Refusal};
use super::cell::Cell;
use super::csv::{Delimiter, Flaw, Record, Records, Syntax};
use super::files::{SourceFile, files_in};
use super::{hdf5, parquet};
use crate::problems::suggestion;
use crate::problems::{Kind, Problem, Problems};
use crate::problems::{listing, shown};
use crate::progress::Interrupt;
use crate::regular;
use crate::units::split_header;

/// Rows between two looks at the request to stop.
const ROWS_BETWEEN_LOOKS: u64 = 1 << 14;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that tell what a file is.
const HEAD: usize = 1 << 12;

/// An open source file, its header read.
pub(crate) struct Source {
    pub path: PathBuf,
    /// Names of the columns, without blanks around them.
    pub header: Vec<String>,
    /// Units that the file states beside the names of columns.
    stated: Vec<Option<String>>,
    header_line: Option<u64>,
    content: Content,
}

enum Content {
    Text(Records<Box<dyn Read>>),
    Columns(Batches),
}

/// A row of as many cells as the header has.
pub(crate) struct Row<'a> {
    /// Line on which it starts, from 1; of a file that has none, its number.
    pub line: u64,
    cells: Cells<'a>,
}

enum Cells<'a> {
    Record(&'a Record<'a>),
    Batch(&'a Batch, usize),
}

impl Row<'_> {
    /// The batch of columns in which the row stands, and where in it.
    pub fn in_batch(&self) -> Option<(&Batch, usize)> {
        match self.cells {
            Cells::Record(_) => None,
            Cells::Batch(batch, row) => Some((batch, row)),
        }
    }

    pub fn cell(&self, column: usize) -> Cell<'_> {
        match self.cells {
            Cells::Record(record) => Cell::from_text(record.cell(column)),
            Cells::Batch(batch, row) => batch.cell(column, row),
        }
    }
}

impl Source {
    /// Opens a file, whatever it is of what can be read; `key` is the setting that names it.
    pub fn open(file: &SourceFile, key: &str, syntax: Syntax, problems: &mut Problems) -> Option<Source> {
        let path = &file.path;
        let at = |problem: Problem| problem.file(path).setting(key);
        let unreadable = |error: io::Error| {
            let parent = path.parent().unwrap_or(path);
            let special = regular::special(path);
            let (found, remedy) = match error.kind() {
                _ if special.is_some() => {
                    (special.unwrap_or_default().to_owned(), "name a regular file, or leave it out".to_owned())
                }
                io::ErrorKind::NotFound if parent.is_dir() => {
                    let from = if path.is_relative() {
                        "; `import.directory` is relative to the current directory"
                    } else {
                        ""
                    };
                    ("no such file".into(), files_in(parent, &file.name) + from)
                }
                io::ErrorKind::NotFound => {
                    let remedy =
                        "correct `import.directory`, which does not exist; it is relative to the current directory";
                    ("no such file".to_owned(), remedy.to_owned())
                }
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                    (format!("a damaged file: {error}"), "check that the file was copied whole".to_owned())
                }
                _ => (format!("a file that cannot be read: {error}"), "make it readable".to_owned()),
            };
            Problem::new(Kind::UnreadableFile, found, "a table", remedy)
        };
        let opened = regular::open(path).and_then(|mut opened| {
            let mut head = Vec::new();
            opened.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
            opened.rewind()?;
            Ok((opened, head))
        });
        let (opened, head) = opened.map_err(|error| problems.push(at(unreadable(error)))).ok()?;
        let columns = match head.as_slice() {
            [b'P', b'A', b'R', b'1', ..] => Some(parquet::open(path)),
            head if hdf5::is_hdf5(head) => Some(hdf5::open(path)),
            _ => None,
        };
        let mut source = Source {
            path: path.clone(),
            header: Vec::new(),
            stated: Vec::new(),
            header_line: None,
            content: Content::Columns(Batches::empty()),
        };
        match columns {
            Some(Ok(batches)) => {
                source.header = batches.names.clone();
                source.stated = batches.units.clone();
                source.content = Content::Columns(batches);
            }
            Some(Err((found, remedy))) => {
                problems.push(at(Problem::new(Kind::UnsupportedFile, found, "a file with columns of numbers", remedy)));
                return None;
            }
            None => {
                let text = plain(opened, &head).map_err(|error| problems.push(at(unreadable(error)))).ok()?;
                let text = text.map_err(|(found, remedy)| {
                    problems.push(at(Problem::new(Kind::UnsupportedFile, found, "CSV text, Parquet or HDF5", remedy)));
                });
                source.read_header(Records::new(text.ok()?, syntax), key, problems)?;
            }
        }
        source.check_header(problems);
        Some(source)
    }

    fn read_header(&mut self, mut records: Records<Box<dyn Read>>, key: &str, problems: &mut Problems) -> Option<()> {
        let header = match records.next() {
            Ok(Some(Ok(record))) => {
                self.header_line = Some(record.line);
                (0..record.len()).map(|column| record.cell(column).to_owned()).collect()
            }
            Ok(Some(Err((line, flaw)))) => {
                problems.push(flawed(flaw).file(&self.path).line(line));
                return None;
            }
            Ok(None) => {
                let remedy = "check that the file was copied whole";
                let problem = Problem::new(Kind::EmptyFile, "an empty file", "a header and rows", remedy);
                problems.push(problem.file(&self.path).setting(key));
                return None;
            }
            Err(error) => {
                problems.push(broken(&error).file(&self.path));
                return None;
            }
        };
        self.header = header;
        self.content = Content::Text(records);
        Some(())
    }

    fn check_header(&self, problems: &mut Problems) {
        let mut seen = BTreeMap::new();
        for (index, name) in self.header.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = seen.insert(name, index) {
                let found = format!("the same name as column {}", first + 1);
                let problem = Problem::new(Kind::DuplicateColumn, found, "each name once", "rename one of the columns");
                problems.push(self.in_header(problem).column(index, name));
            }
        }
    }

    fn in_header(&self, problem: Problem) -> Problem {
        let problem = problem.file(&self.path);
        match self.header_line {
            Some(line) => problem.line(line),
            None => problem,
        }
    }

    /// Position of the column that the setting `key` names, with or without its unit.
    pub fn column(&self, key: &str, name: &str, problems: &mut Problems) -> Option<usize> {
        let name = name.trim();
        if let Some(exact) = self.header.iter().position(|column| column == name) {
            return Some(exact);
        }
        let is_alike =
            |column: &str| column == name || matches!(self.content, Content::Columns(_)) && last(column) == name;
        let alike: Vec<usize> = (0..self.header.len()).filter(|&i| is_alike(split_header(&self.header[i]).0)).collect();
        let (found, expected, remedy) = match (alike.as_slice(), self.header.as_slice()) {
            ([only], _) => return Some(*only),
            ([], [only]) if only.contains([',', ';', '\t', '|']) => {
                let remedy = "the header is a single column: correct the delimiter in the settings".to_owned();
                (format!("no column {}", shown(name)), "a column of that name", remedy)
            }
            ([], header) => match self.unread(name) {
                Some(kind) => {
                    let found = format!("the column {} {kind}, which is not read", shown(name));
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
        let problem = Problem::new(Kind::MissingColumn, found, expected, remedy);
        problems.push(self.in_header(problem).setting(key));
        None
    }

    /// What a column is that the file has and that is not read.
    fn unread(&self, name: &str) -> Option<&str> {
        let Content::Columns(batches) = &self.content else { return None };
        let is_alike = |column: &str| column == name || split_header(column).0 == name || last(column) == name;
        let (_, kind) = batches.unread.iter().find(|(column, _)| is_alike(column))?;
        Some(kind)
    }

    /// The problem with a file of several parts where the settings name nothing that tells them apart.
    pub fn mixed_parts(&self) -> Option<Problem> {
        let Content::Columns(batches) = &self.content else { return None };
        let first = batches.apart.first()?;
        let found = format!("parts that {} tells apart", listing(&batches.apart));
        let remedy = format!("set `environment = {first:?}`, or `trajectory` where they are of one environment");
        let problem = Problem::new(Kind::Setting, found, "what tells them apart in [import.table]", remedy);
        Some(problem.file(&self.path).setting("import.table.environment"))
    }

    /// Columns that the file has and that are not read, and what they are.
    pub fn all_unread(&self) -> &[(String, String)] {
        match &self.content {
            Content::Columns(batches) => &batches.unread,
            Content::Text(_) => &[],
        }
    }

    /// The unit that stands in a column's header, else the one that the file states.
    pub fn unit(&self, column: usize) -> Option<&str> {
        split_header(&self.header[column]).1.or_else(|| self.stated_unit(column))
    }

    /// The unit that the file states beside a column's name.
    pub fn stated_unit(&self, column: usize) -> Option<&str> {
        self.stated.get(column)?.as_deref()
    }

    /// A problem with a cell of the header.
    pub fn at_header(&self, column: usize, problem: Problem) -> Problem {
        self.in_header(problem).column(column, &self.header[column])
    }

    /// Hands over every row after the header that has as many cells as it, and reports the others.
    /// Returns false if a request to stop cut it short.
    pub fn rows(
        &mut self,
        interrupt: &Interrupt,
        problems: &mut Problems,
        mut row: impl FnMut(&Row<'_>, &mut Problems),
    ) -> bool {
        self.rows_together(interrupt, problems, |first, problems| {
            row(first, problems);
            1
        })
    }

    /// As [`Source::rows`], where `row` says how many rows of a batch, from the one that it was handed on, it has dealt with.
    pub fn rows_together(
        &mut self,
        interrupt: &Interrupt,
        problems: &mut Problems,
        mut row: impl FnMut(&Row<'_>, &mut Problems) -> usize,
    ) -> bool {
        let Source { path, header, content, .. } = self;
        let mut count = 0;
        let mut goes_on = || {
            count += 1;
            count % ROWS_BETWEEN_LOOKS != 0 || interrupt.requested().is_none()
        };
        match content {
            Content::Text(records) => loop {
                let record = match records.next() {
                    Ok(None) => break,
                    Ok(Some(record)) => record,
                    Err(error) => {
                        problems.push(broken(&error).file(path));
                        break;
                    }
                };
                if !goes_on() {
                    return false;
                }
                match record {
                    Ok(record) if record.len() == header.len() => {
                        row(&Row { line: record.line, cells: Cells::Record(&record) }, problems);
                    }
                    Ok(record) => {
                        let found = format!("{} cells", record.len());
                        let expected = format!("{}, as in the header", header.len());
                        let remedy = "check the row for a missing or stray delimiter or quote, or a number with the delimiter in it";
                        let problem = Problem::new(Kind::RaggedRow, found, expected, remedy);
                        problems.push(problem.file(path).line(record.line));
                    }
                    Err((line, flaw)) => problems.push(flawed(flaw).file(path).line(line)),
                }
            },
            Content::Columns(batches) => {
                let mut before = 0;
                let mut next = batches.next();
                while let Some(batch) = next.take() {
                    let batch = match batch {
                        Ok(batch) => batch,
                        Err(found) => {
                            problems.push(broken(&found).file(path));
                            break;
                        }
                    };
                    let mut index = 0;
                    let mut finished = interrupt.requested().is_none();
                    rayon::in_place_scope(|scope| {
                        scope.spawn(|_| next = batches.next());
                        while finished && index < batch.rows() {
                            finished = goes_on();
                            if finished {
                                let line = before + index as u64 + 1;
                                index += row(&Row { line, cells: Cells::Batch(&batch, index) }, problems);
                            }
                        }
                    });
                    if !finished {
                        return false;
                    }
                    before += index as u64;
                }
            }
        }
        if count == 0 {
            let remedy = "check that the file was copied whole";
            let problem = Problem::new(Kind::NoRows, "a header without rows", "at least one row", remedy);
            problems.push(problem.file(path));
        }
        true
    }
}

/// The name of a variable without that of its group.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn broken(error: &dyn std::fmt::Display) -> Problem {
    let found = format!("a file that cannot be read to its end: {error}");
    Problem::new(Kind::UnreadableFile, found, "a whole file", "check that the file was copied whole")
}

fn flawed(flaw: Flaw) -> Problem {
    match flaw {
        Flaw::NotText(byte) => {
            let remedy = "convert the file, for example with `iconv -f LATIN1 -t UTF-8`";
            Problem::new(Kind::InvalidText, format!("the byte 0x{byte:02x}"), "UTF-8 text", remedy)
        }
        Flaw::TextAfterQuote => {
            let remedy = "write a quote within a quoted cell twice";
            Problem::new(Kind::RaggedRow, "text after a closing quote", "a delimiter or the line's end", remedy)
        }
        Flaw::Unclosed => {
            let remedy = "close it, or remove it";
            Problem::new(
                Kind::RaggedRow,
                "a quote at the start of a cell that is never closed",
                "a closing quote",
                remedy,
            )
        }
        Flaw::TooLong => {
            let remedy = "check the file for a quote that is never closed, and that it is text";
            Problem::new(Kind::RaggedRow, "a row of more than 16 MiB", "rows of text", remedy)
        }
    }
}

/// The text of a file, decompressed and without its byte-order mark; or what it is instead, and what to do.
fn plain(file: File, head: &[u8]) -> io::Result<Result<Box<dyn Read>, Refusal>> {
    let mut text: Box<dyn Read> = match head {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::new(file)?),
        _ => Box::new(file),
    };
    let mut head = Vec::new();
    text.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    if let Some((found, remedy)) = unsupported(&head) {
        return Ok(Err((found.to_owned(), remedy)));
    }
    if head.starts_with(UTF8_MARK) {
        head.drain(..UTF8_MARK.len());
    }
    Ok(Ok(Box::new(io::Cursor::new(head).chain(text))))
}

/// What a file is that is no CSV text, and what to do.
fn unsupported(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let kinds: [(&[u8], &str, &str); 7] = [
        (b"BZh", "a bzip2 file", "bzip2 is not supported: decompress it with `bunzip2`"),
        (b"\xfd7zXZ", "an xz file", "xz is not supported: decompress it with `unxz`"),
        (b"PK\x03\x04", "a zip file or a workbook", "these are not supported: extract it, or export the sheet as CSV"),
        (b"CDF", "a NetCDF-3 file", "NetCDF-3 is not supported: convert it with `nccopy -k nc4`"),
        (b"MATLAB 5.0", "a MATLAB file of version 5 to 7", "save it with `-v7.3`, or export the samples as CSV"),
        (b"\xff\xfe", "UTF-16 text", "UTF-16 is not supported: convert it with `iconv -t UTF-8`"),
        (b"\xfe\xff", "UTF-16 text", "UTF-16 is not supported: convert it with `iconv -t UTF-8`"),
    ];
    kinds.iter().find(|kind| head.starts_with(kind.0)).map(|kind| (kind.1, kind.2)).or_else(|| {
        let remedy = "binary files are not supported: export the data as CSV";
        head.contains(&0).then_some(("a binary file (it has zero bytes)", remedy))
    })
}

/// The first bytes of a text file, decompressed; `None` if it is none, or cannot be read.
pub(crate) fn head(path: &Path) -> Option<String> {
    let mut file = regular::open(path).ok()?;
    let mut magic = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut magic).ok()?;
    file.rewind().ok()?;
    if magic.starts_with(b"PAR1") || hdf5::is_hdf5(&magic) {
        return None;
    }
    let mut text = Vec::new();
    plain(file, &magic).ok()?.ok()?.take(1 << 16).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// How the settings say that a text is cut into cells.
pub(crate) fn syntax(delimiter: &str, comment: Option<&str>) -> Option<Syntax> {
    let comment = comment.and_then(|comment| comment.bytes().next());
    Some(Syntax { delimiter: Delimiter::parse(delimiter)?, comment })
}
