//! The loop over splits and blocks of environments, for every method, and the checks before it.

use std::collections::BTreeMap;

use super::blockwise::for_each_estimated;
use super::error::Error;
use super::measurement::{Noise, NoiseSettings};
use super::settings::{InitialState, Intervals, Method, Settings};
use super::stream;
use super::stream::Observed;
use super::table::compared::{Compared, ModelTally};
use super::table::estimated::Estimated;
use super::table::evaluation::{Evaluation, Tally};
use super::table::output::{Outcome, Output};
use super::table::row::{Row, Status};
use crate::blocks::{Rows, Store};
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::problems::{Problem, Problems};
use crate::progress::{Event, Run};
use crate::schema::{Input, Quantity, Split};

/// The splits that are estimated, in order.
///
/// # Errors
/// If the dataset has none of them.
pub(crate) fn splits_of(settings: &Settings, dataset: &Dataset) -> Result<Vec<Split>, Error> {
    let splits: Vec<Split> =
        settings.splits.iter().copied().filter(|split| dataset.manifest().splits.contains_key(split)).collect();
    if splits.is_empty() {
        let names: Vec<&str> = settings.splits.iter().map(|split| split.name()).collect();
        return Err(Error::NoSplit { dataset: dataset.directory().to_owned(), expected: names.join(", ") });
    }
    Ok(splits)
}

/// Estimates the splits that `settings` name with `estimate`, a block of environments at a time, behind the finished blocks in `store`, and finishes
/// `output`. Also returns the number of environments with samples before the start of the equations.
///
/// # Errors
/// If the dataset has none of the splits, is unreadable, or the output cannot be written; on an interrupt; and those of `estimate`.
pub(crate) fn estimate_splits(
    settings: &Settings,
    (dataset, store): (&Dataset, Option<&Store>),
    mut output: Output,
    mut evaluation: Evaluation,
    run: &Run,
    estimate: &dyn Fn(Split, Vec<Observed>) -> Result<Vec<Estimated>, Error>,
) -> Result<(Outcome, usize), Error> {
    let (mut early, mut models) = (0, ModelTally::default());
    let splits = splits_of(settings, dataset)?;
    for &split in &splits {
        let total = dataset.manifest().splits.get(&split).map(|summary| summary.environments as u64);
        run.emit(Event::Begin { what: format!("estimate {split}"), total, unit: "environments" });
        let mut writer = output.split(split)?;
        let mut fitted = if settings.fitted { Some(output.fitted(split)?) } else { None };
        let (mut starts, mut own) = (output.starts(split)?, output.own(split)?);
        let mut compared = output.compared(split)?;
        let mut tally = Tally::default();
        let mut done = 0;
        let rows = Rows::new(split, stream::all_rows(dataset, split));
        for_each_estimated(dataset, &rows, (store, splits.last() != Some(&split)), run, estimate, |estimated| {
            if let Some(fitted) = &mut fitted {
                estimated.iter().try_for_each(|it| fitted.write(&it.samples))?;
            }
            if let Some(starts) = &mut starts {
                estimated.iter().try_for_each(|it| starts.write(&it.row.environment, &it.starts))?;
            }
            early += estimated.iter().filter(|it| it.early).count();
            if let Some(own) = &mut own {
                estimated.iter().try_for_each(|it| own.write(&it.row.environment, &it.own))?;
            }
            if let Some(compared) = &mut compared {
                let all: Vec<&Compared> = estimated.iter().flat_map(|it| &it.compared).collect();
                compared.write(&all)?;
                all.iter().for_each(|it| models.add(it));
            }
            let rows: Vec<Row> = estimated.into_iter().map(|it| it.row).collect();
            rows.iter().for_each(|row| tally.add(row));
            done += rows.len() as u64;
            writer.write(rows)?;
            run.emit(Event::Advance { done, note: String::new() });
            Ok(())
        })?;
        output.close(writer)?;
        if let Some(fitted) = fitted {
            output.close_fitted(fitted)?;
        }
        if let Some(compared) = compared {
            output.close_compared(compared)?;
        }
        for of_trajectories in [starts, own].into_iter().flatten() {
            output.close_of_trajectories(of_trajectories)?;
        }
        evaluation.add(split, &tally);
        run.emit(Event::End);
    }
    evaluation.models = models.figures();
    Ok((output.finish(evaluation)?, early))
}

/// Estimates these rows with `estimate` and keeps them in `store`, behind what it holds of them; the number of environments of each status.
///
/// # Errors
/// If the dataset is unreadable, or a block cannot be written; on an interrupt; and those of `estimate`.
pub(crate) fn estimate_rows(
    dataset: &Dataset,
    rows: &[Rows],
    store: &Store,
    run: &Run,
    estimate: &dyn Fn(Split, Vec<Observed>) -> Result<Vec<Estimated>, Error>,
) -> Result<BTreeMap<Status, usize>, Error> {
    let mut statuses = BTreeMap::new();
    for rows in rows {
        run.emit(Event::Begin { what: format!("estimate {}", rows.split), total: None, unit: "environments" });
        let mut done = 0;
        for_each_estimated(dataset, rows, (Some(store), true), run, estimate, |estimated| {
            done += estimated.len() as u64;
            estimated.iter().for_each(|it| *statuses.entry(it.row.status).or_default() += 1);
            run.emit(Event::Advance { done, note: String::new() });
            Ok(())
        })?;
        run.emit(Event::End);
    }
    Ok(statuses)
}

