//! What each stage calls, and where its product is. The runner knows stages only through [`Executor`].

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::assemble;
use super::audit::AuditEntry;
use super::check::archive::error_of_import;
use super::error::Error;
use super::executor::{Context, Done, Executor, Product};
use super::finished;
use super::gate::promote_or_reject;
use super::memory::{of_import, require_for_estimating, require_for_generating, require_for_training};
use super::plan::{Plan, Source};
use super::products::{directory_with_manifest, map_product, model_product, sealed_directory, whole_tree};
use super::stage::Stage;
use super::start_of_training;
use crate::checkpoint::{Manifest, StoredModel, trainings};
use crate::dataset::{Dataset, Parent};
use crate::digest::sha256_of_file;
use crate::engine::Compute;
use crate::progress::{Event, Run};
use crate::schema::FormatVersion;
use crate::tensorboard::Scalars;
use crate::{disk, estimate, generate, import, report, train};

/// The stages of this build.
pub struct Built;

impl Executor for Built {
    fn execute(&self, plan: &Plan, stage: Stage, context: &Context<'_>) -> Result<Done, Error> {
        match stage {
            Stage::Generate | Stage::Import => make_dataset(plan, context),
            Stage::Train => train(plan, context),
            Stage::Map => map(plan, context),
            Stage::Estimate => estimate(plan, context),
            Stage::Report => report(plan, context),
        }
    }

    fn adopt(&self, plan: &Plan, stage: Stage) -> Result<Done, Error> {
        if stage != Stage::Train {
            return Ok(Done { device: "cpu".to_owned(), ..Done::default() });
        }
        let model = plan.model_directory();
        let left = trainings(&model);
        if left.exists() {
            disk::remove_tree(&left).map_err(Error::io(&left))?;
        }
        let (manifest, _) = Manifest::read(&model)?;
        Ok(Done { device: manifest.training.device, engine: manifest.training.engine, ..Done::default() })
    }

    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, Error> {
        match stage {
            Stage::Generate | Stage::Import => directory_with_manifest(&plan.dataset_directory),
            Stage::Train => model_product(&plan.model_directory()),
            Stage::Map => map_product(&plan.model_directory()),
            Stage::Estimate => sealed_directory(&plan.estimates_directory(), None, FormatVersion::ESTIMATES),
            Stage::Report => whole_tree(&plan.report_directory()),
        }
    }

    fn input(&self, plan: &Plan, parent: Stage, stage: Stage) -> Result<Option<Product>, Error> {
        match parent {
            Stage::Train if stage > Stage::Map => model_product(&plan.model_in_use()),
            Stage::Map if stage > Stage::Map => map_product(&plan.model_in_use()),
            parent => self.product(plan, parent),
        }
    }

    fn promote(&self, plan: &Plan, compute: Compute, run: &Run<'_>) -> Result<Option<AuditEntry>, Error> {
        plan.promote.as_ref().map_or(Ok(None), |settings| promote_or_reject(plan, settings, compute, run))
    }

    fn start_of_training(&self, plan: &Plan) -> Result<Option<Parent>, Error> {
        start_of_training::parent(plan)
    }

    fn sources(&self, plan: &Plan) -> Result<Vec<Parent>, Error> {
        match &plan.source {
            Source::Generate(_) => Ok(Vec::new()),
            Source::Import(settings) => {
                let files = import::files(settings, Path::new("")).map_err(|problems| Error::MissingArchive {
                    path: Path::new(&settings.directory).to_owned(),
                    found: problems.iter().map(|problem| problem.found.as_str()).collect::<Vec<_>>().join(", "),
                })?;
                files.into_iter().map(|(name, path)| source_file(name, path)).collect()
            }
        }
    }

    fn configuration(&self, plan: &Plan) -> Value {
        match &plan.source {
            Source::Generate(settings) => serde_json::to_value(settings).unwrap_or(Value::Null),
            Source::Import(settings) => {
                let mut value = serde_json::to_value(settings).unwrap_or(Value::Null);
                // The location of the archive does not matter: its files are identified by their digests.
                value.as_object_mut().map(|settings| settings.remove("directory"));
                value
            }
        }
    }
}

fn make_dataset(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    match &plan.source {
        Source::Generate(settings) => {
            require_for_generating(plan, generate::extent(settings, plan.seed, context.threads)?)?;
            let store = finished::store(plan, Stage::Generate, &finished::key(context.fingerprint, ""));
            generate::resume(settings, plan.seed, &plan.dataset_directory, Some(&store), context.run)?
        }
        Source::Import(settings) => {
            let (rows, directory) = (of_import(plan), &plan.dataset_directory);
            let done = import::run_within(rows, settings, Path::new(""), directory, context.run);
            done.map_err(|error| error_of_import(&plan.document, error))?
        }
    };
    Ok(Done { device: "cpu".to_owned(), ..Done::default() })
}

