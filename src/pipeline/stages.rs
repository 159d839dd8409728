//! What each stage calls, and where its product stands. The runner knows stages only through [`Executor`].

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::Error;
use super::fingerprint::sha256;
use super::plan::{Plan, Source};
use super::record::Record;
use super::stage::Stage;
use crate::dataset::{FileEntry, Parent};
use crate::engine::DeviceChoice;
use crate::progress::Run;
use crate::{dataset, generate, import};

/// What a stage left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    pub path: PathBuf,
    /// Content hash, hex.
    pub sha256: String,
    /// Why it cannot be used, if it cannot.
    pub damage: Option<String>,
}

/// How a stage ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Where it computed: `cpu`, `cuda:0`.
    pub device: String,
    /// What computed: `native`, `torch`; empty where that says nothing.
    pub engine: String,
    /// Environments dealt with, where the stage counts them.
    pub environments: Option<usize>,
    /// Those that failed.
    pub environments_failed: Option<usize>,
}

/// What a stage is given beside the plan.
pub struct Context<'a> {
    pub device: DeviceChoice,
    pub threads: usize,
    /// How the stages before it ran.
    pub records: &'a BTreeMap<Stage, Record>,
    pub run: &'a Run<'a>,
}

/// Carries stages out. The runner decides which; tests put a fake here.
pub trait Executor {
    /// Carries out `stage`; its product is complete or absent afterwards.
    ///
    /// # Errors
    /// Whatever stops the stage.
    fn execute(&self, plan: &Plan, stage: Stage, context: &Context<'_>) -> Result<Done, Error>;

    /// What stands where the product of `stage` belongs; `None` if nothing does.
    ///
    /// # Errors
    /// If it cannot be read.
    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, Error>;

    /// The files that the dataset is made from, by content, ordered by name.
    ///
    /// # Errors
    /// If one cannot be read.
    fn sources(&self, plan: &Plan) -> Result<Vec<Parent>, Error>;

    /// The settings of the dataset's stage as its manifest states them.
    fn configuration(&self, plan: &Plan) -> Value;
}

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
            Stage::Train => directory_with_manifest(&plan.model_directory()),
            Stage::Map => single_file(&plan.model_directory().join("map.json")),
            Stage::Estimate => directory_with_manifest(&plan.estimates_directory()),
            Stage::Report => whole_tree(&plan.report_directory()),
        }
    }

    fn sources(&self, _plan: &Plan) -> Result<Vec<Parent>, Error> {
        Ok(Vec::new())
    }

    fn configuration(&self, plan: &Plan) -> Value {
        match &plan.source {
            Source::Generate(settings) => serde_json::to_value(settings).unwrap_or(Value::Null),
            Source::Import(settings) => serde_json::to_value(settings).unwrap_or(Value::Null),
        }
    }
}

fn make_dataset(plan: &Plan, context: &Context<'_>) -> Result<Done, Error> {
    match &plan.source {
        Source::Generate(settings) => generate::run(settings, plan.seed, &plan.dataset_directory, context.run)?,
        Source::Import(settings) => import::run(settings, Path::new("."), &plan.dataset_directory, context.run)?,
    };
    Ok(Done { device: "cpu".to_owned(), ..Done::default() })
}

fn train(_plan: &Plan, _context: &Context<'_>) -> Result<Done, Error> {
    Err(Error::NotBuilt { stage: Stage::Train })
}

fn map(_plan: &Plan, _context: &Context<'_>) -> Result<Done, Error> {
    Err(Error::NotBuilt { stage: Stage::Map })
}

fn estimate(_plan: &Plan, _context: &Context<'_>) -> Result<Done, Error> {
    Err(Error::NotBuilt { stage: Stage::Estimate })
}

fn report(_plan: &Plan, _context: &Context<'_>) -> Result<Done, Error> {
    Err(Error::NotBuilt { stage: Stage::Report })
}

/// A directory that is what its `manifest.json` says: the manifest's hash, and damage where a file that it lists is
/// missing or has another size. Digests are `paramill check`'s business: they would cost a read of everything.
pub fn directory_with_manifest(directory: &Path) -> Result<Option<Product>, Error> {
    if !exists(directory)? {
        return Ok(None);
    }
    let manifest = directory.join("manifest.json");
    let product =
        |sha256: String, damage: Option<String>| Ok(Some(Product { path: directory.to_owned(), sha256, damage }));
    let bytes = match fs::read(&manifest) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory => {
            return product(String::new(), Some("has no manifest.json".to_owned()));
        }
        Err(error) => return Err(Error::io(&manifest)(error)),
    };
    #[derive(serde::Deserialize)]
    struct Listing {
        #[serde(default)]
        files: Vec<FileEntry>,
    }
    let damage = match serde_json::from_slice::<Listing>(&bytes) {
        Err(error) => Some(format!("has a manifest.json that cannot be read ({error})")),
        Ok(listing) => listing.files.iter().find_map(|file| {
            match fs::metadata(directory.join(&file.path)).map(|metadata| metadata.len()) {
                Ok(bytes) if bytes == file.bytes => None,
                Ok(bytes) => Some(format!("has {} with {bytes} bytes instead of {}", file.path, file.bytes)),
                Err(error) => Some(format!("lacks {} ({error})", file.path)),
            }
        }),
    };
    product(sha256(&bytes), damage)
}

/// One file, by its bytes.
pub fn single_file(path: &Path) -> Result<Option<Product>, Error> {
    if !exists(path)? {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(Error::io(path))?;
    Ok(Some(Product { path: path.to_owned(), sha256: sha256(&bytes), damage: None }))
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
            let bytes = fs::read(&path).map_err(Error::io(&path))?;
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
        Some("model") => Err(Error::NotBuilt { stage: Stage::Train }),
        kind => Err(Error::Unrecognised {
            path: directory.to_owned(),
            verb: "checks",
            found: format!("the kind \"{}\"", kind.unwrap_or_default()),
            expected: "a pipeline file, a dataset or a model".to_owned(),
        }),
    }
}

/// Every problem of the archive that a pipeline imports, if it is here; nothing for a simulated dataset.
pub fn check_source(plan: &Plan) -> Vec<String> {
    match &plan.source {
        Source::Generate(_) | Source::Import(_) => Vec::new(),
    }
}
