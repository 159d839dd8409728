//! Cuts a stream of bytes into rows of cells: CSV, and tables separated by blanks.
//!
//! A cell that begins with `"` ends at the next single `"`; `""` within it is one quote. Line ends are `\n`, `\r\n` and a lone `\r`. Lines
//! that begin with the comment character, and lines of empty cells, are left out.

use std::io::{self, Read};
use std::str;

/// Bytes read at a time.
const BLOCK: usize = 1 << 18;

/// Bytes of a row at most: an unclosed quote would read the whole file into memory.
const LONGEST: usize = 1 << 24;

/// What separates the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// One ASCII character.
    Character(u8),
    /// A run of blanks.
    Whitespace,
}

impl Delimiter {
    /// Parses the setting: `whitespace`, or one ASCII character that cannot be part of a number or a quotation.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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

/// How text is cut into cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    pub delimiter: Delimiter,
    /// Lines that begin with this character are left out.
    pub comment: Option<u8>,
}

impl Syntax {
    /// The syntax that the settings describe; `None` if the delimiter is not valid.
    pub(crate) fn parse(delimiter: &str, comment: Option<&str>) -> Option<Self> {
        let comment = comment.and_then(|comment| comment.bytes().next());
        Some(Syntax { delimiter: Delimiter::parse(delimiter)?, comment })
    }
}

/// Reads rows one by one; its buffer holds little more than one.
pub(crate) struct CsvReader<R> {
    input: R,
    syntax: Syntax,
    buffer: Vec<u8>,
    /// Range of the unread bytes in the buffer.
    start: usize,
    end: usize,
    at_end: bool,
    /// Line of the next byte, from 1.
    line: u64,
    cells: Vec<CellSpan>,
}

/// Range of a cell in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CellSpan {
    start: usize,
    end: usize,
    /// Whether it has doubled quotes.
    doubled: bool,
    quoted: bool,
}

/// A row of cells.
pub(crate) struct CsvRow<'a> {
    /// Line on which it starts, from 1.
    pub line: u64,
    text: &'a str,
    cells: &'a [CellSpan],
}

/// Why a row cannot be read. Reading can go on after it, except after the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CsvError {
    /// A byte that is not UTF-8.
    NotUtf8(u8),
    /// Text between a closing quote and the next delimiter.
    TextAfterQuote,
    /// A quote without its end.
    UnclosedQuote,
    /// More than [`LONGEST`] bytes.
    TooLong,
}

/// The result of scanning one row.
struct Scan {
    /// Position after the row and its line end; `None` if the buffer ends earlier.
    next: Option<usize>,
    lines: u64,
    error: Option<CsvError>,
}

impl<R: Read> CsvReader<R> {
    pub(crate) fn new(input: R, syntax: Syntax) -> Self {
        CsvReader { input, syntax, buffer: Vec::new(), start: 0, end: 0, at_end: false, line: 1, cells: Vec::new() }
    }

