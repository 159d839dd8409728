//! Gathers what a report shows from the products of the other stages.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::Error;
use super::executor::Context;
use super::fits;
use super::fits::Fits;
use super::plan::Plan;
use super::predictive_check::checks;
use super::stage::Stage;
use super::surroundings::surroundings;
use crate::checkpoint::{Sampling, StoredModel};
use crate::dataset::Dataset;
use crate::estimate;
use crate::estimate::{InitialState, ParameterEstimate, Row};
use crate::models;
use crate::report::{
    ErrorsOverTime, Input, Learned, LossPoint, OwnEstimate, Portrait, Summary, Term, TrainingEnvironment, name_of,
    significant, unit_of,
};
use crate::schema::{Quantity, Split, Trajectory};

/// Most environments of a split that a report shows.
const SHOWN: u32 = 10_000;
/// Environments whose trajectories are drawn.
const PORTRAITS: usize = 4;

/// The input of the report of `plan`. Parts that cannot be gathered and that the estimates do not need are named on the page.
///
/// # Errors
/// If the estimates cannot be read, or at a request to stop.
pub(crate) fn input(
    plan: &Plan,
    dataset: &Dataset,
    model: Option<&StoredModel>,
    context: &Context<'_>,
) -> Result<Input, Error> {
    let directory = plan.estimates_directory();
    let (estimates, _) = estimate::Manifest::read(&directory)?;
    let mut rows = Vec::new();
    for &split in &estimates.splits {
        rows.extend(shown(&directory, &estimates, split)?.into_iter().map(|row| (split, row)));
    }
    let mut undrawn = Vec::new();
    let settings = plan.report.clone().unwrap_or_default();
    let fits = match (model, &plan.estimate) {
        (None, Some(by)) if dataset.manifest().grid.is_none() => {
            Fits::new(by, dataset, (&rows, settings.fits), plan.seed, context.run, &mut undrawn)?
        }
        _ => Fits::default(),
    };
    let of_trajectories = of_trajectories(&directory, &estimates, &rows)?;
    let portraits = portraits(plan, dataset, (model, &fits), context, &rows, &estimates, &mut undrawn)?;
    let around = match (model, &plan.estimate) {
        (None, Some(settings)) => surroundings(settings, dataset, &rows, context.run, &mut undrawn)?,
        _ => Vec::new(),
    };
    let training = match model {
        Some(model) => training(model),
        None => known_training(dataset, &estimates.parameters).unwrap_or_else(|error| {
            undrawn.push(format!("the training environments ({error})"));
            Vec::new()
        }),
    };
    let learned = match model {
        Some(model) => learned(settings.landscape, dataset, model, context, &mut undrawn),
        None => Learned::default(),
    };
    let time_unit = &dataset.manifest().time_unit;
    let errors_over_time = learned.frames.as_ref().map(|frames| ErrorsOverTime::new(frames, time_unit));
    let hidden = fits.drawn.first().map(|(_, drawn)| drawn.hidden.clone());
    Ok(Input {
        title: if settings.title.is_empty() { plan.name.clone() } else { settings.title },
        description: plan.description.clone(),
        summary: Summary { errors_over_time, ..summary(plan, model, &estimates, context) },
        time_unit: time_unit.clone(),
        channels: dataset.manifest().channels.clone(),
        inputs: dataset.manifest().inputs.clone(),
        hidden: hidden.unwrap_or_else(|| estimates.hidden.clone()),
        grid: dataset.manifest().grid.clone(),
        parameters: estimates.parameters.clone(),
        own_parameters: estimates.of_trajectories.clone(),
        of_trajectories,
        training,
        learned,
        terms: model.map_or_else(Vec::new, terms),
        system: model.and_then(|model| system(model, dataset)),
        fits: fits.environments(&rows),
        checks: checks(&fits, dataset.manifest().channels.len(), plan.seed),
        estimates: rows.into_iter().map(|(_, row)| row).collect(),
        portraits,
        surroundings: around,
        initial_states_fitted: plan.estimate.as_ref().is_some_and(|estimate| {
            dataset.manifest().grid.is_none() && estimate.initial_state() == InitialState::Estimated
        }),
        losses: model
            .iter()
            .flat_map(|model| &model.log)
            .map(|record| LossPoint { step: record.step, train: record.train, validation: record.validation })
            .collect(),
        published: settings.published,
        undrawn,
        effective_pipeline: plan.toml_of_products(),
    })
}

