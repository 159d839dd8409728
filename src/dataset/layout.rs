//! Where things lie in a dataset directory, and how a file is identified by its content.

use std::path::{Component, Path};

use super::error::Error;
use super::hdf5_store::the_well::GROUPS;
use super::manifest::FileEntry;
use super::store::Store;
use crate::digest::sha256_of_file;
use crate::schema::Split;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const CARD: &str = "README.md";
pub(crate) const CROISSANT: &str = "croissant.json";

/// Names that the stores use beside the quantities of a dataset.
pub(crate) const ENVIRONMENT: &str = "environment";
pub(crate) const TRAJECTORY: &str = "trajectory";
pub(crate) const TIME: &str = "time";
pub(crate) const SAMPLE: &str = "sample";
pub(crate) const SAMPLE_COUNT: &str = "sample_count";
pub(crate) const ENVIRONMENT_ID: &str = "environment_id";
pub(crate) const TRAJECTORY_ID: &str = "trajectory_id";
/// The axis of the one point that a state without space stands on, where a layout asks for an axis.
pub(crate) const POINT: &str = "point";
pub(crate) const RESERVED: [&str; 14] = [
    ENVIRONMENT,
    TRAJECTORY,
    TIME,
    SAMPLE,
    SAMPLE_COUNT,
    ENVIRONMENT_ID,
    TRAJECTORY_ID,
    POINT,
    GROUPS[0],
    GROUPS[1],
    GROUPS[2],
    GROUPS[3],
    GROUPS[4],
    GROUPS[5],
];

/// Relative path of one shard of a split's copy in `store`.
pub(crate) fn data_file(split: Split, store: Store, shard: usize, shards: usize) -> String {
    match store {
        Store::Hdf5 if shards == 1 => format!("hdf5/{split}.h5"),
        Store::Hdf5 => format!("hdf5/{split}-{shard:05}-of-{shards:05}.h5"),
        Store::Parquet => format!("data/{split}-{shard:05}-of-{shards:05}.parquet"),
    }
}

/// The number of shards of a split that has the Parquet file `path`, if that is the first of them.
pub(crate) fn shards_of_first(split: Split, path: &str) -> Option<usize> {
    let rest = path.strip_prefix("data/")?.strip_prefix(split.name())?.strip_prefix("-00000-of-")?;
    rest.strip_suffix(".parquet")?.parse().ok().filter(|&shards| shards > 0)
}

/// Why `path` may not stand in a manifest, if it may not.
pub(crate) fn path_problem(path: &str) -> Option<&'static str> {
    let relative = Path::new(path);
    if path.is_empty() {
        Some("is empty")
    } else if path.contains('\\') || path.chars().any(char::is_control) {
        Some("has a backslash or a control character")
    } else if relative.is_absolute() {
        Some("is absolute")
    } else if relative.components().any(|part| !matches!(part, Component::Normal(_))) {
        Some("leaves the directory or has a `.` or `..` in it")
    } else if path != relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    {
        Some("is not in its shortest form")
    } else {
        None
    }
}

/// Size and digest of the file at the relative `path` in `directory`.
pub(crate) fn file_entry(directory: &Path, path: &str) -> Result<FileEntry, Error> {
    let full = directory.join(path);
    let bytes = full.metadata().map_err(Error::io(&full))?.len();
    let sha256 = sha256_of_file(&full).map_err(Error::io(&full))?;
    Ok(FileEntry { path: path.to_owned(), bytes, sha256 })
}

/// What is wrong with a file of the manifest as it lies in `directory`, content aside.
pub(crate) fn file_problem(directory: &Path, entry: &FileEntry) -> Option<String> {
    let FileEntry { path, bytes, .. } = entry;
    let full = directory.join(path);
    let resolved = match full.canonicalize() {
        Ok(resolved) => resolved,
        Err(error) => return Some(format!("`{path}` cannot be read: {error}")),
    };
    match directory.canonicalize() {
        Ok(root) if resolved.starts_with(&root) => {}
        _ => return Some(format!("`{path}` is a symbolic link out of the directory; expected a file inside it")),
    }
    match resolved.metadata() {
        Ok(metadata) if !metadata.is_file() => Some(format!("`{path}` is not a file")),
        Ok(metadata) if metadata.len() != *bytes => {
            Some(format!("`{path}` has {} bytes; expected {bytes} as the manifest states", metadata.len()))
        }
        Ok(_) => None,
        Err(error) => Some(format!("`{path}` cannot be read: {error}")),
    }
}

/// Why the file that a manifest lists as `entry` is not the one that lies in `directory`, if it is not: its path, its size, its digest.
pub(crate) fn listed_problem(directory: &Path, entry: &FileEntry) -> Option<String> {
    let FileEntry { path, sha256, .. } = entry;
    if let Some(problem) = path_problem(path) {
        return Some(format!("file path {path:?} {problem}; expected a relative path inside the directory"));
    }
    file_problem(directory, entry).or_else(|| match sha256_of_file(&directory.join(path)) {
        Ok(digest) if digest == *sha256 => None,
        Ok(digest) => Some(format!("SHA-256 of `{path}` is {digest}; expected {sha256} as the manifest states")),
        Err(error) => Some(format!("`{path}` cannot be read: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_paths_pass() {
        for good in ["README.md", "data/train-00000-of-00001.parquet"] {
            assert_eq!(path_problem(good), None, "{good}");
        }
        for bad in ["", "/etc/passwd", "../x", "data/../../x", "./x", "a//b", "a/", "a\\b", "a\nb", ".."] {
            assert!(path_problem(bad).is_some(), "{bad:?}");
        }
    }
}
