//! Advisory locks on files, which the system releases when their holder dies.
//!
//! The file of a lock exists only while the lock is held, and is removed by a process that holds it exclusively. Between opening and locking
//! the file, its last holder may have removed it and another process may have made a new one, so a process that has locked it checks that it
//! is still the file at its path.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::error::Error;
use crate::atomic::{TEMPORARY_PREFIX, abandoned};
use crate::progress::{Event, Run};

/// Times that a lock is tried again: who only asks whether a lock is held ([`holder`]) holds it for an instant.
const REFUSALS: u32 = 5;
/// Between two of them.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// A held lock.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock at `path` exclusively.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it.
    pub(crate) fn exclusive(path: &Path) -> Result<Self, Error> {
        Lock::take(path, File::try_lock)
    }

    /// Takes the lock at `path` shared.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it exclusively.
    pub(crate) fn shared(path: &Path) -> Result<Self, Error> {
        Lock::take(path, File::try_lock_shared)
    }

    fn take(path: &Path, attempt: fn(&File) -> Result<(), TryLockError>) -> Result<Self, Error> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io(parent))?;
        }
        let mut refused = 0;
        let mut file = loop {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
            let mut file = open.map_err(Error::io(path))?;
            match attempt(&file) {
                Ok(()) if stands_at(&file, path) => break file,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if refused < REFUSALS => {
                    refused += 1;
                    thread::sleep(BETWEEN_ATTEMPTS);
                }
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = file.read_to_string(&mut holder);
                    return Err(Error::Locked { path: path.to_owned(), holder: holder.trim().parse().ok() });
                }
                Err(TryLockError::Error(source)) => return Err(Error::io(path)(source)),
            }
        };
        let name_holder = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .and_then(|()| file.flush());
        name_holder.map_err(Error::io(path))?;
        Ok(Lock { file, path: path.to_owned() })
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
}

impl Drop for Lock {
    fn drop(&mut self) {
        let alone = self.file.unlock().is_ok() && self.file.try_lock().is_ok();
        if alone && stands_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
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
    let mut file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut said = String::new();
            let _ = file.read_to_string(&mut said);
            Some(Holder { process: said.trim().parse().ok() })
        }
        _ => None,
    }
}

/// Whether nobody holds the lock at `path`, shared or not.
pub(crate) fn is_free(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock))) || !path.exists()
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
        Err(Error::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
        {
            Ok(None)
        }
        taken => taken.map(Some),
    }
}

/// Removes temporary files and directories in `directory`. The caller holds its lock, so their makers are dead.
pub(crate) fn sweep(directory: &Path, run: &Run<'_>) {
    sweep_directories(directory, run);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX);
        if is_temporary && !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            tell(&entry.path(), fs::remove_file(entry.path()), run);
        }
    }
}

/// Removes temporary directories in `directory` whose makers are dead, by the process ids in their names.
pub fn sweep_directories(directory: &Path, run: &Run<'_>) {
    abandoned(directory).for_each(|path| tell(&path, fs::remove_dir_all(&path), run));
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
