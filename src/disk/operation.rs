//! The kinds of operation on a disk, and the point that each passes before it happens.

use std::io;
use std::path::Path;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Makes a file or a directory.
    Create,
    /// Writes bytes.
    Write,
    /// Waits until something is on the disk.
    Sync,
    /// Renames a file or a directory.
    Rename,
    /// Exchanges two directories.
    Exchange,
    /// Gives a file a second name, or makes a symbolic link.
    Link,
    /// Removes a file or a directory.
    Remove,
    /// Takes a lock of the system.
    Lock,
}

#[cfg(feature = "failpoints")]
impl Operation {
    /// Its name in [`super::failpoints`].
    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Write => "write",
            Operation::Sync => "sync",
            Operation::Rename => "rename",
            Operation::Exchange => "exchange",
            Operation::Link => "link",
            Operation::Remove => "remove",
            Operation::Lock => "lock",
        }
    }
}

/// What is to happen at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The operation.
    Happens,
    /// The process dies in the midst of it.
    #[cfg(feature = "failpoints")]
    Dies,
    /// The operation happens after a minute.
    #[cfg(feature = "failpoints")]
    Hangs,
    /// The operation stops in its midst with this error of the system.
    #[cfg(feature = "failpoints")]
    Fails(i32),
}

/// The fate of an `operation` on `path`, which a release has no say in.
pub(super) fn fate(operation: Operation, path: &Path) -> Fate {
    #[cfg(feature = "failpoints")]
    return super::failpoints::fate(operation, path);
    #[cfg(not(feature = "failpoints"))]
    {
        let _ = (operation, path);
        Fate::Happens
    }
}

impl Fate {
    /// Goes on if the operation happens; otherwise does the part of it that still happens, `partly`, and ends.
    pub(super) fn meet(self, partly: impl FnOnce()) -> io::Result<()> {
        match self {
            Fate::Happens => {
                let _ = partly;
                Ok(())
            }
            #[cfg(feature = "failpoints")]
            Fate::Dies => {
                partly();
                super::failpoints::die()
            }
            #[cfg(feature = "failpoints")]
            Fate::Hangs => {
                std::thread::sleep(std::time::Duration::from_secs(60));
                Ok(())
            }
            #[cfg(feature = "failpoints")]
            Fate::Fails(code) => {
                partly();
                Err(io::Error::from_raw_os_error(code))
            }
        }
    }
}

/// Passes the point before an operation that happens whole or not at all.
pub(super) fn pass(operation: Operation, path: &Path) -> io::Result<()> {
    fate(operation, path).meet(|| {})
}
