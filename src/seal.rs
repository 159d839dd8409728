//! `SHA256SUMS`: digests of the files that describe a directory, such as a manifest, a card or the header of a checkpoint.
//!
//! A manifest holds the digests of its data files, and `SHA256SUMS` that of the manifest, so no bit of a directory can change unnoticed.
//! The format is that of `sha256sum` (`sha256sum --check SHA256SUMS` checks it), one line per file in a fixed order. It is not a signature:
//! anyone can seal a changed directory again, so readers check all contents anyway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::digest::sha256;
use crate::{disk, regular};

/// Name of the file in a sealed directory.
pub const SUMS: &str = "SHA256SUMS";
/// Bytes of a sealed file at most.
const GREATEST_SIZE: u64 = 256 << 20;

/// Why a seal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// `SHA256SUMS` or a sealed file is not as expected.
    #[error("{path}: {found}; expected {expected}")]
    Invalid {
        /// The file or directory.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}

/// The content of `SHA256SUMS` for files of these names and bytes.
pub fn text<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    files.into_iter().map(|(name, bytes)| line(&sha256(bytes), name)).collect()
}

/// Writes `SHA256SUMS` for the one file `name` with these bytes into `directory`, which is not yet published.
///
/// # Errors
/// Any error of writing.
pub fn write(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    disk::write(&directory.join(SUMS), text([(name, bytes)]))
}

/// The sealed files of `directory` that differ from their record, with a sentence each (without remedy).
///
/// # Errors
/// If `SHA256SUMS` is missing, cannot be read, or does not list exactly `names`.
pub fn problems(directory: &Path, names: &[&'static str]) -> Result<Vec<(&'static str, String)>, Error> {
    let recorded = recorded(directory, names)?;
    let problem = |(&name, expected): (&&'static str, String)| match read_bounded(&directory.join(name)) {
        Ok(bytes) => other_digest(&bytes, &expected)
            .map(|found| (name, format!("SHA-256 of `{name}` is {found}; expected {expected} as `{SUMS}` states"))),
        Err(error) => Some((name, error.to_string())),
    };
    Ok(names.iter().zip(recorded).filter_map(problem).collect())
}

/// Reads the one sealed file `name` of `directory` and checks its digest.
///
/// # Errors
/// As [`problems`], and if the digest differs; `remedy` ends the message.
pub fn read(directory: &Path, name: &'static str, remedy: &str) -> Result<Vec<u8>, Error> {
    let expected = recorded(directory, &[name]).map_err(|error| match error {
        Error::Invalid { path, found, expected } => {
            Error::Invalid { path, found, expected: format!("{expected}; {remedy}") }
        }
        error => error,
    })?;
    let path = directory.join(name);
    let bytes = read_bounded(&path).map_err(|error| match error {
        // The seal says that it was there.
        Error::Io { path, source } if source.kind() == io::ErrorKind::NotFound => Error::Invalid {
            path,
            found: "no such file".to_owned(),
            expected: format!("it, as `{SUMS}` states; {remedy}"),
        },
        error => error,
    })?;
    match other_digest(&bytes, &expected[0]) {
        None => Ok(bytes),
        Some(found) => Err(Error::Invalid {
            path,
            found: format!("SHA-256 {found} of `{name}`"),
            expected: format!("{} as `{SUMS}` states; {remedy}", expected[0]),
        }),
    }
}

/// Reads a file of at most 256 MiB.
///
/// # Errors
/// If it is not a regular file, is larger, or cannot be read.
pub fn read_bounded(path: &Path) -> Result<Vec<u8>, Error> {
    let io_error = |source| Error::Io { path: path.to_owned(), source };
    let size = fs::metadata(path).map_err(io_error)?.len();
    if size > GREATEST_SIZE {
        let (found, expected) = (format!("{size} bytes"), format!("{GREATEST_SIZE} at most"));
        return Err(Error::Invalid { path: path.to_owned(), found, expected });
    }
    regular::read(path).map_err(io_error)
}

/// The digests of `names` in the `SHA256SUMS` of `directory`.
fn recorded(directory: &Path, names: &[&str]) -> Result<Vec<String>, Error> {
    let path = directory.join(SUMS);
    let invalid = |found: String, expected: String| Err(Error::Invalid { path: path.clone(), found, expected });
    if !path.exists() {
        let beside = format!("it beside `{}`, as it was written", names[0]);
        return Err(Error::Invalid { path: directory.to_owned(), found: format!("no `{SUMS}`"), expected: beside });
    }
    let bytes = read_bounded(&path)?;
    let mut recorded = Vec::new();
    for (number, (line, name)) in std::str::from_utf8(&bytes).unwrap_or_default().lines().zip(names).enumerate() {
        let digest = line.strip_suffix(name).and_then(|rest| rest.strip_suffix("  "));
        let is_digest =
            |digest: &&str| digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let Some(digest) = digest.filter(is_digest) else {
            return invalid(
                format!("line {} is {line:?}", number + 1),
                format!("the SHA-256 of `{name}`, as it was written"),
            );
        };
        recorded.push(digest.to_owned());
    }
    let text: String = recorded.iter().zip(names).map(|(digest, name)| line(digest, name)).collect();
    if recorded.len() != names.len() || text.as_bytes() != bytes {
        let found = format!("{} of {} lines, or more than those", recorded.len(), names.len());
        return invalid(found, format!("one line for each of {}", names.join(", ")));
    }
    Ok(recorded)
}

/// The digest of `bytes`, if it differs from the expected one.
fn other_digest(bytes: &[u8], expected: &str) -> Option<String> {
    Some(sha256(bytes)).filter(|found| found != expected)
}

fn line(digest: &str, name: &str) -> String {
    format!("{digest}  {name}\n")
}
