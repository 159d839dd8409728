//! What is wrong with an import, and where.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::printable::printable;

/// Problems of one kind in one place that are listed before the rest is only counted.
pub const LISTED: usize = 50;
/// Places of problems that say the same that are named beside the first.
const NAMED: usize = 5;

/// The kinds of problems; a kind is counted and listed on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A setting has an impossible value, or contradicts another.
    Setting,
    /// A file cannot be read.
    UnreadableFile,
    /// A file has no bytes, or only blanks.
    EmptyFile,
    /// A file is of a type that cannot be imported yet.
    UnsupportedFile,
    /// Bytes that are not UTF-8.
    InvalidText,
    /// A header without rows.
    NoRows,
    /// A column that the settings name is not in the header.
    MissingColumn,
    /// Two columns of the same name.
    DuplicateColumn,
    /// A row with more or fewer cells than the header.
    RaggedRow,
    /// Text where a number is expected.
    NotANumber,
    /// A number written in a way that cannot be read yet.
    UnsupportedNumber,
    /// An empty cell or a marker of a missing value.
    MissingValue,
    /// An id that is empty or cannot be an id.
    InvalidId,
    /// Infinity, or a number beyond the range of a double.
    NotFinite,
    /// A time stamp that cannot be read, or not as one time.
    TimeStamp,
    /// A unit that does not fit the one it is to be converted into.
    Unit,
    /// A row that is a dose or another event.
    EventRow,
    /// A sample and an event of the very same time, of which nothing says which came first.
    EqualTimes,
    /// A column that changes what rows mean, and that the mapping does not read.
    UnreadColumn,
    /// An input that is not known where states were observed.
    InputSpan,
    /// Something that a PEtab problem says and that is not read.
    Petab,
    /// Time falls within a trajectory.
    UnsortedTime,
    /// Two values of a channel at one time of a trajectory.
    DuplicateTime,
    /// A trajectory of less than two samples.
    ShortTrajectory,
    /// Trajectories without a complete sample that another follows, for a model to start from.
    NoStart,
    /// A channel without any value in the whole table.
    NeverObserved,
    /// A channel of a long table that the settings do not name.
    UnknownChannel,
    /// The same samples in two splits.
    RepeatedSamples,
    /// A setting names an environment that the data do not have.
    UnknownEnvironment,
    /// A setting names a trajectory that the data do not have.
    UnknownTrajectory,
    /// A setting names a row that the side table does not have.
    UnknownKey,
    /// Two rows of the side table for one environment.
    DuplicateKey,
    /// A parameter's expression has no finite value.
    ParameterValue,
    /// A split, or an environment's part of it, would be empty.
    EmptySplit,
    /// A row of the side table without an environment in the table.
    UnusedRow,
    /// An environment without a row in the side table.
    UnknownParameters,
}

/// One problem: where, what was found, what was expected, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub kind: Kind,
    /// The setting it concerns, such as `import.channels[0].column`.
    pub setting: Option<String>,
    /// The file it was found in, as it was opened.
    pub file: Option<PathBuf>,
    /// Line in that file, from 1.
    pub line: Option<u64>,
    /// Column in that file: number from 1, and name in the header.
    pub column: Option<(usize, String)>,
    pub found: String,
    pub expected: String,
    pub remedy: String,
}

