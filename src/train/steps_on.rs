//! `train.steps_on` of a pipeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where steps of Adam are made. The model is the same, but for rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepsOn {
    /// On the device where that is CUDA and the rule allows it, else from the host.
    Auto,
    /// From the host: it decodes weights and moves what is trained, the engine gives the gradient.
    Host,
    /// On the device of the engine `torch`: many steps are planned ahead, and what is trained stays there. Steps have one shape, and are one CUDA
    /// graph where there is CUDA. An error where it cannot be: with rules whose weights are not sums of shared values (`cavia-film`, `geps`), or whose
    /// objective is one of their own (`maml`, `anil`, `meta-sgd`, `ncf`), with inferred environments, and with data that exceed the memory budget.
    Device,
}

impl StepsOn {
    pub(super) fn is_auto(&self) -> bool {
        *self == StepsOn::Auto
    }
}
