//! Writes a trajectory that is too long to stand in memory a second time as a Parquet file: column after column, some values at a time.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::schema;
use super::write::properties;
use crate::dataset::{Error, Manifest};
use crate::schema::{Split, Trajectory};

/// Values written at a time.
const TOGETHER: usize = 1 << 16;

type Group<'a> = SerializedRowGroupWriter<'a, BufWriter<File>>;

/// Writes `row`, of a dataset without a grid, as the only one of the file at `path`, as [`super::write()`] would.
pub(in crate::dataset) fn write_long(
    path: &Path,
    manifest: &Manifest,
    split: Split,
    row: &Trajectory,
) -> std::result::Result<(), Error> {
    let schema = schema(manifest, row.missing() > 0);
    let file = File::create_new(path).map_err(Error::io(path))?;
    let write = || {
        let mut properties = properties(&schema, split)?;
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let root = ArrowSchemaConverter::new().convert(&schema)?.root_schema_ptr();
        let mut writer = SerializedFileWriter::new(BufWriter::new(file), root, Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for id in [&row.environment, &row.trajectory] {
            column::<ByteArrayType>(&mut group, |column, _| {
                column.write_batch(&[ByteArray::from(id.as_str())], None, None).map(|_| ())
            })?;
        }
        for parameter in &row.parameters {
            column::<DoubleType>(&mut group, |column, _| {
                let known = i16::from(parameter.is_some());
                column.write_batch(parameter.as_slice(), Some(&[known]), None).map(|_| ())
            })?;
        }
        list(&mut group, row.len(), |t| row.times[t])?;
        for c in 0..manifest.channels.len() {
            list(&mut group, row.len(), |t| row.state(t)[c])?;
        }
        for u in 0..manifest.inputs.len() {
            list(&mut group, row.len(), |t| row.input(t)[u])?;
        }
        group.close()?;
        writer.close()
    };
    write().map_err(Error::unwritten(path))?;
    Ok(())
}

/// Writes the next column; `write` is also given the level at which its values are there.
fn column<T: DataType>(
    group: &mut Group<'_>,
    write: impl FnOnce(&mut ColumnWriterImpl<'_, T>, i16) -> Result<()>,
) -> Result<()> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    let typed = column.typed::<T>();
    let there = typed.get_descriptor().max_def_level();
    write(typed, there)?;
    column.close()
}

/// Writes the next column: one list of `count` values, null where NaN.
fn list(group: &mut Group<'_>, count: usize, value: impl Fn(usize) -> f64) -> Result<()> {
    column::<DoubleType>(group, |column, there| {
        let (mut values, mut levels) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
        for first in (0..count).step_by(TOGETHER) {
            let samples = first..(first + TOGETHER).min(count);
            values.clear();
            values.extend(samples.clone().map(&value).filter(|value| !value.is_nan()));
            levels.clear();
            levels.extend(samples.clone().map(|t| there - i16::from(value(t).is_nan())));
            let follows: Vec<i16> = samples.map(|t| i16::from(t > 0)).collect();
            column.write_batch(&values, Some(&levels), Some(&follows))?;
        }
        Ok(())
    })
}
