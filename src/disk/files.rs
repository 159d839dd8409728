//! Files and directories: made, written, synced, renamed, linked and removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::{NamedTempFile, TempDir};

use super::operation::Operation;
use super::point::{fate, pass};

/// A new file that is written piece by piece.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    path: PathBuf,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fate(Operation::Write, &self.path).meet(|| half(&mut self.file, bytes))?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What a write leaves that stops in its midst.
fn half(file: &mut File, bytes: &[u8]) {
    let _ = file.write_all(&bytes[..bytes.len() / 2]);
}

/// Makes the file at `path`, empty.
pub(crate) fn create(path: &Path) -> io::Result<NewFile> {
    pass(Operation::Create, path)?;
    Ok(NewFile { file: File::create(path)?, path: path.to_owned() })
}

/// Comes before a library makes the file at `path` by itself: a file that libhdf5 writes piece by piece.
pub(crate) fn before_library_creates(path: &Path) -> io::Result<()> {
    pass(Operation::Create, path)
}

/// Comes before a library writes to the file at `path`. What it has not written yet is missing if the process dies here.
pub(crate) fn before_library_writes(path: &Path) -> io::Result<()> {
    pass(Operation::Write, path)
}

/// Makes the directory at `path`, and those above it, where they are missing.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    pass(Operation::Create, path)?;
    fs::create_dir_all(path)
}

/// Makes an empty file in `folder` that is removed when dropped; everybody may read it.
pub(crate) fn temporary_file(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    pass(Operation::Create, folder)?;
    let permissions = fs::Permissions::from_mode(0o644);
    tempfile::Builder::new().prefix(prefix).permissions(permissions).tempfile_in(folder)
}

/// Makes an empty directory in `folder` that is removed when dropped; everybody may read it.
pub(crate) fn temporary_directory(folder: &Path, prefix: &str) -> io::Result<TempDir> {
    pass(Operation::Create, folder)?;
    let permissions = fs::Permissions::from_mode(0o755);
    tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir_in(folder)
}

/// Writes the whole file at `path`.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(bytes.as_ref())
}

/// Writes to the open `file`, which is to stand at `path`.
pub(crate) fn write_all(file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    fate(Operation::Write, path).meet(|| half(file, bytes))?;
    file.write_all(bytes)
}

/// Adds `line` and its end to the file at `path`, in one write, and waits until it is on the disk. A line that an earlier process left
/// unfinished is removed first.
pub(crate) fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let mut before = Vec::new();
    file.read_to_end(&mut before)?;
    let whole = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < before.len() {
        file.set_len(whole as u64)?;
    }
    write_all(&mut file, path, format!("{line}\n").as_bytes())?;
    pass(Operation::Sync, path)?;
    file.sync_all()
}

/// Writes `bytes` behind the first `end` bytes of the file at `path`, which is made where it is missing; what stood there is removed.
pub(crate) fn append_behind(path: &Path, end: u64, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    write_all(&mut file, path, bytes)
}

/// Waits until the file or directory at `path` is on the disk.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    pass(Operation::Sync, path)?;
    File::open(path)?.sync_all()
}

/// Renames `from` to `to`; a file or an empty directory at `to` is replaced.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    pass(Operation::Rename, to)?;
    fs::rename(from, to)
}

/// Renames the directory `from` to `to`, where nothing is.
pub(crate) fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    pass(Operation::Rename, to)?;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system without flags never replaces a directory that holds anything.
        Err(error) if lacks_flags(&error.into()) => fs::rename(from, to),
        done => Ok(done?),
    }
}

/// Exchanges two directories in one step; `false` if this file system cannot, and nothing has changed.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    let exchanged =
        pass(Operation::Exchange, other).and_then(|()| Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?));
    match exchanged {
        Ok(()) => Ok(true),
        Err(error) if lacks_flags(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an error of renaming says that the file system has no flags, or that it cannot move this directory: a lower layer of overlayfs.
fn lacks_flags(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    code.is_some_and(|code| [Errno::INVAL, Errno::NOSYS, Errno::XDEV, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&code))
}

/// Bytes that this process may still write to the disk of the file or directory at `path`.
pub(crate) fn free(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Gives every file in the directory `from` a second name in the new directory `to`, or a copy where the file system has no second names.
pub(crate) fn link_tree(from: &Path, to: &Path) -> io::Result<()> {
    create_directories(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let other = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_tree(&entry.path(), &other)?;
        } else {
            hard_link(&entry.path(), &other).or_else(|_| copy(&entry.path(), &other))?;
        }
    }
    Ok(())
}

/// Gives what is at `path` owner, group and mode of what it is to replace, `before`, and so each file in a directory; one that has no like there has the
/// owner of the directory. Only a privileged process may give files away: those of another one stay its own.
pub(crate) fn take_after(path: &Path, before: &Path) -> io::Result<()> {
    let (is, was) = (path.symlink_metadata()?, before.symlink_metadata()?);
    let (owner, group) = (was.uid(), was.gid());
    if (is.uid(), is.gid()) != (owner, group) {
        let _ = lchown(path, Some(owner), Some(group)).or_else(|_| lchown(path, None, Some(group)));
    }
    let mode = |of: &fs::Metadata| of.mode() & 0o7777;
    let has_mode = is.is_dir() && was.is_dir() || is.is_file() && was.is_file();
    if has_mode && mode(&path.symlink_metadata()?) != mode(&was) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode(&was)))?;
    }
    if is.is_dir() {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let like = before.join(entry.file_name());
            take_after(&entry.path(), if like.symlink_metadata().is_ok() { &like } else { before })?;
        }
    }
    Ok(())
}

/// Gives a temporary file its name.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    pass(Operation::Rename, path)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Gives the file `from` a second name.
pub(crate) fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    pass(Operation::Link, to)?;
    fs::hard_link(from, to)
}

/// Copies a file.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    pass(Operation::Write, to)?;
    fs::copy(from, to).map(drop)
}

/// Makes a symbolic link at `link` to `target`.
pub(crate) fn symlink(target: &str, link: &Path) -> io::Result<()> {
    pass(Operation::Link, link)?;
    std::os::unix::fs::symlink(target, link)
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    pass(Operation::Remove, path)?;
    fs::remove_file(path)
}

/// Removes a directory and all that it holds, which is no single step: what is in use under its name is renamed first.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    fate(Operation::Remove, path).meet(|| {
        let first = fs::read_dir(path).into_iter().flatten().flatten().next();
        let _ = first.map(|entry| fs::remove_file(entry.path()));
    })?;
    fs::remove_dir_all(path)
}
