//! Room on a disk: libhdf5 aborts the process where one is full, so there must be room before it writes.

use std::fs;
use std::path::Path;

use super::error::Error;

/// # Errors
/// If there are not so many bytes left for a file in the folder `place`; `named` is what is told of.
pub(crate) fn check_room(place: &Path, named: &Path, wanted: u64) -> Result<(), Error> {
    let place = fs::File::open(place).map_err(Error::io(named))?;
    let disk = rustix::fs::fstatvfs(place).map_err(|error| Error::io(named)(error.into()))?;
    let room = disk.f_bavail.saturating_mul(disk.f_frsize);
    match wanted <= room {
        true => Ok(()),
        false => Err(Error::invalid(named, format!("room for {room} bytes"), format!("room for {wanted} bytes"))),
    }
}
