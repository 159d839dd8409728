//! What a table of estimates says of its rows: what they were made from, and how they ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};

use super::origin::file_of;
use super::sources::{SOURCES, SourceRecord, Sources};
use crate::estimate;
use crate::estimate::Status;
use crate::estimate::table::output::{MANIFEST_FILE, Manifest, REMEDY as FORCE_THE_STAGE};
use crate::estimate::table::parquet::batches;
use crate::estimate::table::reading::check_digest;
use crate::pipeline::Error;
use crate::regular;
use crate::schema::Split;
use crate::seal::SUMS;

/// The remedy for a damaged table.
const MAKE_ANEW: &str =
    "restore it, or move its directory away: `paramill estimate` makes it anew from the files that are there";

/// One row.
pub(crate) struct KnownRow {
    pub status: Status,
    /// Its `data_files`.
    pub places: Vec<String>,
    /// Digest of its data.
    pub data: String,
    /// Names of its files.
    pub files: BTreeSet<String>,
    /// SHA-256 of its model and of its settings.
    pub made_by: [String; 2],
}

/// A table of estimates.
#[derive(Default)]
pub(crate) struct Known {
    /// By environment.
    pub rows: BTreeMap<String, KnownRow>,
    pub sources: Vec<SourceRecord>,
    /// Digest of the mapping that it was made by; empty where there is no table.
    pub import_sha256: String,
}

impl Known {
    /// The table at `directory`; an empty one where there is none.
    ///
    /// # Errors
    /// If something else is there, or the table is damaged.
    pub(crate) fn read(directory: &Path) -> Result<Self, Error> {
        if directory.symlink_metadata().is_err() {
            return Ok(Known::default());
        }
        let other = |found: String| Error::Unrecognised {
            path: directory.to_owned(),
            found,
            expected: "a table that `paramill estimate` made, or nothing; choose another directory for the table"
                .to_owned(),
        };
        // Neither a manifest nor a seal: it never was a table, and is not to be moved away for one.
        if !directory.is_dir() || [MANIFEST_FILE, SUMS].iter().all(|name| !directory.join(name).exists()) {
            return Err(other("something else".to_owned()));
        }
        let (manifest, _) = Manifest::read(directory).map_err(of_table)?;
        if manifest.files.iter().all(|file| file.path != SOURCES) {
            return Err(other("estimates of a pipeline".to_owned()));
        }
        // The directory is replaced whole.
        let is_own =
            |name: &str| name == MANIFEST_FILE || name == SUMS || manifest.files.iter().any(|file| file.path == name);
        for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
            let name = entry.map_err(Error::io(directory))?.file_name().to_string_lossy().into_owned();
            if !is_own(&name) {
                let expected = "nothing but the table, which is replaced whole; move it elsewhere".to_owned();
                return Err(Error::Unrecognised {
                    path: directory.join(&name),
                    found: "what is none of it".to_owned(),
                    expected,
                });
            }
        }
        let path = check_digest(directory, &manifest, SOURCES).map_err(of_table)?;
        let sources = regular::read(&path).map_err(Error::io(&path))?;
        let sources: Sources = serde_json::from_slice(&sources)
            .map_err(|error| other(format!("`{SOURCES}` that cannot be read ({error})")))?;
        let mut rows = BTreeMap::new();
        let path = check_digest(directory, &manifest, &format!("{}.parquet", Split::Adapt)).map_err(of_table)?;
        for batch in batches(&path).map_err(of_table)? {
            read_batch(&batch, &mut rows).ok_or_else(|| other("a table without a column it must have".to_owned()))?;
        }
        Ok(Known { rows, sources: sources.files, import_sha256: sources.import_sha256 })
    }

    /// The files that the rows of these environments have samples from.
    pub(crate) fn files_of<'a>(&self, environments: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        environments.filter_map(|id| self.rows.get(id)).flat_map(|row| row.files.iter().cloned()).collect()
    }
}

/// The error of a table that is damaged: no stage makes it.
pub(crate) fn of_table(error: estimate::Error) -> Error {
    Error::Estimate(match error {
        estimate::Error::Invalid { path, found, expected } => {
            estimate::Error::Invalid { path, found, expected: expected.replace(FORCE_THE_STAGE, MAKE_ANEW) }
        }
        error => error,
    })
}

fn read_batch(batch: &RecordBatch, rows: &mut BTreeMap<String, KnownRow>) -> Option<()> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let (ids, status, data) = (text("environment")?, text("status")?, text("data_sha256")?);
    let made_by = [text("made_by_sha256")?, text("settings_sha256")?];
    let files = batch.column_by_name("data_files")?.as_list_opt::<i32>()?;
    for i in 0..batch.num_rows() {
        let places = files.value(i);
        let places = places.as_string_opt::<i32>()?;
        let places: Vec<String> = (0..places.len()).map(|k| places.value(k).to_owned()).collect();
        let row = KnownRow {
            status: estimate::Status::ALL.into_iter().find(|it| it.name() == status.value(i))?,
            data: data.value(i).to_owned(),
            files: places.iter().map(|place| file_of(place).to_owned()).collect(),
            places,
            made_by: made_by.map(|column| column.value(i).to_owned()),
        };
        rows.insert(ids.value(i).to_owned(), row);
    }
    Some(())
}
