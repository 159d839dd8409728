//! What is wrong with settings, in the words of those who wrote them.

use std::fmt;

/// One thing wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, from the section or table on, such as `splits.train.trajectories`.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}; {}", self.key, self.found, self.expected, self.remedy)
    }
}

/// All that is wrong so far.
#[derive(Default)]
pub(crate) struct Problems(pub(crate) Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub(crate) fn add(
        &mut self,
        key: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (key, found, expected, remedy) = (key.into(), found.to_string(), expected.into(), remedy.into());
        self.0.push(Problem { key, found, expected, remedy });
    }

    /// Adds a problem unless `valid`.
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

    /// Adds the problem of an unknown name.
    pub(crate) fn unknown(&mut self, key: impl Into<String>, name: &str, kind: &str, known: &[&str]) {
        let remedy = match nearest(name, known) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("name a {kind}"),
        };
        self.add(key, format!("`{name}`"), format!("one of {}", known.join(", ")), remedy);
    }
}

/// The known name most like `name`, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
