//! What is asked of a growing table, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::again::Again;
use crate::checkpoint::StoredModel;
use crate::estimate;
use crate::estimate::Status;
use crate::import::Settings;

/// What is to be brought up to date, and how.
pub struct Request<'a> {
    /// What the files of the archive are. All its environments are estimated, whatever the splits say.
    pub import: &'a Settings,
    /// How they are estimated.
    pub estimate: &'a estimate::Settings,
    /// The trained model, for `method = "learned"`.
    pub model: Option<&'a StoredModel>,
    /// Directory of the table.
    pub table: &'a Path,
    /// Environments to estimate again although their data are as they were.
    pub again: &'a Again,
    /// A file that was changed so short a time ago may still be being written, and waits.
    pub settle: Duration,
    /// Whether only to say what would be done.
    pub is_dry: bool,
}

/// What was brought up to date.
#[derive(Debug, Default, Serialize)]
pub struct Update {
    /// Environments that the table did not have.
    pub new: Vec<String>,
    /// Environments with other data than before.
    pub changed: Vec<String>,
    /// Environments that were to be estimated again.
    pub again: Vec<String>,
    /// Rows that stay as they are.
    pub kept: usize,
    /// Rows that stay and are by another model or other settings than those at hand.
    pub by_others: usize,
    /// Files that were not there before.
    pub new_files: BTreeSet<String>,
    /// Files with other bytes than before.
    pub changed_files: BTreeSet<String>,
    /// Files that are no longer there; their rows stay.
    pub vanished_files: BTreeSet<String>,
    /// Files that are still being written, and wait for the next time.
    pub waiting_files: BTreeSet<String>,
    /// Files that cannot be read as they are, each with the reason. Their rows stay, their environments wait, and the next time they are tried again.
    pub unreadable_files: BTreeMap<String, String>,
    /// Of the environments that were estimated now.
    pub statuses: BTreeMap<Status, usize>,
    /// Environments that were estimated now.
    pub environments: usize,
    /// Of these, those whose status counts as failed.
    pub environments_failed: usize,
    /// Rows of the table.
    pub rows: usize,
}

impl Update {
    /// Number of environments to estimate.
    pub fn due(&self) -> usize {
        self.new.len() + self.changed.len() + self.again.len()
    }
}
