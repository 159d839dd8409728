//! The versions of a model: `models/PIPELINE.versions` of a workspace.
//!
//! ```text
//! 2024-03-01T021743.120Z-1a2b3c4d/    a model directory; a version never changes
//! current -> ...                      the version in use, moved by one rename
//! audit.jsonl                         every move of `current`, and every model that was rejected, one JSON object a line
//! ```
//!
//! The files of a version are those of the model that the stages left, under a second name: they take no room until the model is replaced.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::audit::{Act, AuditEntry, Verdict, append, audit};
use super::clock::{now, seconds};
use super::error::Error;
use super::plan::{CURRENT, Plan};
use super::trained_on::{self, TRAINED_ON};
use crate::atomic::{self, Directory, TEMPORARY_PREFIX};
use crate::checkpoint::{Manifest, verify};
use crate::dataset::Dataset;
use crate::{disk, regular};

/// Digits of the manifest's digest in a name.
pub(crate) const DIGITS: usize = 8;

/// A version of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Version {
    /// Its name: when it was kept (UTC), and the beginning of its manifest's SHA-256.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// Whether the alias `current` leads to it.
    pub current: bool,
}

/// When what has this name was kept: seconds since 1970; `None` if the name says nothing of it.
pub(crate) fn kept_at(name: &str) -> Option<f64> {
    let (time, _) = name.rsplit_once('-')?;
    let (date, time) = time.split_once('T')?;
    let (hours, minutes, rest) = (time.get(..2)?, time.get(2..4)?, time.get(4..)?);
    seconds(&format!("{date}T{hours}:{minutes}:{rest}"))
}

/// The versions of the model of `plan`, the oldest first.
pub fn versions(plan: &Plan) -> Vec<Version> {
    let store = plan.versions_directory();
    let current = current(&store);
    let entries = fs::read_dir(&store).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    // In the order of the audit, which a clock that goes back does not change; what is not in it is new, and names sort as times do.
    let moves = audit(plan);
    let place = |name: &String| moves.iter().position(|entry| entry.to == *name).unwrap_or(usize::MAX);
    names.sort_by_cached_key(|name| (place(name), name.clone()));
    let version =
        |name: String| Version { directory: store.join(&name), current: current.as_ref() == Some(&name), name };
    names.into_iter().map(version).collect()
}

/// The version of this name, or the only one whose name begins or ends so; `current` is the one in use.
///
/// # Errors
/// If there is none, or more than one.
pub fn find_version(plan: &Plan, name: &str) -> Result<Version, Error> {
    let all = versions(plan);
    let is_it = |it: &&Version| match name {
        CURRENT => it.current,
        name => it.name.starts_with(name) || it.name.ends_with(name),
    };
    let found: Vec<&Version> = all.iter().filter(is_it).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        found => Err(Error::Unrecognised {
            path: plan.versions_directory(),
            found: format!("{} versions `{name}`", found.len()),
            expected: format!("one; `paramill model list` names the {} that are there", all.len()),
        }),
    }
}

impl Version {
    /// When it was kept: seconds since 1970; `None` if its name says nothing of it.
    pub(crate) fn kept_at(&self) -> Option<f64> {
        kept_at(&self.name)
    }

    /// Whether the estimates of the workspace were made by it.
    ///
    /// # Errors
    /// If its manifest cannot be read.
    pub(crate) fn is_of_estimates(&self, plan: &Plan) -> Result<bool, Error> {
        let (_, sha256) = Manifest::read(&self.directory)?;
        // As text, which needs no version of the format.
        let estimates = regular::read_to_string(&plan.estimates_directory().join("manifest.json"));
        Ok(estimates.is_ok_and(|text| text.contains(&sha256)))
    }

    /// Removes it: first by a rename, so that no part of a version stays under its name.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        atomic::remove_directory(&self.directory).map_err(Error::io(&self.directory))
    }

    /// Checks that it is as it was written.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match verify(&self.directory).into_iter().next() {
            None => Ok(()),
            Some(found) => Err(Error::Damaged {
                path: self.directory.clone(),
                found,
                expected: "the model as it was written".to_owned(),
            }),
        }
    }
}

