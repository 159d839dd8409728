//! One problem of a pipeline file or of a `--set` argument.

use std::fmt;

use serde::Serialize;

use crate::printable::printable;

/// Where something was said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the file as a whole.
    File { file: String },
    /// At a line and column of the file, counted from one, columns in characters.
    Position { file: String, line: usize, column: usize },
    /// In a `--set` argument: its position among them, and its key as it was typed.
    Argument { index: usize, key: String },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { file } => f.write_str(file),
            Place::Position { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Place::Argument { key, .. } => write!(f, "--set {key}"),
        }
    }
}

/// One problem: what was found where, what was expected, and what to do.
///
/// Diagnostics order by place: the file first, line by line, then the `--set` arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    pub place: Place,
    /// Dotted key, empty for the file itself.
    pub key: String,
    pub found: String,
    pub expected: String,
    pub remedy: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { place, key, found, expected, remedy } = self;
        let named_by_place = matches!(place, Place::Argument { key: typed, .. } if typed == key);
        let key = if key.is_empty() || named_by_place { String::new() } else { format!("{key}: ") };
        f.write_str(&printable(&format!("{place}: {key}found {found}, expected {expected}; {remedy}")))
    }
}

impl Serialize for Diagnostic {
    /// Flat, with `null` where a place has no such field.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a> {
            file: Option<&'a str>,
            line: Option<usize>,
            column: Option<usize>,
            argument: Option<String>,
            key: &'a str,
            found: &'a str,
            expected: &'a str,
            remedy: &'a str,
        }
        let (file, line, column, argument) = match &self.place {
            Place::File { file } => (Some(file.as_str()), None, None, None),
            Place::Position { file, line, column } => (Some(file.as_str()), Some(*line), Some(*column), None),
            Place::Argument { .. } => (None, None, None, Some(self.place.to_string())),
        };
        let Diagnostic { key, found, expected, remedy, .. } = self;
        Flat { file, line, column, argument, key, found, expected, remedy }.serialize(serializer)
    }
}