/// The rows of a split that a report shows: all, or some at equal distances. A grid over the parameters is thinned along each
/// axis, so that a grid remains.
fn shown(directory: &Path, estimates: &estimate::Manifest, split: Split) -> Result<Vec<Row>, Error> {
    let mut count = 0_u32;
    let mut axes: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); estimates.parameters.len()];
    for row in estimate::rows(directory, estimates, split)? {
        for (axis, parameter) in axes.iter_mut().zip(&row?.parameters) {
            axis.insert(parameter.truth.unwrap_or(f64::NAN).to_bits());
        }
        count += 1;
    }
    let is_grid = axes.iter().map(|axis| axis.len() as f64).product::<f64>() == f64::from(count);
    let dimensions = if is_grid && !axes.is_empty() { axes.len() as f64 } else { 1.0 };
    let stride = (f64::from(count) / f64::from(SHOWN)).powf(1.0 / dimensions).ceil().max(1.0) as usize;
    let mut kept: Vec<BTreeSet<u64>> = Vec::new();
    for axis in axes {
        let mut values: Vec<f64> = axis.into_iter().map(f64::from_bits).collect();
        values.sort_by(f64::total_cmp);
        kept.push(values.into_iter().step_by(stride).map(f64::to_bits).collect());
    }
    let rows = estimate::rows(directory, estimates, split)?.enumerate();
    let chosen = rows.filter(|(place, row)| match row {
        Ok(row) if is_grid => {
            let mut truths = kept.iter().zip(&row.parameters);
            truths.all(|(kept, parameter)| kept.contains(&parameter.truth.unwrap_or(f64::NAN).to_bits()))
        }
        Ok(_) => place % stride == 0,
        Err(_) => true,
    });
    Ok(chosen.map(|(_, row)| row).collect::<Result<_, _>>()?)
}

/// The parameters of trajectories of the environments that are shown.
fn of_trajectories(
    directory: &Path,
    estimates: &estimate::Manifest,
    rows: &[(Split, Row)],
) -> Result<Vec<OwnEstimate>, Error> {
    let mut all = Vec::new();
    for &split in &estimates.splits {
        let shown: BTreeSet<&str> =
            rows.iter().filter(|(of, _)| *of == split).map(|(_, row)| row.environment.as_str()).collect();
        let found = estimate::read_trajectories(directory, estimates, split)?.into_iter();
        all.extend(found.filter(|it| shown.contains(it.environment.as_str())).filter_map(|it| {
            let parameter = estimates.of_trajectories.iter().position(|quantity| quantity.name == it.parameter)?;
            let estimate::TrajectoryEstimate { environment, trajectory, value, lower, upper, .. } = it;
            Some(OwnEstimate { environment, trajectory, parameter, value, lower, upper })
        }));
    }
    Ok(all)
}

fn summary(plan: &Plan, model: Option<&StoredModel>, estimates: &estimate::Manifest, context: &Context<'_>) -> Summary {
    let training = model.map(|model| &model.manifest.training);
    let estimation = context.records.get(&Stage::Estimate);
    let is_contained = plan.estimate.as_ref().is_some_and(|it| it.model_error);
    let model_error = model.and_then(|it| it.map.as_ref()?.model_error.as_ref()).filter(|_| is_contained);
    Summary {
        pipeline: plan.name.clone(),
        evaluation: estimates.evaluation.clone(),
        seconds: context.records.iter().map(|(stage, record)| (stage.name().to_owned(), record.seconds)).collect(),
        device: training.map_or("cpu".to_owned(), |training| training.device.clone()),
        engine: training.map_or("least squares on the equations".to_owned(), |training| training.engine.clone()),
        threads: estimation.map_or(context.threads, |record| record.threads),
        seed: plan.seed,
        data_tolerance: estimates.data_tolerance,
        map: estimates.map.clone(),
        calibrated_on: model_error.map(|it| it.environments),
        start: estimates.start.clone(),
        training_steps: training.map_or(0, |training| training.steps),
        mse_validation: training.map(|training| training.validation),
        errors_over_time: None,
    }
}

