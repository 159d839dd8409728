//! Atomic writes: a file or directory is complete or absent, even if the process dies.
//!
//! Everything is written to a temporary sibling, synced, and renamed over its final name. An existing directory is
//! exchanged with the new one in a single rename, so a reader always finds the old one or the new one. A symbolic link stays, and its
//! target is replaced.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Prefix of temporary siblings; a leftover with this prefix is of a process that died.
pub const TEMPORARY_PREFIX: &str = ".paramill-";

/// A library's error of writing, without the addresses that libhdf5 appends, and with a remedy.
pub(crate) fn unwritten(error: impl std::fmt::Display) -> io::Error {
    let said = error.to_string();
    let said = said.split(": time = ").next().unwrap_or_default();
    let remedy = "make room on the disk, or raise the limit on sizes of files (`ulimit -f`)";
    io::Error::other(format!("cannot be written ({said}); {remedy}"))
}

/// Writes `bytes` to `path`, atomically and durably.
///
/// # Errors
/// Any error of creating, writing, syncing or renaming; `path` is then unchanged.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &followed(path)?;
    let parent = parent_of(path);
    fs::create_dir_all(parent)?;
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(parent)
}

/// A directory under construction beside its final path; removed when dropped without [`Directory::publish`] or [`Directory::keep`].
pub struct Directory {
    path: PathBuf,
    target: PathBuf,
    /// Held while this process works on the directory; other processes may resume or remove an unlocked one.
    _lock: File,
    stays: bool,
}

impl Directory {
    /// Starts a directory that will become `target`.
    ///
    /// # Errors
    /// If the parent cannot be created or written to.
    pub fn create(target: &Path) -> io::Result<Self> {
        let target = followed(target)?;
        let parent = parent_of(&target);
        fs::create_dir_all(parent)?;
        loop {
            let temporary = tempfile::Builder::new()
                .prefix(TEMPORARY_PREFIX)
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .tempdir_in(parent)?;
            let lock = File::open(temporary.path())?;
            // Before the lock is taken, another process may remove the directory as abandoned.
            let is_ours = !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && temporary.path().is_dir();
            if is_ours {
                return Ok(Directory { path: temporary.keep(), target, _lock: lock, stays: false });
            }
        }
    }

    /// Resumes the unfinished directory that an earlier process left for `target`, or starts an empty one. Files in it may be half-written.
    ///
    /// # Errors
    /// If another process works on it, or the parent cannot be created or written to.
    pub fn resume(target: &Path) -> io::Result<Self> {
        let target = followed(target)?;
        let path = unfinished(&target)?;
        fs::create_dir_all(&path)?;
        let lock = File::open(&path)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another process is making this directory"),
            TryLockError::Error(error) => error,
        })?;
        Ok(Directory { path, target, _lock: lock, stays: false })
    }

    /// The directory to write into.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the unfinished directory for [`Directory::resume`].
    pub fn keep(mut self) {
        self.stays = true;
    }

    /// Syncs every file and directory inside, then renames the whole to its target, replacing what was there.
    ///
    /// # Errors
    /// Any error of syncing or renaming; the target is then unchanged.
    pub fn publish(mut self) -> io::Result<()> {
        sync_tree(self.path())?;
        let parent = parent_of(&self.target);
        if self.target.symlink_metadata().is_ok() {
            renameat_with(CWD, self.path(), CWD, &self.target, RenameFlags::EXCHANGE)?;
            sync_directory(parent)?;
            self.stays = true;
            fs::remove_dir_all(self.path())?; // now holds what was there before
        } else {
            renameat_with(CWD, self.path(), CWD, &self.target, RenameFlags::NOREPLACE)?;
            self.stays = true;
            sync_directory(parent)?;
        }
        Ok(())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Where [`Directory::resume`] keeps the unfinished directory of `target`.
///
/// # Errors
/// If `target` is a symbolic link that leads nowhere.
pub fn unfinished(target: &Path) -> io::Result<PathBuf> {
    let target = followed(target)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    Ok(parent_of(&target).join(format!(".{name}.unfinished")))
}

/// The temporary directories in `directory` whose makers are dead.
pub fn abandoned(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_temporary = |entry: &fs::DirEntry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_directory && entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX)
    };
    let left = entries.filter(is_temporary).map(|entry| entry.path());
    left.filter(|path| File::open(path).is_ok_and(|directory| directory.try_lock().is_ok()))
}

/// `target` with symbolic links resolved.
fn followed(target: &Path) -> io::Result<PathBuf> {
    if !target.is_symlink() {
        return Ok(target.to_owned());
    }
    target.canonicalize().map_err(|error| {
        let remedy = "remove it, or create its target";
        io::Error::new(error.kind(), format!("a symbolic link that leads nowhere ({error}); {remedy}"))
    })
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_directory(directory)
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_directory_replaces_the_old_one_and_leaves_nothing_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("result");
        for content in ["first", "second"] {
            let directory = Directory::create(&target).unwrap();
            fs::write(directory.path().join("file"), content).unwrap();
            directory.publish().unwrap();
            assert_eq!(fs::read_to_string(target.join("file")).unwrap(), content);
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_dropped_directory_leaves_the_target_alone() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("result");
        let directory = Directory::create(&target).unwrap();
        fs::write(directory.path().join("file"), "half").unwrap();
        drop(directory);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_unfinished_directory_is_kept_on_request_and_by_one_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("result");
        let directory = Directory::resume(&target).unwrap();
        fs::write(directory.path().join("file"), "half").unwrap();
        assert!(Directory::resume(&target).err().unwrap().to_string().contains("another process"));
        directory.keep();
        let directory = Directory::resume(&target).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "half");
        drop(directory);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_link_leads_to_is_replaced_and_the_link_stays() {
        let root = tempfile::tempdir().unwrap();
        let [target, link] = ["elsewhere/result", "link"].map(|name| root.path().join(name));
        std::os::unix::fs::symlink("elsewhere/result", &link).unwrap();
        let nowhere = [Directory::create(&link).err(), Directory::resume(&link).err(), write_file(&link, b"").err()];
        for error in nowhere {
            assert!(error.unwrap().to_string().contains("leads nowhere"));
        }
        for content in ["first", "second"] {
            fs::create_dir_all(&target).unwrap();
            let directory = Directory::create(&link).unwrap();
            fs::write(directory.path().join("file"), content).unwrap();
            directory.publish().unwrap();
            assert_eq!(fs::read_to_string(target.join("file")).unwrap(), content);
        }
        write_file(&root.path().join("elsewhere/file"), b"one").unwrap();
        let to_file = root.path().join("to file");
        std::os::unix::fs::symlink("elsewhere/file", &to_file).unwrap();
        write_file(&to_file, b"two").unwrap();
        assert_eq!(fs::read(root.path().join("elsewhere/file")).unwrap(), b"two");
        assert!(link.is_symlink() && to_file.is_symlink());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
    }

    #[test]
    fn only_what_nobody_works_on_is_abandoned() {
        let root = tempfile::tempdir().unwrap();
        let [left, other] = [".paramill-left", "other"].map(|name| root.path().join(name));
        for path in [&left, &other] {
            fs::create_dir(path).unwrap();
        }
        fs::write(root.path().join(".paramill-file"), "").unwrap();
        let alive = Directory::create(&root.path().join("result")).unwrap();
        assert_eq!(abandoned(root.path()).collect::<Vec<_>>(), [left]);
        drop(alive);
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("nested/file");
        write_file(&path, b"one").unwrap();
        write_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }
}