/// Keeps the model that the stages left as a version, verified, moves `current` to it, and removes the oldest versions but for `kept`. Returns the
/// version's name; `None` if it was `current` already, or was before a user moved the alias away from it. The caller holds the workspace.
///
/// # Errors
/// If the model is not as it was written, or something cannot be written.
pub(crate) fn keep(plan: &Plan, kept: usize) -> Result<Option<String>, Error> {
    let (version, is_new) = add(plan)?;
    let has_one = current(&plan.versions_directory()).is_some();
    let last = audit(plan).into_iter().rfind(|entry| entry.act == Act::Run);
    if has_one && last.is_some_and(|entry| entry.to == version.name) {
        return Ok(None);
    }
    let why = if is_new { "the stages gave a new model" } else { "the stages gave this model again" };
    point(plan, &version, Cause { act: Act::Run, why: why.to_owned(), forced: false, gate: None })?;
    retain(plan, kept)?;
    Ok(Some(version.name))
}

/// The model that the stages left as a version, and whether it has become one only now.
pub(crate) fn add(plan: &Plan) -> Result<(Version, bool), Error> {
    let model = plan.model_directory();
    let (manifest, sha256) = Manifest::read(&model)?;
    let digest = &sha256[..DIGITS];
    if let Some(same) = versions(plan).into_iter().rfind(|version| version.name.ends_with(digest)) {
        return Ok((same, false));
    }
    let name = format!("{}-{digest}", now().replace(':', ""));
    let directory = plan.versions_directory().join(&name);
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let is_of_it = manifest.provenance.parents.iter().any(|parent| parent.sha256 == dataset.content_hash());
    // A dataset that has changed since says nothing of the training.
    let digests = if is_of_it { trained_on::of_training(plan, &manifest, &dataset)? } else { None };
    link(&model, digests, &directory)?;
    Ok((Version { name, directory, current: false }, true))
}

/// Removes the oldest versions but for `kept`, the one in use, and the one that made the estimates. How many are gone.
pub(crate) fn retain(plan: &Plan, kept: usize) -> Result<usize, Error> {
    let all = versions(plan);
    let mut removed = 0;
    for old in &all[..all.len().saturating_sub(kept)] {
        // One that cannot be read is left to the user.
        if !old.current && !old.is_of_estimates(plan).unwrap_or(true) {
            old.remove()?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// A directory with the files of `model`, by second names where the file system has them, and with the digests of what it was trained on.
fn link(model: &Path, digests: Option<BTreeSet<String>>, to: &Path) -> Result<(), Error> {
    let place = Directory::create(to).map_err(Error::io(to))?;
    disk::link_tree(model, place.path()).map_err(Error::io(model))?;
    if let Some(digests) = digests {
        let lines: String = digests.into_iter().map(|digest| digest + "\n").collect();
        let path = place.path().join(TRAINED_ON);
        disk::write(&path, lines).map_err(Error::io(&path))?;
    }
    place.publish().map_err(Error::io(to))
}

/// Why `current` moves.
pub(crate) struct Cause {
    /// What moves it.
    pub act: Act,
    /// Why.
    pub why: String,
    /// Whether a user insists.
    pub forced: bool,
    /// What the gate found, where one was asked.
    pub gate: Option<Verdict>,
}

/// Moves `current` to a `version` that is as it was written, by one rename, then says so in the audit. The caller holds the workspace.
///
/// # Errors
/// If the version is damaged, or something cannot be written.
pub(crate) fn point(plan: &Plan, version: &Version, cause: Cause) -> Result<AuditEntry, Error> {
    version.check()?;
    let store = plan.versions_directory();
    let from = current(&store);
    let alias = store.join(CURRENT);
    let temporary = store.join(format!("{TEMPORARY_PREFIX}{CURRENT}"));
    let _ = disk::remove_file(&temporary); // of a process that died
    let moved = disk::symlink(&version.name, &temporary).and_then(|()| disk::rename(&temporary, &alias));
    moved.and_then(|()| disk::sync(&store)).map_err(Error::io(&alias))?;
    let Cause { act, why, forced, gate } = cause;
    let (time, to, process) = (now(), version.name.clone(), std::process::id());
    let entry = AuditEntry { time, act, from, to, why, forced, process, gate };
    append(&store, &entry)?;
    Ok(entry)
}

/// The version that `current` leads to.
pub(crate) fn current(store: &Path) -> Option<String> {
    fs::read_link(store.join(CURRENT)).ok()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_by_its_name_when_it_was_kept() {
        let named = |name: &str| Version { name: name.to_owned(), directory: PathBuf::new(), current: false };
        // From `date -u -d @1709294400`.
        assert_eq!(named("2024-03-01T120000.250Z-1a2b3c4d").kept_at(), Some(1_709_294_400.25));
        assert_eq!(named("kept-by-hand").kept_at(), None);
    }
}
