//! The source files, read: trajectories, what is known of their environments, and their splits.

use super::settings::Settings;
use super::settings::forms::Names;
use super::tables::files as tables;
use super::trajectories::{read, side_table, splits};
use crate::problems::Problem;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::trajectories::read::Trajectories;
use super::trajectories::splits::Assignment;
use crate::dataset::Parent;
use crate::problems::Problems;
use crate::progress::Interrupt;

/// What the source files hold.
pub(crate) struct Loaded {
    pub(crate) table: Trajectories,
    pub(crate) parameters: BTreeMap<String, Vec<Option<f64>>>,
    pub(crate) assignment: Assignment,
    pub(crate) parents: Vec<Parent>,
    pub(crate) warnings: Vec<Problem>,
}

pub(crate) fn load(settings: &Settings, base: &Path, interrupt: &Interrupt) -> Result<Loaded, Vec<Problem>> {
    let directory = base.join(&settings.directory);
    let mut problems = Problems::default();
    let table = read::read(settings, &directory, interrupt, &mut problems);
    let known = settings.side_table.as_ref().and_then(|side| {
        let environments: Option<BTreeSet<&str>> =
            table.as_ref().map(|table| (0..table.pieces.len()).map(|piece| table.environment(piece)).collect());
        side_table::read(settings, side, &directory, environments.as_ref(), interrupt, &mut problems)
    });
    let mut left_out = Vec::new();
    let assignment = table.as_ref().map(|table| {
        let assignment = splits::assign(settings, table, &mut left_out, &mut problems);
        splits::check_repeated(&assignment, table, &mut problems);
        assignment
    });
    match (table, assignment) {
        (Some(mut table), Some(assignment)) if problems.is_empty() && !table.stopped => {
            let mut parents = std::mem::take(&mut table.parents);
            let mut warnings = std::mem::take(&mut table.warnings);
            warnings.extend(left_out);
            let mut parameters = BTreeMap::new();
            if let Some(known) = known {
                parents.push(known.parent);
                warnings.extend(known.warnings);
                parameters = known.parameters;
            }
            parents.sort_by(|a, b| a.name.cmp(&b.name));
            parents.dedup();
            Ok(Loaded { table, parameters, assignment, parents, warnings })
        }
        _ => Err(problems.into_vec()),
    }
}

/// The files that `settings` name, by their paths inside the directory, in the order of these.
///
/// # Errors
/// If a file or pattern has none.
pub fn files(settings: &Settings, base: &Path) -> Result<Vec<(String, PathBuf)>, Vec<Problem>> {
    let directory = base.join(&settings.directory);
    let mut problems = Problems::default();
    let mut found = tables::find(&directory, &settings.table.file, "import.table.file", &mut problems);
    if let Some(side) = &settings.side_table {
        found.extend(tables::find(
            &directory,
            &Names(vec![side.file.clone()]),
            "import.side_table.file",
            &mut problems,
        ));
    }
    for (index, file) in settings.events.iter().enumerate().filter_map(|(index, it)| Some((index, it.file.clone()?))) {
        found.extend(tables::find(
            &directory,
            &Names(vec![file]),
            &format!("import.events[{index}].file"),
            &mut problems,
        ));
    }
    let mut files: Vec<_> = found.into_iter().map(|file| (file.name, file.path)).collect();
    files.sort();
    files.dedup();
    if problems.is_empty() { Ok(files) } else { Err(problems.into_vec()) }
}
