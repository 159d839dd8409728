//! Parquet files as tables of numbers, texts and times. Nested columns are not read.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef, Fields, Schema, TimeUnit};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use rayon::prelude::*;

use super::batch::{Batch, Batches, Column, EXACT, Failure, Refusal};
use super::format::Format;
use crate::dataset::Pages;
use crate::dataset::parquet_store::catch_panic;

/// Values of all columns in a batch, and the least and most rows of one.
const VALUES: usize = 1 << 18;
const FEWEST_ROWS: usize = 1 << 10;
const MOST_ROWS: usize = 1 << 16;

const DAY: i64 = 86_400_000_000_000;

/// Files that begin with `PAR1`.
pub(crate) const FORMAT: Format = Format {
    #[cfg(test)]
    signature: SIGNATURE,
    name: "Parquet",
    endings: &["parquet"],
    is_of: |head| head.starts_with(SIGNATURE),
    open,
};

/// The first bytes of a file.
const SIGNATURE: &[u8] = b"PAR1";

/// Opens a file.
///
/// # Errors
/// Why the file cannot be read as a table.
fn open(path: &Path) -> Result<Batches, Refusal> {
    catch_panic(|| try_open(path)).map_err(damaged)?
}

fn try_open(path: &Path) -> Result<Batches, Refusal> {
    let file = File::open(path).map_err(damaged)?;
    let metadata =
        ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).and_then(with_views).map_err(damaged)?;
    let fields = metadata.schema().fields();
    let (simple, others): (Vec<usize>, Vec<usize>) = (0..fields.len()).partition(|&i| is_simple(fields[i].data_type()));
    let names: Vec<String> = simple.iter().map(|&i| fields[i].name().trim().to_owned()).collect();
    if names.is_empty() {
        return Err(("a Parquet file without a column of numbers, texts or times".to_owned(), "unnest its columns"));
    }
    check_compression(metadata.metadata())?;
    let rows = (VALUES / names.len()).clamp(FEWEST_ROWS, MOST_ROWS);
    let file = Arc::new(file);
    let readers = simple.iter().map(|&field| reader(&file, &metadata, field, rows));
    let mut readers: Vec<ParquetRecordBatchReader> = readers.collect::<Result<_, _>>().map_err(damaged)?;
    let batches = std::iter::from_fn(move || {
        let columns: Vec<Option<Result<Column, Failure>>> = readers.par_iter_mut().map(next).collect();
        columns.iter().any(Option::is_some).then(|| batch_of(columns))
    });
    let kind = |i: usize| format!("of the type {}", fields[i].data_type());
    let unread = others.iter().map(|&i| (fields[i].name().trim().to_owned(), kind(i)));
    let units = simple.iter().map(|&i| unit(&fields[i])).collect();
    Ok(Batches { unread: unread.collect(), units, ..Batches::new(names, batches) })
}

/// Refuses a file with a compression that is not supported.
fn check_compression(metadata: &ParquetMetaData) -> Result<(), Refusal> {
    let is_read =
        |it: &Compression| matches!(it, Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_));
    let mut all = metadata.row_groups().iter().flat_map(|group| group.columns()).map(|column| column.compression());
    match all.find(|it| !is_read(it)) {
        None => Ok(()),
        Some(other) => {
            let name = other.to_string();
            let name = name.split('(').next().unwrap_or_default();
            Err((
                format!("a Parquet file compressed by {name}"),
                "write it with snappy, with zstd or without compression",
            ))
        }
    }
}

fn damaged(error: impl Display) -> Refusal {
    (format!("a Parquet file that cannot be read: {error}"), "check that the file was copied whole")
}

/// A reader of one field, in batches of `rows`.
fn reader(
    file: &Arc<File>,
    metadata: &ArrowReaderMetadata,
    field: usize,
    rows: usize,
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let columns = metadata.parquet_schema();
    let mask = ProjectionMask::roots(columns, [field]);
    let column = (0..columns.num_columns()).find(|&column| mask.leaf_included(column)).unwrap_or(0);
    let pages = Pages::for_column(file.clone(), metadata.metadata(), column)?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata.clone());
    builder.with_projection(mask).with_batch_size(rows).build()
}

/// The next batch of a column; `None` at its end.
fn next(reader: &mut ParquetRecordBatchReader) -> Option<Result<Column, Failure>> {
    let read = catch_panic(|| {
        let batch = reader.next()?;
        let column = batch.map(|batch| batch.into_parts().1.pop());
        Some(column.map_err(|error| error.to_string()).and_then(|array| column_of(array.ok_or("no column")?)))
    });
    read.unwrap_or_else(|panic| Some(Err(panic)))
}

/// The columns as one batch.
///
/// # Errors
/// If their lengths differ.
fn batch_of(columns: Vec<Option<Result<Column, Failure>>>) -> Result<Batch, Failure> {
    let unequal = || "columns of different lengths".to_owned();
    let columns = columns.into_iter().map(|column| column.unwrap_or_else(|| Err(unequal())));
    let columns = columns.collect::<Result<Vec<Column>, Failure>>()?;
    let rows = columns.first().map_or(0, Column::len);
    if columns.iter().all(|column| column.len() == rows) { Ok(Batch(columns)) } else { Err(unequal()) }
}

