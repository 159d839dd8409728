//! Parquet files of the estimates: their writer, and what goes wrong with it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::output::ROW_GROUP;
use crate::atomic;
use crate::estimate::error::Error;

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
