//! Where a problem was found.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where something wrong was found.
///
/// Places order as a reader meets them: settings of no file, then the files, line by line, then the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In settings whose file is not known here; the key is all there is.
    #[default]
    Settings,
    /// In a file; as far as known, in a line of it, counted from 1, and in a column.
    File {
        /// The file, as it was named.
        path: PathBuf,
        /// Line, from 1.
        line: Option<u64>,
        /// Column of the line or table.
        column: Option<Column>,
    },
    /// In an argument of the command line that sets one key.
    Argument {
        /// Its position among such arguments.
        index: usize,
        /// Its flag.
        flag: &'static str,
        /// The key as it was typed.
        key: String,
    },
}

/// A column, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Of a line of text, in characters.
    Character(usize),
    /// Of a table, with its name in the header.
    Named(usize, String),
}

impl Place {
    /// A file as a whole.
    pub(crate) fn file(path: impl Into<PathBuf>) -> Self {
        Place::File { path: path.into(), line: None, column: None }
    }

    /// The file, if it is in one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::File { path, .. } => Some(path),
            Place::Settings | Place::Argument { .. } => None,
        }
    }

    /// The line of the file, from 1, if known.
    pub fn line(&self) -> Option<u64> {
        match self {
            Place::File { line, .. } => *line,
            Place::Settings | Place::Argument { .. } => None,
        }
    }

    /// The column of the line or table, if known.
    pub fn column(&self) -> Option<&Column> {
        match self {
            Place::File { column, .. } => column.as_ref(),
            Place::Settings | Place::Argument { .. } => None,
        }
    }

    /// Whether it already says that `key` is concerned.
    pub(super) fn names(&self, key: &str) -> bool {
        matches!(self, Place::Argument { key: typed, .. } if typed == key)
    }
}

impl Column {
    /// Its number, from 1.
    pub fn number(&self) -> usize {
        match self {
            Column::Character(number) | Column::Named(number, _) => *number,
        }
    }
}

impl fmt::Display for Place {
    /// `FILE:LINE:CHARACTER`, or ``FILE:LINE, column NUMBER `NAME` ``, as far as known; nothing for settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Settings => Ok(()),
            Place::File { path, line, column } => {
                write!(f, "{}", path.display())?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                match column {
                    None => Ok(()),
                    Some(Column::Character(number)) => write!(f, ":{number}"),
                    Some(Column::Named(number, name)) => write!(f, ", column {number} `{name}`"),
                }
            }
            Place::Argument { flag, key, .. } => write!(f, "{flag} {key}"),
        }
    }
}
