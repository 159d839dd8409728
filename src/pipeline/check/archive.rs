//! Finds every problem of a pipeline that can be known before it runs: of its settings, of its stages together, and of the archive that it
//! imports.

use std::path::Path;

use super::computable::uncomputable;
use super::read::{Read, read};
use super::stages::{disagreements_with, trains};
use super::starts::starts;
use super::unheeded::unheeded;
use crate::import;
use crate::pipeline::document::Document;
use crate::pipeline::error::Error;
use crate::problems::{Place, Problem};

/// The result of checking a pipeline.
#[derive(Debug, Default)]
pub struct Checked {
    /// Problems of the settings, each at its place in the pipeline file.
    pub settings: Vec<Problem>,
    /// Problems of the archive, each at its place in a source file.
    pub archive: Vec<Problem>,
    /// Warnings that the import and the training would give, each at its place.
    pub warnings: Vec<Problem>,
    /// The folder of the archive if it does not exist, so that the archive was not checked.
    pub absent: Option<String>,
}

/// Checks the pipeline in `file` with the `--set` arguments, and the archive that it imports. Writes nothing.
pub fn check(file: &Path, arguments: &[String]) -> Checked {
    let Read { document, settings, mut problems } = match read(file, arguments) {
        Ok(read) => read,
        Err(settings) => return Checked { settings, ..Checked::default() },
    };
    problems.extend(trains(&settings).and_then(uncomputable).map(|problem| document.placed(problem)));
    let superseded = trains(&settings).and_then(|train| train.gauss_newton.superseded());
    let mut warnings: Vec<Problem> = superseded.map(|problem| document.placed(problem)).into_iter().collect();
    warnings.extend(trains(&settings).into_iter().flat_map(|train| unheeded(&[(&document, train)])));
    let mut checked = Checked { warnings, ..Checked::default() };
    if let Some(import) = &settings.import {
        if Path::new(&import.directory).is_dir() {
            match import::survey(import, Path::new("")) {
                Ok(survey) => {
                    let mut found = disagreements_with(&survey, &settings);
                    let of_starts = starts(&survey, &settings, &mut found);
                    problems.extend(found.into_vec().into_iter().map(|problem| document.placed(problem)));
                    checked.warnings.extend(survey.warnings);
                    checked.warnings.extend(of_starts);
                }
                Err(found) => {
                    let (in_files, in_settings) = found.into_iter().partition(|problem| problem.place.path().is_some());
                    checked.archive = in_files;
                    problems.extend(placed(&document, in_settings));
                }
            }
        } else {
            checked.absent = Some(import.directory.clone());
        }
    }
    problems.sort();
    problems.dedup();
    Checked { settings: problems, ..checked }
}

/// The error of an import, with problems of settings placed in the pipeline file.
pub(crate) fn error_of_import(document: &Document, error: import::Error) -> Error {
    match error {
        import::Error::Settings(problems) => Error::Problems(placed(document, problems)),
        import::Error::Data(problems) => {
            let problems = problems.into_iter().map(|problem| match problem.place {
                Place::Settings if !problem.key.is_empty() => document.placed(problem),
                _ => problem,
            });
            import::Error::Data(problems.collect()).into()
        }
        error => error.into(),
    }
}

fn placed(document: &Document, problems: Vec<Problem>) -> Vec<Problem> {
    problems.into_iter().map(|problem| document.placed(problem)).collect()
}
