//! The seal of a dataset: digests of its manifest, card and Croissant description in `SHA256SUMS`.
//!
//! An edited card is recorded with `paramill dataset seal`; the identity of the dataset, the digest of its manifest, stays the same.

use std::path::Path;

use super::error::Error;
use super::layout::{CARD, CROISSANT, MANIFEST};
use super::manifest::Manifest;
use crate::atomic;
use crate::digest::sha256;
use crate::seal;
use crate::seal::{SUMS, read_bounded};

/// Files that `SHA256SUMS` lists, in its order.
const SEALED: [&str; 3] = [MANIFEST, CARD, CROISSANT];

/// Writes `SHA256SUMS` of the files as they are in `directory`.
pub(crate) fn write(directory: &Path) -> Result<(), Error> {
    let contents = SEALED.map(|name| read_bounded(&directory.join(name)));
    let contents = contents.into_iter().collect::<Result<Vec<_>, _>>()?;
    let text = seal::text(SEALED.into_iter().zip(contents.iter().map(Vec::as_slice)));
    let path = directory.join(SUMS);
    atomic::write_file(&path, text.as_bytes()).map_err(Error::io(&path))
}

/// Records the current card of a dataset. Manifest and Croissant description must be unchanged.
///
/// # Errors
/// If the dataset has no `SHA256SUMS`, or anything but the card has changed.
pub fn seal(directory: &Path) -> Result<(), Error> {
    let problems = problems(directory)?.into_iter().filter(|(name, _)| *name != CARD).map(|(_, problem)| problem);
    Error::problems(directory, problems.collect())?;
    let path = directory.join(MANIFEST);
    let manifest = Manifest::parse(&path, &read_bounded(&path)?)?;
    Error::problems(&path, manifest.problems())?;
    write(directory)
}

impl Manifest {
    /// Reads and checks the manifest of the dataset in `directory`; also returns the SHA-256 of its bytes.
    ///
    /// # Errors
    /// If it cannot be read, is not JSON of this form (with line and column), or breaks a rule (all that it breaks).
    pub(crate) fn load(directory: &Path) -> Result<(Manifest, String), Error> {
        let path = directory.join(MANIFEST);
        let bytes = read_manifest(directory)?;
        let manifest = Manifest::parse(&path, &bytes)?;
        Error::problems(&path, manifest.problems())?;
        Ok((manifest, sha256(&bytes)))
    }
}

/// The bytes of the manifest, checked against the seal.
fn read_manifest(directory: &Path) -> Result<Vec<u8>, Error> {
    let found = problems(directory)?.into_iter().map(|(_, problem)| problem).collect();
    Error::problems(directory, found)?;
    read_bounded(&directory.join(MANIFEST)).map_err(Error::from)
}

/// The sealed files that differ from their record, with a problem and remedy each.
///
/// # Errors
/// If `SHA256SUMS` cannot be read or is malformed.
pub(crate) fn problems(directory: &Path) -> Result<Vec<(&'static str, String)>, Error> {
    if !directory.join(SUMS).exists() {
        return Err(unsealed(directory));
    }
    let with_remedy = |(name, problem): (&'static str, String)| {
        let remedy = match name {
            CARD => "restore it, or record an edit with `paramill dataset seal`",
            _ => "restore the file, or make the dataset again",
        };
        (name, format!("{problem}; {remedy}"))
    };
    let problems = seal::problems(directory, &SEALED)?;
    Ok(problems.into_iter().map(with_remedy).collect())
}

/// The error for a directory without `SHA256SUMS`.
fn unsealed(directory: &Path) -> Error {
    let manifest = directory.join(MANIFEST);
    if !directory.is_dir() {
        return Error::invalid(directory, "no such directory", "the directory of a dataset; check the path");
    }
    if !manifest.exists() {
        return Error::invalid(directory, format!("no `{MANIFEST}`"), "the directory of a dataset");
    }
    let parsed = read_bounded(&manifest).map_err(Error::from).and_then(|bytes| Manifest::parse(&manifest, &bytes));
    parsed.err().unwrap_or_else(|| {
        let expected = "it beside the manifest, as it was written; restore it, or make the dataset again";
        Error::invalid(directory, format!("no `{SUMS}`"), expected)
    })
}
