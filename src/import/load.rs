//! Reads the source files: trajectories, what is known of their environments, and their splits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::settings::Settings;
use super::settings::forms::{Braces, Names};
use super::tables::files as tables;
use super::trajectories::set::Trajectories;
use super::trajectories::splits::{self, Assignment};
use super::trajectories::{read, read_fields, side_table};
use crate::dataset::Parent;
use crate::problems::{Problem, Problems};
use crate::progress::Interrupt;

/// What the source files hold.
pub(crate) struct Loaded {
    pub trajectories: Trajectories,
    /// Known parameters `[d_p]` by environment.
    pub parameters: BTreeMap<String, Vec<Option<f64>>>,
    pub assignment: Assignment,
    /// The source files, by name.
    pub parents: Vec<Parent>,
    pub warnings: Vec<Problem>,
}

/// Reads the source files, with so many bytes of rows in memory.
///
/// # Errors
/// Every problem in them; none if a request to stop cut the reading short.
pub(crate) fn load(
    settings: &Settings,
    base: &Path,
    rows_in_memory: u64,
    interrupt: &Interrupt,
) -> Result<Loaded, Vec<Problem>> {
    let loaded = load_some(settings, base, (&|_| true, rows_in_memory), interrupt);
    let mut loaded = loaded.map_err(Problems::into_vec)?;
    loaded.warnings.extend(passed_over(settings, base));
    Ok(loaded)
}

/// Reads the source files, of the tables of samples those that are wanted by name.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_some(
    settings: &Settings,
    base: &Path,
    (is_wanted, rows_in_memory): (&dyn Fn(&str) -> bool, u64),
    interrupt: &Interrupt,
) -> Result<Loaded, Problems> {
    let directory = base.join(&settings.directory);
    let mut problems = Problems::default();
    let trajectories = match &settings.fields {
        Some(fields) => read_fields::read(settings, fields, &directory, is_wanted, interrupt, &mut problems),
        None => read::read(settings, &directory, (is_wanted, rows_in_memory), interrupt, &mut problems),
    };
    let known = settings.side_table.as_ref().and_then(|side| {
        let environments: Option<BTreeSet<&str>> =
            trajectories.as_ref().map(|all| (0..all.segments.len()).map(|segment| all.environment(segment)).collect());
        side_table::read(settings, side, &directory, environments.as_ref(), interrupt, &mut problems)
    });
    let mut left_out = Vec::new();
    let assignment = trajectories.as_ref().map(|trajectories| {
        let assignment = splits::assign(settings, trajectories, &mut left_out, &mut problems);
        splits::report_repeated(&assignment, trajectories, &mut problems);
        assignment
    });
    match (trajectories, assignment) {
        (Some(mut trajectories), Some(assignment)) if problems.is_empty() && interrupt.requested().is_none() => {
            let mut parents = std::mem::take(&mut trajectories.parents);
            let mut warnings = std::mem::take(&mut trajectories.warnings);
            warnings.extend(left_out);
            let mut parameters = std::mem::take(&mut trajectories.parameters);
            if let Some(known) = known {
                parents.push(known.parent);
                warnings.extend(known.warnings);
                parameters = known.parameters;
            }
            parents.sort_by(|a, b| a.name.cmp(&b.name));
            parents.dedup();
            Ok(Loaded { trajectories, parameters, assignment, parents, warnings })
        }
        _ => Err(problems),
    }
}

/// Warnings of files that patterns of `settings` match but for their names, and that are left out.
pub(crate) fn passed_over(settings: &Settings, base: &Path) -> Vec<Problem> {
    let (names, braces, _) = settings.files();
    tables::passed_over(&base.join(&settings.directory), names, braces)
}

/// A file that settings name.
pub(crate) struct ArchiveFile {
    /// Path inside the directory, with `/`.
    pub name: String,
    pub path: PathBuf,
    /// Whether it is a table of samples; else a side table or a table of events alone.
    pub has_samples: bool,
}

/// The files that `settings` name, in the order of their names.
///
/// # Errors
/// For each name or pattern without a file.
pub(crate) fn archive_files(settings: &Settings, base: &Path) -> Result<Vec<ArchiveFile>, Vec<Problem>> {
    let directory = base.join(&settings.directory);
    let mut problems = Problems::default();
    let side = settings.side_table.iter().map(|side| (side.file.clone(), "import.side_table.file".to_owned()));
    let events = settings.events.iter().enumerate();
    let events = events.filter_map(|(i, event)| Some((event.file.clone()?, format!("import.events[{i}].file"))));
    let (names, braces, key) = settings.files();
    let samples = (names.clone(), key.to_owned(), true);
    let others = side.chain(events).map(|(name, key)| (Names(vec![name]), key, false));
    let mut files: BTreeMap<String, ArchiveFile> = BTreeMap::new();
    for (names, key, has_samples) in std::iter::once(samples).chain(others) {
        let braces = if has_samples { braces } else { Braces::Text };
        for file in tables::find_with(&directory, &names, braces, &key, &mut problems) {
            // One that is both has samples.
            files.entry(file.name.clone()).or_insert(ArchiveFile { name: file.name, path: file.path, has_samples });
        }
    }
    if problems.is_empty() { Ok(files.into_values().collect()) } else { Err(problems.into_vec()) }
}

/// The files that `settings` name: their paths inside the directory, in order, and their full paths.
///
/// # Errors
/// For each name or pattern without a file.
pub fn files(settings: &Settings, base: &Path) -> Result<Vec<(String, PathBuf)>, Vec<Problem>> {
    Ok(archive_files(settings, base)?.into_iter().map(|file| (file.name, file.path)).collect())
}