fn train(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let settings = section(Stage::Train, plan.train.as_ref())?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    require_for_training(plan, train::least_memory(settings, dataset.manifest()))?;
    let start = start_of_training::open(plan, &dataset, context)?;
    let (inputs, directory) = ((&dataset, start.as_ref()), plan.model_directory());
    let fit = |run: &Run<'_>| train::run_choosing(settings, plan.seed, context.compute, inputs, &directory, run);
    let model = if plan.run.tensorboard {
        let scalars = Scalars::new(&plan.tensorboard_directory(context.fingerprint), context.run.observer);
        fit(&Run { observer: &scalars, ..*context.run })?
    } else {
        fit(context.run)?
    };
    let training = model.manifest.training;
    Ok(Done { device: training.device, engine: training.engine, ..Done::default() })
}

fn map(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let settings = section(Stage::Map, plan.map.as_ref())?;
    let estimate = plan.estimate.clone().unwrap_or_default();
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let mut model = StoredModel::read_without_map(&plan.model_directory())?;
    model.map = estimate::map::run(settings, &estimate, context.compute, &dataset, &model, context.run)?;
    let error = estimate::model_error::run(&estimate, context.compute, &dataset, &model, context.run)?;
    if let Some(map) = &mut model.map {
        map.model_error = error;
    }
    model.write(&plan.model_directory())?;
    engine_of(&model, context.compute)
}

fn estimate(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let settings = section(Stage::Estimate, plan.estimate.as_ref())?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    require_for_estimating(plan, dataset.manifest(), context.threads)?;
    let directory = plan.estimates_directory();
    let model = model_of_estimates(plan)?;
    let done = engine_of_estimates(model.as_ref(), context.compute)?;
    let store = finished::store(plan, Stage::Estimate, &finished::key(context.fingerprint, &computed_by(&done)));
    let made = match model {
        Some(model) => {
            let inputs = (&dataset, &model);
            estimate::resume(settings, context.compute, inputs, &directory, Some(&store), context.run)?
        }
        None => estimate::physics::resume(settings, &dataset, &directory, Some(&store), context.run)?,
    };
    Ok(Done { statuses: made.manifest.evaluation.statuses, ..done })
}

fn report(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let model = model_of_estimates(plan)?;
    let input = assemble::input(plan, &dataset, model.as_ref(), context)?;
    let undrawn = report::write(&input, &plan.report_directory()).map_err(Error::Report)?;
    undrawn.into_iter().for_each(|what| context.run.emit(Event::Warn(format!("not in the report: {what}"))));
    Ok(Done { device: "cpu".to_owned(), ..Done::default() })
}

/// The model of the estimates; `None` if they are made by known equations.
pub(super) fn model_of_estimates(plan: &Plan) -> Result<Option<StoredModel>, Error> {
    Ok(if plan.estimates_by_model() { Some(StoredModel::read(&plan.model_in_use())?) } else { None })
}

/// The device and the engine that estimates are made by.
pub(crate) fn engine_of_estimates(model: Option<&StoredModel>, compute: Compute) -> Result<Done, Error> {
    match model {
        Some(model) => engine_of(model, compute),
        None => Ok(Done { device: "cpu".to_owned(), ..Done::default() }),
    }
}

/// What decides the last bits of estimates beside their ingredients; which of several alike devices does not.
pub(crate) fn computed_by(done: &Done) -> String {
    let kind = done.device.split(':').next().unwrap_or_default();
    format!("{} on {kind}", done.engine)
}

/// The device and the engine that fit contexts and maps.
fn engine_of(model: &StoredModel, compute: Compute) -> Result<Done, Error> {
    let (engine, device) = model.engine(compute).map_err(Error::Compute)?;
    Ok(Done { device: device.to_string(), engine: engine.name().to_owned(), ..Done::default() })
}

pub(super) fn section<T>(stage: Stage, settings: Option<&T>) -> Result<&T, Error> {
    settings.ok_or(Error::NoSuchStage { stage, has: Vec::new() })
}

fn source_file(name: String, path: PathBuf) -> Result<Parent, Error> {
    match sha256_of_file(&path) {
        Ok(sha256) => Ok(Parent { name, sha256 }),
        Err(error) => Err(Error::MissingArchive { path, found: error.to_string() }),
    }
}
