//! A stage that has begun and not ended well: `stages/NAME.unfinished.json` in the workspace.
//!
//! It says how far the stage has come and, once it has stopped, why. A stage that ends well leaves none. One that says nothing of a stop
//! while nobody holds the workspace is of a process that was killed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::clock::now;
use super::error::Error;
use super::plan::Plan;
use super::stage::Stage;
use crate::digest::sha256;
use crate::progress::{Event, Observer};
use crate::regular;
use crate::{atomic, disk};

/// Least time between two writes of the progress: a run must not be slowed by being watched.
const WRITTEN_EVERY: Duration = Duration::from_secs(10);

/// A stage that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The process that began it.
    pub process: u32,
    /// When it began (UTC).
    pub begun: String,
    /// Fingerprint of what it was to make its product from; empty if it stopped before that was known, and in attempts of earlier versions.
    #[serde(default)]
    pub fingerprint: String,
    /// How far it had come when this was written.
    pub progress: Option<Progress>,
    /// Why it stopped, if the process lived to say so.
    pub stopped: Option<Stopped>,
    /// The dataset or the model that it completed, or one before it, with no record yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// A dataset or a model that was complete, just before it appeared under its name. A record can be made of it: the process may have died before
/// it could write one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// SHA-256 of its manifest, hex.
    pub sha256: String,
    /// Inode of its directory: another workspace can make the same dataset in its place, but not in the same directory.
    pub inode: u64,
    /// Fingerprint of what it was made from; empty in attempts of earlier versions.
    #[serde(default)]
    pub fingerprint: String,
}

/// How far a part of a stage has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The part: `train`, `estimate adapt`.
    pub part: String,
    /// Units done.
    pub done: u64,
    /// Units expected, where it is known.
    pub total: Option<u64>,
    /// Name of a unit, in the plural.
    pub unit: String,
}

/// Why a stage stopped before its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// When (UTC).
    pub time: String,
    /// Name of the error, as in [`Error::kind`].
    pub kind: String,
    /// What it said.
    pub message: String,
    /// The exit code of the run.
    pub exit_code: u8,
}

impl Attempt {
    /// What is known of the unfinished `stage`; `None` if it ended well, or there is nothing that this version can read.
    pub fn read(plan: &Plan, stage: Stage) -> Option<Self> {
        serde_json::from_slice(&regular::read(&plan.attempt_path(stage)).ok()?).ok()
    }

    /// Whether it ended with an error, not by a request to stop or with its process.
    pub(crate) fn has_failed(&self) -> bool {
        self.stopped.as_ref().is_some_and(|stopped| stopped.kind != "interrupted")
    }

    /// Whether a run that makes the stage from what has this `fingerprint` would meet what stopped it; `None` where that is not known before other
    /// stages have run.
    pub(crate) fn is_of(&self, fingerprint: Option<&str>) -> bool {
        self.fingerprint.is_empty() || fingerprint == Some(self.fingerprint.as_str())
    }

    /// Whether this workspace made the product at `path` with this content hash, according to an attempt at `stage` that did not live to record it.
    pub(crate) fn made(plan: &Plan, stage: Stage, path: &Path, sha256: &str) -> bool {
        let made = Attempt::read(plan, stage).and_then(|attempt| attempt.made);
        let inode = fs::metadata(path).map(|metadata| metadata.ino()).ok();
        made.is_some_and(|made| made.sha256 == sha256 && inode == Some(made.inode))
    }

    /// Whether this workspace made the model at `path` from what has this `fingerprint`, according to an attempt at `stage` that did not live to
    /// record it.
    pub(crate) fn made_from(plan: &Plan, stage: Stage, path: &Path, fingerprint: &str) -> bool {
        let made = Attempt::read(plan, stage).and_then(|attempt| attempt.made);
        let sha256 = regular::read(&path.join("manifest.json")).map(|bytes| sha256(&bytes));
        made.is_some_and(|made| made.fingerprint == fingerprint)
            && sha256.is_ok_and(|sha256| Attempt::made(plan, stage, path, &sha256))
    }

    /// Forgets what is known of `stage`, which has ended well.
    pub(crate) fn forget(plan: &Plan, stage: Stage) {
        let _ = disk::remove_file(&plan.attempt_path(stage));
    }

    fn write(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from).map_err(Error::io(path))?;
        atomic::write_file(path, format!("{text}\n").as_bytes()).map_err(Error::io(path))
    }
}

/// An observer that passes events on, and writes how far the stage has come.
pub(crate) struct Followed<'a> {
    observer: &'a dyn Observer,
    path: PathBuf,
    state: Mutex<(Attempt, Instant)>,
}

impl<'a> Followed<'a> {
    /// Writes that `stage` has begun, from what has this `fingerprint`.
    ///
    /// # Errors
    /// If it cannot be written; then neither could the product.
    pub(crate) fn begin(
        plan: &Plan,
        stage: Stage,
        fingerprint: &str,
        observer: &'a dyn Observer,
    ) -> Result<Self, Error> {
        let made = Attempt::read(plan, stage).and_then(|before| before.made);
        let (process, fingerprint) = (std::process::id(), fingerprint.to_owned());
        let attempt = Attempt { process, begun: now(), fingerprint, progress: None, stopped: None, made };
        let path = plan.attempt_path(stage);
        attempt.write(&path)?;
        Ok(Followed { observer, path, state: Mutex::new((attempt, Instant::now())) })
    }

    /// Writes why the stage has stopped.
    pub(crate) fn stop(&self, error: &Error) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.stopped = Some(Stopped {
            time: now(),
            kind: error.kind().to_owned(),
            message: error.to_string(),
            exit_code: error.exit_code(),
        });
        // The error that is on its way matters more than one of writing it here.
        let _ = state.0.write(&self.path);
    }
}

impl Observer for Followed<'_> {
    fn observe(&self, event: Event) {
        let news = match &event {
            Event::Begin { what, total, unit } => {
                Some(Progress { part: what.clone(), done: 0, total: *total, unit: (*unit).to_owned() })
            }
            _ => None,
        };
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let (attempt, written) = &mut *state;
            match (&event, news, &mut attempt.progress) {
                (_, Some(news), progress) => *progress = Some(news),
                (Event::Advance { done, .. }, _, Some(progress)) => progress.done = *done,
                _ => {}
            }
            if written.elapsed() >= WRITTEN_EVERY {
                *written = Instant::now();
                // Who looks on sees older figures until the next write.
                let _ = attempt.write(&self.path);
            }
        }
        self.observer.observe(event);
    }

    fn complete(&self, sha256: &str, inode: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let fingerprint = state.0.fingerprint.clone();
        state.0.made = Some(Made { sha256: sha256.to_owned(), inode, fingerprint });
        state.0.write(&self.path).map_err(io::Error::other)
    }
}
