//! A trained model in its directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::error::{Error, io_error};
use super::files::{CARD_FILE, LOG_FILE, MANIFEST_FILE, MAP_FILE, WEIGHTS_FILE, parse, pretty};
use super::log::LogRecord;
use super::manifest::Manifest;
use super::map::ParameterMap;
use super::tensors;
use super::tensors::{Array, Arrays};
use super::{card, log, validate};
use crate::atomic;
use crate::dataset::FileEntry;
use crate::digest::sha256;
use crate::disk;
use crate::engine::{Compute, ComputeError, Device, Engine, Linearised, Precision, Tangents};
use crate::models;
use crate::models::Model;
use crate::progress::Run;
use crate::regular;
use crate::rules::{Rule, Shape};
use crate::schema::FormatVersion;
use crate::seal;
use crate::seal::SUMS;

/// Advice in messages about a manifest that does not match its checksum.
const REMEDY: &str = "restore the files, or make the model again by forcing the stage `train`";

/// A trained model with everything that its directory holds.
pub struct StoredModel {
    /// What the model is, and how it was made.
    pub manifest: Manifest,
    /// Shared values `[S]` of the rule.
    pub shared: Vec<f64>,
    /// Training contexts `[E, d]`.
    pub contexts: Vec<f64>,
    /// The loss curve, in the order of the steps.
    pub log: Vec<LogRecord>,
    /// The context-to-parameter map; absent until it is fitted.
    pub map: Option<ParameterMap>,
    /// SHA-256 of the manifest's bytes on disk, hex; empty for a model that was never written.
    pub content_hash: String,
}

impl StoredModel {
    /// The dynamics model, as a function of its weights.
    pub fn model(&self) -> Box<dyn Model> {
        self.manifest.model.build(&self.manifest.state_shape(), self.manifest.inputs.len())
    }

    /// The adaptation rule.
    pub fn rule(&self) -> Box<dyn Rule> {
        let manifest = &self.manifest;
        let Manifest { adapted_layers, context_dimension, inner_rate, .. } = *manifest;
        let shape = Shape { adapted: adapted_layers, context_dimension, inner_rate: inner_rate.unwrap_or(0.0) };
        manifest.rule.build(self.model().layout(), shape)
    }

    /// What each training environment owns: its context `[d]`, or its weights.
    pub fn own_values(&self) -> impl Iterator<Item = &[f64]> {
        let environments = self.manifest.environments.len();
        let size = self.contexts.len() / environments.max(1);
        (0..environments).map(move |e| &self.contexts[e * size..(e + 1) * size])
    }

    /// Rollouts by `engine` with tangents with respect to the context.
    pub fn tangents<'a>(&'a self, engine: &'a dyn Engine) -> Box<dyn Tangents + 'a> {
        let (rule, d) = (self.rule(), self.manifest.context_dimension);
        let weights = self.model().layout().size();
        if rule.is_affine() {
            return engine.tangents(&rule.linearise(&self.shared, &vec![0.0; d], weights), d);
        }
        Box::new(Linearised::new(engine, d, move |context| rule.linearise(&self.shared, context, weights)))
    }

    /// The engine that its rollouts are computed with, and its device.
    ///
    /// # Errors
    /// If there is no such engine or device.
    pub fn engine(&self, compute: Compute) -> Result<(Box<dyn Engine>, Device), ComputeError> {
        self.engine_of(compute, self.manifest.substeps)
    }

    /// The same engine with one solver step from sample to sample; `None` where the model takes only one anyway, and for a library of
    /// products, which is stable only in steps as small as it was trained with.
    ///
    /// # Errors
    /// As [`StoredModel::engine`].
    pub fn coarse_engine(&self, compute: Compute) -> Result<Option<Box<dyn Engine>>, ComputeError> {
        let is_library = matches!(self.manifest.model, models::Settings::Library { .. });
        if self.manifest.substeps == 1 || is_library { Ok(None) } else { Ok(Some(self.engine_of(compute, 1)?.0)) }
    }

    fn engine_of(&self, compute: Compute, substeps: usize) -> Result<(Box<dyn Engine>, Device), ComputeError> {
        let Manifest { model, inputs, solver, precision, rule, .. } = &self.manifest;
        // Products with the Jacobian of thousands of unknowns are no good for conjugate gradients in single precision.
        let precision = if rule.owns_weights() { &Precision::F64 } else { precision };
        compute.engine(model, &self.manifest.state_shape(), inputs.len(), *solver, substeps, *precision)
    }

