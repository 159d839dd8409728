//! Finds the source files that names and patterns match, and the ids in their names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::formats;
use crate::dataset::Parent;
use crate::import::settings::forms::{Braces, Names};
use crate::problems::{Kind, Problem, Problems, shown, suggestion};

const ENVIRONMENT: &str = "{environment}";
const TRAJECTORY: &str = "{trajectory}";

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceFile {
    /// Path within the directory, with `/`.
    pub name: String,
    pub path: PathBuf,
    /// Ids taken from its name by the pattern.
    pub environment: Option<String>,
    pub trajectory: Option<String>,
    /// What stands in its name for each other `{NAME}` of a pattern of files of fields.
    pub captured: BTreeMap<String, String>,
}

impl SourceFile {
    /// The file of that name at `path`, which tells no ids.
    pub(crate) fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        SourceFile {
            name: name.into(),
            path: path.into(),
            environment: None,
            trajectory: None,
            captured: BTreeMap::new(),
        }
    }

    /// The name without folders and extensions.
    pub(crate) fn stem(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or(&self.name);
        let mut stem = name;
        while let Some((shorter, _)) = stem.rsplit_once('.').filter(|(_, ending)| formats::is_ending(ending)) {
            stem = shorter;
        }
        if stem.is_empty() { name } else { stem }
    }

    /// The file as a parent of a dataset; `None` and a problem if its SHA-256 could not be computed.
    pub(crate) fn parent(&self, digest: io::Result<String>, problems: &mut Problems) -> Option<Parent> {
        let report = |error: io::Error| {
            let found = format!("a file that cannot be read: {error}");
            Problem::new(Kind::UnreadableFile, found, "a table", "make it readable").file(&self.path)
        };
        let sha256 = digest.map_err(|error| problems.push(report(error))).ok()?;
        Some(Parent { name: self.name.clone(), sha256 })
    }
}

/// Whether a name is a pattern.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?']) || name.contains(ENVIRONMENT) || name.contains(TRAJECTORY)
}

/// How often a pattern contains `{environment}` and `{trajectory}`.
pub(crate) fn ids_in(name: &str) -> (usize, usize) {
    (name.matches(ENVIRONMENT).count(), name.matches(TRAJECTORY).count())
}

/// The files in `directory` that `names` name or match, each pattern's in the order of their names; reports names without a file, and files
/// named twice. `key` is the setting that names them.
pub(crate) fn find(directory: &Path, names: &Names, key: &str, problems: &mut Problems) -> Vec<SourceFile> {
    find_with(directory, names, Braces::Text, key, problems)
}

/// As [`find`].
pub(crate) fn find_with(
    directory: &Path,
    names: &Names,
    braces: Braces,
    key: &str,
    problems: &mut Problems,
) -> Vec<SourceFile> {
    let mut files: Vec<SourceFile> = Vec::new();
    let mut met = BTreeMap::new();
    for name in &names.0 {
        let found = if is_pattern(name) || braces == Braces::Value && name.contains('{') {
            matching(directory, name, braces, &mut Vec::new())
        } else {
            vec![SourceFile::new(name, directory.join(name))]
        };
        if found.is_empty() {
            let remedy = if directory.is_dir() {
                files_in(directory, name)
            } else {
                "correct `import.directory`, which does not exist; it is relative to the current directory".to_owned()
            };
            let found = format!("no file that {} fits", shown(name));
            let problem = Problem::new(Kind::MissingFile, found, "at least one file", remedy);
            problems.push(problem.file(directory).setting(key));
        }
        for file in found {
            match met.insert(file.name.clone(), name) {
                None => files.push(file),
                Some(before) => {
                    let found = format!("{} under {} and under {}", shown(&file.name), shown(before), shown(name));
                    let remedy = "remove one of the two, or narrow the patterns";
                    let problem = Problem::new(Kind::Setting, found, "each file once", remedy);
                    problems.push(problem.setting(key));
                }
            }
        }
    }
    files
}

/// Warnings of what `names` match but for a name that no setting or table can hold, and that is left out.
pub(crate) fn passed_over(directory: &Path, names: &Names, braces: Braces) -> Vec<Problem> {
    let mut odd = Vec::new();
    names.0.iter().filter(|name| is_pattern(name)).for_each(|name| drop(matching(directory, name, braces, &mut odd)));
    odd.sort();
    odd.dedup();
    let warning = |path: PathBuf| {
        let found = match path.file_name().and_then(OsStr::to_str) {
            None => "a name that is not UTF-8",
            Some(_) => "a name with control characters",
        };
        let remedy = "it is left out; rename it";
        Problem::new(Kind::UnreadableFile, found, "a name of printable UTF-8", remedy).file(&path)
    };
    odd.into_iter().map(warning).collect()
}

/// A remedy that names the files of the directory, or the one that may have been meant.
pub(crate) fn files_in(directory: &Path, wanted: &str) -> String {
    let files: Vec<String> = entries(directory).into_iter().filter_map(|entry| printable_name(&entry.0)).collect();
    suggestion(wanted, files.iter().map(String::as_str))
}

/// The names in a folder, in order, and whether each is a folder.
fn entries(folder: &Path) -> Vec<(OsString, bool)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<(OsString, bool)> = entries.map(|entry| (entry.file_name(), entry.path().is_dir())).collect();
    entries.sort();
    entries
}

/// A name that settings and tables can hold.
fn printable_name(name: &OsStr) -> Option<String> {
    name.to_str().filter(|name| !name.contains(char::is_control)).map(str::to_owned)
}

