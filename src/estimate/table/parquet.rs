//! Parquet files of the estimates: their writer, and what goes wrong with it.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evaluation::Evaluation;
use super::fitted::FittedWriter;
use super::output::{Outcome, ROW_GROUP, schema};
use super::row::{ParameterEstimate, Row, Status};
use crate::checkpoint::StoredModel;
use crate::dataset::{Dataset, FileEntry, Parent, Provenance, listed_problem};
use crate::digest::{sha256, sha256_of_file};
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
use crate::schema::{FormatVersion, Quantity, Split};
use crate::{atomic, regular, seal};

/// A writer of Parquet at `path`.
pub(crate) fn parquet(path: &Path, schema: Arc<Schema>) -> Result<ArrowWriter<File>, Error> {
    let file = File::create(path).map_err(|source| io_error(path, source))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_created_by(format!("paramill {}", env!("CARGO_PKG_VERSION")))
        .build();
    let writer = ArrowWriter::try_new(file, schema, Some(properties));
    writer.map_err(unwritten(path))
}

pub(crate) fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}

/// A file that cannot be written.
pub(crate) fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |error| io_error(path, atomic::unwritten(error))
}
