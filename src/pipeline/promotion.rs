//! What a user does with the versions of a model: puts one in use, goes back to the one before, removes old ones.

use serde::Serialize;

use super::audit::{Act, AuditEntry, audit, before};
use super::clock::{now, seconds};
use super::error::Error;
use super::lock::Lock;
use super::plan::Plan;
use super::versions::{Cause, Version, find_version, point, versions};

const SECONDS_A_DAY: f64 = 86_400.0;

/// Puts the version `name` in use because of `why`, and says in the audit if that was `forced`. `None` if it was in use already.
///
/// # Errors
/// If there is no such version, it was rejected and that is not `forced`, it is damaged, a run holds the workspace, or something cannot be written.
pub fn promote(plan: &Plan, name: &str, why: &str, forced: bool) -> Result<Option<AuditEntry>, Error> {
    // Before the lock, which would make the workspace of a pipeline that never ran.
    find_version(plan, name)?;
    let _workspace = Lock::exclusive(&plan.lock_path())?;
    let version = find_version(plan, name)?;
    if version.current {
        return Ok(None);
    }
    if let Some(entry) = rejection(plan, &version.name).filter(|_| !forced) {
        return Err(Error::Rejected { version: version.name, why: entry.why });
    }
    point(plan, &version, Cause { act: Act::Promote, why: why.to_owned(), forced, gate: None }).map(Some)
}

/// Puts the version in use that was before the one that is, by the audit.
///
/// # Errors
/// If there was none, it is gone or damaged, a run holds the workspace, or something cannot be written.
pub fn rollback(plan: &Plan, why: &str) -> Result<AuditEntry, Error> {
    let find = || {
        let all = audit(plan);
        let name = before(&all).ok_or_else(|| Error::Unrecognised {
            path: plan.versions_directory(),
            found: "no version that was in use before".to_owned(),
            expected: "one in the audit; `paramill model promote` puts any other in use".to_owned(),
        })?;
        find_version(plan, name)
    };
    find()?;
    let _workspace = Lock::exclusive(&plan.lock_path())?;
    point(plan, &find()?, Cause { act: Act::Rollback, why: why.to_owned(), forced: false, gate: None })
}

/// The line of the audit by which the version `name` was rejected; `None` if it was not, or has been in use since.
pub fn rejection(plan: &Plan, name: &str) -> Option<AuditEntry> {
    audit(plan).into_iter().rfind(|entry| entry.to == name).filter(|entry| entry.act == Act::Rejected)
}

/// Which versions are kept; a version goes only if nothing here keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The newest that are kept.
    pub newest: usize,
    /// Days within which versions are kept.
    pub days: u32,
}

/// What was done to old versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Versions that are gone.
    pub removed: Vec<String>,
    /// Old versions that had to stay, and why.
    pub stayed: Vec<(String, String)>,
}

/// Removes old versions: never the one in use, nor the one that made the estimates of the workspace.
///
/// # Errors
/// If a run holds the workspace, or something cannot be read or removed.
pub fn prune(plan: &Plan, retention: Retention) -> Result<Pruned, Error> {
    let mut pruned = Pruned::default();
    if versions(plan).is_empty() {
        return Ok(pruned);
    }
    let _workspace = Lock::exclusive(&plan.lock_path())?;
    let all = versions(plan);
    let now = seconds(&now()).unwrap_or_default();
    let kept_for = f64::from(retention.days) * SECONDS_A_DAY;
    // A version whose name tells no time is not known to be old.
    let is_old = |version: &&Version| retention.days == 0 || version.kept_at().is_some_and(|at| now - at > kept_for);
    // Rejected versions are counted apart: they push out none that one may go back to.
    let (rejected, accepted): (Vec<Version>, Vec<Version>) =
        all.into_iter().partition(|version| !version.current && rejection(plan, &version.name).is_some());
    let beyond = |versions: &[Version]| versions.len().saturating_sub(retention.newest);
    let old = rejected[..beyond(&rejected)].iter().chain(&accepted[..beyond(&accepted)]);
    for old in old.filter(is_old) {
        let stays = match (old.current, old.is_of_estimates(plan)?) {
            (true, _) => "it is in use",
            (false, true) => "the estimates were made by it",
            (false, false) => {
                old.remove()?;
                pruned.removed.push(old.name.clone());
                continue;
            }
        };
        pruned.stayed.push((old.name.clone(), stays.to_owned()));
    }
    Ok(pruned)
}
