//! Adapts a batch of new environments, maps their contexts to parameters, and measures what can be measured; or fits known
//! equations to them, with the same table in the end.
//!
//! ```text
//! estimates/
//!   manifest.json     what made them, the figures, a SHA-256 per file
//!   adapt.parquet     one row an environment
//!   grid.parquet
//!   fitted_adapt.parquet     on request: one row a sample, observed and fitted
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub mod adapt;
mod evaluation;
mod fitted;
mod hull;
mod interval;
pub mod map;
mod output;
pub mod physics;
mod portrait;
mod predict;
mod robust;
mod row;
mod settings;
mod stream;

pub use adapt::Support;
pub use evaluation::{Coverage, Evaluation};
pub use hull::Hull;
pub use interval::Bounds;
pub use output::{Manifest, read_rows, rows, verify};
pub use portrait::portrait;
pub use predict::{Forecast, KnownContext, context_of_environment, context_of_parameters, forecast};
pub use row::{ParameterEstimate, Row, Status};
pub use settings::{InitialState, Loss, MapChoice, MapSettings, Method, Noise, Settings};

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use stream::Observed;

use crate::checkpoint::{self, ChannelScale, StoredModel};
use crate::dataset::{self, Dataset, IndexEntry};
use crate::engine::{Batch, Compute, ComputeError};
use crate::progress::{Event, Run};
use crate::schema::{Quantity, Split};
use crate::systems::Problem;

/// Why there are no estimates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    #[error(transparent)]
    Compute(#[from] ComputeError),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: found {found}; expected {expected}")]
    Invalid { path: PathBuf, found: String, expected: String },
    #[error(
        "the {kind} map has {expected} terms, but only {found} training environments have known parameters; \
         add environments, or lower train.context_dimension"
    )]
    TooFewForMap { kind: &'static str, expected: usize, found: usize },
    #[error("{}: the dataset has {found}, but the model was trained on {expected}", .dataset.display())]
    OtherQuantities { dataset: PathBuf, found: String, expected: String },
    #[error("{}: found none of the splits that estimate.splits names ({expected}); generate one of them, or name the environments to estimate in import.splits.adapt ([\"*\"] for all)", .dataset.display())]
    NoSplit { dataset: PathBuf, expected: String },
    #[error("estimate.bounds: found the parameter `{found}`; the dataset has {expected}")]
    UnknownParameter { found: String, expected: String },
    #[error("estimate.fitted: the dataset holds fields, whose fitted trajectories are not written; leave it out")]
    FittedFields,
    #[error(
        "estimate.initial_state = \"estimated\": the dataset holds fields, whose initial states have too many values; leave it out"
    )]
    EstimatedFields,
    #[error(
        "the forecast is not finite from time {time} on; start nearer to the training data, or look less far ahead"
    )]
    DivergedForecast { time: f64 },
    #[error("estimate.bounds.{name}: found min {min} above max {max}; expected the smaller one as min")]
    ReversedBounds { name: String, min: f64, max: f64 },
    #[error("found {found}; expected {expected}")]
    Unpredictable { found: String, expected: String },
    #[error("{}", .0.iter().map(|problem| format!("estimate.physics.{problem}")).collect::<Vec<_>>().join("\n"))]
    Physics(Vec<Problem>),
    #[error("interrupted; the estimates are made again from their beginning by the same command")]
    Interrupted { signal: i32 },
}

/// What an estimation gave.
pub struct Outcome {
    pub manifest: Manifest,
    /// SHA-256 of the manifest, hex.
    pub content_hash: String,
}

/// Fits a context to every environment of the splits in `settings`, maps it to parameters, and puts `directory` in place.
///
/// # Errors
/// See [`Error`]. An environment that cannot be fitted is not an error: it has a status.
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
    let parameters = &dataset.manifest().parameters;
    check_settings(settings, dataset, parameters)?;
    let estimator = Estimator::new(settings, compute, dataset, model)?;
    let evaluation = Evaluation { mse_in_domain: estimator.mse_in_domain()?, ..Evaluation::default() };
    let output = output::Output::create(directory, dataset, Some(model), parameters, settings)?;
    estimate_splits(settings, dataset, output, evaluation, run, |split, block| estimator.block(split, block))
}

