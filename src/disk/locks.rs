//! Locks of the system (`flock`), and, on file systems without them, symbolic links that say who holds what.
//!
//! The system releases its own locks when their holder dies. Where it has none (`ENOLCK`, `EOPNOTSUPP`, `EINVAL`, `ENOSYS`), a lock on `NAME` is
//! the symbolic link `NAME.held`, made in one step, whose text is its holder; shared ones are `NAME.held-PROCESS-COUNT-HOST`. Both parties
//! make their link first and then look for that of the other, so at least one of two gives way. A link of a process of this machine that has
//! ended is removed; one of a process elsewhere stands until it is removed there or by hand.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::holder::Holder;
use super::operation::Operation;
use super::point::pass;

/// Ends the name of a lock that is a link.
const HELD: &str = ".held";

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With others of its kind.
    Shared,
    /// Alone.
    Exclusive,
}

/// Why a lock is not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Another process holds it, which is known where the lock is a link.
    Held(Option<Holder>),
    /// The system refused.
    Io(io::Error),
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(crate) enum Held {
    /// By the system, on this open file or directory.
    BySystem(File),
    /// By a link of this path.
    ByLink(PathBuf),
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Held::ByLink(link) = self {
            let _ = fs::remove_file(link);
        }
    }
}

/// Takes a lock on `file`, which was opened at `path`.
pub(crate) fn try_lock(file: File, path: &Path, kind: Kind) -> Result<Held, Refusal> {
    let lock = || match kind {
        Kind::Shared => file.try_lock_shared(),
        Kind::Exclusive => file.try_lock(),
    };
    match pass(Operation::Lock, path).map_err(TryLockError::Error).and_then(|()| lock()) {
        Ok(()) => Ok(Held::BySystem(file)),
        Err(TryLockError::WouldBlock) => Err(Refusal::Held(None)),
        Err(TryLockError::Error(error)) if lacks_locks(&error) => by_link(path, kind),
        Err(TryLockError::Error(error)) => Err(Refusal::Io(error)),
    }
}

/// Who holds `path` by a link, exclusively, and may live.
pub(crate) fn holder(path: &Path) -> Option<Holder> {
    let said = fs::read_link(link(path, HELD)).ok()?;
    Holder::parse(said.to_str()?).filter(Holder::may_live)
}

/// Whether nobody who may live holds `path` by a link, shared or not.
pub(crate) fn is_free(path: &Path) -> bool {
    holder(path).is_none() && sharers(path).all(|(_, holder)| !holder.may_live())
}

/// Whether the file at `path` is a lock whose holder may live.
pub(crate) fn is_a_live_lock(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let said = fs::read_link(path).ok().filter(|_| name.contains(HELD));
    said.and_then(|said| Holder::parse(said.to_str()?)).is_some_and(|holder| holder.may_live())
}

fn lacks_locks(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    let lacking = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::INVAL, Errno::NOSYS];
    code.is_some_and(|code| lacking.contains(&code))
}

fn by_link(path: &Path, kind: Kind) -> Result<Held, Refusal> {
    static SHARED: AtomicU64 = AtomicU64::new(0);
    let this = Holder::this();
    let count = SHARED.fetch_add(1, Ordering::Relaxed);
    let own = match kind {
        Kind::Exclusive => link(path, HELD),
        Kind::Shared => link(path, &format!("{HELD}-{}-{count}-{}", this.process, this.host.replace('/', "_"))),
    };
    let make = || super::files::symlink(&this.to_string(), &own);
    let mut made = make();
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        if let Some(holder) = holder(path) {
            return Err(Refusal::Held(Some(holder)));
        }
        clear(&own);
        made = make();
    }
    match made {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(Refusal::Held(holder(path))),
        Err(error) => return Err(Refusal::Io(unlockable(&error))),
    }
    let own = Held::ByLink(own);
    let other = match kind {
        Kind::Shared => holder(path),
        Kind::Exclusive => sharers(path).find_map(|(link, holder)| match holder.may_live() {
            true => Some(holder),
            false => {
                let _ = fs::remove_file(link);
                None
            }
        }),
    };
    match other {
        Some(holder) => Err(Refusal::Held(Some(holder))),
        None => Ok(own),
    }
}

/// Removes the link of a process that has ended. It is renamed first: another process may have removed it meanwhile, and this be the link of
/// one that lives, which is made again.
fn clear(stale: &Path) {
    let aside = link(stale, &format!("-stale-{}", std::process::id()));
    if fs::rename(stale, &aside).is_err() {
        return;
    }
    let said = fs::read_link(&aside).ok().and_then(|said| said.to_str().map(str::to_owned));
    if let Some(said) = said.filter(|said| Holder::parse(said).is_some_and(|holder| holder.may_live())) {
        let _ = super::files::symlink(&said, stale);
    }
    let _ = fs::remove_file(&aside);
}

/// The links of those who share `path`.
fn sharers(path: &Path) -> impl Iterator<Item = (PathBuf, Holder)> {
    let begins = format!("{}{HELD}-", path.file_name().unwrap_or_default().to_string_lossy());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_it = entries.filter(move |entry| entry.file_name().to_string_lossy().starts_with(&begins));
    of_it.filter_map(|entry| Some((entry.path(), Holder::parse(fs::read_link(entry.path()).ok()?.to_str()?)?)))
}

fn link(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn unlockable(error: &io::Error) -> io::Error {
    let remedy = "put the workspace and the datasets where one of the two can be had";
    let found = format!("this file system has neither locks nor symbolic links to stand for them ({error}); {remedy}");
    io::Error::new(error.kind(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stand_for_locks_and_those_of_ended_processes_are_cleared() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".lock");
        let count = || fs::read_dir(root.path()).unwrap().count();
        let alone = by_link(&path, Kind::Exclusive).unwrap();
        let this = Holder::this();
        assert_eq!(holder(&path).as_ref(), Some(&this));
        assert!(!is_free(&path) && is_a_live_lock(&root.path().join(".lock.held")));
        for kind in [Kind::Exclusive, Kind::Shared] {
            assert!(matches!(by_link(&path, kind), Err(Refusal::Held(Some(found))) if found == this), "{kind:?}");
        }
        drop(alone);
        assert!(is_free(&path) && count() == 0);

        let shared = [by_link(&path, Kind::Shared).unwrap(), by_link(&path, Kind::Shared).unwrap()];
        assert!(matches!(by_link(&path, Kind::Exclusive), Err(Refusal::Held(Some(_)))));
        assert!(holder(&path).is_none() && !is_free(&path) && count() == 2);
        drop(shared);

        let said = this.to_string();
        let ended = said.replacen(&format!("{} ", this.process), "4194399 ", 1);
        for name in [".lock.held", ".lock.held-4194399-0-x"] {
            std::os::unix::fs::symlink(&ended, root.path().join(name)).unwrap();
        }
        assert!(is_free(&path));
        drop(by_link(&path, Kind::Exclusive).unwrap());
        assert_eq!(count(), 0);

        let elsewhere = format!("{ended}-of-another-name");
        std::os::unix::fs::symlink(&elsewhere, root.path().join(".lock.held")).unwrap();
        let refused = by_link(&path, Kind::Exclusive);
        assert!(matches!(refused, Err(Refusal::Held(Some(found))) if found.host.ends_with("of-another-name")));
    }
}
