//! Contexts of training environments that a model was not trained on, where a further training of it starts.

use std::collections::BTreeMap;

use super::adapt::Adapter;
use super::support::Support;
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::Compute;
use crate::estimate::driver::{check_initial_state, check_quantities};
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
use crate::progress::{Event, Run};
use crate::schema::{Split, Trajectory};

/// The context `[d]` of each environment of the train split that `model` does not know, by its id, fitted to its trajectories there. One whose fit is
/// not finite is left out.
///
/// # Errors
/// If the dataset cannot be read or has other quantities than the model, or the model cannot be computed.
pub fn contexts_of_new(
    settings: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    run: &Run,
) -> Result<BTreeMap<String, Vec<f64>>, Error> {
    check_quantities(dataset, model)?;
    check_initial_state(settings, dataset)?;
    let known = &model.manifest.environments;
    let is_new = |id: &str| known.binary_search_by(|it| it.id.as_str().cmp(id)).is_err();
    let index = dataset.index(Split::Train)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| is_new(&index[row].environment)).collect();
    let mut trajectories: BTreeMap<String, Vec<Trajectory>> = BTreeMap::new();
    for trajectory in dataset.read_rows(Split::Train, &rows)? {
        trajectories.entry(trajectory.environment.clone()).or_default().push(trajectory);
    }
    let units = model.manifest.units();
    let (ids, supports): (Vec<String>, Vec<Support>) = trajectories
        .into_iter()
        .map(|(id, trajectories)| (id, Support::new(trajectories, &units, settings.initial_state())))
        .unzip();
    let mut contexts = BTreeMap::new();
    for (id, fit) in ids.into_iter().zip(Adapter::new(settings, compute, model)?.adapt(&supports)) {
        if fit.context.iter().all(|xi| xi.is_finite()) {
            contexts.insert(id, fit.context);
        } else {
            run.emit(Event::Warn(format!("environment {id} starts amid the others: {}", fit.reason)));
        }
    }
    Ok(contexts)
}
