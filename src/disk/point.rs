//! The point that each operation passes before it happens.

use std::io;
use std::path::Path;

use super::operation::{Fate, Operation};

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
