//! Writes a split as a Parquet file, a row group at a time.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::schema::{FORMAT_KEY, SPLIT_KEY, element, nested, schema};
use crate::dataset::error::Error;
use crate::dataset::layout::TIME;
use crate::dataset::manifest::Manifest;
use crate::disk;
use crate::schema::{FormatVersion, Split, Trajectory};

/// Compression level of Zstandard.
pub(crate) const LEVEL: i32 = 3;

/// A row group is closed once it holds this many doubles (8 MiB before compression).
const ROW_GROUP_VALUES: usize = 1 << 20;

/// Writes `rows`, a shard of `split`, as the file at `path`.
pub(crate) fn write(path: &Path, manifest: &Manifest, split: Split, rows: &[Trajectory]) -> Result<(), Error> {
    let missing = rows.iter().any(|row| row.missing() > 0);
    let schema = Arc::new(schema(manifest, missing));
    let file = disk::create(path).map_err(Error::io(path))?;
    let write = || {
        let properties = properties(&schema, split)?;
        let mut writer = ArrowWriter::try_new(BufWriter::new(file), schema.clone(), Some(properties))?;
        for group in row_groups(rows) {
            writer.write(&record_batch(&schema, manifest, group, missing)?)?;
            writer.flush()?;
        }
        writer.close()
    };
    write().map_err(Error::unwritten(path))?;
    Ok(())
}

/// Divides `rows` into row groups; each ends with the trajectory that fills it.
fn row_groups(mut rows: &[Trajectory]) -> impl Iterator<Item = &[Trajectory]> {
    std::iter::from_fn(move || {
        let mut values = 0;
        let last = rows.iter().position(|row| {
            values += row.times.len() + row.states.len() + row.inputs.len();
            values >= ROW_GROUP_VALUES
        });
        let (group, rest) = rows.split_at(last.map_or(rows.len(), |last| last + 1));
        rows = rest;
        (!group.is_empty()).then_some(group)
    })
}

pub(crate) fn properties(schema: &Schema, split: Split) -> parquet::errors::Result<WriterProperties> {
    let metadata = [(FORMAT_KEY, FormatVersion::DATASET.to_string()), (SPLIT_KEY, split.name().to_owned())];
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("paramill version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(metadata));
    // A dictionary stores common times once, but does not help channels.
    for field in schema.fields().iter().filter(|field| field.name() != TIME) {
        if matches!(field.data_type(), DataType::List(_)) {
            let mut path = vec![field.name().clone()];
            let mut kind = field.data_type();
            while let DataType::List(element) = kind {
                path.extend(["list".to_owned(), "element".to_owned()]);
                kind = element.data_type();
            }
            let column = ColumnPath::new(path);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::BYTE_STREAM_SPLIT);
        }
    }
    Ok(properties.build())
}

fn record_batch(
    schema: &Arc<Schema>,
    manifest: &Manifest,
    rows: &[Trajectory],
    missing: bool,
) -> parquet::errors::Result<RecordBatch> {
    let (state, parameters, inputs) = (manifest.state_shape(), manifest.parameters.len(), manifest.inputs.len());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for id in [|row: &Trajectory| row.environment.clone(), |row: &Trajectory| row.trajectory.clone()] {
        let mut column = StringBuilder::new();
        rows.iter().for_each(|row| column.append_value(id(row)));
        columns.push(Arc::new(column.finish()));
    }
    for k in 0..parameters {
        let mut column = Float64Builder::new();
        rows.iter().for_each(|row| column.append_option(row.parameters[k]));
        columns.push(Arc::new(column.finish()));
    }
    columns.push(list_column(rows, |row, values| values.append_slice(&row.times)));
    for c in 0..state.channels {
        let values = || rows.iter().flat_map(|row| state.channel(&row.states, c)).flatten().copied();
        let mut column: ArrayRef = Arc::new(match missing {
            true => Float64Array::from_iter(values().map(|value| Some(value).filter(|value| !value.is_nan()))),
            false => Float64Array::from_iter_values(values()),
        });
        for (inner, count) in state.space.iter().rev().enumerate() {
            column = list_of(nested(inner, missing), std::iter::repeat_n(*count, column.len() / count), column)?;
        }
        columns.push(list_of(nested(state.space.len(), missing), rows.iter().map(Trajectory::len), column)?);
    }
    for u in 0..inputs {
        columns
            .push(list_column(rows, |row, values| (0..row.len()).for_each(|t| values.append_value(row.input(t)[u]))));
    }
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

/// Lists of these lengths of elements.
fn list_of(
    element: Arc<Field>,
    lengths: impl Iterator<Item = usize>,
    values: ArrayRef,
) -> parquet::errors::Result<ArrayRef> {
    Ok(Arc::new(ListArray::try_new(element, OffsetBuffer::from_lengths(lengths), values, None)?))
}

fn list_column(rows: &[Trajectory], append: impl Fn(&Trajectory, &mut Float64Builder)) -> ArrayRef {
    let mut column = ListBuilder::new(Float64Builder::new()).with_field(element());
    for row in rows {
        append(row, column.values());
        column.append(true);
    }
    Arc::new(column.finish())
}
