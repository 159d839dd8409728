//! Where the finished blocks of an unfinished stage are.
//!
//! They are of one fingerprint, of one version of this program, and of one engine on one kind of device: what another would compute differs in
//! the last bits, and does not mix in.

use std::fs;
use std::path::PathBuf;

use super::plan::Plan;
use super::stage::Stage;
use crate::blocks::Store;
use crate::digest::sha256;
use crate::disk;
use crate::schema::TOOL;

/// Digits of a key in the name of a folder.
const DIGITS: usize = 16;

/// The key of the blocks of a stage with this fingerprint; `computed_by` names engine and device where there is a choice.
pub(crate) fn key(fingerprint: &str, computed_by: &str) -> String {
    let mut key = sha256(format!("{fingerprint}\n{TOOL}\n{computed_by}").as_bytes());
    key.truncate(DIGITS);
    key
}

/// The finished blocks of `stage` with this key.
pub(crate) fn store(plan: &Plan, stage: Stage, key: &str) -> Store {
    Store::at(folder(plan).join(format!("{stage}-{key}")))
}

/// Trajectories in finished blocks of `stage`, whatever their key: those of one are left where one attempt was made.
pub(crate) fn trajectories(plan: &Plan, stage: Stage) -> usize {
    folders(plan, stage).map(|folder| Store::at(folder).listing().finished()).max().unwrap_or(0)
}

/// Removes the blocks of `stage`, whose product is complete. What cannot be removed takes room and does no harm.
pub(crate) fn forget(plan: &Plan, stage: Stage) {
    folders(plan, stage).for_each(|folder| drop(disk::remove_tree(&folder)));
    let _ = fs::remove_dir(folder(plan));
}

/// `blocks` in the workspace.
pub(crate) fn folder(plan: &Plan) -> PathBuf {
    plan.workspace.join("blocks")
}

fn folders(plan: &Plan, stage: Stage) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder(plan)).into_iter().flatten().flatten();
    let of_stage = move |name: String| name.strip_prefix(stage.name()).is_some_and(|rest| rest.starts_with('-'));
    entries.filter(move |entry| entry.file_name().into_string().is_ok_and(of_stage)).map(|entry| entry.path())
}
