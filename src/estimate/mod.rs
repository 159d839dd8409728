//! Adapts a batch of new environments, maps their contexts to parameters, and measures what can be measured.
//!
//! ```text
//! estimates/
//!   manifest.json     what made them, the figures, a SHA-256 per file
//!   adapt.parquet     one row an environment
//!   grid.parquet
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub mod adapt;
mod evaluation;
mod hull;
pub mod map;
mod output;
mod row;
mod settings;
mod stream;

pub use adapt::Support;
pub use evaluation::Evaluation;
pub use hull::Hull;
pub use output::{Manifest, read_rows, rows, verify};
pub use row::{ParameterEstimate, Row, Status};
pub use settings::{MapChoice, MapSettings, Settings};

use rayon::prelude::*;

use stream::Observed;

use crate::checkpoint::{self, ChannelScale, StoredModel};
use crate::dataset::{self, Dataset, IndexEntry};
use crate::engine::{Batch, Compute, ComputeError};
use crate::progress::{Event, Run};
use crate::schema::{Split, Trajectory};

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
    #[error("{}: found none of the splits that estimate.splits names ({expected}); generate or import one of them", .dataset.display())]
    NoSplit { dataset: PathBuf, expected: String },
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
    let splits: Vec<Split> =
        settings.splits.iter().copied().filter(|split| dataset.manifest().splits.contains_key(split)).collect();
    if splits.is_empty() {
        let names: Vec<&str> = settings.splits.iter().map(|split| split.name()).collect();
        return Err(Error::NoSplit { dataset: dataset.directory().to_owned(), expected: names.join(", ") });
    }
    let estimator = Estimator::new(settings, compute, dataset, model)?;
    let mut evaluation = Evaluation { mse_in_domain: estimator.mse_in_domain()?, ..Evaluation::default() };
    let mut output = output::Output::create(directory, dataset, model, settings)?;
    for &split in &splits {
        let total = dataset.manifest().splits.get(&split).map(|summary| summary.environments as u64);
        run.emit(Event::Begin { what: format!("estimate {split}"), total, unit: "environments" });
        let mut writer = output.split(split)?;
        let mut rows_of_split = evaluation::Tally::default();
        let mut done = 0;
        stream::for_each_block(dataset, split, |block| {
            if let Some(signal) = run.interrupt.requested() {
                return Err(Error::Interrupted { signal });
            }
            let rows = estimator.block(split, block)?;
            rows.iter().for_each(|row| rows_of_split.add(row));
            writer.write(&rows)?;
            done += rows.len() as u64;
            run.emit(Event::Advance { done, note: String::new() });
            Ok(())
        })?;
        output.close(writer)?;
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

struct Estimator<'a> {
    dataset: &'a Dataset,
    model: &'a StoredModel,
    adapter: adapt::Adapter<'a>,
    hull: Hull,
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
        Ok(Estimator {
            dataset,
            model,
            adapter: adapt::Adapter::new(settings, compute, model)?,
            hull: Hull::new(points),
            scales: model.manifest.scales_of_state(),
            held_out,
        })
    }

    /// The rows of a block of environments.
    fn block(&self, split: Split, block: Vec<Observed>) -> Result<Vec<Row>, Error> {
        let mut environments = Vec::with_capacity(block.len());
        let mut supports = Vec::with_capacity(block.len());
        for Observed { id, parameters, trajectories } in block {
            environments.push((id, parameters));
            supports.push(Support::new(trajectories, &self.scales));
        }
        let adaptations = self.adapter.adapt(&supports);
        environments
            .into_par_iter()
            .zip(&supports)
            .zip(adaptations)
            .map(|(((id, parameters), support), adaptation)| {
                let test_mse = match self.held_out.get(&id) {
                    Some(held_out) if split == Split::Adapt => self.held_out_error(held_out, &adaptation.context)?,
                    _ => None,
                };
                Ok(self.row(id, &parameters, support, adaptation, test_mse))
            })
            .collect()
    }

    fn row(
        &self,
        id: String,
        known: &[Option<f64>],
        support: &Support,
        adaptation: adapt::Adaptation,
        test_mse: Option<f64>,
    ) -> Row {
        let adapt::Adaptation { context, covariance, predictions, mut status, mut reason, iterations } = adaptation;
        let errors = evaluation::FitErrors::new(support, &predictions, &self.scales);
        let (values, jacobian, of_map) = match &self.model.map {
            Some(map) => (map.apply(&context), map.jacobian(&context), map.variance(&context)),
            None => {
                let d_p = known.len();
                (vec![f64::NAN; d_p], vec![vec![f64::NAN; context.len()]; d_p], vec![f64::NAN; d_p])
            }
        };
        if status == Status::Ok && !errors.rmse.is_finite() {
            (status, reason) = (Status::Diverged, "the fitted rollout is not finite".to_owned());
        }
        let parameters = values
            .iter()
            .zip(&jacobian)
            .zip(&of_map)
            .zip(known)
            .map(|(((&value, gradient), of_map), &truth)| {
                let gradient = nalgebra::DVector::from_column_slice(gradient);
                let variance = (&covariance * &gradient).dot(&gradient) + of_map;
                ParameterEstimate { value, standard_error: variance.sqrt(), truth }
            })
            .collect();
        let truth: Option<Vec<f64>> = known.iter().copied().collect();
        Row {
            environment: id,
            status,
            reason,
            context,
            parameters,
            trajectory_rmse: errors.rmse,
            trajectory_mape: errors.mape,
            test_mse,
            points: support.points(),
            iterations,
            in_hull: truth.filter(|truth| !truth.is_empty()).map(|truth| self.hull.contains(&truth)),
        }
    }

    /// Mean squared error, in the dataset's units, on held-out trajectories under a context.
    fn held_out_error(&self, rows: &[usize], context: &[f64]) -> Result<Option<f64>, Error> {
        if context.iter().any(|xi| !xi.is_finite()) {
            return Ok(None);
        }
        let held_out = Support::new(self.dataset.read_rows(Split::AdaptTest, rows)?, &self.scales);
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
            let held_out = Support::new(self.dataset.read_rows(Split::Test, &environment.rows)?, &self.scales);
            self.add_error(&self.model.contexts[place * d..(place + 1) * d], &held_out, &mut error);
        }
        Ok(Some(error.mean()).filter(|_| error.count() > 0))
    }

    fn add_error(&self, context: &[f64], held_out: &Support, error: &mut evaluation::SquaredError) {
        let mut weights = vec![0.0; self.model.model().layout().size()];
        self.model.rule().decode(&self.model.shared, context, &mut weights);
        let batch = Batch::new(self.scales.len(), &[held_out.segments()], (0, 0));
        error.add(&self.adapter.engine.predict(&weights, &batch), &batch, &self.scales);
    }
}

