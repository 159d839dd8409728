//! A model as one file, to be carried elsewhere: a plain tar of its directory.
//!
//! ```text
//! NAME/manifest.json  NAME/SHA256SUMS  NAME/README.md  NAME/weights.safetensors  NAME/training-log.csv  NAME/map.json
//! ```
//!
//! In this order, readable by all, without owners and of the year 1970: equal models give equal bytes. It is not compressed: weights hardly can be,
//! and what a bundle unpacks to is never larger than the bundle.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType, Header};
use tempfile::TempDir;

use super::error::{Error, io_error};
use super::files::{CARD_FILE, LOG_FILE, MANIFEST_FILE, MAP_FILE, WEIGHTS_FILE};
use super::manifest::Manifest;
use super::model::verify;
use crate::atomic::{self, Directory, TEMPORARY_PREFIX};
use crate::seal::SUMS;
use crate::{disk, regular};

/// All that a bundle may hold.
const MEMBERS: [&str; 6] = [MANIFEST_FILE, SUMS, CARD_FILE, WEIGHTS_FILE, LOG_FILE, MAP_FILE];
/// Where a tar says that it is one.
const MAGIC: std::ops::Range<usize> = 257..262;
/// What was expected of a bundle that is refused.
const EXPECTED: &str = "a bundle as `paramill model pack` makes it; get it again";

/// Whether the file at `path` is a tar, which a bundle is.
pub fn is_bundle(path: &Path) -> bool {
    let mut head = [0; MAGIC.end];
    path.is_file()
        && regular::open(path).is_ok_and(|mut file| io::Read::read_exact(&mut file, &mut head).is_ok())
        && head[MAGIC] == *b"ustar"
}

/// Makes the bundle `to` of the model in `directory`, which is verified first; a file at `to` is replaced.
///
/// # Errors
/// If the model is not as it was written, or the bundle cannot be.
pub fn pack(directory: &Path, to: &Path) -> Result<Manifest, Error> {
    Error::problems(directory, verify(directory))?;
    let (manifest, _) = Manifest::read(directory)?;
    if !is_name(&manifest.name) {
        let expected = "one that can be that of a directory".to_owned();
        return Err(Error::Invalid {
            path: directory.to_owned(),
            found: format!("the name {:?}", manifest.name),
            expected,
        });
    }
    let mut builder = Builder::new(Vec::new());
    for name in MEMBERS.into_iter().filter(|name| members_of(&manifest).contains(name)) {
        let path = directory.join(name);
        let bytes = regular::read(&path).map_err(io_error(&path))?;
        let mut header = Header::new_ustar();
        header.set_path(format!("{}/{name}", manifest.name)).map_err(io_error(to))?;
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append(&header, bytes.as_slice()).map_err(io_error(to))?;
    }
    let bytes = builder.into_inner().map_err(io_error(to))?;
    atomic::write_file(to, &bytes).map_err(io_error(to))?;
    Ok(manifest)
}

/// Makes the directory `to` of a bundle. It appears only after the seal and every digest are as they should be, and replaces what was there.
///
/// # Errors
/// If the bundle is no bundle, damaged or incomplete, or holds anything else; or the directory cannot be written.
pub fn unpack(bundle: &Path, to: &Path) -> Result<(), Error> {
    let place = Directory::create(to).map_err(io_error(to))?;
    extract(bundle, place.path())?;
    place.publish().map_err(io_error(to))
}

/// The name of the model in a bundle, which is not verified.
///
/// # Errors
/// If it is no bundle.
pub fn name_of_bundle(bundle: &Path) -> Result<String, Error> {
    let file = regular::open(bundle).map_err(io_error(bundle))?;
    let mut archive = Archive::new(file);
    let first = archive.entries().map_err(refused(bundle))?.raw(true).next();
    let first = first.ok_or_else(|| invalid(bundle, "nothing".to_owned()))?.map_err(refused(bundle))?;
    Ok(parts(bundle, &first.path_bytes())?.0)
}

/// A model on disk: its directory, or a bundle that is unpacked, and verified, for as long as this is held.
pub struct Opened {
    directory: PathBuf,
    _unpacked: Option<TempDir>,
}

