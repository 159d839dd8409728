//! What lies around the estimate of one environment: where its starts ended, and its profiles.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::estimator::Estimator;
use super::models::of_row;
use super::result::Profile;
use super::shared::batch::Batch;
use super::shared::row::beside;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::{Intervals, Settings};
use crate::estimate::stream::Observed;
use crate::estimate::table::row::Row;
use crate::progress::Run;
use crate::schema::Split;

/// What lies around the estimate of an environment.
pub struct Surroundings {
    /// `-2 log L` where each start ended, less that of the best, ascending; infinite where a start led nowhere.
    pub costs: Vec<f64>,
    /// The profile of each parameter; empty where none was asked for.
    pub profiles: Vec<Profile>,
}

/// Profiles of what all environments share, by split and system: all are fitted together again for them, once.
#[derive(Default)]
pub struct SharedProfiles(BTreeMap<(Split, Option<String>), Vec<Profile>>);

impl SharedProfiles {
    /// Those of a split, in the order of its batch; empty where none was asked for.
    fn of(
        &mut self,
        estimator: &Estimator,
        dataset: &Dataset,
        (split, row): (Split, &Row),
        run: &Run,
    ) -> Result<&[Profile], Error> {
        Ok(match self.0.entry((split, row.model.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let shared = estimator.shared_of_splits(dataset, &[split], run)?.remove(&split);
                place.insert(shared.map(|it| it.profiles.of_each).unwrap_or_default())
            }
        })
    }
}

/// The starts and profiles of an environment, which is fitted again for them; those of what all share are looked up, or made.
///
/// # Errors
/// If the dataset cannot be read, or on an interrupt.
pub fn surroundings(
    settings: &Settings,
    dataset: &Dataset,
    (split, row): (Split, &Row),
    shared: &mut SharedProfiles,
    run: &Run,
) -> Result<Surroundings, Error> {
    let environment = row.environment.as_str();
    let (settings, row) = of_row(settings, dataset, row, run)?;
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    let estimator = Estimator::new(&settings, dataset, run.interrupt)?;
    let trajectories = estimator.usable(dataset.read_rows(split, &rows)?);
    let parameters = trajectories.first().map_or_else(Vec::new, |it| it.parameters.clone());
    let observed = Observed { id: row.environment.clone(), parameters, trajectories };
    let fit = match Batch::new(estimator.equations()) {
        Some(batch) => {
            let of_all = match settings.intervals {
                Intervals::Profile => shared.of(&estimator, dataset, (split, &row), run)?,
                Intervals::Wald => &[],
            };
            beside(&estimator.fitting(), &batch, &row, &observed, of_all)
        }
        None => estimator.fit(&observed.parameters, &observed.trajectories).1,
    };
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    Ok(Surroundings { costs: fit.search.map(|it| it.costs).unwrap_or_default(), profiles: fit.profiles })
}
