//! What lies around the estimate of one environment: where its starts ended, and its profiles.

use super::estimator::Estimator;
use super::models::of_row;
use super::result::Profile;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
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

/// The settings with the parameters that all environments share as the row has them.
fn with_shared(settings: &Settings, dataset: &Dataset, row: &Row, run: &Run) -> Result<Settings, Error> {
    let estimator = Estimator::new(settings, dataset, run.interrupt)?;
    let equations = estimator.equations();
    let mut held = settings.clone();
    let physics = held.physics.get_or_insert_default();
    for &place in &equations.shared {
        let name = &equations.names[place];
        physics.fixed.insert(name.clone(), row.parameters[place].value);
        physics.scopes.remove(name);
        physics.priors.remove(name);
        physics.scales.remove(name);
        held.bounds.remove(name);
    }
    Ok(held)
}

/// The starts and profiles of an environment, which is fitted again for them.
///
/// # Errors
/// If the dataset cannot be read, or on an interrupt.
pub fn surroundings(
    settings: &Settings,
    dataset: &Dataset,
    split: Split,
    row: &Row,
    run: &Run,
) -> Result<Surroundings, Error> {
    let environment = row.environment.as_str();
    let (settings, row) = of_row(settings, dataset, row, run)?;
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    let settings = with_shared(&settings, dataset, &row, run)?;
    let estimator = Estimator::new(&settings, dataset, run.interrupt)?;
    let trajectories = estimator.usable(dataset.read_rows(split, &rows)?);
    let parameters = trajectories.first().map_or(&[][..], |it| &it.parameters);
    let (_, fit) = estimator.fit(parameters, &trajectories);
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    Ok(Surroundings { costs: fit.search.map(|it| it.costs).unwrap_or_default(), profiles: fit.profiles })
}
