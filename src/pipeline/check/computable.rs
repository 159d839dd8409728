//! Whether this build computes the model of a pipeline: one of fields needs libtorch.

use crate::engine::{BUILD_WITH_TORCH, WITHOUT_TORCH, computes};
use crate::problems::{Kind, Problem};
use crate::train;

/// The problem with the model that `settings` name, if this build does not compute it.
pub(crate) fn uncomputable(settings: &train::Settings) -> Option<Problem> {
    let expected = format!("none, for {WITHOUT_TORCH}, which computes them");
    let problem = Problem::new(Kind::Setting, "a model of fields", expected, BUILD_WITH_TORCH);
    (!computes(&settings.model)).then(|| problem.setting("train.model.kind"))
}
