//! The audit of a model's versions: `audit.jsonl` beside them, one JSON object a line, to which lines are only ever added.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::plan::Plan;
use super::settings::PromoteSettings;
use crate::{disk, regular};

const AUDIT_FILE: &str = "audit.jsonl";

/// What was done about a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A run whose stages gave a model put it in use.
    #[default]
    Run,
    /// `paramill model promote`.
    Promote,
    /// `paramill model rollback`.
    Rollback,
    /// A run whose stages gave a model left it out of use, because the gate did not let it through: `current` did not move.
    Rejected,
}

/// How a model fared on the held-out set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Share of the environments that failed.
    pub failed: f64,
    /// Mean over the environments that neither model fails on of the mean squared error, channels in the dataset's units.
    pub squared_error: Option<f64>,
    /// Mean over the same environments of the mean absolute percentage error of the parameters (percent), where they are known.
    pub parameter_error: Option<f64>,
    /// Share of the known parameters whose 95 % interval holds the truth, over the environments that it does not fail on.
    #[serde(default)]
    pub coverage: Option<f64>,
    /// Share of the values of held-out trajectories that lie in their 95 % band, over the same environments.
    #[serde(default)]
    pub forecast_coverage: Option<f64>,
}

/// What the gate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// SHA-256 over the held-out set: a line for each trajectory with its digest and its name, in stored order; hex.
    pub sha256: String,
    /// Trajectories of the set.
    pub trajectories: usize,
    /// Environments of the set that both models were judged on; 0 where they were not.
    pub environments: usize,
    /// The new model.
    pub candidate: Figures,
    /// The model in use.
    pub current: Figures,
    /// The settings of the gate.
    pub settings: PromoteSettings,
    /// What speaks against the new model, a sentence each; empty if it is let through.
    pub reasons: Vec<String>,
}

/// A move of the alias `current`, or a version that it did not move to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When, UTC.
    pub time: String,
    /// What was done.
    #[serde(default)]
    pub act: Act,
    /// The version that was in use; absent at the first move.
    pub from: Option<String>,
    /// The version that is in use since, or was rejected.
    pub to: String,
    /// Why.
    pub why: String,
    /// Whether a user insisted on it.
    #[serde(default)]
    pub forced: bool,
    /// The process, as in the record of a run.
    pub process: u32,
    /// What the gate found, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Verdict>,
}

/// The audit of the model of `plan`, the oldest line first, as far as this version can read them.
pub fn audit(plan: &Plan) -> Vec<AuditEntry> {
    let text = regular::read_to_string(&plan.versions_directory().join(AUDIT_FILE)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Adds a line to the audit in `store`.
pub(crate) fn append(store: &Path, entry: &AuditEntry) -> Result<(), Error> {
    let path = store.join(AUDIT_FILE);
    let line = serde_json::to_string(entry).map_err(io::Error::from).map_err(Error::io(&path))?;
    disk::append_line(&path, &line).map_err(Error::io(&path))
}

/// The version that was in use before the one that is: what came into use stays until something follows it or it is rolled back, so that rolling
/// back twice goes back by two.
pub(crate) fn before(entries: &[AuditEntry]) -> Option<&str> {
    let mut in_use: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.act != Act::Rejected) {
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
        let moved = |act: Act, to: &str| AuditEntry {
            time: String::new(),
            act,
            from: None,
            to: to.to_owned(),
            why: String::new(),
            forced: false,
            process: 1,
            gate: None,
        };
        let mut all = vec![moved(Act::Run, "a")];
        assert_eq!(before(&all), None);
        all.extend([moved(Act::Run, "b"), moved(Act::Promote, "c")]);
        assert_eq!(before(&all), Some("b"));
        all.push(moved(Act::Rejected, "x"));
        assert_eq!(before(&all), Some("b"));
        all.push(moved(Act::Rollback, "b"));
        assert_eq!(before(&all), Some("a"));
        all.push(moved(Act::Rollback, "a"));
        assert_eq!(before(&all), None);
        all.push(moved(Act::Run, "d"));
        assert_eq!(before(&all), Some("a"));
    }
}
