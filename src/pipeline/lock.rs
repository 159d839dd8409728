//! Advisory locks on files, which the system releases when their holder dies; where it has none, links stand for them ([`crate::disk`]).
//!
//! The file of a lock exists only while the lock is held, and is removed by a process that holds it exclusively. Between opening and locking
//! the file, its last holder may have removed it and another process may have made a new one, so a process that has locked it checks that it
//! is still the file at its path.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::error::Error;
use crate::atomic::{TEMPORARY_PREFIX, abandoned, settle, settle_all, unsettled};
use crate::disk::{self, Held, Kind, Refusal};
use crate::progress::{Event, Run};

/// Times that a lock is tried again: who only asks whether a lock is held ([`holder`]) holds it for an instant.
const REFUSALS: u32 = 5;
/// Between two of them.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// A held lock.
#[derive(Debug)]
pub(crate) struct Lock {
    held: Held,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock at `path` exclusively.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it.
    pub(crate) fn exclusive(path: &Path) -> Result<Self, Error> {
        Lock::take(path, Kind::Exclusive)
    }

    /// Takes the lock at `path` shared.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it exclusively.
    pub(crate) fn shared(path: &Path) -> Result<Self, Error> {
        Lock::take(path, Kind::Shared)
    }

    fn take(path: &Path, kind: Kind) -> Result<Self, Error> {
        if let Some(parent) = path.parent() {
            disk::create_directories(parent).map_err(Error::io(parent))?;
        }
        let mut refused = 0;
        let mut held = loop {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
            match disk::try_lock(open.map_err(Error::io(path))?, path, kind) {
                Ok(Held::BySystem(ref file)) if !stands_at(file, path) => {}
                Ok(held) => break held,
                Err(Refusal::Held(_)) if refused < REFUSALS => {
                    refused += 1;
                    thread::sleep(BETWEEN_ATTEMPTS);
                }
                Err(Refusal::Held(by)) => {
                    let holder = Holder { process: by.as_ref().map(|by| by.process).or_else(|| process_in(path)) };
                    let elsewhere = by.map(|by| by.host).filter(|host| !host.is_empty());
                    return Err(Error::Locked { path: path.to_owned(), holder: holder.process, host: elsewhere });
                }
                Err(Refusal::Io(source)) => return Err(Error::io(path)(source)),
            }
        };
        match &mut held {
            Held::BySystem(file) => {
                let said = format!("{}\n", std::process::id());
                let cleared = file.set_len(0).and_then(|()| file.rewind());
                cleared.and_then(|()| disk::write_all(file, path, said.as_bytes())).map_err(Error::io(path))?;
            }
            // The link is the lock.
            Held::ByLink(_) => drop(fs::remove_file(path)),
        }
        Ok(Lock { held, path: path.to_owned() })
    }

    /// Turns an exclusive lock into a shared one.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process took it exclusively in between.
    pub(crate) fn downgrade(self) -> Result<Self, Error> {
        let path = self.path.clone();
        drop(self);
        Lock::shared(&path)
    }

    /// Whether it is a link, for want of locks in the file system.
    pub(crate) fn is_a_link(&self) -> bool {
        matches!(self.held, Held::ByLink(_))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Held::BySystem(file) = &self.held {
            let alone = file.unlock().is_ok() && file.try_lock().is_ok();
            if alone && stands_at(file, &self.path) {
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

/// Who holds the lock at `path` exclusively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its process, as it wrote it; `None` if it has not yet.
    pub process: Option<u32>,
}

/// The holder of the lock at `path`; `None` if nobody holds it exclusively. Leaves no file, and needs no right to write.
pub(crate) fn holder(path: &Path) -> Option<Holder> {
    if let Some(by) = disk::holder(path) {
        return Some(Holder { process: Some(by.process) });
    }
    match File::open(path).ok()?.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => Some(Holder { process: process_in(path) }),
        _ => None,
    }
}

/// The process that the file of a lock names.
fn process_in(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether nobody holds the lock at `path`, shared or not.
pub(crate) fn is_free(path: &Path) -> bool {
    let by_system = File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)));
    !by_system && disk::is_free(path)
}