    /// Writes the model to `directory` atomically, and fills in the manifest's list of files.
    ///
    /// # Errors
    /// Any error of writing; what was there before is then unchanged.
    pub fn write(&mut self, directory: &Path) -> Result<(), Error> {
        self.publish(directory, &Run::silent())
    }

    /// The same, and tells the observer of `run` ([`crate::progress::Observer::complete`]) before the model appears.
    ///
    /// # Errors
    /// As [`StoredModel::write`].
    pub fn publish(&mut self, directory: &Path, run: &Run) -> Result<(), Error> {
        let mut arrays = Arrays::new();
        for tensor in self.rule().tensors(self.model().layout()) {
            let values = tensor.indices.iter().map(|&index| self.shared[index]).collect();
            arrays.insert(tensor.name, Array::new(&tensor.shape, values));
        }
        let shape = [self.manifest.environments.len(), self.rule().context_size()];
        arrays.insert("contexts".to_owned(), Array::new(&shape, self.contexts.clone()));
        let mut files = vec![(WEIGHTS_FILE, tensors::to_bytes(&arrays)), (LOG_FILE, log::to_bytes(&self.log))];
        if let Some(map) = &self.map {
            files.push((MAP_FILE, pretty(map)));
        }
        let entry = |(path, bytes): &(&str, Vec<u8>)| FileEntry {
            path: (*path).to_owned(),
            bytes: bytes.len() as u64,
            sha256: sha256(bytes),
        };
        self.manifest.files = files.iter().map(entry).collect();
        let card = (CARD_FILE, card::text(&self.manifest, self.map.as_ref()).into_bytes());
        self.manifest.card = Some(entry(&card));
        files.push(card);
        let manifest = pretty(&self.manifest);
        self.content_hash = sha256(&manifest);
        let sums = seal::text([(MANIFEST_FILE, manifest.as_slice())]);
        files.extend([(MANIFEST_FILE, manifest), (SUMS, sums.into_bytes())]);
        let target = atomic::Directory::create(directory).map_err(io_error(directory))?;
        for (path, bytes) in &files {
            disk::write(&target.path().join(path), bytes).map_err(io_error(&directory.join(path)))?;
        }
        let inode = fs::metadata(target.path()).map(|metadata| metadata.ino());
        inode.and_then(|inode| run.observer.complete(&self.content_hash, inode)).map_err(io_error(directory))?;
        target.publish().map_err(io_error(directory))
    }

    /// Reads a model and checks every file against the manifest, and the manifest against its seal.
    ///
    /// # Errors
    /// If a file is missing, changed, or not what the manifest says; or if the manifest has values that no pipeline may
    /// set.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let mut stored = Self::read_without_map(directory)?;
        if stored.manifest.files.iter().any(|file| file.path == MAP_FILE) {
            let path = directory.join(MAP_FILE);
            let map: ParameterMap = validate::read(&path, &read_listed(directory, &stored.manifest, MAP_FILE)?)?;
            Error::problems(&path, map.problems(&stored.manifest))?;
            stored.map = Some(map);
        }
        Ok(stored)
    }

    /// The same without reading the map, for fitting it again.
    ///
    /// # Errors
    /// As [`StoredModel::read`].
    pub fn read_without_map(directory: &Path) -> Result<Self, Error> {
        let (manifest, content_hash) = Manifest::read(directory)?;
        let weights_path = directory.join(WEIGHTS_FILE);
        let mut arrays = tensors::from_bytes(&weights_path, &read_listed(directory, &manifest, WEIGHTS_FILE)?)?;
        manifest.card.iter().try_for_each(|card| read_entry(directory, card).map(drop))?;
        let log = log::from_bytes(&directory.join(LOG_FILE), &read_listed(directory, &manifest, LOG_FILE)?)?;
        let (shared, contexts) = (Vec::new(), Vec::new());
        let mut stored = StoredModel { manifest, shared, contexts, log, map: None, content_hash };
        let rule = stored.rule();
        let shape = [stored.manifest.environments.len(), rule.context_size()];
        stored.contexts = tensors::take(&mut arrays, &weights_path, "contexts", &shape)?;
        check_size(rule.shared_size(), &weights_path, &arrays)?;
        let mut shared = vec![0.0; rule.shared_size()];
        for tensor in rule.tensors(stored.model().layout()) {
            let values = tensors::take(&mut arrays, &weights_path, &tensor.name, &tensor.shape)?;
            tensor.indices.iter().zip(values).for_each(|(&index, value)| shared[index] = value);
        }
        stored.shared = shared;
        Ok(stored)
    }
}