/// What is drawn of the model. Adds why parts are not to `undrawn`.
fn learned(
    landscape: bool,
    dataset: &Dataset,
    model: &StoredModel,
    context: &Context<'_>,
    undrawn: &mut Vec<String>,
) -> Learned {
    let mut told = |what: &str, error: estimate::Error| undrawn.push(format!("{what} ({error})"));
    let frames = estimate::frames(context.compute, dataset, model);
    let frames = frames.unwrap_or_else(|error| {
        told("errors along trajectories", error);
        None
    });
    let geometry = match landscape {
        true => estimate::geometry(context.compute, dataset, model).unwrap_or_else(|error| {
            told("the losses around the model", error);
            None
        }),
        false => None,
    };
    let manifest = &model.manifest;
    Learned { owns_weights: manifest.rule.owns_weights(), frames, geometry, inferred: manifest.inferred.clone() }
}

/// The training environments. Those of the map have the contexts to which it was fitted.
fn training(model: &StoredModel) -> Vec<TrainingEnvironment> {
    let environments = model.manifest.environments.iter().zip(model.own_values());
    environments
        .map(|(environment, trained)| {
            let fitted =
                model.map.as_ref().and_then(|map| map.environments.iter().find(|it| it.environment == environment.id));
            let context = fitted.map_or(trained, |it| &it.context);
            TrainingEnvironment {
                environment: environment.id.clone(),
                context: context.to_vec(),
                parameters: environment.parameters.clone(),
                mapped: model.map.as_ref().map_or_else(Vec::new, |map| map.apply(context)),
            }
        })
        .collect()
}

fn terms(model: &StoredModel) -> Vec<Term> {
    let term = |(rate, product, coefficients)| Term { rate, product, coefficients };
    model.equations().into_iter().map(term).collect()
}

/// The equations of a library as the text of a system file, or why there is none; nothing for other models.
fn system(model: &StoredModel, dataset: &Dataset) -> Option<Result<String, String>> {
    if !matches!(model.manifest.model, models::Settings::Library { .. }) {
        return None;
    }
    let sampling = Sampling::of_training(dataset).map_err(|error| error.to_string());
    Some(sampling.and_then(|sampling| model.system(&sampling)).map(|equations| equations.to_toml()))
}

/// The training environments of a dataset, if there is no model.
fn known_training(dataset: &Dataset, parameters: &[Quantity]) -> Result<Vec<TrainingEnvironment>, Error> {
    let of_dataset = &dataset.manifest().parameters;
    let places: Vec<Option<usize>> =
        parameters.iter().map(|it| of_dataset.iter().position(|other| other.name == it.name)).collect();
    let mut training: Vec<TrainingEnvironment> = Vec::new();
    for entry in dataset.index(Split::Train)? {
        if training.last().is_none_or(|last| last.environment != entry.environment) {
            training.push(TrainingEnvironment {
                environment: entry.environment,
                context: Vec::new(),
                parameters: places.iter().map(|place| place.and_then(|place| entry.parameters[place])).collect(),
                mapped: Vec::new(),
            });
        }
    }
    Ok(training)
}