/// Estimates the splits that `settings` name, a block of environments at a time, and finishes `output`.
fn estimate_splits(
    settings: &Settings,
    dataset: &Dataset,
    mut output: output::Output,
    mut evaluation: Evaluation,
    run: &Run,
    estimate: impl Fn(Split, Vec<Observed>) -> Result<Vec<(Row, fitted::Fit)>, Error>,
) -> Result<Outcome, Error> {
    let splits: Vec<Split> =
        settings.splits.iter().copied().filter(|split| dataset.manifest().splits.contains_key(split)).collect();
    if splits.is_empty() {
        let names: Vec<&str> = settings.splits.iter().map(|split| split.name()).collect();
        return Err(Error::NoSplit { dataset: dataset.directory().to_owned(), expected: names.join(", ") });
    }
    for &split in &splits {
        let total = dataset.manifest().splits.get(&split).map(|summary| summary.environments as u64);
        run.emit(Event::Begin { what: format!("estimate {split}"), total, unit: "environments" });
        let mut writer = output.split(split)?;
        let mut fitted = if settings.fitted { Some(output.fitted(split)?) } else { None };
        let mut rows_of_split = evaluation::Tally::default();
        let mut done = 0;
        stream::for_each_block(dataset, split, |block| {
            if let Some(signal) = run.interrupt.requested() {
                return Err(Error::Interrupted { signal });
            }
            let estimated = estimate(split, block)?;
            let (rows, fits): (Vec<Row>, Vec<fitted::Fit>) = estimated.into_iter().unzip();
            rows.iter().for_each(|row| rows_of_split.add(row));
            writer.write(&rows)?;
            if let Some(fitted) = &mut fitted {
                fits.iter().try_for_each(|fit| fitted.write(fit))?;
            }
            done += rows.len() as u64;
            run.emit(Event::Advance { done, note: String::new() });
            Ok(())
        })?;
        output.close(writer)?;
        if let Some(fitted) = fitted {
            output.close_fitted(fitted)?;
        }
        evaluation.add(split, &rows_of_split);
        run.emit(Event::End);
    }
    output.finish(evaluation)
}

/// An environment with the rows of its trajectories in a split.
struct EnvironmentRows {
    id: String,
    rows: Vec<usize>,
}

fn environments(index: &[IndexEntry]) -> Vec<EnvironmentRows> {
    let mut environments: Vec<EnvironmentRows> = Vec::new();
    for (row, entry) in index.iter().enumerate() {
        match environments.last_mut() {
            Some(last) if last.id == entry.environment => last.rows.push(row),
            _ => environments.push(EnvironmentRows { id: entry.environment.clone(), rows: vec![row] }),
        }
    }
    environments
}

fn check_quantities(dataset: &Dataset, model: &StoredModel) -> Result<(), Error> {
    let (of_dataset, of_model) = (dataset.manifest(), &model.manifest);
    let say = |channels: &[crate::schema::Quantity], parameters: &[crate::schema::Quantity]| {
        let list = |quantities: &[crate::schema::Quantity]| {
            quantities.iter().map(|it| format!("{} [{}]", it.name, it.unit)).collect::<Vec<_>>().join(", ")
        };
        format!("channels {} and parameters {}", list(channels), list(parameters))
    };
    let (found, expected) =
        (say(&of_dataset.channels, &of_dataset.parameters), say(&of_model.channels, &of_model.parameters));
    if found == expected {
        return Ok(());
    }
    Err(Error::OtherQuantities { dataset: dataset.directory().to_owned(), found, expected })
}

/// In which dimension, if any, a context lies further outside the range of the training contexts than `slack` widths of it.
pub fn extrapolates(model: &StoredModel, context: &[f64], slack: f64) -> Option<String> {
    let d = context.len();
    (0..d).find_map(|k| {
        let values = model.contexts.iter().skip(k).step_by(d);
        let least = values.clone().fold(f64::INFINITY, |a, &b| a.min(b));
        let greatest = values.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let slack = slack * (greatest - least);
        let is_far = greatest > least && !(least - slack..=greatest + slack).contains(&context[k]);
        is_far.then(|| {
            let xi = context[k];
            format!("context {k} is {xi:.3}; those of the training environments go from {least:.3} to {greatest:.3}")
        })
    })
}

