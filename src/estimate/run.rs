//! Estimates by a trained model.

use std::path::Path;

use super::driver::{check_bounds, check_intervals, check_learned, check_quantities, check_settings, estimate_splits};
use super::error::Error;
use super::learned::estimator::Estimator;
use super::settings::Settings;
use super::table::evaluation::Evaluation;
use super::table::output::{Outcome, Output};
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Compute, warn_of_cuda};
use crate::progress::Run;

/// Fits a context to every environment of the splits in `settings`, maps it to parameters, and writes the table to `directory`.
///
/// # Errors
/// See [`Error`]. An environment that cannot be fitted is no error: its row has a status.
pub fn run(
    settings: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    directory: &Path,
    run: &Run,
) -> Result<Outcome, Error> {
    check_quantities(dataset, model)?;
    check_bounds(settings)?;
    check_learned(settings)?;
    check_intervals(settings)?;
    let parameters = &dataset.manifest().parameters;
    check_settings(settings, dataset, parameters)?;
    let estimator = Estimator::new(settings, compute, Some(dataset), model, run)?;
    warn_of_cuda(run);
    let evaluation = Evaluation { mse_in_domain: estimator.mse_in_domain()?, ..Evaluation::default() };
    let output = Output::create(directory, dataset, Some(model), parameters, settings)?;
    estimate_splits(settings, dataset, output, evaluation, run, |split, block| estimator.block(split, block))
}
