//! The index of a split: its trajectories without their samples.

use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, SplitSummary};
use super::rules::order_problem;
use crate::schema::{Split, Trajectory};

/// One trajectory without its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Environment id.
    pub environment: String,
    /// Trajectory id.
    pub trajectory: String,
    /// The environment's parameters `[d_p]`, `None` where unknown.
    pub parameters: Vec<Option<f64>>,
    /// Number of samples `T`.
    pub samples: usize,
}

impl IndexEntry {
    /// The entry of a trajectory.
    pub(crate) fn new(trajectory: &Trajectory) -> Self {
        IndexEntry {
            environment: trajectory.environment.clone(),
            trajectory: trajectory.trajectory.clone(),
            parameters: trajectory.parameters.clone(),
            samples: trajectory.len(),
        }
    }

    /// Key that orders trajectories, as [`Trajectory::key`].
    pub fn key(&self) -> (&str, &str) {
        (&self.environment, &self.trajectory)
    }
}

/// The problems of a split's index, a sentence each.
pub(crate) fn index_problems<'a>(
    index: impl Iterator<Item = &'a IndexEntry>,
    manifest: &Manifest,
    split: Split,
) -> Vec<String> {
    let mut problems = Vec::new();
    let stated = manifest.splits.get(&split);
    // The index counts samples, not missing cells.
    let mut counted = SplitSummary { missing: stated.map_or(0, |stated| stated.missing), ..SplitSummary::default() };
    let mut previous: Option<&IndexEntry> = None;
    for entry in index {
        if let Some(problem) = order_problem(previous.map(IndexEntry::key), entry.key()) {
            problems.push(format!("environment `{}`, trajectory `{}` {problem}", entry.environment, entry.trajectory));
        }
        counted.add(previous.is_none_or(|last| last.environment != entry.environment), entry.samples, 0);
        previous = Some(entry);
    }
    problems.extend(stated.and_then(|stated| counts_problem(&counted, stated)));
    problems
}

/// How the counts of a split differ from the manifest's, if they do.
pub(crate) fn counts_problem(counted: &SplitSummary, stated: &SplitSummary) -> Option<String> {
    let say = |summary: &SplitSummary| {
        let SplitSummary { environments, trajectories, samples, shortest, longest, missing } = summary;
        let missing = if *missing == 0 { String::new() } else { format!(", {missing} missing cells") };
        format!(
            "{environments} environments, {trajectories} trajectories, {samples} samples, {shortest} to {longest} a trajectory{missing}"
        )
    };
    (counted != stated).then(|| format!("holds {}; expected {} as the manifest states", say(counted), say(stated)))
}
