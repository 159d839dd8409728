//! Free disk space, checked before libhdf5 writes: it aborts the process on a full disk.

use std::path::Path;

use super::error::Error;
use crate::disk;

/// Checks that the disk of the folder `place` has `wanted` free bytes.
///
/// # Errors
/// If it has fewer; the message names the path `named`.
pub(crate) fn require_space(place: &Path, named: &Path, wanted: u64) -> Result<(), Error> {
    let room = disk::free(place).map_err(Error::io(named))?;
    match wanted <= room {
        true => Ok(()),
        false => Err(Error::invalid(named, format!("room for {room} bytes"), format!("room for {wanted} bytes"))),
    }
}
