//! The record of a run: `records/TIME-PROCESS.json` in the workspace, one a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decide::Action;
use super::error::Error;
use super::plan::Plan;
use super::stage::Stage;
use crate::estimate::Status;
use crate::{atomic, disk, regular};

/// How a run went: of what, where, when, how long, and with what result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Record of a run")]
pub struct RunRecord {
    /// Name of the pipeline.
    pub pipeline: String,
    /// Its workspace, as it was named.
    pub workspace: String,
    /// `paramill` and its version.
    pub tool: String,
    /// Name of the machine; empty where it has none.
    pub host: String,
    /// The process.
    pub process: u32,
    /// Worker threads.
    pub threads: usize,
    /// SHA-256 over the effective settings as JSON, every default filled in and without `[run]`; hex.
    pub settings_sha256: String,
    /// When the run began, UTC.
    pub begun: String,
    /// When it ended, UTC.
    pub ended: String,
    /// Wall time, seconds.
    pub seconds: f64,
    /// What was done about each stage, as far as the run came.
    pub stages: Vec<RunStage>,
    /// Environments of each status in the estimates.
    pub statuses: BTreeMap<Status, usize>,
    /// Estimated environments.
    pub environments: usize,
    /// Those of them whose status is a failure.
    pub environments_failed: usize,
    /// When the newest file of the archive was written, UTC; absent where the data are simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_written: Option<String>,
    /// The version of the model that was in use at its end; absent where none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Median over the estimated environments of the root mean squared error of their fitted trajectories; absent by known equations, and where
    /// nothing was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_rmse: Option<f64>,
    /// Median over them of the estimated noise of each channel, by its name and in its unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noise: BTreeMap<String, f64>,
    /// The figures of the report's summary; none where the run failed or has no report.
    pub figures: BTreeMap<String, f64>,
    /// What was warned of.
    pub warnings: Vec<String>,
    /// The exit code.
    pub exit_code: u8,
    /// The error that ended the run, if one did.
    pub error: Option<RunError>,
}

/// What a run did about a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStage {
    /// The stage.
    pub stage: Stage,
    /// What was done.
    pub action: Action,
    /// Why.
    pub reasons: Vec<String>,
    /// Wall time of this run of the stage, seconds; absent where it did not run.
    pub seconds: Option<f64>,
}

/// The error of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    /// Its short name, as in the JSON on stdout.
    pub kind: String,
    /// What it said.
    pub message: String,
}

impl RunRecord {
    /// Writes the record, atomically, and removes the oldest ones but for `kept`, counting this one, and for the last success. Returns its path.
    ///
    /// # Errors
    /// If it cannot be written, or old ones cannot be removed.
    pub(crate) fn write(&self, plan: &Plan, kept: usize) -> Result<PathBuf, Error> {
        let name = format!("{}-{}.json", self.begun.replace(':', ""), self.process);
        let path = plan.run_records_directory().join(name);
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from).map_err(Error::io(&path))?;
        atomic::write_file(&path, format!("{text}\n").as_bytes()).map_err(Error::io(&path))?;
        let mut others = paths(plan);
        // Where the clock has gone back, this one is not the last by name.
        others.retain(|other| *other != path);
        let mut old = others[..others.len().saturating_sub(kept.saturating_sub(1))].to_vec();
        let recent = &others[old.len()..];
        let succeeded = |path: &PathBuf| read(path).is_some_and(|record| record.exit_code == 0);
        if self.exit_code != 0
            && !recent.iter().any(succeeded)
            && let Some(last) = old.iter().rposition(succeeded)
        {
            old.remove(last);
        }
        old.iter().try_for_each(|path| disk::remove_file(path).map_err(Error::io(path)))?;
        Ok(path)
    }

    /// The records of `plan`, the last first, as far as this version can read them.
    pub fn all(plan: &Plan) -> impl Iterator<Item = RunRecord> {
        paths(plan).into_iter().rev().filter_map(|path| read(&path))
    }
}

fn read(path: &Path) -> Option<RunRecord> {
    serde_json::from_slice(&regular::read(path).ok()?).ok()
}

/// Names sort as times do.
fn paths(plan: &Plan) -> Vec<PathBuf> {
    let entries = fs::read_dir(plan.run_records_directory()).into_iter().flatten().flatten();
    let is_record = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.starts_with('.')
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_record).collect();
    paths.sort();
    paths
}
