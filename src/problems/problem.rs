//! One problem, and its words.

use std::fmt;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::kind::Kind;
use super::place::{Column, Place};
use crate::printable::printable;

/// One thing that is wrong with what a user gave. Problems order by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it was found.
    pub place: Place,
    /// Dotted key of the setting concerned, such as `import.channels[0].column`; empty where there is none.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
    /// What to do.
    pub remedy: String,
    /// What sort of problem it is.
    pub kind: Kind,
}

impl Problem {
    pub(crate) fn new(
        kind: Kind,
        found: impl Into<String>,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Problem {
            place: Place::Settings,
            key: String::new(),
            found: found.into(),
            expected: expected.into(),
            remedy: remedy.into(),
            kind,
        }
    }

    /// Of the setting `key`.
    pub(crate) fn setting(self, key: impl Into<String>) -> Self {
        Problem { key: key.into(), ..self }
    }

    /// With its key, which began inside `section`, from there on.
    pub(crate) fn within(self, section: &str) -> Self {
        Problem { key: format!("{section}.{}", self.key), ..self }
    }

    pub(crate) fn at(self, place: Place) -> Self {
        Problem { place, ..self }
    }

    /// In a file as a whole.
    pub(crate) fn file(self, path: &Path) -> Self {
        self.at(Place::file(path))
    }

    /// In this line of its file, from 1.
    pub(crate) fn line(mut self, number: u64) -> Self {
        if let Place::File { line, .. } = &mut self.place {
            *line = Some(number);
        }
        self
    }

    /// In this column of its table, from 0.
    pub(crate) fn column(mut self, index: usize, name: &str) -> Self {
        if let Place::File { column, .. } = &mut self.place {
            *column = Some(Column::Named(index + 1, name.to_owned()));
        }
        self
    }
}

impl fmt::Display for Problem {
    /// `PLACE (KEY): found FOUND; expected EXPECTED; REMEDY`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { place, key, found, expected, remedy, .. } = self;
        let mut line = match place {
            Place::Settings => key.clone(),
            place if key.is_empty() || place.names(key) => place.to_string(),
            place => format!("{place} ({key})"),
        };
        if !line.is_empty() {
            line.push_str(": ");
        }
        write!(line, "found {found}; expected {expected}; {remedy}")?;
        f.write_str(&printable(&line))
    }
}

impl Serialize for Problem {
    /// Flat, with `null` where a place has no such field.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a> {
            file: Option<String>,
            line: Option<u64>,
            column: Option<usize>,
            argument: Option<String>,
            key: &'a str,
            found: &'a str,
            expected: &'a str,
            remedy: &'a str,
        }
        let Problem { place, key, found, expected, remedy, .. } = self;
        Flat {
            file: place.path().map(|path| path.display().to_string()),
            line: place.line(),
            column: place.column().map(Column::number),
            argument: matches!(place, Place::Argument { .. }).then(|| place.to_string()),
            key,
            found,
            expected,
            remedy,
        }
        .serialize(serializer)
    }
}
