//! Finds arrays by what settings call them.

use super::array_file::{ArrayFile, Holds, Listed};
use crate::import::settings::fields::{ENVIRONMENT, TRAJECTORY};
use crate::problems::{Kind, Problem, listing, nearest, shown};

/// An array, or the arrays of the same name in each of several groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arrays {
    One(usize),
    /// By the position of the group.
    OfGroups(Vec<usize>),
}

impl Arrays {
    /// That of a group.
    pub(crate) fn of(&self, group: usize) -> usize {
        match self {
            Arrays::One(array) => *array,
            Arrays::OfGroups(arrays) => arrays[group],
        }
    }
}

/// The groups that a pattern such as `{trajectory}/data` matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups {
    /// What they are: `trajectory` or `environment`; empty where there are none.
    pub are: &'static str,
    /// What stands in the place of the pattern, in order.
    pub ids: Vec<String>,
    /// Their paths.
    pub paths: Vec<String>,
}

/// Finds an array, or those of several groups, which it notes in `groups`.
///
/// # Errors
/// The problem, without its place.
pub(crate) fn find(file: &dyn ArrayFile, name: &str, groups: &mut Groups) -> Result<Arrays, Problem> {
    for are in [TRAJECTORY, ENVIRONMENT] {
        let Some((before, after)) = name.split_once(&format!("{{{are}}}")) else { continue };
        let id = |it: &Listed| {
            let middle = it.name.strip_prefix(before)?.strip_suffix(after)?;
            (!middle.is_empty() && !middle.contains('/')).then(|| middle.to_owned())
        };
        let found: Vec<(usize, String)> =
            file.listed().iter().enumerate().filter_map(|(i, it)| Some((i, id(it)?))).collect();
        let ids: Vec<String> = found.iter().map(|(_, id)| id.clone()).collect();
        if ids.is_empty() {
            return Err(missing(file, name));
        }
        if groups.ids.is_empty() {
            let paths = ids.iter().map(|id| format!("{before}{id}")).collect();
            *groups = Groups { are, ids, paths };
        } else if groups.ids != ids {
            let found = format!("{} in {} groups, and others in {}", shown(name), ids.len(), groups.ids.len());
            let remedy = "give every group the arrays of the others";
            return Err(Problem::new(Kind::UnsupportedFile, found, "the same groups for all arrays", remedy));
        }
        return Ok(Arrays::OfGroups(found.into_iter().map(|(array, _)| array).collect()));
    }
    one(file, name).map(Arrays::One)
}

/// Finds an array by its path, or by its own name if that is unique.
///
/// # Errors
/// The problem, without its place.
pub(crate) fn one(file: &dyn ArrayFile, name: &str) -> Result<usize, Problem> {
    let name = name.trim_matches('/');
    if let Some(exact) = file.find(name) {
        return Ok(exact);
    }
    // A file without names has one array, whatever it is called.
    if let [only] = file.listed()
        && only.name.is_empty()
    {
        return Ok(0);
    }
    let alike: Vec<usize> = (0..file.listed().len()).filter(|&i| file.listed()[i].own_name() == name).collect();
    match alike.as_slice() {
        [only] => Ok(*only),
        [] if file.has_group(name) => {
            let found = format!("{}, which is a group of arrays", shown(name));
            Err(Problem::new(Kind::MissingColumn, found, "an array", there_are(file, Some(&format!("{name}/")))))
        }
        [] => Err(missing(file, name)),
        several => {
            let first = &file.listed()[several[0]].name;
            let found = format!("{} arrays {} in different groups", several.len(), shown(name));
            let remedy = match first.split_once('/') {
                Some((_, inside)) => format!(
                    "write the path, such as `{first}`, or `{{trajectory}}/{inside}` if each group is a trajectory"
                ),
                None => format!("write the path, such as `{first}`"),
            };
            Err(Problem::new(Kind::MissingColumn, found, "one array", remedy))
        }
    }
}

/// The only array of numbers with several axes in a file.
///
/// # Errors
/// The problem, without its place.
pub(crate) fn only(file: &dyn ArrayFile) -> Result<usize, Problem> {
    let is_field = |it: &Listed| matches!(it.holds, Holds::Numbers(_)) && it.shape.len() > 1;
    let fields: Vec<usize> = (0..file.listed().len()).filter(|&i| is_field(&file.listed()[i])).collect();
    match (fields.as_slice(), file.listed()) {
        ([only], _) => Ok(*only),
        ([], [_]) => Ok(0),
        ([], _) => {
            let found = "no array of numbers with several axes";
            Err(Problem::new(Kind::MissingColumn, found, "a field", "check that it is the right file"))
        }
        (several, _) => {
            let found = format!("{} arrays, and no name", several.len());
            Err(Problem::new(Kind::MissingColumn, found, "the name of one", there_are(file, None)))
        }
    }
}

fn missing(file: &dyn ArrayFile, name: &str) -> Problem {
    Problem::new(Kind::MissingColumn, format!("no array {}", shown(name)), "an array of the file", near(file, name))
}

/// The arrays that there are, after the one that may have been meant.
fn near(file: &dyn ArrayFile, name: &str) -> String {
    let names = file.listed().iter().flat_map(|it| [it.name.as_str(), it.own_name()]);
    match nearest(name, names) {
        Some(meant) => format!("did you mean `{meant}`? {}", there_are(file, None)),
        None => there_are(file, None),
    }
}

/// The arrays that there are, with their shapes.
fn there_are(file: &dyn ArrayFile, within: Option<&str>) -> String {
    let is_within = |it: &&Listed| within.is_none_or(|within| it.name.starts_with(within));
    let names = file.listed().iter().filter(is_within).map(|it| format!("{} ({})", it.name, it.shape_in_words()));
    match names.collect::<Vec<_>>() {
        names if names.is_empty() => "there are none".to_owned(),
        names => format!("there are {}", listing(&names)),
    }
}
