//! What lies around the estimate of one environment: where its starts ended, and its profiles.

use super::estimator::Estimator;
use super::models::of_row;
use super::result::Profile;
use super::shared::batch::Batch;
use super::shared::row::beside;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
use crate::estimate::stream::Observed;
use crate::estimate::table::row::Row;
use crate::progress::Run;
use crate::schema::Split;

/// What lies around the estimate of an environment.
pub struct Surroundings {
    /// `-2 log L` where each start ended, less that of the best, ascending; infinite where a start led nowhere.
    pub costs: Vec<f64>,
    /// The profile of each parameter; empty where none was asked for. Without points of a parameter that all environments share: each would fit all
    /// of them again.
    pub profiles: Vec<Profile>,
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
    let estimator = Estimator::new(&settings, dataset, run.interrupt)?;
    let trajectories = estimator.usable(dataset.read_rows(split, &rows)?);
    let parameters = trajectories.first().map_or_else(Vec::new, |it| it.parameters.clone());
    let observed = Observed { id: row.environment.clone(), parameters, trajectories };
    let fit = match Batch::new(estimator.equations()) {
        Some(batch) => beside(&estimator.fitting(), &batch, &row, &observed),
        None => estimator.fit(&observed.parameters, &observed.trajectories).1,
    };
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    Ok(Surroundings { costs: fit.search.map(|it| it.costs).unwrap_or_default(), profiles: fit.profiles })
}
