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

use std::path::{Path, PathBuf};

pub mod adapt;
mod driven;
mod evaluation;
mod fitted;
mod hull;
mod interval;
mod learned;
pub mod map;
mod misfit;
mod noise;
mod observed;
mod output;
pub mod physics;
mod portrait;
mod predict;
mod range;
mod residuals;
mod robust;
mod row;
mod settings;
mod stream;

pub use adapt::Support;
pub use driven::inputs_extrapolate;
pub use evaluation::{Coverage, Evaluation};
pub use hull::Hull;
pub use interval::Bounds;
pub use observed::states_extrapolate;
pub use output::{Manifest, read_rows, rows, verify};
pub use portrait::portrait;
pub use predict::{Forecast, KnownContext, Start, context_of_environment, context_of_parameters, forecast};
pub use range::extrapolates;
pub use row::{ParameterEstimate, Row, Status, statuses_in_words};
pub use settings::{InitialState, Loss, MapChoice, MapSettings, Method, Noise, Settings};

use stream::Observed;

use crate::checkpoint::{self, StoredModel};
use crate::dataset::{self, Dataset, IndexEntry};
use crate::engine::{Compute, ComputeError, warn_of_cuda};
use crate::progress::{Event, Run};
use crate::schema::{Input, Quantity, Split};
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
    #[error(
        "found the parameter or channel that makes the column `{column}`, which the table of estimates has already; rename it"
    )]
    RepeatedColumn { column: String },
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
    let estimator = learned::Estimator::new(settings, compute, dataset, model, run)?;
    warn_of_cuda(run);
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
            let go_on = || run.interrupt.requested().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }));
            go_on()?;
            let estimated = estimate(split, block)?;
            // What was asked to stop while it was estimated is not to be written.
            go_on()?;
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
    let say = |channels: &[Quantity], inputs: &[Input], parameters: &[Quantity]| {
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
        say(&of_dataset.channels, &of_dataset.inputs, &of_dataset.parameters),
        say(&of_model.channels, &of_model.inputs, &of_model.parameters),
    );
    if found == expected {
        return Ok(());
    }
    Err(Error::OtherQuantities { dataset: dataset.directory().to_owned(), found, expected })
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
    if settings.initial_state == Some(InitialState::Estimated) && fields { Err(Error::EstimatedFields) } else { Ok(()) }
}
