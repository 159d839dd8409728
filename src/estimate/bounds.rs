//! Bounds of parameters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Between which values a parameter lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// Smallest value, in the parameter's unit; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Greatest value, in the parameter's unit; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Bounds {
    /// The nearest value within the bounds; NaN stays NaN.
    pub fn cut(&self, value: f64) -> f64 {
        let value = self.min.map_or(value, |min| if value < min { min } else { value });
        self.max.map_or(value, |max| if value > max { max } else { value })
    }
}

/// The bounds of each parameter in `names`, in their order; a parameter without an entry is unbounded.
pub(crate) fn bounds_in_order<'a>(
    bounds: &BTreeMap<String, Bounds>,
    names: impl Iterator<Item = &'a str>,
) -> Vec<Bounds> {
    names.map(|name| bounds.get(name).copied().unwrap_or_default()).collect()
}
