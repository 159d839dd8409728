//! Finished blocks of a table that is being brought up to date: `.NAME.blocks/KEY` beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::blocks::Store;
use crate::dataset::Dataset;
use crate::disk;
use crate::pipeline::finished;

/// The finished blocks of the environments in `dataset`, estimated as `made_by` says, by this engine on this kind of device. Those of other
/// data or settings are removed.
pub(crate) fn store(table: &Path, dataset: &Dataset, made_by: &[String; 2], computed_by: &str) -> Store {
    let fingerprint = format!("{}\n{}", dataset.content_hash(), made_by.join("\n"));
    let own = folder(table).join(finished::key(&fingerprint, computed_by));
    let others = fs::read_dir(folder(table)).into_iter().flatten().flatten().map(|entry| entry.path());
    // What cannot be removed takes room and does no harm.
    others.filter(|other| *other != own).for_each(|other| drop(disk::remove_tree(&other)));
    Store::at(own)
}

/// Removes the blocks of a table that is up to date.
pub(crate) fn forget(table: &Path) {
    let folder = folder(table);
    if folder.exists() {
        drop(disk::remove_tree(&folder));
    }
}

fn folder(table: &Path) -> PathBuf {
    table.with_file_name(format!(".{}.blocks", table.file_name().unwrap_or_default().to_string_lossy()))
}