/// Everything in a model directory that does not match its manifest; empty if all is well.
pub fn verify(directory: &Path) -> Vec<String> {
    let (manifest, _) = match Manifest::read(directory) {
        Ok(read) => read,
        Err(error) => return error.lines(),
    };
    let mut problems: Vec<String> = manifest
        .files
        .iter()
        .chain(&manifest.card)
        .filter_map(|file| read_entry(directory, file).err())
        .map(|error| error.to_string())
        .collect();
    if problems.is_empty() {
        problems.extend(StoredModel::read(directory).err().into_iter().flat_map(Error::lines));
    }
    problems
}

impl Manifest {
    /// Reads and checks the manifest of the model in `directory`; also returns the SHA-256 of its bytes.
    ///
    /// # Errors
    /// If it is missing, does not match its checksum, or breaks rules, all of which are named.
    pub fn read(directory: &Path) -> Result<(Self, String), Error> {
        let path = directory.join(MANIFEST_FILE);
        if !directory.join(SUMS).exists() {
            check_header(&path, &seal::read_bounded(&path)?)?;
        }
        let bytes = seal::read(directory, MANIFEST_FILE, REMEDY)?;
        check_header(&path, &bytes)?;
        let manifest: Manifest = validate::read(&path, &bytes)?;
        Error::problems(&path, manifest.problems())?;
        Ok((manifest, sha256(&bytes)))
    }
}

/// Checks that a manifest is that of a model, in a format that this version reads.
fn check_header(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    #[derive(serde::Deserialize)]
    struct Header {
        kind: Option<String>,
        format: Option<FormatVersion>,
    }
    let invalid = |found: String, expected: String| Err(Error::Invalid { path: path.to_owned(), found, expected });
    match parse(path, bytes)? {
        Header { kind: Some(kind), .. } if kind != "model" => {
            invalid(format!("kind `{kind}`"), "kind `model`; give the directory of a model".to_owned())
        }
        Header { kind: None, .. } => invalid("no `kind`".to_owned(), "the manifest of a model".to_owned()),
        Header { format, .. } => match format.and_then(|format| format.problem(FormatVersion::MODEL)) {
            Some((found, expected)) => invalid(found, expected),
            None => Ok(()),
        },
    }
}

/// Checks that the file has as many weights as the manifest implies, before anything of that size is allocated.
fn check_size(expected: usize, path: &Path, arrays: &Arrays) -> Result<(), Error> {
    let found: usize = arrays.values().map(|array| array.values.len()).sum();
    if expected == found {
        return Ok(());
    }
    Err(Error::Invalid {
        path: path.to_owned(),
        found: format!("{found} shared weights"),
        expected: format!("{expected}, by `model`, `rule` and `context_dimension` of {MANIFEST_FILE}; {REMEDY}"),
    })
}

/// Reads a file that the manifest lists, and checks it against the listed size and digest.
fn read_listed(directory: &Path, manifest: &Manifest, name: &str) -> Result<Vec<u8>, Error> {
    let entry = manifest.files.iter().find(|file| file.path == name).ok_or_else(|| Error::Invalid {
        path: directory.join(name),
        found: "no such entry in the manifest".to_owned(),
        expected: "a complete model".to_owned(),
    })?;
    read_entry(directory, entry)
}

/// The same of an entry.
fn read_entry(directory: &Path, entry: &FileEntry) -> Result<Vec<u8>, Error> {
    let path: PathBuf = directory.join(&entry.path);
    let invalid = |found: String, expected: String| Error::Invalid { path: path.clone(), found, expected };
    if !Path::new(&entry.path).components().all(|component| matches!(component, Component::Normal(_))) {
        return Err(invalid("a path that leaves the directory".into(), "a relative path inside it".into()));
    }
    let metadata = fs::symlink_metadata(&path).map_err(io_error(&path))?;
    if !metadata.is_file() || metadata.len() != entry.bytes {
        let found = format!("{} bytes", metadata.len());
        return Err(invalid(
            found,
            format!(
                "a file of {} bytes; restore it, or make it again by forcing the stage `train` (map.json: `map`)",
                entry.bytes
            ),
        ));
    }
    let bytes = regular::read(&path).map_err(io_error(&path))?;
    let sha256 = sha256(&bytes);
    if sha256 != entry.sha256 {
        let expected = format!(
            "sha256 {}; restore the file, or make it again by forcing the stage `train` (map.json: `map`)",
            entry.sha256
        );
        return Err(invalid(format!("sha256 {sha256}"), expected));
    }
    Ok(bytes)
}
