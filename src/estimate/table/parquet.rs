//! Creates Parquet files, and turns what goes wrong with them into errors.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::atomic;
use crate::disk::{self, NewFile};
use crate::estimate::error::Error;

/// Rows per row group, which a writer holds in memory.
const ROW_GROUP: usize = 8192;

/// A writer of a new file at `path`.
pub(crate) fn create(path: &Path, schema: Arc<Schema>) -> Result<ArrowWriter<NewFile>, Error> {
    let file = disk::create(path).map_err(|source| io_error(path, source))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_created_by(format!("paramill {}", env!("CARGO_PKG_VERSION")))
        .build();
    let writer = ArrowWriter::try_new(file, schema, Some(properties));
    writer.map_err(unwritten(path))
}

/// The error of a file that could not be opened, read or written.
pub(crate) fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}

/// The error of a file that could not be written.
pub(crate) fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |error| io_error(path, atomic::unwritten(error))
}
