//! Files listed in a manifest, and checks that they are present and unchanged.

use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::digest::sha256_of_file;

/// One data file of the directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Relative path inside the directory, with `/`.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256 of the content, lower-case hex.
    pub sha256: String,
}

/// What is wrong with `path` as a path in a manifest, if anything.
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

/// What is wrong with a listed file in `directory`, apart from its content.
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

/// How the file in `directory` differs from its `entry` in a manifest, if it does: path, size or digest.
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
