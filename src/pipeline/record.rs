//! The record of a stage that ran: `stages/NAME.json` in the workspace.
//!
//! The product is published before its record is written, so a crash between the two only repeats work.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::fingerprint::Ingredients;
use crate::atomic;
use crate::estimate::Status;
use crate::regular;

/// How a stage ran, and what it made from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// SHA-256 over the ingredients, hex.
    pub fingerprint: String,
    /// What the product was made from.
    pub ingredients: Ingredients,
    /// `paramill` and its version, which the product does not depend on; absent in records of format 2.1 and before.
    #[serde(default)]
    pub tool: String,
    /// Wall time.
    pub seconds: f64,
    /// The device that computed: `cpu`, `cuda:0`.
    pub device: String,
    /// The engine that computed: `native` or `torch`; empty where no model did.
    pub engine: String,
    /// Worker threads of the run.
    pub threads: usize,
    /// Where the product stands, as it was named then.
    pub product: String,
    /// Content hash of the product.
    pub sha256: String,
    /// Whether this pipeline made the product; a dataset may have been made by another one.
    pub made_here: bool,
    /// Environments of each status that occurs, where the stage gives them one.
    pub statuses: BTreeMap<Status, usize>,
}

impl Record {
    /// Reads a record; `None` if there is none that this version can read. The stage then runs again.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&regular::read(path).ok()?).ok()
    }

    /// Whether the product was made from these ingredients.
    pub fn is_of(&self, ingredients: &Ingredients) -> bool {
        // Not by the recorded fingerprint: once it told of more.
        ingredients.is_as(&self.ingredients)
    }

    /// Writes the record, atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::from).map_err(Error::io(path))?;
        text.push('\n');
        atomic::write_file(path, text.as_bytes()).map_err(Error::io(path))
    }
}
