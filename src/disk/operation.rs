//! The kinds of operation on a disk, and what may come of one.

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