impl Problem {
    pub(crate) fn new(
        kind: Kind,
        found: impl Into<String>,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Problem {
            kind,
            setting: None,
            file: None,
            line: None,
            column: None,
            found: found.into(),
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn setting(mut self, key: impl Into<String>) -> Self {
        self.setting = Some(key.into());
        self
    }

    pub(crate) fn file(mut self, path: &Path) -> Self {
        self.file = Some(path.to_owned());
        self
    }

    pub(crate) fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn column(mut self, index: usize, name: &str) -> Self {
        self.column = Some((index + 1, name.to_owned()));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        if let Some(file) = &self.file {
            write!(line, "{}", file.display())?;
            if let Some(number) = self.line {
                write!(line, ":{number}")?;
            }
            if let Some((number, name)) = &self.column {
                write!(line, ", column {number} `{name}`")?;
            }
            if let Some(setting) = &self.setting {
                write!(line, " ({setting})")?;
            }
            line.push_str(": ");
        } else if let Some(setting) = &self.setting {
            write!(line, "{setting}: ")?;
        }
        write!(line, "found {}; expected {}; {}", self.found, self.expected, self.remedy)?;
        f.write_str(&printable(&line))
    }
}

impl Kind {
    /// Whether one setting mends all problems of it that expect the same, whatever was found.
    fn is_of_one_setting(self) -> bool {
        matches!(self, Kind::EventRow | Kind::TimeStamp | Kind::UnsupportedNumber)
    }
}

/// Problems as they are found: those that say the same of several places are one, [`LISTED`] of a kind in a column are listed, and the rest is
/// counted.
#[derive(Default)]
pub(crate) struct Problems {
    listed: Vec<Listed>,
    /// Positions among the listed, by what they say.
    said: HashMap<Said, usize>,
    counts: BTreeMap<(Kind, Option<PathBuf>, Option<usize>), usize>,
}

/// What a problem says, wherever it was found.
#[derive(PartialEq, Eq, Hash)]
struct Said {
    kind: Kind,
    setting: Option<String>,
    column: Option<(usize, String)>,
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
    places: Vec<(Option<PathBuf>, Option<u64>)>,
}

impl Listed {
    /// The problem with a count of the others and where the first of them are.
    fn into_problem(self) -> Problem {
        let Listed { mut problem, more, places } = self;
        if more == 0 {
            return problem;
        }
        let of_file = |(file, line): &(Option<PathBuf>, Option<u64>)| line.filter(|_| *file == problem.file);
        let lines: Vec<String> = places.iter().filter_map(of_file).map(|line| line.to_string()).collect();
        let elsewhere = places.iter().filter(|(file, _)| *file != problem.file).filter_map(|(file, line)| {
            let file = file.as_ref()?.display();
            Some(line.map_or(file.to_string(), |line| format!("{file}:{line}")))
        });
        let lines = (!lines.is_empty())
            .then(|| format!("line{} {}", if lines.len() == 1 { "" } else { "s" }, lines.join(", ")));
        let mut named: Vec<String> = lines.into_iter().chain(elsewhere).collect();
        named.extend((more > places.len()).then(|| "...".to_owned()));
        let at = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        problem.found += &format!(" ({more} more like it{at})");
        problem
    }
}

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.add(Listed { problem, more: 0, places: Vec::new() });
    }

    fn add(&mut self, listed: Listed) {
        let Problem { kind, setting, column, found, expected, remedy, .. } = &listed.problem;
        let found = if kind.is_of_one_setting() { String::new() } else { found.clone() };
        let (setting, column) = (setting.clone(), column.clone());
        let said = Said { kind: *kind, setting, column, found, expected: expected.clone(), remedy: remedy.clone() };
        if let Some(&first) = self.said.get(&said) {
            let first = &mut self.listed[first];
            first.more += 1 + listed.more;
            let places = [(listed.problem.file, listed.problem.line)].into_iter().chain(listed.places);
            first.places.extend(places.take(NAMED - first.places.len()));
            return;
        }
        let place = (*kind, listed.problem.file.clone(), listed.problem.column.as_ref().map(|column| column.0));
        let count = self.counts.entry(place).or_default();
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
        self.counts.keys().any(|place| kinds.contains(&place.0))
    }

    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }

    /// Takes over what others found later.
    pub(crate) fn append(&mut self, later: Problems) {
        later.listed.into_iter().for_each(|listed| self.add(listed));
        for (place, count) in later.counts {
            let unlisted = count.saturating_sub(LISTED);
            *self.counts.entry(place).or_default() += unlisted;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The listed problems in the order they were found, each list that was cut short ended by a count of the rest.
    pub(crate) fn into_vec(self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.listed.into_iter().map(Listed::into_problem).collect();
        for ((kind, file, column), count) in self.counts {
            if count <= LISTED {
                continue;
            }
            let same = |problem: &Problem| {
                problem.kind == kind && problem.file == file && problem.column.as_ref().map(|column| column.0) == column
            };
            if let Some(last) = problems.iter().rposition(same) {
                let rest = Problem {
                    line: None,
                    found: format!("{} more problems of this kind", count - LISTED),
                    ..problems[last].clone()
                };
                problems.insert(last + 1, rest);
            }
        }
        problems
    }
}
