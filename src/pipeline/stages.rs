//! What each stage calls, and where its product stands. The runner knows stages only through [`Executor`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;
use serde_json::Value;

use super::assemble;
use super::check::archive::error_of_import;
use super::error::Error;
use super::executor::{Context, Done, Executor, Product};
use super::fingerprint::canonical;
use super::plan::{Plan, Source};
use super::stage::Stage;
use crate::checkpoint::{MAP_FILE, StoredModel};
use crate::dataset::{Dataset, FileEntry, Parent};
use crate::digest::{sha256, sha256_of_file};
use crate::progress::Event;
use crate::schema::FormatVersion;
use crate::{checkpoint, dataset, estimate, generate, import, regular, report, seal, train};

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

    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, Error> {
        match stage {
            Stage::Generate | Stage::Import => directory_with_manifest(&plan.dataset_directory),
            Stage::Train => model_product(&plan.model_directory()),
            Stage::Map => map_product(&plan.model_directory()),
            Stage::Estimate => sealed_directory(&plan.estimates_directory(), None, FormatVersion::ESTIMATES),
            Stage::Report => whole_tree(&plan.report_directory()),
        }
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
                // Where the archive lies on this machine does not matter: its files are told by their digests.
                value.as_object_mut().map(|settings| settings.remove("directory"));
                value
            }
        }
    }
}

fn make_dataset(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    match &plan.source {
        Source::Generate(settings) => generate::run(settings, plan.seed, &plan.dataset_directory, context.run)?,
        Source::Import(settings) => {
            let done = import::run(settings, Path::new(""), &plan.dataset_directory, context.run);
            done.map_err(|error| error_of_import(&plan.document, error))?
        }
    };
    Ok(Done { device: "cpu".to_owned(), ..Done::default() })
}

fn train(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let settings = section(Stage::Train, plan.train.as_ref())?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let model = train::run(settings, plan.seed, context.compute, &dataset, &plan.model_directory(), context.run)?;
    let training = model.manifest.training;
    Ok(Done { device: training.device, engine: training.engine, ..Done::default() })
}

fn map(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let settings = section(Stage::Map, plan.map.as_ref())?;
    let estimate = plan.estimate.clone().unwrap_or_default();
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let mut model = StoredModel::read_without_map(&plan.model_directory())?;
    model.map = estimate::learned::map::run(settings, &estimate, context.compute, &dataset, &model, context.run)?;
    model.write(&plan.model_directory())?;
    engine_of(&model, context)
}

fn estimate(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    let settings = section(Stage::Estimate, plan.estimate.as_ref())?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let directory = plan.estimates_directory();
    let (made, done) = match model_of_estimates(plan)? {
        Some(model) => (
            estimate::run(settings, context.compute, &dataset, &model, &directory, context.run)?,
            engine_of(&model, context)?,
        ),
        None => (
            estimate::physics::run(settings, &dataset, &directory, context.run)?,
            Done { device: "cpu".to_owned(), ..Done::default() },
        ),
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

/// The model that estimates are made by; none where known equations do without.
fn model_of_estimates(plan: &Plan) -> Result<Option<StoredModel>, Error> {
    Ok(if plan.estimates_by_model() { Some(StoredModel::read(&plan.model_directory())?) } else { None })
}

/// Where and with what contexts are fitted and maps made.
fn engine_of(model: &StoredModel, context: &Context<'_>) -> Result<Done, Error> {
    let (engine, device) = model.engine(context.compute).map_err(Error::Compute)?;
    Ok(Done { device: device.to_string(), engine: engine.name().to_owned(), ..Done::default() })
}

fn section<T>(stage: Stage, settings: Option<&T>) -> Result<&T, Error> {
    settings.ok_or(Error::NoSuchStage { stage, has: Vec::new() })
}

/// A directory that is what its `manifest.json` says: the manifest's hash, and damage where a file that it lists is
/// missing or has another size. Digests are `paramill check`'s business: they would cost a read of everything.
pub fn directory_with_manifest(directory: &Path) -> Result<Option<Product>, Error> {
    directory_without(directory, None)
}

/// The same, with no look at the file `left_out`.
fn directory_without(directory: &Path, left_out: Option<&str>) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let manifest = directory.join("manifest.json");
    let product =
        |sha256: String, damage: Option<String>| Ok(Some(Product { path: directory.to_owned(), sha256, damage }));
    let bytes = match regular::read(&manifest) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory => {
            return product(String::new(), Some("has no manifest.json".to_owned()));
        }
        Err(error) => return Err(Error::io(&manifest)(error)),
    };
    let damage =
        match serde_json::from_slice::<Listing>(&bytes) {
            Err(error) => Some(format!("has a manifest.json that cannot be read ({error})")),
            Ok(listing) => listing.files.iter().filter(|file| Some(file.path.as_str()) != left_out).find_map(|file| {
                match fs::metadata(directory.join(&file.path)).map(|metadata| metadata.len()) {
                    Ok(bytes) if bytes == file.bytes => None,
                    Ok(bytes) => Some(format!("has {} with {bytes} bytes instead of {}", file.path, file.bytes)),
                    Err(error) => Some(format!("lacks {} ({error})", file.path)),
                }
            }),
        };
    product(sha256(&bytes), damage)
}

