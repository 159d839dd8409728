//! One trajectory and the fit to it, for figures.

use super::adapt;
use super::support::Support;
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute};
use crate::estimate::error::Error;
use crate::estimate::settings::{InitialState, Settings};
use crate::schema::{Split, Trajectory};

/// Observed and fitted states `[T, C]` of a support trajectory of an environment, in the dataset's units; for the first
/// trajectory with more than a start. Where initial states are estimated, the fit is repeated to get them, and the
/// fitted states are those of its own context; else they are the prediction under `context` from the first complete
/// sample on.
///
/// # Errors
/// If the dataset cannot be read, has other quantities than the model, or has no such environment with a usable
/// trajectory.
pub fn portrait(
    settings: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    (split, environment): (Split, &str),
    context: &[f64],
) -> Result<(Trajectory, Vec<f64>), Error> {
    crate::estimate::driver::check_quantities(dataset, model)?;
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    let none = || Error::Invalid {
        path: dataset.directory().to_owned(),
        found: format!("no trajectory of `{environment}` in its {split} split that can be followed"),
        expected: "the dataset that the estimates were made from".to_owned(),
    };
    let units = model.manifest.units();
    let observed = dataset.read_rows(split, &rows)?;
    let support = Support::new(observed, &units, settings.initial_state());
    let place = support.trajectories.iter().position(|trajectory| trajectory.len() > 1);
    let place = place.ok_or_else(none)?;
    let (initial, later) = match settings.initial_state() {
        InitialState::Observed => {
            let mut weights = vec![0.0; model.model().layout().size()];
            model.rule().decode(&model.shared, context, &mut weights);
            let batch = Batch::new(units.state.len(), &units.between, &[vec![support.segments()[place]]], (0, 0));
            let first = support.trajectories[place].state(0).to_vec();
            (first, model.engine(compute)?.0.predict(&weights, &batch))
        }
        InitialState::Estimated => {
            let mut fitted =
                adapt::Adapter::new(settings, compute, model)?.adapt(std::slice::from_ref(&support)).remove(0);
            (fitted.initial_states.swap_remove(place), fitted.predictions.swap_remove(place))
        }
    };
    let (mut trajectories, states) = support.in_units(&[initial.into_iter().chain(later).collect()], &units);
    let states = states.into_iter().next().ok_or_else(none)?;
    Ok((trajectories.swap_remove(place), states))
}
