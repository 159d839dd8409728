//! What stages have left in their directories: its content hash, and whether it is whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
use super::executor::Product;
use super::fingerprint::canonical;
use crate::checkpoint::MAP_FILE;
use crate::dataset::FileEntry;
use crate::digest::sha256;
use crate::schema::FormatVersion;
use crate::{dataset, regular, seal};

/// A directory with a `manifest.json`: the manifest's hash, and damage where a file that it lists is missing or has another size. Digests
/// of the files are left to `paramill check`, because they cost a read of everything.
pub fn directory_with_manifest(directory: &Path) -> Result<Option<Product>, Error> {
    directory_without(directory, None)
}

/// The same, without the file `left_out`.
fn directory_without(directory: &Path, left_out: Option<&str>) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let manifest = directory.join("manifest.json");
    let product =
        |sha256: String, damage: Option<String>| Ok(Some(Product { path: directory.to_owned(), sha256, damage }));
    let bytes = match regular::read(&manifest) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory => {
            return product(String::new(), Some("has no manifest.json".to_owned()));
        }
        Err(error) => return Err(Error::io(&manifest)(error)),
    };
    let damage =
        match serde_json::from_slice::<Listing>(&bytes) {
            Err(error) => Some(format!("has a manifest.json that cannot be read ({error})")),
            Ok(listing) => listing.files.iter().filter(|file| Some(file.path.as_str()) != left_out).find_map(|file| {
                match fs::metadata(directory.join(&file.path)).map(|metadata| metadata.len()) {
                    Ok(bytes) if bytes == file.bytes => None,
                    Ok(bytes) => Some(format!("has {} with {bytes} bytes instead of {}", file.path, file.bytes)),
                    Err(error) => Some(format!("lacks {} ({error})", file.path)),
                }
            }),
        };
    product(sha256(&bytes), damage)
}

/// What a manifest says of its directory.
#[derive(Default, Deserialize)]
struct Listing {
    format: Option<FormatVersion>,
    #[serde(default)]
    files: Vec<FileEntry>,
}

/// The same of a model or of estimates, which are small enough to be read whole: also the seal of the manifest, its format, which is to be
/// `current`, and every digest but that of the file `left_out`.
pub(super) fn sealed_directory(
    directory: &Path,
    left_out: Option<&str>,
    current: FormatVersion,
) -> Result<Option<Product>, Error> {
    let Some(product) = directory_without(directory, left_out)? else { return Ok(None) };
    let in_content = || match seal::read(directory, "manifest.json", "it is made again") {
        Err(error) => Some(format!("is not as it was written ({error})")),
        Ok(bytes) => {
            let Listing { format, files } = serde_json::from_slice(&bytes).unwrap_or_default();
            let of_format = format.and_then(|format| format.problem(current));
            let of_files = || {
                let mut files = files.iter().filter(|file| Some(file.path.as_str()) != left_out);
                files.find_map(|file| dataset::listed_problem(directory, file))
            };
            of_format
                .map(|(found, expected)| format!("is of {found}; expected {expected}"))
                .or_else(|| of_files().map(|problem| format!("is not as it was written ({problem})")))
        }
    };
    Ok(Some(Product { damage: product.damage.clone().or_else(in_content), ..product }))
}

/// A model apart from its map, which is a stage of its own: the manifest's hash without the map among its files, and without the card, which tells
/// of it.
pub(super) fn model_product(directory: &Path) -> Result<Option<Product>, Error> {
    let Some(whole) = sealed_directory(directory, Some(MAP_FILE), FormatVersion::MODEL)? else { return Ok(None) };
    let manifest = directory.join("manifest.json");
    let Ok(mut value) = serde_json::from_slice::<Value>(&regular::read(&manifest).unwrap_or_default()) else {
        return Ok(Some(whole));
    };
    value.as_object_mut().map(|manifest| manifest.remove("card"));
    if let Some(files) = value.get_mut("files").and_then(Value::as_array_mut) {
        files.retain(|file| file.get("path").and_then(Value::as_str) != Some(MAP_FILE));
    }
    Ok(Some(Product { sha256: sha256(canonical(&value).to_string().as_bytes()), ..whole }))
}

/// The map of a model. A model has none where no environment has known parameters, and that is a result too.
pub(super) fn map_product(directory: &Path) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let path = directory.join(MAP_FILE);
    let bytes = if exists(&path)? { regular::read(&path).map_err(Error::io(&path))? } else { Vec::new() };
    Ok(Some(Product { path, sha256: sha256(&bytes), damage: None }))
}

/// A directory, by the names and bytes of all files in it.
pub fn whole_tree(directory: &Path) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let mut listing = BTreeMap::new();
    list(directory, directory, &mut listing)?;
    let lines: String = listing.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    Ok(Some(Product { path: directory.to_owned(), sha256: sha256(lines.as_bytes()), damage: None }))
}

fn list(root: &Path, directory: &Path, into: &mut BTreeMap<String, String>) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
        let path = entry.map_err(Error::io(directory))?.path();
        if path.is_dir() {
            list(root, &path, into)?;
        } else {
            let bytes = regular::read(&path).map_err(Error::io(&path))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            into.insert(name, sha256(&bytes));
        }
    }
    Ok(())
}

fn exists(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(Error::io(path))
}
