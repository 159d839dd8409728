//! The versions of a model: `models/PIPELINE.versions` of a workspace.
//!
//! ```text
//! 2024-03-01T021743.120Z-1a2b3c4d/    a model directory; a version never changes
//! current -> ...                      the version in use, moved by one rename
//! audit.jsonl                         every move of `current`, one JSON object a line
//! ```
//!
//! The files of a version are those of the model that the stages left, under a second name: they take no room until the model is replaced.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::clock::now;
use super::error::Error;
use super::plan::Plan;
use crate::atomic::{Directory, TEMPORARY_PREFIX};
use crate::checkpoint::{Manifest, verify};
use crate::regular;

/// The alias of the version in use.
pub const CURRENT: &str = "current";
const AUDIT_FILE: &str = "audit.jsonl";
/// Digits of the manifest's digest in a name.
const DIGITS: usize = 8;

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

/// A move of the alias `current`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// When, UTC.
    pub time: String,
    /// The version before; absent at the first move.
    pub from: Option<String>,
    /// The version since.
    pub to: String,
    /// Why.
    pub why: String,
    /// The process of the run that moved it, as in the run's record.
    pub process: u32,
}

/// The versions of the model of `plan`, the oldest first.
pub fn versions(plan: &Plan) -> Vec<Version> {
    let store = plan.versions_directory();
    let current = current(&store);
    let entries = fs::read_dir(&store).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    // Names sort as times do.
    names.sort();
    let version =
        |name: String| Version { directory: store.join(&name), current: current.as_ref() == Some(&name), name };
    names.into_iter().map(version).collect()
}

/// The moves of `current` of the model of `plan`, the oldest first, as far as this version can read them.
pub fn moves(plan: &Plan) -> Vec<Move> {
    let text = regular::read_to_string(&plan.versions_directory().join(AUDIT_FILE)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Keeps the model that the stages left as a version, verified, moves `current` to it, and removes the oldest versions but for `kept`. Returns the
/// version's name; `None` if it was `current` already. The caller holds the workspace.
///
/// # Errors
/// If the model is not as it was written, or something cannot be written.
pub(crate) fn keep(plan: &Plan, kept: usize) -> Result<Option<String>, Error> {
    let model = plan.model_directory();
    let (_, sha256) = Manifest::read(&model)?;
    let store = plan.versions_directory();
    let known = versions(plan);
    let digest = &sha256[..DIGITS];
    let same = known.iter().rfind(|version| version.name.ends_with(digest));
    if same.is_some_and(|version| version.current) {
        return Ok(None);
    }
    let (name, why) = match same {
        Some(version) => (version.name.clone(), "the stages gave this model again"),
        None => (format!("{}-{digest}", now().replace(':', "")), "the stages gave a new model"),
    };
    let directory = store.join(&name);
    if same.is_none() {
        link(&model, &directory)?;
    }
    if let Some(found) = verify(&directory).into_iter().next() {
        return Err(Error::Unrecognised { path: directory, found, expected: "the model as it was written".to_owned() });
    }
    point(&store, &name, why)?;
    let all = versions(plan);
    for old in all[..all.len().saturating_sub(kept)].iter().filter(|version| !version.current) {
        fs::remove_dir_all(&old.directory).map_err(Error::io(&old.directory))?;
    }
    Ok(Some(name))
}

/// A directory with the files of `model`, by second names where the file system has them.
fn link(model: &Path, to: &Path) -> Result<(), Error> {
    let place = Directory::create(to).map_err(Error::io(to))?;
    for entry in fs::read_dir(model).map_err(Error::io(model))? {
        let path = entry.map_err(Error::io(model))?.path();
        let other = place.path().join(path.file_name().unwrap_or_default());
        fs::hard_link(&path, &other).or_else(|_| fs::copy(&path, &other).map(drop)).map_err(Error::io(&path))?;
    }
    place.publish().map_err(Error::io(to))
}

/// Moves `current` to the version `name` by one rename, then says so in the audit.
fn point(store: &Path, name: &str, why: &str) -> Result<(), Error> {
    let from = current(store);
    let alias = store.join(CURRENT);
    let temporary = store.join(format!("{TEMPORARY_PREFIX}{CURRENT}"));
    let _ = fs::remove_file(&temporary); // of a process that died
    let moved = symlink(name, &temporary).and_then(|()| fs::rename(&temporary, &alias));
    moved.and_then(|()| fs::File::open(store)?.sync_all()).map_err(Error::io(&alias))?;
    let entry = Move { time: now(), from, to: name.to_owned(), why: why.to_owned(), process: std::process::id() };
    let path = store.join(AUDIT_FILE);
    let line = serde_json::to_string(&entry).map_err(io::Error::from).map_err(Error::io(&path))?;
    let written = OpenOptions::new().append(true).create(true).open(&path).and_then(|mut file| {
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    });
    written.map_err(Error::io(&path))
}

/// The version that `current` leads to.
fn current(store: &Path) -> Option<String> {
    fs::read_link(store.join(CURRENT)).ok()?.to_str().map(str::to_owned)
}
