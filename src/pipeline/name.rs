//! Names of pipelines and datasets, which are names of directories too.

use std::path::Path;

use crate::problems::{Kind, Problem};

/// What a name may be.
pub(crate) const NAME_RULE: &str = "letters, digits, `.`, `_` and `-`, beginning with a letter or digit";

/// Whether `name` can be a directory's.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-'))
}

/// The name of the pipeline in `file`: that of the file without its ending.
pub(crate) fn pipeline_name(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The problem with the name of a pipeline, if it has one.
pub(crate) fn name_problem(file: &Path) -> Option<Problem> {
    let name = pipeline_name(file);
    (!is_name(&name)).then(|| {
        let (found, remedy) =
            (format!("the name \"{name}\""), "rename the file: the run's directory is named after it");
        Problem::new(Kind::Setting, found, NAME_RULE, remedy).file(file)
    })
}
