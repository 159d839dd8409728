//! What a file says of its environments and trajectories beside their fields: ids and values of parameters.
//!
//! A name is looked for in this order:
//!
//! | name | what it is |
//! |---|---|
//! | of a `{NAME}` in the pattern of the files | what stands in the file's name |
//! | `PATH@NAME` | the attribute `NAME` of the group or array at `PATH` |
//! | of an attribute | of the group of the trajectory, else of the file |
//! | of an array | one value for the file, one an environment, or one a trajectory; `ARRAY.0`, `ARRAY.1`, .. are the columns of `[B, d]` |
//! | among the attribute `names` of the array `parameters` | that column of it, as our exports for PDEBench have them |

use std::collections::BTreeMap;

use super::array_file::{ArrayFile, Fact, Holds, Pick};
use super::search;
use super::search::Groups;
use crate::problems::{Kind, Problem, did_you_mean, listing, shown};

/// Values of an array of facts at most.
const MOST: usize = 1 << 22;
/// Names in a message at most come from so many arrays.
const NAMED: usize = 1 << 10;

/// How many of what a file has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub environments: usize,
    pub groups: usize,
    /// Trajectories of an environment, or of a group.
    pub trajectories: usize,
}

/// A trajectory's place in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub environment: usize,
    pub group: usize,
    pub trajectory: usize,
}

/// Values of one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Facts {
    /// One for the file.
    File(Fact),
    /// One a group.
    Groups(Vec<Fact>),
    /// One an environment.
    Environments(Vec<Fact>),
    /// One for each trajectory of any environment.
    Trajectories(Vec<Fact>),
    /// One for each trajectory of each environment, environment after environment.
    All(Vec<Fact>, Extent),
}

impl Facts {
    /// The value of a trajectory.
    pub(crate) fn of(&self, place: Place) -> &Fact {
        match self {
            Facts::File(fact) => fact,
            Facts::Groups(facts) => &facts[place.group],
            Facts::Environments(facts) => &facts[place.environment],
            Facts::Trajectories(facts) => &facts[place.trajectory],
            Facts::All(facts, extent) => &facts[place.environment * extent.trajectories + place.trajectory],
        }
    }
}

/// A file in which facts are looked for.
pub(crate) struct Known<'a> {
    pub file: &'a mut dyn ArrayFile,
    pub groups: &'a Groups,
    pub extent: Extent,
    /// What stands in the file's name.
    pub captured: &'a BTreeMap<String, String>,
}

