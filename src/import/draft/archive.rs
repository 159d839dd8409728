//! How the tables of an archive are written, before anything is known of their columns.

use std::path::PathBuf;

use crate::import::tables::cell::{Cell, CellError, Notation};
use crate::import::tables::csv::Delimiter;

/// The archive that a mapping is drafted for.
pub(crate) struct Archive {
    pub(crate) directory: PathBuf,
    /// Pattern of the files of a folder, whose names hold ids of environments.
    pub(crate) pattern: Option<String>,
    /// The table of conditions of a PEtab problem.
    pub(crate) conditions: Option<String>,
    /// Columns that are not read, and what they are.
    pub(crate) unread: Vec<(String, String)>,
    pub(crate) delimiter: String,
    pub(crate) decimal_comma: bool,
    /// Whether lines that begin with `#` are comments.
    pub(crate) comment: bool,
}

impl Default for Archive {
    fn default() -> Self {
        Archive {
            directory: Default::default(),
            pattern: None,
            conditions: None,
            unread: Vec::new(),
            delimiter: ",".to_owned(),
            decimal_comma: false,
            comment: false,
        }
    }
}

impl Archive {
    /// How its numbers are written.
    pub(crate) fn notation(&self) -> Notation {
        Notation::new(if self.decimal_comma { "," } else { "." }, &[])
    }

    /// Finds the delimiter that cuts all of the first lines into equally many cells, and the decimal sign.
    pub(crate) fn sniff(&mut self, text: &str) {
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
        // A comma comes after the other characters: where they delimit, it may stand in numbers.
        for delimiter in ["\t", ";", "|", ",", "whitespace"] {
            let Some(parsed) = Delimiter::parse(delimiter) else { continue };
            let counts = counts(parsed);
            if counts.first().is_some_and(|&first| first > 0 && counts.iter().all(|&count| count == first)) {
                self.delimiter = delimiter.to_owned();
                break;
            }
        }
        let is_split = |cell: &str| {
            let number = Notation::new(".", &[]).number(Cell::from_text(cell.trim()));
            matches!(number, Err(CellError::DecimalComma | CellError::Thousands(Some(','))))
        };
        self.decimal_comma = match self.delimiter.as_str() {
            "," => false,
            "whitespace" => lines.iter().any(|line| line.split_whitespace().any(is_split)),
            delimiter => lines.iter().any(|line| line.split(delimiter).any(is_split)),
        };
    }
}
