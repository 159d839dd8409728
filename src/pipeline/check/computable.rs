//! Whether this build computes the model of a pipeline: one of fields needs libtorch.

use crate::engine::{BUILD_WITH_TORCH, WITHOUT_TORCH, computes};
use crate::pipeline::document::Document;
use crate::problems::{Kind, Problem};
use crate::train;

/// The model that `settings` name, at its place in `document`, if this build does not compute it.
pub(crate) fn uncomputable(document: &Document, settings: &train::Settings) -> Option<Problem> {
    (!computes(&settings.model)).then(|| {
        let expected = format!("none, for {WITHOUT_TORCH}, which computes them");
        let problem = Problem::new(Kind::Setting, "a model of fields", expected, BUILD_WITH_TORCH);
        document.placed(problem.setting("train.model.kind"))
    })
}
