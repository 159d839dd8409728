//! Mappings that are tried on the whole archive, until an import would accept one.

use std::fs;
use std::path::Path;

use super::archive::Archive;
use super::mapping::{HeldOut, has_inputs};
use super::roles::Roles;
use crate::import::check::check;
use crate::import::settings::Settings;
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem};

/// Bytes of the largest file that mappings are tried on.
const LARGE: u64 = 1 << 26;
/// Most problems that a draft names, and of one kind.
const NAMED: usize = 10;
const NAMED_OF_A_KIND: usize = 3;

/// The first mapping that an import would accept; if there is none, the first with what is wrong with it.
pub(crate) fn best_mapping(archive: &Archive, file: &SourceFile, roles: &Roles<'_>) -> String {
    let mut ways = vec![(HeldOut::Trajectories, false), (HeldOut::Ends, false), (HeldOut::Nothing, false)];
    if has_inputs(roles) {
        ways.extend([HeldOut::Trajectories, HeldOut::Ends, HeldOut::Nothing].map(|held_out| (held_out, true)));
    }
    let mappings = ways.into_iter().map(|(held_out, extended)| archive.mapping(file, roles, held_out, extended));
    best(mappings, is_large(&file.path))
}

/// The first of several mappings that an import would accept; if there is none, the first with what is wrong with it. Nothing is tried where
/// the archive is too large.
pub(crate) fn best(mut texts: impl Iterator<Item = String>, is_large: bool) -> String {
    let first = texts.next().unwrap_or_default();
    if is_large {
        return format!("# Too large to be tried as a whole: `paramill check` says what is wrong with it.\n{first}");
    }
    let problems = problems_of(&first);
    if problems.is_empty() {
        return first;
    }
    texts.find(|text| problems_of(text).is_empty()).unwrap_or_else(|| with_problems(&first, &problems))
}

/// Whether a file is too large for mappings to be tried on it.
pub(crate) fn is_large(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGE)
}

/// What `paramill check` would say of a mapping.
fn problems_of(text: &str) -> Vec<Problem> {
    let refused = |found: String| vec![Problem::new(Kind::Setting, found, "an [import] section", "correct it")];
    let section = text.parse::<::toml::Table>().map(|mut table| table.remove("import"));
    match section.map(|section| section.map(::toml::Value::try_into::<Settings>)) {
        Ok(Some(Ok(settings))) => check(&settings, Path::new("")),
        Ok(Some(Err(error))) => refused(error.to_string()),
        Ok(None) => refused("none".to_owned()),
        Err(error) => refused(error.to_string()),
    }
}

/// A mapping below what is wrong with it, as comments.
fn with_problems(text: &str, problems: &[Problem]) -> String {
    let mut head = String::from("# To be filled in or corrected before it can be run:\n");
    let mut named: Vec<&Problem> = Vec::new();
    for problem in problems {
        if named.len() < NAMED && named.iter().filter(|other| other.kind == problem.kind).count() < NAMED_OF_A_KIND {
            named.push(problem);
        }
    }
    for problem in &named {
        head += &format!("#   {}\n", problem.to_string().replace(char::is_control, " "));
    }
    if problems.len() > named.len() {
        head += &format!("#   and {} more: `paramill check` lists them\n", problems.len() - named.len());
    }
    head + text
}
