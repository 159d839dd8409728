//! What a row of a growing table was made from.

use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::import::load::Loaded;

/// The columns of an [`Origin`], after those of other tables of estimates.
pub(crate) const COLUMNS: [&str; 6] =
    ["data_files", "data_sha256", "made_by", "made_by_sha256", "settings_sha256", "estimated_at"];

/// What a row was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// `FILE:FIRST-LAST`: the files with samples of the environment, and the lines of the first and the last in each (rows, of Parquet
    /// and HDF5).
    pub files: Vec<String>,
    /// SHA-256 of the samples, inputs and parameters of the environment as they were imported.
    pub data: String,
    /// The name of the model, or of the equations.
    pub model: String,
    /// SHA-256 of the model's manifest; that of the equations' settings for known ones.
    pub model_sha256: String,
    /// SHA-256 of the settings of the estimate.
    pub settings: String,
    /// When the run began that estimated it, UTC.
    pub estimated_at: String,
}

/// The name of the file in one of [`Origin::files`].
pub(crate) fn file_of(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(file, _)| file)
}

/// SHA-256 of what was imported of an environment whose trajectories are the `segments`, hex.
pub(crate) fn data_digest(loaded: &Loaded, segments: &[usize]) -> String {
    let mut digest = Sha256::new();
    let mut add = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    let environment = segments.first().map_or("", |&first| loaded.trajectories.environment(first));
    for value in loaded.parameters.get(environment).into_iter().flatten() {
        match value {
            Some(value) => add(&value.to_le_bytes()),
            None => add(&[]),
        }
    }
    for &segment in segments {
        add(loaded.trajectories.id(segment).as_bytes());
        add(&loaded.trajectories.segments[segment].digest);
    }
    hex(&digest.finalize())
}