/// The files whose paths match a pattern, in the order of their names. Those that match but have no printable name go to `odd`.
fn matching(directory: &Path, pattern: &str, braces: Braces, odd: &mut Vec<PathBuf>) -> Vec<SourceFile> {
    let mut found = vec![SourceFile::new("", directory)];
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    for (depth, part) in parts.iter().enumerate() {
        let wants_folder = depth + 1 < parts.len();
        let tokens = tokens(part, braces);
        let mut below = Vec::new();
        for folder in found {
            for (entry, _) in entries(&folder.path).into_iter().filter(|entry| entry.1 == wants_folder) {
                match printable_name(&entry) {
                    Some(name) => below.extend(extended(&folder, &tokens, &name)),
                    None if extended(&folder, &tokens, &entry.to_string_lossy()).is_some() => {
                        odd.push(folder.path.join(entry));
                    }
                    None => {}
                }
            }
        }
        found = below;
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The file or folder `entry` of a folder, with its ids, if its name matches.
fn extended(folder: &SourceFile, tokens: &[Token], entry: &str) -> Option<SourceFile> {
    let mut file = folder.clone();
    if entry.starts_with('.') && !matches!(tokens.first(), Some(Token::Text(text)) if text.starts_with('.')) {
        return None;
    }
    let characters: Vec<char> = entry.chars().collect();
    fits(tokens, &characters, &mut file).then(|| {
        file.name = if folder.name.is_empty() { entry.to_owned() } else { format!("{}/{entry}", folder.name) };
        file.path = folder.path.join(entry);
        file
    })
}

#[derive(Debug)]
enum Token {
    Text(String),
    /// `*`
    Any,
    /// `?`
    One,
    Environment,
    Trajectory,
    /// A value of that name.
    Value(String),
}

fn tokens(pattern: &str, braces: Braces) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '*' => (Token::Any, 1),
            '?' => (Token::One, 1),
            _ if rest.starts_with(ENVIRONMENT) => (Token::Environment, ENVIRONMENT.len()),
            _ if rest.starts_with(TRAJECTORY) => (Token::Trajectory, TRAJECTORY.len()),
            '{' if braces == Braces::Value
                && let Some((name, _)) = rest[1..].split_once('}') =>
            {
                (Token::Value(name.to_owned()), name.len() + 2)
            }
            first => {
                match tokens.last_mut() {
                    Some(Token::Text(text)) => text.push(first),
                    _ => tokens.push(Token::Text(first.to_string())),
                }
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        tokens.push(token);
        rest = &rest[length..];
    }
    tokens
}

/// Whether the tokens match the whole name, whose ids become those of `file`; ids are as short as possible.
fn fits(tokens: &[Token], name: &[char], file: &mut SourceFile) -> bool {
    let Some((token, rest)) = tokens.split_first() else { return name.is_empty() };
    let shortest = match token {
        Token::Text(text) => {
            let length = text.chars().count();
            return name.len() >= length
                && text.chars().eq(name[..length].iter().copied())
                && fits(rest, &name[length..], file);
        }
        Token::One => return !name.is_empty() && fits(rest, &name[1..], file),
        Token::Any => 0,
        Token::Environment | Token::Trajectory | Token::Value(_) => 1,
    };
    (shortest..=name.len()).any(|length| {
        let fits = fits(rest, &name[length..], file);
        if fits {
            let id = || Some(name[..length].iter().collect());
            match token {
                Token::Environment => file.environment = id(),
                Token::Trajectory => file.trajectory = id(),
                Token::Value(name) => file.captured.extend(id().map(|value| (name.clone(), value))),
                _ => {}
            }
        }
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_files_and_the_ids_in_their_names() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b-2.csv", "a-1.csv", "a-10.csv.gz", "notes.txt", ".hidden-1.csv", "sub/c-3.csv", "é-x.csv"] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let find = |names: &[&str]| {
            let mut problems = Problems::default();
            let names = Names(names.iter().map(|&name| name.to_owned()).collect());
            let files = find(root.path(), &names, "key", &mut problems);
            let id = |id: Option<String>| id.unwrap_or_default();
            let found: Vec<_> = files
                .into_iter()
                .map(|file| format!("{} {} {}", file.name, id(file.environment), id(file.trajectory)))
                .collect();
            (found, problems.into_vec().len())
        };
        let (files, problems) = find(&["{environment}-{trajectory}.csv"]);
        assert_eq!((files, problems), (vec!["a-1.csv a 1".into(), "b-2.csv b 2".into(), "é-x.csv é x".into()], 0));
        assert_eq!(find(&["*/{environment}-?.csv"]).0, ["sub/c-3.csv c "]);
        assert_eq!(find(&["a-*.csv*", "notes.txt"]).0, ["a-1.csv  ", "a-10.csv.gz  ", "notes.txt  "]);
        assert_eq!(find(&["x*", "a-1.csv", "a-?.csv"]).1, 2);
    }

    #[test]
    fn a_stem_has_no_endings() {
        let stem = |name: &str| SourceFile::new(name, "").stem().to_owned();
        assert_eq!(["a/tank.1.csv.gz", "x.parquet", ".csv"].map(stem), ["tank.1", "x", ".csv"]);
    }

    #[test]
    fn a_file_that_cannot_be_digested_is_reported() {
        let file = SourceFile::new("a.csv", "a.csv");
        let mut problems = Problems::default();
        assert!(file.parent(Ok("0".to_owned()), &mut problems).is_some() && problems.is_empty());
        assert!(file.parent(Err(io::Error::other("gone")), &mut problems).is_none());
        assert_eq!(problems.into_vec()[0].found, "a file that cannot be read: gone");
    }
}
