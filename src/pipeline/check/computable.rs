//! Whether this build computes the model of a pipeline: one of fields needs libtorch.

use super::sections::segments;
use crate::engine::{BUILD_WITH_TORCH, WITHOUT_TORCH, computes};
use crate::pipeline::document::Document;
use crate::problems::Diagnostic;
use crate::train;

/// The model that `settings` name, at its place in `document`, if this build does not compute it.
pub(crate) fn uncomputable(document: &Document, settings: &train::Settings) -> Option<Diagnostic> {
    let path = segments("train.model.kind");
    (!computes(&settings.model)).then(|| Diagnostic {
        place: document.value_place(&path),
        key: path.join("."),
        found: "a model of fields".to_owned(),
        expected: format!("none, for {WITHOUT_TORCH}, which computes them"),
        remedy: BUILD_WITH_TORCH.to_owned(),
    })
}
