//! What kinds of files and directories commands take. A path that leads to nothing of the kind is a mistake in the arguments, of whatever command;
//! what is there and is damaged is bad data.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use crate::checkpoint::is_bundle;
use crate::pipeline::Error;
use crate::problems::{Kind, Problem, listing};
use crate::regular;

/// Bytes that tell what a file is.
const HEAD: u64 = 1 << 12;

/// Checks that `path` is a TOML file, a directory or the bundle of a model.
///
/// # Errors
/// If nothing is there, or a file of another kind.
pub(crate) fn recognise(path: &Path) -> Result<(), Error> {
    let is_toml = path.extension() == Some(OsStr::new("toml"));
    let found = if path.is_dir() || (is_toml && path.exists()) || is_bundle(path) {
        return Ok(());
    } else if !path.exists() {
        nothing_at(path)
    } else {
        other_file(path)
    };
    let expected =
        "a pipeline or system file (TOML), the directory of a dataset, a model or estimates, or a bundle of a model";
    found.map_or(Ok(()), |found| {
        Err(Error::Unrecognised { path: path.to_owned(), found, expected: expected.to_owned() })
    })
}

/// What a path in the arguments is to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A dataset, or another directory with a manifest.
    Manifest,
    /// A directory.
    Folder,
    /// A file.
    File,
    /// A file or a directory.
    Either,
}

/// What was expected where a dataset is wanted.
pub(crate) const A_DATASET: (Wanted, &str) = (Wanted::Manifest, "the directory of a dataset");

/// Checks that each of these paths leads to what is wanted there, which is also said in words.
///
/// # Errors
/// Every one that does not.
pub(crate) fn lead_to<'p>(paths: impl IntoIterator<Item = (&'p Path, (Wanted, &'p str))>) -> Result<(), Error> {
    let problem = |(path, (wanted, expected)): (&Path, (Wanted, &str))| {
        let found = match wanted {
            // Where that cannot be told, the reader says why.
            _ if path.try_exists().is_ok_and(|is_there| !is_there) => nothing_there(path),
            Wanted::Manifest | Wanted::Folder if path.is_file() => "a file".to_owned(),
            Wanted::Manifest if path.is_dir() && !path.join("manifest.json").exists() => {
                "a directory without a manifest.json".to_owned()
            }
            Wanted::File if path.is_dir() => "a directory".to_owned(),
            _ => return None,
        };
        Some(Problem::new(Kind::Setting, found, expected, "check the path").file(path))
    };
    let problems: Vec<Problem> = paths.into_iter().filter_map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::Problems(problems)) }
}

/// That nothing is there; `None` for a TOML file, whose reader has a better message.
fn nothing_at(path: &Path) -> Option<String> {
    (path.extension() != Some(OsStr::new("toml"))).then(|| nothing_there(path))
}

/// That nothing is there, and the names beside it.
fn nothing_there(path: &Path) -> String {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    let holds = if names.is_empty() { "nothing".to_owned() } else { listing(&names) };
    format!("nothing there ({} holds {holds})", folder.display())
}

/// The kind of a file that is not TOML, by its first bytes or its name.
fn other_file(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    if path.file_name() == Some(OsStr::new("manifest.json")) {
        return Some("a manifest, of which the directory is wanted".to_owned());
    }
    regular::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let other = match head.as_slice() {
        [b'P', b'A', b'R', b'1', ..] => "a Parquet file",
        [0x89, b'H', b'D', b'F', ..] => "an HDF5 file",
        head if head.contains(&0) => "a binary file",
        _ => match path.extension()?.to_str()? {
            "csv" | "tsv" => "a table",
            "json" | "yaml" | "yml" => "a file of another notation than TOML",
            "md" | "html" | "svg" => "a document",
            _ => return None,
        },
    };
    Some(other.to_owned())
}