fn is_not_allowed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Whether `file` is the one at `path`.
fn stands_at(file: &File, path: &Path) -> bool {
    let place = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
    place(file.metadata()).is_some_and(|opened| place(fs::metadata(path)) == Some(opened))
}

/// The locks for writing the dataset at `directory`.
pub(crate) struct DatasetWriting {
    _own: Lock,
    _all: Lock,
}

impl DatasetWriting {
    /// Takes the locks, and removes temporary files of dead processes if no other process writes a dataset in the folder.
    ///
    /// Temporary siblings do not name their dataset, so they are removed only by a process that holds `.lock` of the
    /// whole folder alone; writers share it.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process reads or writes this dataset.
    pub(crate) fn begin(directory: &Path, run: &Run<'_>) -> Result<Self, Error> {
        let own = Lock::exclusive(&dataset_lock(directory))?;
        let folder = directory.parent().unwrap_or(Path::new("."));
        let path = folder.join(".lock");
        let all = match Lock::exclusive(&path) {
            Ok(alone) => {
                sweep(folder, run);
                settle(directory).map_err(Error::io(directory))?;
                if let Some(elsewhere) = directory.canonicalize().ok().filter(|_| directory.is_symlink()) {
                    sweep_directories(elsewhere.parent().unwrap_or(&elsewhere), run);
                }
                alone.downgrade()?
            }
            Err(Error::Locked { .. }) => Lock::shared(&path)?,
            Err(error) => return Err(error),
        };
        Ok(DatasetWriting { _own: own, _all: all })
    }
}

/// Takes a shared lock for reading the dataset at `directory`; `None` if its folder is not writable and so cannot change.
///
/// # Errors
/// [`Error::Locked`] if another process is writing it.
pub(crate) fn dataset_reading(directory: &Path) -> Result<Option<Lock>, Error> {
    match Lock::shared(&dataset_lock(directory)) {
        Err(Error::Io { source, .. }) if is_not_allowed(&source) => Ok(None),
        taken => taken.map(Some),
    }
}

/// Ends what a run that died has begun with the dataset at `directory` and in its folder: it has left its locks there, which show it.
///
/// # Errors
/// If something there can be neither finished nor removed. What another process works on, or in a folder that cannot be written to, is left.
pub(crate) fn clear_leftovers(directory: &Path, run: &Run<'_>) -> Result<(), Error> {
    let folder = directory.parent().unwrap_or(Path::new("."));
    let locks = [folder.join(".lock"), dataset_lock(directory)];
    if !locks.iter().any(|lock| lock.exists()) && unsettled(folder).next().is_none() {
        return Ok(());
    }
    match DatasetWriting::begin(directory, run) {
        Ok(_) | Err(Error::Locked { .. }) => Ok(()),
        Err(Error::Io { source, .. }) if is_not_allowed(&source) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Finishes or removes what dead processes left in `directory`. The caller holds its lock, so their makers are dead.
pub(crate) fn sweep(directory: &Path, run: &Run<'_>) {
    if let Err(error) = settle_all(directory) {
        let remedy = "make the folder writable: a directory in it waits to take the place of an older one";
        run.emit(Event::Warn(format!("{}: {error}; {remedy}", directory.display())));
    }
    sweep_directories(directory, run);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX);
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_temporary && !is_directory && !disk::is_a_live_lock(&entry.path()) {
            tell(&entry.path(), disk::remove_file(&entry.path()), run);
        }
    }
}

/// Removes temporary directories in `directory` whose makers are dead, by the process ids in their names.
pub fn sweep_directories(directory: &Path, run: &Run<'_>) {
    abandoned(directory).for_each(|path| tell(&path, disk::remove_tree(&path), run));
}

fn tell(path: &Path, removed: io::Result<()>, run: &Run<'_>) {
    run.emit(match removed {
        Ok(()) => Event::Note(format!("removed {}, left by a run that died", path.display())),
        Err(error) => Event::Warn(format!("{}: left by a run that died; remove it ({error})", path.display())),
    });
}

/// The lock of the dataset at `directory`.
pub(crate) fn dataset_lock(directory: &Path) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.with_file_name(format!(".{name}.lock"))
}
