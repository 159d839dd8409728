//! A source file: bytes to a header and rows of cells, with the place of each.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::problem::{Kind, Problem, Problems, shown, suggestion};
use crate::digest::sha256;
use crate::progress::Interrupt;

/// Rows between two looks at the request to stop.
const ROWS_BETWEEN_LOOKS: u64 = 1 << 14;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// What separates the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// One ASCII character; cells may be quoted.
    Character(u8),
    /// Any run of blanks; cells cannot be quoted.
    Whitespace,
}

impl Delimiter {
    /// Reads the setting: `whitespace`, or one ASCII character that cannot be part of a number or a quotation.
    pub fn parse(text: &str) -> Option<Self> {
        match text.as_bytes() {
            b"whitespace" => Some(Delimiter::Whitespace),
            [byte]
                if byte.is_ascii()
                    && !byte.is_ascii_alphanumeric()
                    && !matches!(byte, b'"' | b'\'' | b'.' | b'+' | b'-' | b'\n' | b'\r' | 0) =>
            {
                Some(Delimiter::Character(*byte))
            }
            _ => None,
        }
    }
}

/// A source file in memory, its header read.
pub struct Source {
    pub path: PathBuf,
    /// As in the settings.
    pub file: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// Names of the columns, without blanks around them.
    pub header: Vec<String>,
    header_line: u64,
    delimiter: Delimiter,
    text: String,
}

/// A row of as many cells as the header has, without blanks around them.
pub struct Row<'a> {
    /// Line on which it starts, from 1.
    pub line: u64,
    pub cells: &'a [&'a str],
}

impl Source {
    /// Reads `file` in `directory`; `key` is the setting that names it.
    pub(super) fn read(
        directory: &Path,
        file: &str,
        key: &str,
        delimiter: Delimiter,
        problems: &mut Problems,
    ) -> Option<Source> {
        let path = directory.join(file);
        let unreadable = |found: String, remedy: &str| {
            Problem::new(Kind::UnreadableFile, found, "a CSV file", remedy).file(&path).setting(key)
        };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_dir() => {
                problems.push(unreadable("no such file".into(), &files_in(directory, file)));
                return None;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let remedy =
                    "correct `import.directory`, which does not exist; it is relative to the current directory";
                problems.push(unreadable("no such file".into(), remedy));
                return None;
            }
            Err(error) => {
                problems.push(unreadable(format!("a file that cannot be read: {error}"), "make it readable"));
                return None;
            }
        };
        let at = |problem: Problem| problem.file(&path).setting(key);
        if let Some((found, remedy)) = unsupported(&bytes) {
            problems.push(at(Problem::new(Kind::UnsupportedFile, found, "CSV text", remedy)));
            return None;
        }
        let sha256 = sha256(&bytes);
        let text = decode(bytes, &path, problems)?;
        if text.trim().is_empty() {
            let remedy = "check that the file was copied whole";
            problems.push(at(Problem::new(Kind::EmptyFile, "an empty file", "a header and rows", remedy)));
            return None;
        }
        if delimiter == Delimiter::Whitespace && text.contains('"') {
            let line = 1 + text.split('"').next().map_or(0, line_ends);
            let remedy = "quotes between blanks are not supported yet: separate the cells with another character";
            problems
                .push(at(Problem::new(Kind::UnsupportedFile, "a quote", "cells without blanks", remedy)).line(line));
            return None;
        }
        let mut source =
            Source { path, file: file.to_owned(), sha256, header: Vec::new(), header_line: 0, delimiter, text };
        source.read_header(problems);
        Some(source)
    }

    fn read_header(&mut self, problems: &mut Problems) {
        let (mut header, mut line) = (Vec::new(), 0);
        self.visit(|start, cells| {
            header = cells.iter().map(|&cell| cell.to_owned()).collect();
            line = start;
            false
        });
        (self.header, self.header_line) = (header, line);
        let mut seen = BTreeMap::new();
        for (index, name) in self.header.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = seen.insert(name, index) {
                let found = format!("the same name as column {}", first + 1);
                let problem = Problem::new(Kind::DuplicateColumn, found, "each name once", "rename one of the columns");
                problems.push(problem.file(&self.path).line(line).column(index, name));
            }
        }
    }

    /// Position of the column that the setting `key` names.
    pub(super) fn column(&self, key: &str, name: &str, problems: &mut Problems) -> Option<usize> {
        let found = self.header.iter().position(|column| column == name.trim());
        if found.is_none() {
            let separators = [',', ';', '\t', '|'];
            let remedy = match self.header.as_slice() {
                [only] if only.contains(separators) => {
                    "the header is a single column: correct the delimiter in the settings".to_owned()
                }
                header => suggestion(name, header.iter().map(String::as_str)),
            };
            let found = format!("no column {}", shown(name));
            let problem = Problem::new(Kind::MissingColumn, found, "a column of that name", remedy);
            problems.push(problem.file(&self.path).line(self.header_line).setting(key));
        }
        found
    }

    /// Hands over every row after the header that has as many cells as it, and reports the others.
    /// Returns false if a request to stop cut it short.
    pub(super) fn rows(
        &self,
        interrupt: &Interrupt,
        problems: &mut Problems,
        mut row: impl FnMut(Row<'_>, &mut Problems),
    ) -> bool {
        let (mut count, mut stopped) = (0, false);
        self.visit(|line, cells| {
            count += 1;
            if count == 1 {
                return true;
            }
            if count % ROWS_BETWEEN_LOOKS == 0 && interrupt.requested().is_some() {
                stopped = true;
                return false;
            }
            if cells.len() == self.header.len() {
                row(Row { line, cells }, problems);
            } else {
                let found = format!("{} cells", cells.len());
                let expected = format!("{}, as in the header", self.header.len());
                let remedy = "check the row for a missing or stray delimiter or quote";
                let problem = Problem::new(Kind::RaggedRow, found, expected, remedy);
                problems.push(problem.file(&self.path).line(line));
            }
            true
        });
        if count <= 1 && !stopped {
            let remedy = "check that the file was copied whole";
            let problem = Problem::new(Kind::NoRows, "a header without rows", "at least one row", remedy);
            problems.push(problem.file(&self.path));
        }
        !stopped
    }

    /// Hands over line and trimmed cells of every record that is not blank, header included, until told to stop.
    fn visit(&self, mut record: impl FnMut(u64, &[&str]) -> bool) {
        match self.delimiter {
            Delimiter::Whitespace => {
                for (index, line) in self.text.lines().enumerate() {
                    let cells: Vec<&str> = line.split_whitespace().collect();
                    if !cells.is_empty() && !record(index as u64 + 1, &cells) {
                        break;
                    }
                }
            }
            Delimiter::Character(delimiter) => {
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(delimiter)
                    .has_headers(false)
                    .flexible(true)
                    .from_reader(self.text.as_bytes());
                let mut cells = csv::StringRecord::new();
                let (mut line, mut byte) = (1, 0);
                // The text is UTF-8 and the reader flexible: there is nothing left that it could fail on.
                while reader.read_record(&mut cells).unwrap_or(false) {
                    let start = cells.position().map_or(byte, |position| position.byte() as usize);
                    // The position is where the search for the record began: before blank lines and a trailing \n.
                    let blank = self.text[start..].bytes().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                    line += line_ends(&self.text[byte..start + blank]);
                    byte = start + blank;
                    let trimmed: Vec<&str> = cells.iter().map(str::trim).collect();
                    if trimmed.iter().any(|cell| !cell.is_empty()) && !record(line, &trimmed) {
                        break;
                    }
                }
            }
        }
    }
}