/// Truth and prediction of the first support trajectory of an environment under a context, in the dataset's units `[T, C]`, from its first
/// complete sample on; of the first trajectory that has one.
///
/// # Errors
/// If the dataset cannot be read or has no such environment.
pub fn portrait(
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    split: Split,
    environment: &str,
    context: &[f64],
) -> Result<(Trajectory, Vec<f64>), Error> {
    let index = dataset.index(split)?;
    let rows = (0..index.len()).filter(|&row| index[row].environment == environment);
    let mut observed = None;
    for row in rows {
        let mut trajectory = dataset.read_rows(split, &[row])?.remove(0);
        if let Some(start) = trajectory.start() {
            trajectory.start_at(start);
            observed = Some(trajectory);
            break;
        }
    }
    let observed = observed.ok_or_else(|| Error::Invalid {
        path: dataset.directory().to_owned(),
        found: format!("no environment `{environment}` with a complete sample in its {split} split"),
        expected: "the dataset that the estimates were made from".to_owned(),
    })?;
    let scales = model.manifest.scales_of_state();
    let support = Support::new([observed.clone()], &scales);
    let rule = model.rule();
    let mut weights = vec![0.0; model.model().layout().size()];
    rule.decode(&model.shared, context, &mut weights);
    let batch = Batch::new(scales.len(), &[support.segments()], (0, 0));
    let mut prediction = observed.state(0).to_vec();
    for state in model.engine(compute)?.0.predict(&weights, &batch).chunks_exact(scales.len()) {
        prediction.extend(state.iter().zip(&scales).map(|(value, scale)| value * scale.scale + scale.centre));
    }
    Ok((observed, prediction))
}
