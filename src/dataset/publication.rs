//! What a dataset says of itself to those who find and cite it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problems::{Problem, Problems};

/// Who made a dataset, and how it is cited; an archive and a catalogue show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// Version of the dataset, such as `1.0.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who made it, a name each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creators: Vec<String>,
    /// How to cite it, in words or as BibTeX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citation: Option<String>,
    /// Its DOI, such as `10.5281/zenodo.1234567`; an archive reserves one before it publishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doi: Option<String>,
    /// The day of publication, such as `2026-11-30`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

impl Publication {
    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Publication::default()
    }

    /// The address at which the DOI is found.
    pub(crate) fn url(&self) -> Option<String> {
        self.doi.as_ref().map(|doi| format!("https://doi.org/{doi}"))
    }

    /// Everything that is not written as it must be; keys are relative to the table.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        let is_version = |text: &String| {
            let parts: Vec<&str> = text.split('.').collect();
            parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()))
        };
        let is_doi = |text: &String| {
            let (registrant, rest) = text.split_once('/').unwrap_or_default();
            registrant.strip_prefix("10.").is_some_and(|it| it.len() >= 4 && it.bytes().all(|it| it.is_ascii_digit()))
                && !rest.is_empty()
                && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        let is_day = |text: &String| text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10;
        let is_line = |text: &String| !text.trim().is_empty() && !text.contains(char::is_control);
        let is_text = |text: &String| !text.trim().is_empty() && !text.contains('\0');
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut require = |key: &str, value: &Option<String>, is_right: &dyn Fn(&String) -> bool, expected: &str| {
            let found = format!("{:?}", of(value));
            problems.require(value.as_ref().is_none_or(is_right), key, found, expected, "correct it");
        };
        require("version", &self.version, &is_version, "three numbers, such as \"1.0.0\"");
        require("citation", &self.citation, &is_text, "some text");
        require("doi", &self.doi, &is_doi, "a DOI alone, such as \"10.5281/zenodo.1234567\"");
        require("published", &self.published, &is_day, "a day, such as \"2026-11-30\"");
        for (index, name) in self.creators.iter().enumerate() {
            let key = format!("creators.{index}");
            problems.require(is_line(name), key, format!("{name:?}"), "a name on one line", "correct it");
        }
        problems.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_otherwise_is_told() {
        let text = |text: &str| Some(text.to_owned());
        let right = Publication {
            version: text("1.0.12"),
            creators: vec!["Ada Ω".to_owned()],
            citation: text("@misc{x,\n}"),
            doi: text("10.5281/zenodo.1234567"),
            published: text("2026-11-30"),
        };
        assert!(right.problems().is_empty() && Publication::default().problems().is_empty());
        let wrong = Publication {
            version: text("v1.0"),
            creators: vec!["two\nlines".to_owned()],
            citation: text(" "),
            doi: text("https://doi.org/10.5281/zenodo.1"),
            published: text("30 November"),
        };
        let keys: Vec<String> = wrong.problems().into_iter().map(|problem| problem.key).collect();
        assert_eq!(keys, ["version", "citation", "doi", "published", "creators.0"]);
    }
}