/// Bounds whose ends are in order.
fn check_bounds(settings: &Settings) -> Result<(), Error> {
    for (name, bounds) in &settings.bounds {
        if let (Some(min), Some(max)) = (bounds.min, bounds.max)
            && min > max
        {
            return Err(Error::ReversedBounds { name: name.clone(), min, max });
        }
    }
    Ok(())
}

fn check_settings(settings: &Settings, dataset: &Dataset, parameters: &[Quantity]) -> Result<(), Error> {
    if let Some(unknown) = settings.bounds.keys().find(|&name| parameters.iter().all(|it| &it.name != name)) {
        let names: Vec<&str> = parameters.iter().map(|it| it.name.as_str()).collect();
        return Err(Error::UnknownParameter { found: unknown.clone(), expected: names.join(", ") });
    }
    if settings.fitted && dataset.manifest().grid.is_some() {
        return Err(Error::FittedFields);
    }
    check_initial_state(settings, dataset)
}

fn check_initial_state(settings: &Settings, dataset: &Dataset) -> Result<(), Error> {
    let fields = dataset.manifest().grid.is_some();
    if settings.initial_state() == InitialState::Estimated && fields { Err(Error::EstimatedFields) } else { Ok(()) }
}

struct Estimator<'a> {
    settings: &'a Settings,
    dataset: &'a Dataset,
    model: &'a StoredModel,
    adapter: adapt::Adapter<'a>,
    hull: Hull,
    /// In the order of the dataset's parameters.
    bounds: Vec<Bounds>,
    /// Rows of held-out trajectories of adapted environments.
    held_out: BTreeMap<String, Vec<usize>>,
    /// One a value of a state.
    scales: Vec<ChannelScale>,
}

impl<'a> Estimator<'a> {
    fn new(
        settings: &'a Settings,
        compute: Compute,
        dataset: &'a Dataset,
        model: &'a StoredModel,
    ) -> Result<Self, Error> {
        let known = model.manifest.environments.iter();
        let points = known.filter_map(|it| it.parameters.iter().copied().collect::<Option<Vec<f64>>>()).collect();
        let held_out = environments(&dataset.index(Split::AdaptTest)?).into_iter().map(|it| (it.id, it.rows)).collect();
        let names = dataset.manifest().parameters.iter().map(|it| it.name.as_str());
        Ok(Estimator {
            settings,
            bounds: interval::bounds_in_order(&settings.bounds, names),
            dataset,
            model,
            adapter: adapt::Adapter::new(settings, compute, model)?,
            hull: Hull::new(points),
            scales: model.manifest.scales_of_state(),
            held_out,
        })
    }

    /// The rows of a block of environments, and their fitted trajectories.
    fn block(&self, split: Split, block: Vec<Observed>) -> Result<Vec<(Row, fitted::Fit)>, Error> {
        let mut environments = Vec::with_capacity(block.len());
        let mut supports = Vec::with_capacity(block.len());
        for Observed { id, parameters, trajectories } in block {
            environments.push((id, parameters));
            supports.push(Support::new(trajectories, &self.scales, self.settings.initial_state()));
        }
        let adaptations = self.adapter.adapt(&supports);
        environments
            .into_par_iter()
            .zip(&supports)
            .zip(adaptations)
            .map(|(((id, parameters), support), mut adaptation)| {
                let test_mse = match self.held_out.get(&id) {
                    Some(held_out) if split == Split::Adapt => self.held_out_error(held_out, &adaptation.context)?,
                    _ => None,
                };
                let predictions = std::mem::take(&mut adaptation.predictions);
                let channels = self.model.manifest.channels.len();
                let errors =
                    evaluation::FitErrors::new(support, &predictions, &self.scales, channels, self.settings.loss);
                let fit = match self.settings.fitted {
                    true => fitted::Fit::new(&id, support, &adaptation.initial_states, &predictions, &self.scales),
                    false => fitted::Fit::default(),
                };
                Ok((self.row(id, &parameters, support.points(), adaptation, errors, test_mse), fit))
            })
            .collect()
    }

