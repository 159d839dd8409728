//! The audit of a model's versions: `audit.jsonl` beside them, one JSON object a line, to which lines are only ever added.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::plan::Plan;
use crate::regular;

const AUDIT_FILE: &str = "audit.jsonl";

/// What moved the alias `current`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A run whose stages gave a model.
    #[default]
    Run,
    /// `paramill model promote`.
    Promote,
    /// `paramill model rollback`.
    Rollback,
}

/// A move of the alias `current`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move {
    /// When, UTC.
    pub time: String,
    /// What moved it.
    #[serde(default)]
    pub act: Act,
    /// The version before; absent at the first move.
    pub from: Option<String>,
    /// The version since.
    pub to: String,
    /// Why.
    pub why: String,
    /// Whether a user insisted on it.
    #[serde(default)]
    pub forced: bool,
    /// The process that moved it, as in the record of a run.
    pub process: u32,
}

/// The moves of `current` of the model of `plan`, the oldest first, as far as this version can read them.
pub fn moves(plan: &Plan) -> Vec<Move> {
    let text = regular::read_to_string(&plan.versions_directory().join(AUDIT_FILE)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Adds a line to the audit in `store`.
pub(crate) fn append(store: &Path, entry: &Move) -> Result<(), Error> {
    let path = store.join(AUDIT_FILE);
    let line = serde_json::to_string(entry).map_err(io::Error::from).map_err(Error::io(&path))?;
    let written = OpenOptions::new().append(true).create(true).open(&path).and_then(|mut file| {
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    });
    written.map_err(Error::io(&path))
}

/// The version that was in use before the one that is: what came into use stays until something follows it or it is rolled back, so that rolling
/// back twice goes back by two.
pub(crate) fn before(moves: &[Move]) -> Option<&str> {
    let mut in_use: Vec<&str> = Vec::new();
    for entry in moves {
        if entry.act == Act::Rollback {
            in_use.pop();
        }
        if in_use.last() != Some(&entry.to.as_str()) {
            in_use.push(&entry.to);
        }
    }
    in_use.iter().rev().nth(1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_use_before_is_found_behind_rollbacks() {
        let moved = |act: Act, to: &str| Move {
            time: String::new(),
            act,
            from: None,
            to: to.to_owned(),
            why: String::new(),
            forced: false,
            process: 1,
        };
        let mut all = vec![moved(Act::Run, "a")];
        assert_eq!(before(&all), None);
        all.extend([moved(Act::Run, "b"), moved(Act::Promote, "c")]);
        assert_eq!(before(&all), Some("b"));
        all.push(moved(Act::Rollback, "b"));
        assert_eq!(before(&all), Some("a"));
        all.push(moved(Act::Rollback, "a"));
        assert_eq!(before(&all), None);
        all.push(moved(Act::Run, "d"));
        assert_eq!(before(&all), Some("a"));
    }
}
