//! `[import.side_table]` and `[[import.parameters]]` of a pipeline: what is known of environments.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::Condition;
use super::table::{comma, point};

/// A file with a header and one row per environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideTable {
    /// Path of the file within `directory`.
    pub file: String,
    /// What separates cells: one character, or `whitespace` for any run of blanks.
    #[serde(default = "comma")]
    pub delimiter: String,
    /// Decimal mark of numbers: `.` or `,`.
    #[serde(default = "point")]
    pub decimal: String,
    /// Conditions on the rows to keep, by column.
    #[serde(default)]
    pub rows: BTreeMap<String, Condition>,
    /// Column that identifies the environment.
    pub key: String,
    /// Spellings of an unknown value; a parameter computed from one is unknown.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// Environment ids by key, where the side table spells them differently.
    #[serde(default)]
    pub rename: BTreeMap<String, String>,
}

/// A known parameter. Environments for which it is unknown are trained on and estimated like others; only the affine map leaves them out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none).
    pub unit: String,
    /// Description in one sentence.
    #[serde(default)]
    pub description: String,
    /// Arithmetic over columns of the side table: `+ - * / ^`, brackets, numbers, `pi`, and the functions that equations may call, such as
    /// `sqrt`, `exp`, `ln`, `log10`, `abs`, `min(a, b)`.
    ///
    /// A column whose name is not a plain word is written in braces: `{weight(oz)} * 0.028349523125`.
    ///
    /// For fields without a side table, arithmetic over what their files say: values that the pattern of the files names (`{NAME}` in
    /// `import.fields.file`), attributes (`PATH@NAME` of a group or array), and arrays of one value, or one an environment or trajectory
    /// (`ARRAY.0` is the first column of `[B, d]`).
    pub expression: String,
}
