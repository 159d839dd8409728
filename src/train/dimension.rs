//! The dimension of the contexts, chosen by the error on the validation split.
//!
//! With too few dimensions the environments cannot be told apart, and the error is that of a model of their mean; once there are as many as parameters
//! vary, a further one has nothing left to explain. So the dimension grows by one until the error on the validation split is not halved any more.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::settings::{ContextDimension, Settings};
use crate::checkpoint::StoredModel;
use crate::disk;
use crate::progress::{Event, Run};
use crate::rules::MOST_DIMENSIONS;

/// A further dimension must bring the error on the validation split to this share of what it was without.
const WORTHWHILE: f64 = 0.5;

/// Models with contexts of one dimension, two and so on, as `fit` trains them to a directory, as long as each is worthwhile; the last that was is put in
/// place as `directory`. A dimension that was trained before an interruption, from the dataset with this `content_hash`, is not trained again.
///
/// # Errors
/// As `fit`.
pub(super) fn choose(
    settings: &Settings,
    (seed, content_hash): (u64, &str),
    directory: &Path,
    fit: &dyn Fn(&Settings, &Path) -> Result<StoredModel, Error>,
    run: &Run,
) -> Result<StoredModel, Error> {
    let mut best: Option<StoredModel> = None;
    for d in 1..=MOST_DIMENSIONS {
        let place = candidate(directory, d);
        let settings = Settings { context_dimension: Some(ContextDimension::Count(d)), ..settings.clone() };
        let configuration = serde_json::to_value(&settings).expect("settings are plain data");
        let is_of_these = |model: &StoredModel| {
            let provenance = &model.manifest.provenance;
            let parents: Vec<&str> = provenance.parents.iter().map(|parent| parent.sha256.as_str()).collect();
            provenance.configuration == configuration && provenance.seed == Some(seed) && parents == [content_hash]
        };
        let before = StoredModel::read_without_map(&place).ok().filter(is_of_these);
        let model = match before {
            Some(model) => model,
            None => fit(&settings, &place)?,
        };
        let error = model.manifest.training.validation;
        run.emit(Event::Note(format!(
            "context_dimension = {d}: mean squared error on the validation split {error:.3e}"
        )));
        let fewer = best.as_ref().map(|best| best.manifest.training.validation);
        if fewer.is_some_and(|fewer| error > WORTHWHILE * fewer) {
            break;
        }
        // As many contexts as environments explain any difference between them.
        let is_last = d + 1 >= model.manifest.environments.len();
        best = Some(model);
        if is_last {
            break;
        }
    }
    let mut best = best.expect("the first dimension is always kept");
    run.emit(Event::Note(format!("context_dimension: {} is kept", best.manifest.context_dimension)));
    best.publish(directory, run).map_err(Error::Checkpoint)?;
    let all = candidates(directory);
    // What remains of it is in nobody's way.
    let _ = disk::remove_tree(&all);
    Ok(best)
}

/// Where the candidates are while they are compared.
fn candidates(directory: &Path) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.with_file_name(format!("{name}.dimensions"))
}

/// The model with `d` dimensions, under the name that it will have.
fn candidate(directory: &Path, d: usize) -> PathBuf {
    candidates(directory).join(d.to_string()).join(directory.file_name().unwrap_or_default())
}