/// Truth and prediction of a few environments of the split on which parameters are evaluated. Adds why others have none to `undrawn`.
fn portraits(
    plan: &Plan,
    dataset: &Dataset,
    (model, fits): (Option<&StoredModel>, &Fits),
    context: &Context<'_>,
    rows: &[(Split, Row)],
    estimates: &estimate::Manifest,
    undrawn: &mut Vec<String>,
) -> Result<Vec<Portrait>, Error> {
    let (preferred, quantities) = (estimates.evaluation.parameter_split, &estimates.parameters);
    let split = preferred.or(rows.first().map(|(split, _)| *split));
    let is_drawn = |place: usize| fits.drawn.is_empty() || fits.first(place).is_some();
    let usable = rows
        .iter()
        .enumerate()
        .filter(|(place, (of, row))| Some(*of) == split && !row.status.is_failure() && is_drawn(*place));
    let usable: Vec<&Row> = usable.map(|(_, (_, row))| row).collect();
    let place =
        |wanted: &Row| rows.iter().position(|(of, row)| Some(*of) == split && row.environment == wanted.environment);
    let settings = plan.estimate.clone().unwrap_or_default();
    let imported = dataset.manifest().provenance.stage == Stage::Import.name();
    let mut portraits = Vec::new();
    for row in chosen(&usable) {
        let Some(split) = split else { break };
        let portrait = match model {
            Some(model) => {
                let place = (split, row.environment.as_str());
                estimate::portrait(&settings, context.compute, dataset, model, place, &row.context).map(pair)
            }
            None => match place(row).and_then(|place| fits.first(place)) {
                Some(drawn) => Ok(fits::portrait(drawn, "")),
                None if fits.drawn.is_empty() && dataset.manifest().grid.is_none() => break,
                None => estimate::physics::portrait(&settings, dataset, split, row, context.run).map(pair),
            },
        };
        let portrait = match portrait {
            Ok(portrait) => portrait,
            Err(error @ estimate::Error::Interrupted { .. }) => return Err(error.into()),
            Err(error) => {
                undrawn.push(format!("the trajectories of {} ({error})", row.environment));
                continue;
            }
        };
        let known = quantities.iter().zip(&row.parameters);
        let unit = |unit: &str| unit_of(unit).map_or_else(String::new, |unit| format!(" {unit}"));
        let value = |(quantity, it): (&Quantity, &ParameterEstimate)| {
            Some(format!("{} = {}{}", name_of(&quantity.name), significant(it.truth?), unit(&quantity.unit)))
        };
        let known: Vec<String> = known.filter_map(value).collect();
        // A measured environment has a meaningful name, a simulated one is known by its parameters.
        let title = match (known.join(", "), imported) {
            (known, _) if known.is_empty() => row.environment.clone(),
            (known, true) => format!("{}: {known}", row.environment),
            (known, false) => known,
        };
        let place = match row.parameters.as_slice() {
            [ParameterEstimate { truth: Some(x), .. }, ParameterEstimate { truth: Some(y), .. }] => Some([*x, *y]),
            _ => None,
        };
        let letter = place.map(|place| (char::from(b'A' + portraits.len() as u8), place));
        let title = letter.map_or(title.clone(), |(letter, _)| format!("{letter}: {title}"));
        portraits.push(Portrait { title, letter, ..portrait });
    }
    Ok(portraits)
}

/// A trajectory beside its prediction.
fn pair((trajectory, prediction): (Trajectory, Vec<f64>)) -> Portrait {
    let Trajectory { times, states: truth, inputs, .. } = trajectory;
    Portrait { times, truth, prediction, inputs, ..Portrait::default() }
}

/// With two known parameters, the environments nearest to the centres of the four quadrants of the parameter plane; otherwise
/// environments at equal distances in the order of the trajectory error, from the best to the worst.
fn chosen<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let plane: Vec<(f64, f64, &Row)> = rows
        .iter()
        .filter_map(|row| match row.parameters.as_slice() {
            [a, b] => Some((a.truth?, b.truth?, *row)),
            _ => None,
        })
        .collect();
    if plane.len() > PORTRAITS && plane.len() == rows.len() {
        let range = |value: &dyn Fn(&(f64, f64, &Row)) -> f64| {
            let values = plane.iter().map(value);
            (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
        };
        let ((a_low, a_high), (b_low, b_high)) = (range(&|it| it.0), range(&|it| it.1));
        let (a_extent, b_extent) = ((a_high - a_low).max(f64::MIN_POSITIVE), (b_high - b_low).max(f64::MIN_POSITIVE));
        let quadrants = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)];
        return quadrants
            .iter()
            .filter_map(|&(a, b)| {
                let distance = |it: &(f64, f64, &Row)| {
                    ((it.0 - a_low) / a_extent - a).powi(2) + ((it.1 - b_low) / b_extent - b).powi(2)
                };
                plane.iter().min_by(|x, y| distance(x).total_cmp(&distance(y))).map(|it| it.2)
            })
            .collect();
    }
    let mut ordered = rows.to_vec();
    ordered.sort_by(|x, y| x.trajectory_rmse.total_cmp(&y.trajectory_rmse));
    let count = PORTRAITS.min(ordered.len());
    (0..count).map(|i| ordered[i * (ordered.len() - 1) / (count - 1).max(1)]).collect()
}
