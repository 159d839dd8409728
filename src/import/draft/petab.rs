//! The tables that the YAML file of a PEtab problem names.
//!
//! Source: PEtab data format specification 1.0, "YAML file". Keys that name no table of measurements or conditions are not read.

use serde::Deserialize;

/// The tables of one problem, by their paths beside the YAML file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PetabTables {
    pub measurements: String,
    pub conditions: Option<String>,
}

/// Why a file names no tables that a mapping can read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// What is no YAML of such a kind, and where.
    Yaml(String),
    Version2,
    /// Several problems in one file.
    Problems(usize),
    /// Several files under one key.
    Files(&'static str, usize),
    NoMeasurements,
}

impl Unusable {
    /// What was found, and what to do.
    pub(super) fn in_words(&self) -> (String, &'static str) {
        match self {
            Unusable::Yaml(error) => (format!("no YAML of a PEtab problem ({error})"), "correct the file"),
            Unusable::Version2 => ("a PEtab problem of version 2".to_owned(), "write it in version 1 of the format"),
            Unusable::Problems(count) => {
                (format!("{count} PEtab problems in one file"), "write each into a file of its own")
            }
            Unusable::Files(key, count) => (format!("{count} {key}"), "join them into one table"),
            Unusable::NoMeasurements => ("no `measurement_files`".to_owned(), "name the table of measurements"),
        }
    }
}

#[derive(Deserialize)]
struct Document {
    format_version: Option<Version>,
    problems: Option<Vec<Tables>>,
    #[serde(flatten)]
    outside: Tables,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Version {
    Number(f64),
    Text(String),
}

#[derive(Deserialize)]
struct Tables {
    measurement_files: Option<Paths>,
    condition_files: Option<Paths>,
    /// Of version 2 alone.
    experiment_files: Option<Paths>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Several(Vec<String>),
}

impl Paths {
    fn into_vec(self) -> Vec<String> {
        match self {
            Paths::One(path) => vec![path],
            Paths::Several(paths) => paths,
        }
    }
}

/// The tables of the one problem in a YAML file.
///
/// # Errors
/// If the file is of another kind, or has what a mapping cannot say.
pub(crate) fn tables(text: &str) -> Result<PetabTables, Unusable> {
    let document: Document = serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map_or_else(String::new, |it| format!("line {}: ", it.line()));
        Unusable::Yaml(place + &error.without_snippet().to_string())
    })?;
    let is_version_2 = match &document.format_version {
        Some(Version::Number(number)) => *number >= 2.0,
        Some(Version::Text(text)) => text.starts_with('2'),
        None => false,
    };
    let mut problems: Vec<Tables> = document.problems.into_iter().flatten().collect();
    problems.push(document.outside);
    if is_version_2 || problems.iter().any(|tables| tables.experiment_files.is_some()) {
        return Err(Unusable::Version2);
    }
    problems.retain(|tables| tables.measurement_files.is_some());
    if problems.len() > 1 {
        return Err(Unusable::Problems(problems.len()));
    }
    let Tables { measurement_files, condition_files, .. } = problems.pop().ok_or(Unusable::NoMeasurements)?;
    let one = |key: &'static str, paths: Option<Paths>| {
        let mut paths = paths.map_or_else(Vec::new, Paths::into_vec);
        if paths.len() > 1 { Err(Unusable::Files(key, paths.len())) } else { Ok(paths.pop()) }
    };
    let conditions = one("condition_files", condition_files)?;
    let measurements = one("measurement_files", measurement_files)?.ok_or(Unusable::NoMeasurements)?;
    Ok(PetabTables { measurements, conditions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_lines_and_in_brackets_comments_and_quotes_are_read() {
        let expected = PetabTables { measurements: "m: 1.tsv".to_owned(), conditions: Some("c.tsv".to_owned()) };
        for text in [
            "format_version: 1\nproblems:\n  - condition_files: # what was set\n      - c.tsv # the only one\n    measurement_files:\n    - 'm: 1.tsv'\n",
            "problems: [{measurement_files: [\"m: 1.tsv\"], condition_files: [c.tsv], sbml_files: [a, b]}]\nformat_version: '1'\nparameter_file: p.tsv\n",
            "# measurement_files: [other.tsv]\nmeasurement_files: \"m: 1.tsv\"\ncondition_files: c.tsv\nextensions: {x: {version: 2}}\n",
        ] {
            assert_eq!(tables(text).as_ref(), Ok(&expected), "{text}");
        }
        let alone = tables("problems:\n- condition_files:\n  measurement_files: [m.tsv]\n").unwrap();
        assert_eq!(alone, PetabTables { measurements: "m.tsv".to_owned(), conditions: None });
    }

    #[test]
    fn what_a_mapping_cannot_say_is_refused() {
        for (text, expected) in [
            ("format_version: 2.0.0\nmeasurement_files: [m.tsv]\n", Unusable::Version2),
            ("format_version: 2\nmeasurement_files: [m.tsv]\n", Unusable::Version2),
            ("experiment_files: [e.tsv]\nmeasurement_files: [m.tsv]\n", Unusable::Version2),
            ("problems: [{measurement_files: [m.tsv]}, {measurement_files: [n.tsv]}]\n", Unusable::Problems(2)),
            ("measurement_files:\n- m.tsv\n- n.tsv\n", Unusable::Files("measurement_files", 2)),
            (
                "measurement_files: [m.tsv]\ncondition_files: [a.tsv, b.tsv, c.tsv]\n",
                Unusable::Files("condition_files", 3),
            ),
            ("problems: []\n", Unusable::NoMeasurements),
            ("measurement_files: []\n", Unusable::NoMeasurements),
        ] {
            assert_eq!(tables(text), Err(expected), "{text}");
        }
        let Err(Unusable::Yaml(error)) = tables("problems:\n- measurement_files: [m.tsv\n") else { panic!("read") };
        assert!(error.starts_with("line ") && !error.contains('\n'), "{error}");
    }
}