/// Whether channels, inputs and parameters of the dataset are those that the model was trained on.
pub(crate) fn check_quantities(dataset: &Dataset, model: &StoredModel) -> Result<(), Error> {
    let (of_dataset, of_model) = (dataset.manifest(), &model.manifest);
    let in_words = |channels: &[Quantity], inputs: &[Input], parameters: &[Quantity]| {
        let list = |quantities: &[Quantity]| {
            quantities.iter().map(|it| format!("{} [{}]", it.name, it.unit)).collect::<Vec<_>>().join(", ")
        };
        let input = |Input { quantity: it, between }: &Input| format!("{} [{}] ({})", it.name, it.unit, between.name());
        let inputs = match inputs {
            [] if of_dataset.inputs.is_empty() && of_model.inputs.is_empty() => String::new(),
            [] => ", no inputs".to_owned(),
            _ => format!(", inputs {}", inputs.iter().map(input).collect::<Vec<_>>().join(", ")),
        };
        format!("channels {}{inputs} and parameters {}", list(channels), list(parameters))
    };
    let (found, expected) = (
        in_words(&of_dataset.channels, &of_dataset.inputs, &of_dataset.parameters),
        in_words(&of_model.channels, &of_model.inputs, &of_model.parameters),
    );
    if found == expected {
        return Ok(());
    }
    Err(Error::OtherQuantities { dataset: dataset.directory().to_owned(), found, expected })
}

/// Whether the ends of all bounds are in order.
pub(crate) fn check_bounds(settings: &Settings) -> Result<(), Error> {
    for (name, bounds) in &settings.bounds {
        if let (Some(min), Some(max)) = (bounds.min, bounds.max)
            && min > max
        {
            return Err(Error::ReversedBounds { name: name.clone(), min, max });
        }
    }
    Ok(())
}

/// Problems of what a trained model cannot be told of the measurement; keys are relative to `[estimate]`.
pub(crate) fn problems_of_learned(estimate: &Settings) -> Vec<Problem> {
    let mut problems = Problems::default();
    if !matches!(estimate.noise, None | Some(NoiseSettings::Every(Noise::Constant | Noise::Proportional))) {
        problems.add(
            "noise",
            "a kind of noise for known equations",
            "\"constant\" or \"proportional\" with a trained model",
            "take one of these, or estimate by `method = \"physics\"`",
        );
    }
    if estimate.physics.as_ref().is_some_and(|physics| !physics.scopes.is_empty()) {
        problems.add(
            "physics.scopes",
            "scopes of parameters, and a trained model",
            "scopes by known equations alone",
            "leave them out, or estimate by `method = \"physics\"`",
        );
    }
    if estimate.physics.as_ref().is_some_and(|physics| !physics.systems.is_empty()) {
        problems.add(
            "physics.systems",
            "several systems, and a trained model",
            "one system beside a trained model, for the Cramér-Rao bounds",
            "write `system = ...` in place of the list, or estimate by `method = \"physics\"`",
        );
    }
    if !estimate.limits.is_empty() {
        problems.add(
            "limits",
            "limits of quantification, and a trained model",
            "limits by known equations alone",
            "leave them out, or estimate by `method = \"physics\"`",
        );
    }
    problems.into_vec()
}

/// Whether a trained model can be told what the settings say of the measurement.
pub(crate) fn check_learned(settings: &Settings) -> Result<(), Error> {
    let problems = problems_of_learned(settings);
    if problems.is_empty() { Ok(()) } else { Err(Error::Settings(problems)) }
}

/// Whether intervals can be made as the settings ask: profiles of known equations alone.
pub(crate) fn check_intervals(settings: &Settings) -> Result<(), Error> {
    let is_learned = settings.method == Method::Learned;
    if settings.intervals == Intervals::Profile && is_learned { Err(Error::LearnedProfiles) } else { Ok(()) }
}

/// Whether the settings can be met for the dataset, whose estimated parameters are `parameters`.
pub(crate) fn check_settings(settings: &Settings, dataset: &Dataset, parameters: &[Quantity]) -> Result<(), Error> {
    if let Some(unknown) = settings.bounds.keys().find(|&name| parameters.iter().all(|it| &it.name != name)) {
        let names: Vec<&str> = parameters.iter().map(|it| it.name.as_str()).collect();
        return Err(Error::UnknownParameter { found: unknown.clone(), expected: names.join(", ") });
    }
    if settings.fitted && dataset.manifest().grid.is_some() {
        return Err(Error::FittedFields);
    }
    check_initial_state(settings, dataset)
}

/// Whether initial states can be estimated: not those of fields.
pub(crate) fn check_initial_state(settings: &Settings, dataset: &Dataset) -> Result<(), Error> {
    let fields = dataset.manifest().grid.is_some();
    if settings.initial_state == Some(InitialState::Estimated) && fields { Err(Error::EstimatedFields) } else { Ok(()) }
}
