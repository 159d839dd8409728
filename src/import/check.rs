//! What is wrong with an archive, and which environments it has, without writing anything.

use super::settings::Settings;
use crate::problems::Problem;
use std::collections::BTreeMap;
use std::path::Path;

use super::load::{Loaded, load};
use crate::progress::Interrupt;
use crate::schema::Split;

/// Reads the source files and reports every problem in them and in the settings, [`LISTED`] of a kind in a column;
/// none if [`run`] would write the dataset. Writes nothing. `base` is what a relative `directory` starts from.
pub fn check(settings: &Settings, base: &Path) -> Vec<Problem> {
    let mut problems = settings.validate();
    problems.extend(load(settings, base, &Interrupt::new()).err().unwrap_or_default());
    problems
}

/// What an archive tells of its environments.
pub struct Survey {
    /// The known parameters `[d_p]` of every environment of each split.
    pub environments: BTreeMap<Split, BTreeMap<String, Vec<Option<f64>>>>,
    /// Of the environments of each split, those with trajectories that have no start: no complete sample that another follows.
    pub without_start: BTreeMap<Split, BTreeMap<String, Startless>>,
    /// Of each environment of the train split, the values that a rollout of each of its trajectories is compared with; of those with a
    /// start.
    pub compared: BTreeMap<String, Vec<usize>>,
    /// What an import would warn of.
    pub warnings: Vec<Problem>,
}

/// Trajectories of an environment in a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Startless {
    /// Those without a start, and all.
    pub trajectories: usize,
    pub of: usize,
}

/// Reads the source files as [`run`] does, and says which environments each split would have. Writes nothing.
///
/// # Errors
/// Every problem in the files, and those of the settings that only the files show.
pub fn survey(settings: &Settings, base: &Path) -> Result<Survey, Vec<Problem>> {
    let Loaded { mut table, parameters, assignment, warnings, .. } = load(settings, base, &Interrupt::new())?;
    table.forget_samples();
    let (mut environments, mut without_start) = (BTreeMap::new(), BTreeMap::new());
    let mut compared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (split, pieces) in assignment {
        let (mut of_split, mut startless) = (BTreeMap::new(), BTreeMap::new());
        for of_one in pieces.chunk_by(|&a, &b| table.environment(a) == table.environment(b)) {
            let id = table.environment(of_one[0]);
            let known = parameters.get(id).cloned().unwrap_or_else(|| vec![None; settings.parameters.len()]);
            of_split.insert(id.to_owned(), known);
            let trajectories = of_one.iter().filter(|&&piece| !table.pieces[piece].has_start).count();
            if split == Split::Train && trajectories < of_one.len() {
                let started = of_one.iter().map(|&piece| &table.pieces[piece]).filter(|piece| piece.has_start);
                compared.insert(id.to_owned(), started.map(|piece| piece.compared).collect());
            }
            if trajectories > 0 {
                startless.insert(id.to_owned(), Startless { trajectories, of: of_one.len() });
            }
        }
        environments.insert(split, of_split);
        without_start.insert(split, startless);
    }
    Ok(Survey { environments, without_start, compared, warnings })
}