/// Reads texts as views of their pages, so that a text repeated by a dictionary is in memory once, and numbers of a dictionary as numbers.
fn with_views(metadata: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let as_read = |field: &FieldRef| match field.data_type() {
        kind if is_text(kind) => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        DataType::Dictionary(_, values) if is_simple(values) => {
            Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone()))
        }
        _ => field.clone(),
    };
    let schema = Arc::new(Schema::new(metadata.schema().fields().iter().map(as_read).collect::<Fields>()));
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), ArrowReaderOptions::new().with_schema(schema))
}

/// The unit in the metadata of a field, or that of its type.
fn unit(field: &FieldRef) -> Option<String> {
    match field.data_type() {
        DataType::Duration(unit) => Some(unit_of_time(unit).to_owned()),
        _ => ["units", "unit"]
            .iter()
            .find_map(|key| field.metadata().get(key).cloned())
            .filter(|it| !it.trim().is_empty()),
    }
}

fn unit_of_time(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn is_simple(kind: &DataType) -> bool {
    match kind {
        DataType::Boolean | DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Duration(_) => {
            true
        }
        kind => is_text(kind) || kind.is_integer() || kind.is_floating(),
    }
}

fn column_of(array: ArrayRef) -> Result<Column, Failure> {
    if let Some(values) = array.as_primitive_opt::<Float64Type>().filter(|values| values.null_count() == 0) {
        let values = values.values().clone();
        // Takes the memory over if nothing else uses it.
        drop(array);
        return Ok(Column::Numbers(values.into()));
    }
    let array = &array;
    Ok(match array.data_type() {
        DataType::Float64 => numbers::<Float64Type>(array, |value| value),
        DataType::Float32 => numbers::<Float32Type>(array, f64::from),
        DataType::Float16 => numbers::<Float16Type>(array, f64::from),
        DataType::Int8 => numbers::<Int8Type>(array, f64::from),
        DataType::Int16 => numbers::<Int16Type>(array, f64::from),
        DataType::Int32 => numbers::<Int32Type>(array, f64::from),
        DataType::UInt8 => numbers::<UInt8Type>(array, f64::from),
        DataType::UInt16 => numbers::<UInt16Type>(array, f64::from),
        DataType::UInt32 => numbers::<UInt32Type>(array, f64::from),
        DataType::Int64 => integers::<Int64Type>(array, |value| value.unsigned_abs() <= EXACT, |value| value as f64),
        DataType::UInt64 => integers::<UInt64Type>(array, |value| value <= EXACT, |value| value as f64),
        DataType::Boolean => Column::Numbers(
            array.as_boolean().iter().map(|value| value.map_or(f64::NAN, |value| f64::from(u8::from(value)))).collect(),
        ),
        DataType::Utf8View => Column::Texts(array.as_string_view().clone()),
        DataType::Timestamp(unit, zone) => {
            let instants = match unit {
                TimeUnit::Second => instants::<TimestampSecondType>(array, 1_000_000_000, i64::from)?,
                TimeUnit::Millisecond => instants::<TimestampMillisecondType>(array, 1_000_000, i64::from)?,
                TimeUnit::Microsecond => instants::<TimestampMicrosecondType>(array, 1000, i64::from)?,
                TimeUnit::Nanosecond => instants::<TimestampNanosecondType>(array, 1, i64::from)?,
            };
            if zone.is_some() { Column::Instants(instants) } else { local(instants) }
        }
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => numbers::<DurationSecondType>(array, |value| value as f64),
            TimeUnit::Millisecond => numbers::<DurationMillisecondType>(array, |value| value as f64),
            TimeUnit::Microsecond => numbers::<DurationMicrosecondType>(array, |value| value as f64),
            TimeUnit::Nanosecond => numbers::<DurationNanosecondType>(array, |value| value as f64),
        },
        DataType::Date32 => local(instants::<Date32Type>(array, DAY, i64::from)?),
        DataType::Date64 => local(instants::<Date64Type>(array, 1_000_000, i64::from)?),
        kind => return Err(format!("a column of the type {kind}")),
    })
}

fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef, number: impl Fn(T::Native) -> f64) -> Column {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        return Column::Numbers(array.values().iter().map(|&value| number(value)).collect());
    }
    Column::Numbers(array.iter().map(|value| value.map_or(f64::NAN, &number)).collect())
}

fn integers<T: ArrowPrimitiveType<Native: ToString>>(
    array: &ArrayRef,
    is_exact: impl Fn(T::Native) -> bool,
    number: impl Fn(T::Native) -> f64,
) -> Column {
    let array = array.as_primitive::<T>();
    match array.null_count() {
        0 => Column::integers(array.values().iter().copied().map(Some), is_exact, number),
        _ => Column::integers(array.iter(), is_exact, number),
    }
}

/// Times in nanoseconds since 1970; `nanoseconds` is the unit of the counts.
fn instants<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    nanoseconds: i64,
    count: impl Fn(T::Native) -> i64,
) -> Result<Vec<Option<i64>>, Failure> {
    let instant = |value: Option<T::Native>| {
        let Some(value) = value else { return Ok(None) };
        let instant = count(value).checked_mul(nanoseconds);
        instant.map(Some).ok_or_else(|| "a time before 1678 or after 2261".to_owned())
    };
    array.as_primitive::<T>().iter().map(instant).collect()
}

/// Times without a zone, as texts: the settings say the zone.
fn local(instants: Vec<Option<i64>>) -> Column {
    let written = |instant: i64| {
        let timestamp = Timestamp::from_nanosecond(instant.into()).unwrap_or_default();
        TimeZone::UTC.to_datetime(timestamp).to_string()
    };
    Column::Texts(instants.into_iter().map(|instant| instant.map(written)).collect())
}
