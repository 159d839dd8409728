//! Opens regular files only: reading a named pipe would block, and a device may have no end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Something other than a regular file, such as a device.
#[derive(Debug, thiserror::Error)]
#[error("{0}; expected a regular file")]
pub struct NotRegular(&'static str);

/// The kind of special file at `path` (links followed): a pipe, device or socket; `None` for files, folders and missing paths.
pub fn special(path: &Path) -> Option<&'static str> {
    let kind = fs::metadata(path).ok()?.file_type();
    if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("a device")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        None
    }
}

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or is [`NotRegular`].
pub fn open(path: &Path) -> io::Result<File> {
    match special(path) {
        Some(kind) => Err(io::Error::new(io::ErrorKind::InvalidData, NotRegular(kind))),
        None => File::open(path),
    }
}

/// The bytes of a file.
///
/// # Errors
/// As [`open`], and if it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_links_or_not() {
        let root = tempfile::tempdir().unwrap();
        let [file, pipe, link] = ["file", "pipe", "link"].map(|name| root.path().join(name));
        fs::write(&file, "text").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        assert_eq!(read_to_string(&file).unwrap(), "text");
        for (target, found) in [("/dev/zero", "a device"), ("pipe", "a named pipe"), ("socket", "a socket")] {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
            let error = read(&link).unwrap_err();
            assert_eq!(error.to_string(), format!("{found}; expected a regular file"));
        }
        assert_eq!(special(root.path()), None);
        assert_eq!(special(&root.path().join("nothing")), None);
    }
}
