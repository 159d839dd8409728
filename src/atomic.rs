//! Atomic writes: a file or directory is complete or absent, even if the process dies.
//!
//! Everything is written to a temporary sibling, synced, and renamed over its final name. An existing directory is
//! exchanged with the new one in a single rename, so a reader always finds the old one or the new one. A symbolic link stays, and its
//! target is replaced.
//!
//! Where a file system cannot exchange directories, the new one of `NAME` is renamed to `.NAME.replacing`, from where it has replaced the old
//! one: [`settle`] moves the old one away and the new one to its name, now or, if the process dies, before the next write beside it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{self, Held, Kind, Refusal};

/// Prefix of temporary siblings; a leftover with this prefix is of a process that died.
pub const TEMPORARY_PREFIX: &str = ".paramill-";
/// Ends the name of a directory that has replaced another one and is not yet in its place.
const REPLACING: &str = ".replacing";

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
    disk::create_directories(parent)?;
    let mut file = disk::temporary_file(parent, TEMPORARY_PREFIX)?;
    disk::write_all(file.as_file_mut(), path, bytes)?;
    if path.exists() {
        disk::take_after(file.path(), path)?;
    }
    disk::sync(file.path())?;
    disk::persist(file, path)?;
    disk::sync(parent)
}

/// Checks that `target` could be made: that its folder, or the lowest one above it that is there, can be written to and locked.
///
/// # Errors
/// What making it would meet.
pub(crate) fn probe(target: &Path) -> io::Result<()> {
    let target = followed(target)?;
    let mut folder = parent_of(&target);
    while !folder.exists() && folder != parent_of(folder) {
        folder = parent_of(folder);
    }
    let temporary = disk::temporary_directory(folder, TEMPORARY_PREFIX)?;
    match disk::try_lock(File::open(temporary.path())?, temporary.path(), Kind::Exclusive) {
        Err(Refusal::Io(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Removes the directory at `path`: first by a rename, so that no part of it stays under its name.
///
/// # Errors
/// Any error of renaming or removing; what is left after the rename is swept later.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    let aside = beside(path, "removed-")?;
    disk::rename(path, &aside)?;
    disk::remove_tree(&aside)
}

/// A directory under construction beside its final path; removed when dropped without [`Directory::publish`] or [`Directory::keep`].
pub struct Directory {
    path: PathBuf,
    target: PathBuf,
    /// Held while this process works on the directory; other processes may resume or remove an unlocked one.
    _lock: Held,
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
        disk::create_directories(parent)?;
        settle(&target)?;
        loop {
            let temporary = disk::temporary_directory(parent, TEMPORARY_PREFIX)?;
            let lock = disk::try_lock(File::open(temporary.path())?, temporary.path(), Kind::Exclusive);
            match lock {
                // Before the lock was taken, another process may have removed the directory as abandoned.
                Ok(lock) if temporary.path().is_dir() => {
                    return Ok(Directory { path: temporary.keep(), target, _lock: lock, stays: false });
                }
                Ok(_) | Err(Refusal::Held(_)) => {}
                Err(Refusal::Io(error)) => return Err(error),
            }
        }
    }

    /// Resumes the unfinished directory that an earlier process left for `target`, or starts an empty one. Files in it may be half-written.
    ///
    /// # Errors
    /// If another process works on it, or the parent cannot be created or written to.
    pub fn resume(target: &Path) -> io::Result<Self> {
        let target = followed(target)?;
        settle(&target)?;
        let path = unfinished(&target)?;
        disk::create_directories(&path)?;
        let lock = disk::try_lock(File::open(&path)?, &path, Kind::Exclusive).map_err(|refusal| match refusal {
            Refusal::Held(_) => io::Error::other("another process is making this directory"),
            Refusal::Io(error) => error,
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

    /// Syncs every file and directory inside, then renames the whole to its target, replacing what was there, whose owner and mode it keeps.
    ///
    /// # Errors
    /// Any error of syncing or renaming; the target is then unchanged. And of removing what was there before: then the target is the new one.
    pub fn publish(mut self) -> io::Result<()> {
        if self.target.is_dir() {
            disk::take_after(self.path(), &self.target)?;
        }
        sync_tree(self.path())?;
        let parent = parent_of(&self.target).to_owned();
        if self.target.symlink_metadata().is_err() {
            disk::rename_to_nothing(self.path(), &self.target)?;
            self.stays = true;
            return disk::sync(&parent);
        }
        if !is_temporary(&self.path) {
            // What was there before is not to be resumed if the process dies before it is removed.
            let aside = beside(&self.target, "new-")?;
            disk::rename(self.path(), &aside)?;
            self.path = aside;
        }
        if disk::exchange(self.path(), &self.target)? {
            self.stays = true;
            disk::sync(&parent)?;
            disk::remove_tree(self.path()) // now holds what was there before
        } else {
            disk::rename(self.path(), &replacing(&self.target))?;
            self.stays = true;
            disk::sync(&parent)?;
            settle(&self.target)
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.stays {
            let _ = disk::remove_tree(&self.path);
        }
    }
}

/// Moves the directory that has replaced `target` to its name, if the process that made it died before. The caller holds whatever lock there
/// is on `target`.
///
/// # Errors
/// Any error of renaming or removing; the next call goes on.
pub(crate) fn settle(target: &Path) -> io::Result<()> {
    let target = followed(target)?;
    let next = replacing(&target);
    if !next.is_dir() {
        return Ok(());
    }
    if target.symlink_metadata().is_ok() {
        let aside = beside(&target, "replaced-")?;
        match disk::rename(&target, &aside) {
            // A lower layer of overlayfs: no directory of it can be renamed. Without its manifest nobody takes it for whole.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let manifest = target.join("manifest.json");
                if manifest.exists() {
                    disk::remove_file(&manifest)?;
                }
                disk::remove_tree(&target)?;
            }
            done => done?,
        }
        disk::rename_to_nothing(&next, &target)?;
        disk::sync(parent_of(&target))?;
        return if aside.exists() { disk::remove_tree(&aside) } else { Ok(()) };
    }
    disk::rename_to_nothing(&next, &target)?;
    disk::sync(parent_of(&target))
}

/// Settles every directory in `folder` that has replaced another one. The caller holds the lock of the folder.
///
/// # Errors
/// As [`settle`].
pub(crate) fn settle_all(folder: &Path) -> io::Result<()> {
    for target in unsettled(folder) {
        settle(&target)?;
    }
    Ok(())
}

/// The paths in `folder` to which [`settle`] has something to move.
pub(crate) fn unsettled(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let of = name.to_str()?.strip_prefix('.')?.strip_suffix(REPLACING)?;
        Some(entry.path().with_file_name(of))
    })
}

/// Where the new directory of `target` stands until the old one is away.
fn replacing(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}{REPLACING}"))
}

/// A temporary name for the directory `target`, at which nothing is.
fn beside(target: &Path, what: &str) -> io::Result<PathBuf> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let path = target.with_file_name(format!("{TEMPORARY_PREFIX}{what}{name}"));
    if path.symlink_metadata().is_ok() {
        disk::remove_tree(&path)?; // of a process that died
    }
    Ok(path)
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY_PREFIX))
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
    let left = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    let left = left.filter(|path| is_temporary(path));
    left.filter(|path| File::open(path).is_ok_and(|file| disk::try_lock(file, path, Kind::Exclusive).is_ok()))
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
            disk::sync(&entry.path())?;
        }
    }
    disk::sync(directory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

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
    fn what_replaces_has_the_owner_and_the_mode_of_what_it_replaces() {
        let root = tempfile::tempdir().unwrap();
        let (target, file) = (root.path().join("result"), root.path().join("file"));
        let publish = |names: &[&str]| {
            let directory = Directory::create(&target).unwrap();
            names.iter().for_each(|name| fs::write(directory.path().join(name), "rows").unwrap());
            directory.publish().unwrap();
            write_file(&file, b"text").unwrap();
        };
        publish(&["table"]);
        let table = target.join("table");
        for (path, mode) in [(&target, 0o2750), (&table, 0o600), (&file, 0o640)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        // Only root can give files away.
        let owner = |path: &Path| fs::metadata(path).map(|it| (it.uid(), it.gid())).unwrap();
        let given = [&target, &table, &file].map(|path| chown(path, Some(4321), Some(1234)).is_ok());
        fs::set_permissions(&target, fs::Permissions::from_mode(0o2750)).unwrap();
        let before = [&target, &table, &file].map(|path| owner(path));
        publish(&["table", "new"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!([&target, &table, &file].map(|path| mode(path)), [0o2750, 0o600, 0o640]);
        assert_eq!([&target, &table, &file].map(|path| owner(path)), before);
        if given[0] {
            assert!(fs::read_dir(&target).unwrap().all(|entry| owner(&entry.unwrap().path()) == (4321, 1234)));
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
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