/// Line ends of any kind: `\n`, `\r\n` and a lone `\r`.
fn line_ends(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let ends = |(index, &byte): (usize, &u8)| byte == b'\n' || byte == b'\r' && bytes.get(index + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(|&pair| ends(pair)).count() as u64
}

/// What a file is that is no CSV text, and what to do.
fn unsupported(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let kinds: [(&[u8], &str, &str); 8] = [
        (b"\x1f\x8b", "a gzip file", "compressed files are not supported yet: decompress it with `gunzip`"),
        (b"\x28\xb5\x2f\xfd", "a zstd file", "compressed files are not supported yet: decompress it with `unzstd`"),
        (b"BZh", "a bzip2 file", "compressed files are not supported yet: decompress it with `bunzip2`"),
        (
            b"PK\x03\x04",
            "a zip file or a workbook",
            "these are not supported yet: extract it, or export the sheet as CSV",
        ),
        (b"PAR1", "a Parquet file", "Parquet is not supported yet: export it as CSV"),
        (b"\x89HDF", "an HDF5 or NetCDF file", "HDF5 is not supported yet: export it as CSV"),
        (b"\xff\xfe", "UTF-16 text", "UTF-16 is not supported yet: convert it with `iconv -t UTF-8`"),
        (b"\xfe\xff", "UTF-16 text", "UTF-16 is not supported yet: convert it with `iconv -t UTF-8`"),
    ];
    kinds.iter().find(|kind| bytes.starts_with(kind.0)).map(|kind| (kind.1, kind.2)).or_else(|| {
        let remedy = "binary files are not supported: export the data as CSV";
        bytes.contains(&0).then_some(("a binary file (it has zero bytes)", remedy))
    })
}

/// The text without its byte-order mark; reports every line that is not UTF-8.
fn decode(mut bytes: Vec<u8>, path: &Path, problems: &mut Problems) -> Option<String> {
    if bytes.starts_with(UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let mut line = 1;
            for chunk in error.as_bytes().utf8_chunks() {
                line += line_ends(chunk.valid());
                if let Some(byte) = chunk.invalid().first() {
                    let found = format!("the byte 0x{byte:02x}");
                    let remedy = "convert the file, for example with `iconv -f LATIN1 -t UTF-8`";
                    problems.push(Problem::new(Kind::InvalidText, found, "UTF-8 text", remedy).file(path).line(line));
                }
            }
            None
        }
    }
}

fn files_in(directory: &Path, wanted: &str) -> String {
    let mut files: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    files.sort();
    suggestion(wanted, files.iter().map(String::as_str))
}
