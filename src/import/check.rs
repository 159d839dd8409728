//! What is wrong with an archive, and which environments it has. Writes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use super::load::{Loaded, load};
use super::rows::store::ROWS_IN_MEMORY;
use super::settings::Settings;
use super::trajectories::read_fields;
use crate::problems::Problem;
use crate::progress::Interrupt;
use crate::schema::{Grid, Split};

/// Every problem in the settings and in the source files, at most [`LISTED`](crate::problems::LISTED) of a kind in a column; none if
/// [`run`](super::run()) would write the dataset. A relative `directory` starts from `base`.
pub fn check(settings: &Settings, base: &Path) -> Vec<Problem> {
    let mut problems = settings.validate();
    problems.extend(load(settings, base, ROWS_IN_MEMORY, &Interrupt::new()).err().unwrap_or_default());
    problems
}

/// The environments of an archive.
pub struct Survey {
    /// The known parameters `[d_p]` of every environment of each split.
    pub environments: BTreeMap<Split, BTreeMap<String, Vec<Option<f64>>>>,
    /// The environments of each split with trajectories that have no start: no complete sample that another follows.
    pub without_start: BTreeMap<Split, BTreeMap<String, Startless>>,
    /// The warnings of an import.
    pub warnings: Vec<Problem>,
}

/// How many trajectories of an environment in a split have no start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Startless {
    /// Trajectories without a start.
    pub trajectories: usize,
    /// All trajectories.
    pub of: usize,
}

/// The grid of fields that the first source file has; `None` for tables, and where it cannot be told.
pub fn grid(settings: &Settings, base: &Path) -> Option<Grid> {
    read_fields::grid(settings, settings.fields.as_ref()?, &base.join(&settings.directory))
}

/// Reads the source files as [`run`](super::run()) does, and lists the environments that each split would have.
///
/// # Errors
/// Every problem in the files, and those in the settings that only the files reveal.
pub fn survey(settings: &Settings, base: &Path) -> Result<Survey, Vec<Problem>> {
    let loaded = load(settings, base, ROWS_IN_MEMORY, &Interrupt::new())?;
    let Loaded { mut trajectories, parameters, assignment, warnings, .. } = loaded;
    trajectories.forget_samples();
    let (mut environments, mut without_start) = (BTreeMap::new(), BTreeMap::new());
    for (split, segments) in assignment {
        let (mut of_split, mut startless) = (BTreeMap::new(), BTreeMap::new());
        for of_one in segments.chunk_by(|&a, &b| trajectories.environment(a) == trajectories.environment(b)) {
            let id = trajectories.environment(of_one[0]);
            let known = parameters.get(id).cloned().unwrap_or_else(|| vec![None; settings.parameters.len()]);
            of_split.insert(id.to_owned(), known);
            let without = of_one.iter().filter(|&&segment| !trajectories.segments[segment].has_start).count();
            if without > 0 {
                startless.insert(id.to_owned(), Startless { trajectories: without, of: of_one.len() });
            }
        }
        environments.insert(split, of_split);
        without_start.insert(split, startless);
    }
    Ok(Survey { environments, without_start, warnings })
}
