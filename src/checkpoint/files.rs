//! The files of a model directory, and JSON in them.

use std::path::Path;

use super::error::Error;

/// The manifest.
pub(crate) const MANIFEST_FILE: &str = "manifest.json";
/// Name of the file of shared weights and training contexts.
pub const WEIGHTS_FILE: &str = "weights.safetensors";
/// The card.
pub(crate) const CARD_FILE: &str = "README.md";
/// The loss curve.
pub(crate) const LOG_FILE: &str = "training-log.csv";
/// Name of the map's file in a model directory.
pub const MAP_FILE: &str = "map.json";

pub(crate) fn pretty(value: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data always serialise");
    bytes.push(b'\n');
    bytes
}

pub(crate) fn parse<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Invalid {
        path: path.to_owned(),
        found: error.to_string(),
        expected: "the JSON that paramill writes; restore the file".to_owned(),
    })
}