    fn row(
        &self,
        id: String,
        known: &[Option<f64>],
        points: usize,
        adaptation: adapt::Adaptation,
        errors: evaluation::FitErrors,
        test_mse: Option<f64>,
    ) -> Row {
        let adapt::Adaptation { context, covariance, degrees, mut status, mut reason, iterations, .. } = adaptation;
        let d_p = known.len();
        let (values, of_parameters) = match &self.model.map {
            Some(map) => {
                let jacobian = map.jacobian(&context);
                let jacobian = DMatrix::from_fn(d_p, context.len(), |j, k| jacobian[j][k]);
                let own = DMatrix::from_diagonal(&DVector::from_vec(map.variance(&context)));
                (map.apply(&context), &jacobian * &covariance * jacobian.transpose() + own)
            }
            None => (vec![f64::NAN; d_p], DMatrix::from_element(d_p, d_p, f64::NAN)),
        };
        if status == Status::Ok {
            (status, reason) = self.judge(&context, &covariance, &values, &errors, degrees);
        }
        let found = row::Found {
            environment: id,
            status,
            reason,
            context,
            values: &values,
            covariance: &of_parameters,
            truth: known,
            bounds: &self.bounds,
            least_errors: Vec::new(),
            errors,
            test_mse,
            points,
            degrees,
            iterations,
            in_hull: self.hull.holds(known),
        };
        found.row()
    }

    /// What a fit that converged is worth.
    fn judge(
        &self,
        context: &[f64],
        covariance: &DMatrix<f64>,
        values: &[f64],
        errors: &evaluation::FitErrors,
        degrees: f64,
    ) -> (Status, String) {
        if !errors.rmse.is_finite() {
            return (Status::Diverged, "the fitted rollout is not finite".to_owned());
        }
        if degrees > 0.0 && covariance.iter().any(|value| !value.is_finite()) {
            return (Status::Unidentifiable, "the trajectories do not determine the context".to_owned());
        }
        let quantities = &self.model.manifest.parameters;
        for ((bounds, &value), quantity) in self.bounds.iter().zip(values).zip(quantities) {
            let cut = bounds.cut(value);
            if cut != value && !value.is_nan() {
                let name = &quantity.name;
                return (Status::AtBound, format!("{name} was estimated as {value:.6}, beyond its bound {cut}"));
            }
        }
        match extrapolates(self.model, context, self.settings.extrapolation) {
            Some(reason) => (Status::OutsideTrainingRange, reason),
            None => (Status::Ok, String::new()),
        }
    }

    /// Mean squared error, in the dataset's units, on held-out trajectories under a context.
    fn held_out_error(&self, rows: &[usize], context: &[f64]) -> Result<Option<f64>, Error> {
        if context.iter().any(|xi| !xi.is_finite()) {
            return Ok(None);
        }
        let held_out = self.held_out(Split::AdaptTest, rows)?;
        let mut error = evaluation::SquaredError::default();
        self.add_error(context, &held_out, &mut error);
        Ok(Some(error.mean()).filter(|_| error.count() > 0))
    }

    /// Mean squared error, in the dataset's units, on the test split under the training contexts.
    fn mse_in_domain(&self) -> Result<Option<f64>, Error> {
        let environments = environments(&self.dataset.index(Split::Test)?);
        let d = self.model.manifest.context_dimension;
        let mut error = evaluation::SquaredError::default();
        for environment in &environments {
            let known = self.model.manifest.environments.iter().position(|it| it.id == environment.id);
            let Some(place) = known else { continue };
            let held_out = self.held_out(Split::Test, &environment.rows)?;
            self.add_error(&self.model.contexts[place * d..(place + 1) * d], &held_out, &mut error);
        }
        Ok(Some(error.mean()).filter(|_| error.count() > 0))
    }

    /// Trajectories that nothing is fitted to: each starts where it was observed.
    fn held_out(&self, split: Split, rows: &[usize]) -> Result<Support, Error> {
        Ok(Support::new(self.dataset.read_rows(split, rows)?, &self.scales, InitialState::Observed))
    }

    fn add_error(&self, context: &[f64], held_out: &Support, error: &mut evaluation::SquaredError) {
        let mut weights = vec![0.0; self.model.model().layout().size()];
        self.model.rule().decode(&self.model.shared, context, &mut weights);
        let batch = Batch::new(self.scales.len(), &[held_out.segments()], (0, 0));
        error.add(&self.adapter.engine.predict(&weights, &batch), &batch, &self.scales);
    }
}