    /// The next row that is not blank; an error comes with the line on which its row starts.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<CsvRow<'_>, (u64, CsvError)>>> {
        loop {
            let Scan { next, lines, error } = loop {
                let scan = self.scan();
                if scan.next.is_some() {
                    break scan;
                }
                if self.at_end {
                    return Ok(None);
                }
                if self.end - self.start > LONGEST {
                    self.at_end = true;
                    self.start = self.end;
                    return Ok(Some(Err((self.line, CsvError::TooLong))));
                }
                self.fill()?;
            };
            let (line, from, to) = (self.line, self.start, next.unwrap_or(self.end));
            self.start = to;
            self.line += lines;
            if let Some(error) = error {
                return Ok(Some(Err((line, error))));
            }
            for i in 0..self.cells.len() {
                let place = self.cells[i];
                self.cells[i] = self.tidied(place);
            }
            if self.cells.iter().all(|cell| cell.start == cell.end) {
                continue;
            }
            let bytes = &self.buffer[from..to];
            for cell in &mut self.cells {
                (cell.start, cell.end) = (cell.start - from, cell.end - from);
            }
            return Ok(Some(match str::from_utf8(bytes) {
                Ok(text) => Ok(CsvRow { line, text, cells: &self.cells }),
                Err(error) => Err((line, CsvError::NotUtf8(bytes[error.valid_up_to()]))),
            }));
        }
    }

    /// Reads more bytes, keeping the unread ones.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let wanted = (self.end + BLOCK).next_power_of_two();
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let read = self.input.read(&mut self.buffer[self.end..])?;
        self.end += read;
        self.at_end = read == 0;
        Ok(())
    }

    /// Trims the cell and makes its doubled quotes single.
    fn tidied(&mut self, mut cell: CellSpan) -> CellSpan {
        if cell.doubled {
            let (mut from, mut to) = (cell.start, cell.start);
            while from < cell.end {
                self.buffer[to] = self.buffer[from];
                from += if self.buffer[from] == b'"' { 2 } else { 1 };
                to += 1;
            }
            cell.end = to;
        }
        while cell.start < cell.end && self.buffer[cell.start].is_ascii_whitespace() {
            cell.start += 1;
        }
        while cell.start < cell.end && self.buffer[cell.end - 1].is_ascii_whitespace() {
            cell.end -= 1;
        }
        cell
    }

    /// Cuts the row at `start` into cells.
    fn scan(&mut self) -> Scan {
        let bytes = &self.buffer[self.start..self.end];
        self.cells.clear();
        let first = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        if first.is_some_and(|first| Some(bytes[first]) == self.syntax.comment) {
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len());
            return self.ended(end, 0, None);
        }
        let (mut at, mut lines, mut error) = (0, 0, None);
        loop {
            if self.syntax.delimiter == Delimiter::Whitespace {
                at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            }
            let quote = bytes[at..].iter().take_while(|&&byte| byte == b' ').count();
            if bytes.get(at + quote) == Some(&b'"') {
                let start = at + quote + 1;
                let Some((end, doubled)) = closing_quote(bytes, start) else {
                    if self.at_end {
                        return Scan {
                            next: Some(self.end),
                            lines: line_ends(bytes),
                            error: Some(CsvError::UnclosedQuote),
                        };
                    }
                    return Scan { next: None, lines: 0, error: None };
                };
                lines += line_ends(&bytes[start..end]);
                let rest = cell_end(bytes, end + 1, self.syntax.delimiter);
                if bytes[end + 1..rest].iter().any(|byte| !byte.is_ascii_whitespace()) {
                    error = Some(CsvError::TextAfterQuote);
                }
                let start = self.start + start;
                self.cells.push(CellSpan { start, end: self.start + end, doubled, quoted: true });
                at = rest;
            } else {
                let end = cell_end(bytes, at, self.syntax.delimiter);
                let blank = self.syntax.delimiter == Delimiter::Whitespace && at == end;
                if !blank {
                    let (start, end) = (self.start + at, self.start + end);
                    self.cells.push(CellSpan { start, end, doubled: false, quoted: false });
                }
                at = end;
            }
            match bytes.get(at) {
                None | Some(b'\n' | b'\r') => return self.ended(at, lines, error),
                Some(_) => at += 1,
            }
        }
    }

    /// The scan of a row whose cells end at `end` of the unread bytes: at a line end or the end of the buffer.
    fn ended(&self, end: usize, lines: u64, error: Option<CsvError>) -> Scan {
        let bytes = &self.buffer[self.start..self.end];
        let length = match (bytes.get(end), bytes.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => Some(2),
            (Some(b'\r'), None) if !self.at_end => None,
            (Some(_), _) => Some(1),
            (None, _) if self.at_end && end > 0 => Some(0),
            (None, _) => None,
        };
        Scan { next: length.map(|length| self.start + end + length), lines: lines + 1, error }
    }
}

impl CsvRow<'_> {
    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Cell `index`, trimmed.
    pub(crate) fn cell(&self, index: usize) -> &str {
        let CellSpan { start, end, quoted, .. } = self.cells[index];
        let cell = &self.text[start..end];
        if quoted || cell.is_ascii() { cell } else { cell.trim() }
    }
}

/// Position of the quote that closes the cell from `start`, and whether it has doubled quotes.
fn closing_quote(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut doubled) = (start, false);
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == b'"')?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some((at, doubled));
        }
        doubled = true;
        at += 2;
    }
}