impl Opened {
    /// Opens what is at `path`, a directory or a bundle.
    ///
    /// # Errors
    /// If it is a bundle that [`unpack`] refuses, or cannot be unpacked among the temporary files.
    pub fn new(path: &Path) -> Result<Self, Error> {
        if !is_bundle(path) {
            return Ok(Opened { directory: path.to_owned(), _unpacked: None });
        }
        let folder = std::env::temp_dir();
        let unpacked = disk::temporary_directory(&folder, TEMPORARY_PREFIX).map_err(io_error(&folder))?;
        extract(path, unpacked.path())?;
        Ok(Opened { directory: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Writes the members of a bundle into the empty directory `into`, and verifies them.
fn extract(bundle: &Path, into: &Path) -> Result<(), Error> {
    let file = regular::open(bundle).map_err(io_error(bundle))?;
    let mut archive = Archive::new(file);
    let (mut found, mut names) = (BTreeSet::new(), BTreeSet::new());
    // Raw entries: no extension of the format may give one another name or size.
    for entry in archive.entries().map_err(refused(bundle))?.raw(true) {
        let mut entry = entry.map_err(refused(bundle))?;
        let (name, member) = parts(bundle, &entry.path_bytes())?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(invalid(bundle, format!("{member}, which is no regular file")));
        }
        if !found.insert(member) {
            return Err(invalid(bundle, format!("{member} twice")));
        }
        names.insert(name);
        let path = into.join(member);
        let mut file = disk::create(&path).map_err(io_error(&path))?;
        let written = io::copy(&mut entry, &mut file).map_err(io_error(bundle))?;
        let stated = entry.header().size().map_err(refused(bundle))?;
        if written != stated {
            return Err(invalid(bundle, format!("{written} of the {stated} bytes of {member}: it was cut off")));
        }
    }
    if names.len() > 1 {
        return Err(invalid(bundle, format!("files of {} directories", names.len())));
    }
    let problems: Vec<String> = verify(into).into_iter().map(|problem| of_bundle(&problem, into)).collect();
    Error::problems(bundle, problems)?;
    let (manifest, _) = Manifest::read(into)?;
    let expected: BTreeSet<&str> = members_of(&manifest).into_iter().collect();
    match found.symmetric_difference(&expected).next() {
        Some(other) => Err(invalid(bundle, format!("{other}, which its manifest does not list"))),
        None => Ok(()),
    }
}

/// The files of a model: what its manifest lists, and what seals it.
fn members_of(manifest: &Manifest) -> Vec<&str> {
    let listed = manifest.files.iter().chain(&manifest.card).map(|file| file.path.as_str());
    [MANIFEST_FILE, SUMS].into_iter().chain(listed).collect()
}

/// The name of the model and that of the member in the path of an entry.
fn parts(bundle: &Path, path: &[u8]) -> Result<(String, &'static str), Error> {
    let unexpected = || invalid(bundle, format!("the path {:?}", String::from_utf8_lossy(path)));
    let (name, member) = std::str::from_utf8(path).ok().and_then(|path| path.split_once('/')).ok_or_else(unexpected)?;
    let member = MEMBERS.into_iter().find(|known| *known == member).ok_or_else(unexpected)?;
    if is_name(name) { Ok((name.to_owned(), member)) } else { Err(unexpected()) }
}

/// Whether `name` can be that of a directory in the current one.
fn is_name(name: &str) -> bool {
    let components: Vec<Component> = Path::new(name).components().collect();
    matches!(components[..], [Component::Normal(only)] if only == name)
        && !name.starts_with('.')
        && !name.contains('\\')
}

/// A problem of a file in the directory `into`, as one of the bundle.
fn of_bundle(problem: &str, into: &Path) -> String {
    problem.replace(&format!("{}/", into.display()), "").replace(&format!("{}: ", into.display()), "")
}

fn refused(bundle: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| invalid(bundle, error.to_string())
}

fn invalid(bundle: &Path, found: String) -> Error {
    Error::Invalid { path: bundle.to_owned(), found, expected: EXPECTED.to_owned() }
}
