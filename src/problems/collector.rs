//! Problems as they are found.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::{fmt, iter};

use super::kind::Kind;
use super::names::did_you_mean;
use super::place::{Column, Place};
use super::problem::Problem;
use super::words::{form_of, one_of};

/// Problems of one kind in one column that are listed; more of them are only counted.
pub const LISTED: usize = 50;
/// Places of problems that say the same that are named beside the first.
const NAMED: usize = 5;

/// Problems as they are found: those that say the same of several places are one, [`LISTED`] of a kind in a column are listed, and the rest is
/// counted.
#[derive(Default)]
pub(crate) struct Problems {
    listed: Vec<Listed>,
    /// Positions among the listed, by what they say.
    said: HashMap<Said, usize>,
    counts: BTreeMap<Counted, usize>,
    /// The first of each file.
    firsts: BTreeMap<PathBuf, Problem>,
}

/// What is counted together: problems of a kind in a file, and in a column of it.
type Counted = (Kind, Option<PathBuf>, Option<usize>);

/// What a problem says, wherever it was found.
#[derive(PartialEq, Eq, Hash)]
struct Said {
    kind: Kind,
    key: String,
    column: Option<Column>,
    /// Empty where it does not matter.
    found: String,
    expected: String,
    remedy: String,
}

/// A problem, and other places of which the same is to be said.
struct Listed {
    problem: Problem,
    more: usize,
    /// The first of them.
    places: Vec<Place>,
}

impl Listed {
    /// The problem with a count of the others and where the first of them are.
    fn into_problem(self) -> Problem {
        let Listed { mut problem, more, places } = self;
        if more == 0 {
            return problem;
        }
        let (same_file, elsewhere): (Vec<&Place>, Vec<&Place>) =
            places.iter().partition(|place| place.path() == problem.place.path());
        let lines: Vec<String> =
            same_file.iter().filter_map(|place| place.line()).map(|line| line.to_string()).collect();
        let elsewhere = elsewhere.iter().filter_map(|place| {
            let file = place.path()?.display();
            Some(place.line().map_or(file.to_string(), |line| format!("{file}:{line}")))
        });
        let lines =
            (!lines.is_empty()).then(|| format!("{} {}", form_of(lines.len() as u64, "line"), lines.join(", ")));
        let mut named: Vec<String> = lines.into_iter().chain(elsewhere).collect();
        named.extend((more > places.len()).then(|| "...".to_owned()));
        let at = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        problem.found += &format!(" ({more} more like it{at})");
        problem
    }
}

impl Problems {
    /// Adds a problem.
    pub(crate) fn push(&mut self, problem: Problem) {
        self.take(Listed { problem, more: 0, places: Vec::new() });
    }

    /// Adds the problem of a setting.
    pub(crate) fn add(
        &mut self,
        key: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(Problem::new(Kind::Setting, found.to_string(), expected, remedy).setting(key));
    }

    /// Adds the problem of a setting unless it is `valid`.
    pub(crate) fn require(
        &mut self,
        valid: bool,
        key: impl Into<String>,
        found: impl fmt::Display,
        expected: &str,
        remedy: &str,
    ) {
        if !valid {
            self.add(key, found, expected, remedy);
        }
    }

    /// Adds the problem of a setting that names none of what is `known`, each a `thing`.
    pub(crate) fn unknown(&mut self, key: impl Into<String>, name: &str, thing: &str, known: &[&str]) {
        let article = if thing.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let remedy = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| format!("name {article} {thing}"));
        self.add(key, format!("`{name}`"), one_of(known), remedy);
    }

    fn take(&mut self, listed: Listed) {
        if let Some(path) = listed.problem.place.path().filter(|path| !self.firsts.contains_key(*path)) {
            self.firsts.insert(path.to_owned(), listed.problem.clone());
        }
        let Problem { kind, key, place, found, expected, remedy } = listed.problem.clone();
        let found = if kind.is_of_one_setting() { String::new() } else { found };
        let said = Said { kind, key, column: place.column().cloned(), found, expected, remedy };
        if let Some(&first) = self.said.get(&said) {
            let first = &mut self.listed[first];
            first.more += 1 + listed.more;
            let places = iter::once(place).chain(listed.places);
            first.places.extend(places.take(NAMED - first.places.len()));
            return;
        }
        // Each setting is corrected on its own, so all of them are listed.
        let mut all = 0;
        let count = match kind {
            Kind::Setting => &mut all,
            _ => self.counts.entry(counted(&listed.problem)).or_default(),
        };
        *count += 1;
        if *count <= LISTED {
            self.said.insert(said, self.listed.len());
            self.listed.push(listed);
        } else {
            *count += listed.more;
        }
    }

    /// Whether a problem of one of these kinds has been found.
    pub(crate) fn has(&self, kinds: &[Kind]) -> bool {
        self.listed.iter().any(|listed| kinds.contains(&listed.problem.kind))
    }

    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }

    /// Takes over what others found later.
    pub(crate) fn append(&mut self, later: Problems) {
        later.listed.into_iter().for_each(|listed| self.take(listed));
        for (path, first) in later.firsts {
            self.firsts.entry(path).or_insert(first);
        }
        for (place, count) in later.counts {
            let unlisted = count.saturating_sub(LISTED);
            *self.counts.entry(place).or_default() += unlisted;
        }
    }

    /// The first problem of each file that has any, listed or not.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = (&Path, &Problem)> {
        self.firsts.iter().map(|(path, first)| (path.as_path(), first))
    }

    /// How many are listed.
    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The listed problems in the order they were found, each list that was cut short ended by a count of the rest.
    pub(crate) fn into_vec(self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.listed.into_iter().map(Listed::into_problem).collect();
        for (place, count) in self.counts.into_iter().filter(|(_, count)| *count > LISTED) {
            if let Some(last) = problems.iter().rposition(|problem| counted(problem) == place) {
                let mut rest = problems[last].clone();
                rest.found = format!("{} more problems of this kind", count - LISTED);
                if let Place::File { line, .. } = &mut rest.place {
                    *line = None;
                }
                problems.insert(last + 1, rest);
            }
        }
        problems
    }
}

fn counted(problem: &Problem) -> Counted {
    let Problem { kind, place, .. } = problem;
    (*kind, place.path().map(Path::to_owned), place.column().map(Column::number))
}