/// Position of the delimiter or line end after `from`, or the end.
fn cell_end(bytes: &[u8], from: usize, delimiter: Delimiter) -> usize {
    let length = match delimiter {
        Delimiter::Character(delimiter) => {
            bytes[from..].iter().position(|&byte| byte == delimiter || byte == b'\n' || byte == b'\r')
        }
        Delimiter::Whitespace => bytes[from..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')),
    };
    length.map_or(bytes.len(), |length| from + length)
}

/// Number of line ends of any kind.
fn line_ends(bytes: &[u8]) -> u64 {
    let ends = |(index, &byte): (usize, &u8)| byte == b'\n' || byte == b'\r' && bytes.get(index + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(|&pair| ends(pair)).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hands out a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    type Rows = Vec<Result<(u64, Vec<String>), (u64, CsvError)>>;

    fn rows(text: &[u8], delimiter: Delimiter, at_a_time: usize) -> Rows {
        let syntax = Syntax { delimiter, comment: Some(b'#') };
        let mut reader = CsvReader::new(Drip(text, at_a_time), syntax);
        let mut rows = Vec::new();
        while let Some(row) = reader.next().unwrap() {
            rows.push(row.map(|row| (row.line, (0..row.len()).map(|i| row.cell(i).to_owned()).collect())));
        }
        rows
    }

    fn comma(text: &str) -> Rows {
        rows(text.as_bytes(), Delimiter::Character(b','), 1000)
    }

    fn row(line: u64, cells: &[&str]) -> Result<(u64, Vec<String>), (u64, CsvError)> {
        Ok((line, cells.iter().map(|&cell| cell.to_owned()).collect()))
    }

    #[test]
    fn rows_are_cut_into_cells() {
        assert_eq!(comma("a,b\n1, 2 \n"), [row(1, &["a", "b"]), row(2, &["1", "2"])]);
        assert_eq!(
            comma("a,,\r\n\r\n,\n#x\n\u{a0}é ,2\rz"),
            [row(1, &["a", "", ""]), row(5, &["é", "2"]), row(6, &["z"])]
        );
        assert_eq!(comma("\"a,\n\"\"b\"\"\" ,c\nd\n"), [row(1, &["a,\n\"b\"", "c"]), row(3, &["d"])]);
        assert_eq!(comma("a\"b,c\n"), [row(1, &["a\"b", "c"])]);
        assert_eq!(comma("\"a\"b,c\nd"), [Err((1, CsvError::TextAfterQuote)), row(2, &["d"])]);
        assert_eq!(comma("a\n\"b\nc"), [row(1, &["a"]), Err((2, CsvError::UnclosedQuote))]);
        let blanks = rows(b"  a\t \"b c\"  d \n\n e", Delimiter::Whitespace, 1000);
        assert_eq!(blanks, [row(1, &["a", "b c", "d"]), row(3, &["e"])]);
        assert_eq!(
            rows(b"\xff,1\nb", Delimiter::Character(b','), 9),
            [Err((1, CsvError::NotUtf8(0xff))), row(2, &["b"])]
        );
        assert_eq!(comma(""), []);
    }

    #[test]
    fn a_row_without_end_is_refused() {
        let syntax = Syntax { delimiter: Delimiter::Whitespace, comment: None };
        let mut reader = CsvReader::new(io::repeat(b'"'), syntax);
        assert!(matches!(reader.next().unwrap(), Some(Err((1, CsvError::TooLong)))));
        assert!(reader.next().unwrap().is_none());
    }

    proptest! {
        #[test]
        fn the_size_of_reads_changes_nothing(
            text in "[a\"#,; \té\r\n]{0,40}",
            at_a_time in 1..7_usize,
            delimiter in prop_oneof![Just(Delimiter::Whitespace), Just(Delimiter::Character(b',')), Just(Delimiter::Character(b';'))],
        ) {
            prop_assert_eq!(rows(text.as_bytes(), delimiter, at_a_time), rows(text.as_bytes(), delimiter, 1000));
        }

        #[test]
        fn quoted_cells_come_back(cells in proptest::collection::vec("[a\",\r\n]{1,6}b", 1..5)) {
            let line: Vec<String> = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            let read = comma(&(line.join(",") + "\n"));
            let expected: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
            prop_assert_eq!(read, [Ok((1, expected))]);
        }
    }
}
