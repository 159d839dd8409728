//! Estimates by a trained model.

use std::collections::BTreeMap;
use std::path::Path;

use super::driver::{
    check_bounds, check_intervals, check_learned, check_quantities, check_settings, estimate_rows, estimate_splits,
};
use super::error::Error;
use super::learned::estimator::Estimator;
use super::settings::Settings;
use super::table::evaluation::Evaluation;
use super::table::output::{Outcome, Output};
use super::table::row::Status;
use crate::blocks::{Rows, Store};
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
    resume(settings, compute, (dataset, model), directory, None, run)
}

/// The same, behind the finished blocks in `store`, which takes further ones: whoever is stopped or killed, the next one goes on from there. The
/// table is the same byte for byte.
///
/// # Errors
/// As [`run`], and if a block cannot be written.
pub fn resume(
    settings: &Settings,
    compute: Compute,
    (dataset, model): (&Dataset, &StoredModel),
    directory: &Path,
    store: Option<&Store>,
    run: &Run,
) -> Result<Outcome, Error> {
    check(settings, dataset, model)?;
    let parameters = &dataset.manifest().parameters;
    let estimator = Estimator::new(settings, compute, Some(dataset), model, run)?;
    warn_of_cuda(run);
    let in_domain = estimator.errors_in_domain()?;
    let evaluation = Evaluation {
        mse_in_domain: Some(in_domain.mean_square()).filter(|_| in_domain.count() > 0),
        mape_in_domain: in_domain.mape(),
        ..Evaluation::default()
    };
    let output = Output::create(directory, dataset, Some(model), parameters, settings)?;
    let block = |split, block| estimator.block(split, block);
    estimate_splits(settings, (dataset, store), output, evaluation, run, &block).map(|(outcome, _)| outcome)
}

/// Estimates some rows alone and keeps them in `store`, for [`resume`] to put together; the number of environments of each status.
///
/// # Errors
/// As [`resume`].
pub fn run_rows(
    settings: &Settings,
    compute: Compute,
    (dataset, model): (&Dataset, &StoredModel),
    rows: &[Rows],
    store: &Store,
    run: &Run,
) -> Result<BTreeMap<Status, usize>, Error> {
    check(settings, dataset, model)?;
    let estimator = Estimator::new(settings, compute, Some(dataset), model, run)?;
    warn_of_cuda(run);
    estimate_rows(dataset, rows, store, run, &|split, block| estimator.block(split, block))
}

fn check(settings: &Settings, dataset: &Dataset, model: &StoredModel) -> Result<(), Error> {
    check_quantities(dataset, model)?;
    check_bounds(settings)?;
    check_learned(settings)?;
    check_intervals(settings)?;
    check_settings(settings, dataset, &dataset.manifest().parameters)
}
