//! The trained model that a training starts from.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Error;
use super::executor::Context;
use super::fingerprint::MODEL_IN_USE;
use super::plan::{CURRENT, Plan};
use crate::checkpoint::{self, Manifest, Opened, StoredModel};
use crate::dataset::{Dataset, Parent};
use crate::estimate;
use crate::problems::listing;
use crate::progress::Event;
use crate::train::{Contexts, WarmStart};

/// What the fingerprint of a training knows of it.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn parent(plan: &Plan) -> Result<Option<Parent>, Error> {
    let Some(path) = plan.start_of_training() else { return Ok(None) };
    let is_own = |other: &Path| path.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    if is_own(&plan.model_directory()) {
        let remedy = "set `run.models = 2` and train.warm_start = \"current\", or name another";
        return Err(Error::Usage(format!(
            "train.warm_start: {} is where this pipeline puts its own model; expected a model that stays as it is; {remedy}",
            path.display()
        )));
    }
    let opened = Opened::new(&path).map_err(|error| damaged(&path, &error))?;
    let (_, sha256) = Manifest::read(opened.directory()).map_err(|error| damaged(&path, &error))?;
    let is_in_use = plan.train.as_ref().is_some_and(|train| train.warm_start.as_deref() == Some(CURRENT));
    let name = if is_in_use { MODEL_IN_USE } else { "the model to start from" };
    Ok(Some(Parent { name: name.to_owned(), sha256 }))
}

/// A training is not begun anew from a model that cannot be read: another is to be named.
fn damaged(path: &Path, error: &checkpoint::Error) -> Error {
    Error::DamagedStart { path: path.to_owned(), found: error.to_string() }
}

/// Reads it, and fits contexts of the environments that it does not know.
///
/// # Errors
/// If it cannot be read or computed, or has other quantities than the dataset.
pub(crate) fn open(plan: &Plan, dataset: &Dataset, context: &Context<'_>) -> Result<Option<WarmStart>, Error> {
    let (Some(train), Some(path)) = (&plan.train, plan.start_of_training()) else { return Ok(None) };
    let opened = Opened::new(&path).map_err(|error| damaged(&path, &error))?;
    let model = StoredModel::read(opened.directory()).map_err(|error| damaged(&path, &error))?;
    let run = context.run;
    let of_start = format!("training starts from {}, manifest sha256 {}", path.display(), model.content_hash);
    run.emit(Event::Note(of_start));
    let mut contexts = BTreeMap::new();
    if train.contexts == Contexts::Learned {
        let settings = plan.estimate.clone().unwrap_or_default();
        contexts = estimate::contexts_of_new(&settings, context.compute, dataset, &model, run)?;
        let names: Vec<&String> = contexts.keys().collect();
        if !names.is_empty() {
            run.emit(Event::Note(format!("new environments start with contexts fitted to it: {}", listing(&names))));
        }
    }
    Ok(Some(WarmStart { model, contexts }))
}
