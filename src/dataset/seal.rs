//! `SHA256SUMS`: the digests of what describes a dataset: its manifest, its card, its Croissant description.
//!
//! The manifest holds the digests of the data files, and this file that of the manifest: so no bit of a dataset can change unnoticed. It is
//! in the form of `sha256sum`, which can check it (`sha256sum --check SHA256SUMS`). Who edits the card records it anew with
//! `paramill dataset seal`; the dataset's identity, which is the digest of its manifest, stays.

use std::fs;
use std::path::Path;

use super::layout::{CARD, CROISSANT, MANIFEST, SUMS};
use super::{Error, Manifest};
use crate::atomic;
use crate::digest::sha256;
use crate::regular;

/// Files that `SHA256SUMS` lists, in its order.
const SEALED: [&str; 3] = [MANIFEST, CARD, CROISSANT];
/// Bytes of such a file at most.
const GREATEST_SIZE: u64 = 256 << 20;

/// Writes `SHA256SUMS` in `directory`, of the files as they are there.
pub(super) fn write(directory: &Path) -> Result<(), Error> {
    let mut text = String::new();
    for name in SEALED {
        text.push_str(&line(&sha256(&read_bounded(&directory.join(name))?), name));
    }
    let path = directory.join(SUMS);
    atomic::write_file(&path, text.as_bytes()).map_err(Error::io(&path))
}

/// Records the card of a dataset as it now is. The manifest and the Croissant description must be as they were.
///
/// # Errors
/// If the dataset has no such record, or anything but the card has changed.
pub fn seal(directory: &Path) -> Result<(), Error> {
    let problems = problems(directory)?.into_iter().filter(|(name, _)| *name != CARD).map(|(_, problem)| problem);
    Error::problems(directory, problems.collect())?;
    let path = directory.join(MANIFEST);
    let manifest = Manifest::parse(&path, &read_bounded(&path)?)?;
    Error::problems(&path, manifest.problems())?;
    write(directory)
}

/// The bytes of the manifest, which are those that were written.
pub(super) fn read_manifest(directory: &Path) -> Result<Vec<u8>, Error> {
    let found = problems(directory)?.into_iter().map(|(_, problem)| problem).collect();
    Error::problems(directory, found)?;
    read_bounded(&directory.join(MANIFEST))
}

/// Sealed files that are not as they were recorded, and what is wrong with each.
///
/// # Errors
/// If `SHA256SUMS` cannot be read or is not one.
pub(super) fn problems(directory: &Path) -> Result<Vec<(&'static str, String)>, Error> {
    let path = directory.join(SUMS);
    if !path.exists() {
        return Err(unsealed(directory));
    }
    let bytes = read_bounded(&path)?;
    let mut recorded = Vec::new();
    for (number, (line, name)) in std::str::from_utf8(&bytes).unwrap_or_default().lines().zip(SEALED).enumerate() {
        let digest = line.strip_suffix(name).and_then(|rest| rest.strip_suffix("  "));
        let is_digest =
            |digest: &&str| digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let Some(digest) = digest.filter(is_digest) else {
            let found = format!("line {} is {line:?}", number + 1);
            return Err(Error::invalid(
                &path,
                found,
                format!("the SHA-256 of `{name}`, as `paramill dataset seal` writes it"),
            ));
        };
        recorded.push((name, digest.to_owned()));
    }
    let text: String = recorded.iter().map(|(name, digest)| line(digest, name)).collect();
    if recorded.len() != SEALED.len() || text.as_bytes() != bytes {
        let found = format!("{} of {} lines, or more than those", recorded.len(), SEALED.len());
        return Err(Error::invalid(&path, found, format!("one line for each of {}", SEALED.join(", "))));
    }
    let mut problems = Vec::new();
    for (name, expected) in recorded {
        match read_bounded(&directory.join(name)) {
            Ok(bytes) if sha256(&bytes) == expected => {}
            Ok(bytes) => {
                let remedy = match name {
                    CARD => "restore it, or record an edit with `paramill dataset seal`",
                    _ => "restore the file, or make the dataset again",
                };
                let found = sha256(&bytes);
                problems.push((
                    name,
                    format!("SHA-256 of `{name}` is {found}; expected {expected} as `{SUMS}` states; {remedy}"),
                ));
            }
            Err(error) => problems.push((name, error.to_string())),
        }
    }
    Ok(problems)
}

/// What there is instead of a sealed dataset.
fn unsealed(directory: &Path) -> Error {
    let manifest = directory.join(MANIFEST);
    if !directory.is_dir() {
        return Error::invalid(directory, "no such directory", "the directory of a dataset; check the path");
    }
    if !manifest.exists() {
        return Error::invalid(directory, format!("no `{MANIFEST}`"), "the directory of a dataset");
    }
    let parsed = read_bounded(&manifest).and_then(|bytes| Manifest::parse(&manifest, &bytes));
    parsed.err().unwrap_or_else(|| {
        let expected = "it beside the manifest, as it was written; restore it, or make the dataset again";
        Error::invalid(directory, format!("no `{SUMS}`"), expected)
    })
}

fn line(digest: &str, name: &str) -> String {
    format!("{digest}  {name}\n")
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, Error> {
    let size = fs::metadata(path).map_err(Error::io(path))?.len();
    if size > GREATEST_SIZE {
        return Err(Error::invalid(path, format!("{size} bytes"), format!("{GREATEST_SIZE} at most")));
    }
    regular::read(path).map_err(Error::io(path))
}