impl Known<'_> {
    /// The values of a name.
    ///
    /// # Errors
    /// The problem, without its file and key.
    pub(crate) fn facts(&mut self, name: &str) -> Result<Facts, Problem> {
        if let Some(text) = self.captured.get(name) {
            return Ok(Facts::File(Fact::Text(text.clone())));
        }
        if let Some((path, attribute)) = name.rsplit_once('@') {
            return self.attribute(path, attribute).map(Facts::File).ok_or_else(|| self.missing(name));
        }
        let of_groups = self.groups.paths.iter().map(|path| self.attribute(path, name)).collect::<Option<Vec<_>>>();
        if let Some(facts) = of_groups.filter(|facts| !facts.is_empty()) {
            return Ok(Facts::Groups(facts));
        }
        if let Some(fact) = self.attribute("", name) {
            return Ok(Facts::File(fact));
        }
        let in_groups = self.groups.paths.iter().map(|path| self.file.find(&format!("{path}/{name}")));
        if let Some(arrays) = in_groups.collect::<Option<Vec<_>>>().filter(|arrays| !arrays.is_empty()) {
            let first = |array: usize| Ok(self.values(array)?.into_iter().next());
            let facts = arrays.into_iter().map(first).collect::<Result<Option<Vec<_>>, Problem>>()?;
            return facts.map(Facts::Groups).ok_or_else(|| self.missing(name));
        }
        if let Some(array) = self.find(name) {
            return self.array(array, None);
        }
        let column = name.rsplit_once('.').and_then(|(array, column)| Some((array, column.parse().ok()?)));
        if let Some((array, column)) = column
            && let Some(array) = self.find(array)
        {
            return self.array(array, Some(column));
        }
        if let Some(array) = self.find("parameters")
            && let Some(column) = self.column(array, name)
        {
            return self.array(array, Some(column));
        }
        Err(self.missing(name))
    }

    /// The values of the first of these arrays that holds one text a trajectory: ids as our exports write them.
    pub(crate) fn own_ids(&mut self, names: &[&str]) -> Option<Facts> {
        let array = names.iter().find_map(|name| self.file.find(name))?;
        let listed = &self.file.listed()[array];
        let is_of_ids = listed.holds == Holds::Texts && listed.shape == [self.extent.trajectories];
        if is_of_ids && self.extent.environments == 1 { self.array(array, None).ok() } else { None }
    }

    /// The array of that name; an array without one has none.
    fn find(&self, name: &str) -> Option<usize> {
        let array = search::one(self.file, name).ok()?;
        (!self.file.listed()[array].name.is_empty()).then_some(array)
    }

    fn attribute(&self, path: &str, name: &str) -> Option<Fact> {
        match self.file.attribute(path.trim_matches('/'), name)?.as_slice() {
            [fact] => Some(fact.clone()),
            _ => None,
        }
    }

    /// The position of `name` in the attribute `names` of an array.
    fn column(&self, array: usize, name: &str) -> Option<usize> {
        let names = self.file.attribute(&self.file.listed()[array].name, "names")?;
        names.iter().position(|it| it.text() == name)
    }

    /// The values of an array, of one column of it where it has several.
    fn array(&mut self, array: usize, column: Option<usize>) -> Result<Facts, Problem> {
        let extent @ Extent { environments, trajectories, .. } = self.extent;
        let listed = self.file.listed()[array].clone();
        let long: Vec<usize> = match column {
            None => listed.shape.iter().copied().filter(|&length| length != 1).collect(),
            Some(_) => listed.shape.iter().rev().skip(1).rev().copied().filter(|&length| length != 1).collect(),
        };
        let width = if column.is_some() { listed.shape.last().copied().unwrap_or(1) } else { 1 };
        let shape = |facts: Vec<Fact>| match long.as_slice() {
            [] => facts.into_iter().next().map(Facts::File),
            [length] if *length == environments => Some(Facts::Environments(facts)),
            [length] if *length == trajectories => Some(Facts::Trajectories(facts)),
            [first, second] if (*first, *second) == (environments, trajectories) => Some(Facts::All(facts, extent)),
            _ => None,
        };
        let wrong = || {
            let found = format!("array `{}` ({})", listed.name, listed.shape_in_words());
            let expected = match environments {
                1 => format!("one value, or one for each of the {trajectories} trajectories of the file"),
                _ => format!(
                    "one value, one for each of the {environments} environments, or one for each of their {trajectories} trajectories"
                ),
            };
            let remedy = match listed.shape.as_slice() {
                [_, columns] => {
                    format!("name a column of it, `{}.0` to `{}.{}`", listed.name, listed.name, columns - 1)
                }
                _ => "name another array, or an attribute".to_owned(),
            };
            Problem::new(Kind::UnsupportedFile, found, expected, remedy)
        };
        let possible = long.iter().try_fold(width, |product, &length| product.checked_mul(length));
        if possible.is_none_or(|count| count > MOST) || column.is_some_and(|column| column >= width) {
            return Err(wrong());
        }
        let facts = self.values(array)?.into_iter().skip(column.unwrap_or(0)).step_by(width).collect();
        shape(facts).ok_or_else(wrong)
    }

    /// All values of an array.
    fn values(&mut self, array: usize) -> Result<Vec<Fact>, Problem> {
        let listed = self.file.listed()[array].clone();
        let unreadable = |found: String| {
            let found = format!("array `{}`, which {found}", listed.name);
            Problem::new(Kind::UnsupportedFile, found, "numbers or texts", "name another array, or an attribute")
        };
        match &listed.holds {
            Holds::Texts => {
                let texts = self.file.texts(array).map_err(unreadable)?;
                Ok(texts.into_iter().map(Fact::Text).collect())
            }
            Holds::Numbers(precision) => {
                let picks: Vec<Pick> = listed.shape.iter().map(|&length| Pick::all(length)).collect();
                let numbers = self.file.numbers(array, &picks).map_err(unreadable)?;
                Ok(numbers.into_iter().map(|number| Fact::Number(number, *precision)).collect())
            }
            Holds::Other(what) => Err(unreadable(format!("is {what}"))),
        }
    }

    /// The problem of a name that the file does not know.
    fn missing(&self, name: &str) -> Problem {
        let Extent { environments, trajectories, groups } = self.extent;
        let small = |shape: &[usize]| shape.iter().all(|&n| [1, environments, trajectories, groups].contains(&n));
        let mut known: Vec<String> = self.captured.keys().cloned().collect();
        known.extend(self.file.attribute_names(""));
        known.extend(self.groups.paths.first().into_iter().flat_map(|path| self.file.attribute_names(path)));
        let arrays = self.file.listed().iter().take(NAMED).filter(|it| small(&it.shape));
        known.extend(arrays.map(|it| it.name.clone()));
        let own = known.iter().map(|name| name.rsplit('/').next().unwrap_or(name));
        let remedy = match did_you_mean(name, own) {
            Some(meant) => meant,
            None if known.is_empty() => "there are none; name values in the pattern of the files, `{NAME}`".to_owned(),
            None => format!("there are {}", listing(&known)),
        };
        let found = format!("no {} in the file's name, its attributes or arrays", shown(name));
        Problem::new(Kind::UnknownKey, found, "a name of one of these", remedy)
    }
}