/// What a manifest says of its directory.
#[derive(Default, Deserialize)]
struct Listing {
    format: Option<FormatVersion>,
    #[serde(default)]
    files: Vec<FileEntry>,
}

/// The same of a model or of estimates, which are small enough to be read whole: the seal of the manifest, its format where this build
/// writes `current`, and every digest but that of the file `left_out`.
fn sealed_directory(
    directory: &Path,
    left_out: Option<&str>,
    current: FormatVersion,
) -> Result<Option<Product>, Error> {
    let Some(product) = directory_without(directory, left_out)? else { return Ok(None) };
    let in_content = || match seal::read(directory, "manifest.json", "it is made again") {
        Err(error) => Some(format!("is not as it was written ({error})")),
        Ok(bytes) => {
            let Listing { format, files } = serde_json::from_slice(&bytes).unwrap_or_default();
            let of_format = format.and_then(|format| format.problem(current));
            let of_files = || {
                let mut files = files.iter().filter(|file| Some(file.path.as_str()) != left_out);
                files.find_map(|file| dataset::listed_problem(directory, file))
            };
            of_format
                .map(|(found, expected)| format!("is of {found}, expected {expected}"))
                .or_else(|| of_files().map(|problem| format!("is not as it was written ({problem})")))
        }
    };
    Ok(Some(Product { damage: product.damage.clone().or_else(in_content), ..product }))
}

/// A model apart from its map, which is a stage of its own: the manifest's hash without the map among its files.
fn model_product(directory: &Path) -> Result<Option<Product>, Error> {
    let Some(whole) = sealed_directory(directory, Some(MAP_FILE), FormatVersion::MODEL)? else { return Ok(None) };
    let manifest = directory.join("manifest.json");
    let Ok(mut value) = serde_json::from_slice::<Value>(&regular::read(&manifest).unwrap_or_default()) else {
        return Ok(Some(whole));
    };
    if let Some(files) = value.get_mut("files").and_then(Value::as_array_mut) {
        files.retain(|file| file.get("path").and_then(Value::as_str) != Some(MAP_FILE));
    }
    Ok(Some(Product { sha256: sha256(canonical(&value).to_string().as_bytes()), ..whole }))
}

/// The map of a model. A model has none where no environment has known parameters, and that is a result too.
fn map_product(directory: &Path) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let path = directory.join(MAP_FILE);
    let bytes = if exists(&path)? { regular::read(&path).map_err(Error::io(&path))? } else { Vec::new() };
    Ok(Some(Product { path, sha256: sha256(&bytes), damage: None }))
}

/// A directory, by the names and bytes of all files in it.
pub fn whole_tree(directory: &Path) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let mut listing = BTreeMap::new();
    list(directory, directory, &mut listing)?;
    let lines: String = listing.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    Ok(Some(Product { path: directory.to_owned(), sha256: sha256(lines.as_bytes()), damage: None }))
}

fn list(root: &Path, directory: &Path, into: &mut BTreeMap<String, String>) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
        let path = entry.map_err(Error::io(directory))?.path();
        if path.is_dir() {
            list(root, &path, into)?;
        } else {
            let bytes = regular::read(&path).map_err(Error::io(&path))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            into.insert(name, sha256(&bytes));
        }
    }
    Ok(())
}

fn exists(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(Error::io(path))
}

/// Every problem of the directory that `manifest` describes.
///
/// # Errors
/// If Paramill does not know such directories.
pub fn check_directory(directory: &Path, manifest: &Value) -> Result<Vec<String>, Error> {
    match manifest.get("kind").and_then(Value::as_str) {
        Some("dataset") => Ok(dataset::verify(directory)),
        Some("model") => Ok(checkpoint::verify(directory)),
        Some("estimates") => Ok(estimate::verify(directory)),
        kind => Err(Error::Unrecognised {
            path: directory.to_owned(),
            found: format!("the kind \"{}\"", kind.unwrap_or_default()),
            expected: "a pipeline file, a dataset, a model or estimates".to_owned(),
        }),
    }
}

fn source_file(name: String, path: PathBuf) -> Result<Parent, Error> {
    match sha256_of_file(&path) {
        Ok(sha256) => Ok(Parent { name, sha256 }),
        Err(error) => Err(Error::MissingArchive { path, found: error.to_string() }),
    }
}
