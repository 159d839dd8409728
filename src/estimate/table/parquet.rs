//! Creates Parquet files, and turns what goes wrong with them into errors.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::atomic;
use crate::disk::{self, NewFile};
use crate::estimate::error::Error;
use crate::regular;

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

/// All rows of the file at `path`.
pub(crate) fn batches(path: &Path) -> Result<Vec<RecordBatch>, Error> {
    let file = regular::open(path).map_err(|source| io_error(path, source))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(ParquetRecordBatchReaderBuilder::build);
    let invalid = |error: String| Error::Invalid {
        path: path.to_owned(),
        found: error,
        expected: "a Parquet file of a table of estimates".to_owned(),
    };
    let reader = reader.map_err(|error| invalid(error.to_string()))?;
    reader.map(|batch| batch.map_err(|error| invalid(error.to_string()))).collect()
}

/// The error of a file that could not be opened, read or written.
pub(crate) fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}

/// The error of a file that could not be written.
pub(crate) fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    move |error| io_error(path, atomic::unwritten(error))
}
