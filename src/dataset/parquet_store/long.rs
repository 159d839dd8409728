//! Writes a trajectory that is too long to stand in memory a second time as a Parquet file: column after column, a page at a time.
//!
//! The writers of the library keep a record within a page, and a trajectory is one record; so its pages are made here. A page of version 1
//! holds, compressed together,
//!
//! ```text
//! repetition levels, definition levels   each its length (4 bytes) and runs: the varint of 2 count, then the level (1 byte)
//! the values that are there              plain, or byte k of each value one after the other, for k = 0 .. 7
//! ```
//!
//! Source: the Parquet format, Encodings.md and README.md.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::schema::schema;
use super::write::{LEVEL, properties};
use crate::dataset::error::Error;
use crate::dataset::manifest::Manifest;
use crate::disk::{self, NewFile};
use crate::schema::{Split, Trajectory};

/// Samples of a page.
const SAMPLES: usize = 1 << 16;

/// Writes `row`, of a dataset without a grid, as the only one of the file at `path`.
pub(crate) fn write_long(
    path: &Path,
    manifest: &Manifest,
    split: Split,
    row: &Trajectory,
) -> std::result::Result<(), Error> {
    let file = disk::create(path).map_err(Error::io(path))?;
    let pages = tempfile::tempfile_in(path.parent().unwrap_or(path)).map_err(Error::io(path))?;
    let write = || {
        let schema = schema(manifest, row.missing() > 0);
        let mut properties = properties(&schema, split)?;
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let descriptor = ArrowSchemaConverter::new().convert(&schema)?;
        let (root, properties) = (descriptor.root_schema_ptr(), Arc::new(properties));
        let mut writer = SerializedFileWriter::new(BufWriter::new(file), root, properties.clone())?;
        let mut group = writer.next_row_group()?;
        for id in [&row.environment, &row.trajectory] {
            single::<ByteArrayType>(&mut group, &[ByteArray::from(id.as_str())], None)?;
        }
        for parameter in &row.parameters {
            single::<DoubleType>(&mut group, parameter.as_slice(), Some(i16::from(parameter.is_some())))?;
        }
        let (first, channels) = (2 + row.parameters.len(), manifest.channels.len());
        for column in 0..1 + channels + manifest.inputs.len() {
            let value = |t: usize| match column.checked_sub(1) {
                None => row.times[t],
                Some(c) if c < channels => row.state(t)[c],
                Some(c) => row.input(t)[c - channels],
            };
            let list = List { column: descriptor.column(first + column), properties: &properties, pages: &pages };
            let close = list.write(row.len(), value)?;
            group.append_column(&pages, close)?;
        }
        group.close()?;
        writer.close()
    };
    write().map_err(Error::unwritten(path))?;
    Ok(())
}

/// Writes the next column, of one value or, if the level at which it is `there` is zero, of none.
fn single<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<NewFile>>,
    value: &[T::T],
    there: Option<i16>,
) -> Result<()> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    column.typed::<T>().write_batch(value, there.as_ref().map(std::slice::from_ref), None)?;
    column.close()
}

/// A column of one list of doubles.
struct List<'a> {
    column: ColumnDescPtr,
    properties: &'a WriterProperties,
    /// Where its pages stand until they are copied.
    pages: &'a File,
}

impl List<'_> {
    /// Writes `count` values, null where NaN, as the pages of the column.
    fn write(&self, count: usize, value: impl Fn(usize) -> f64) -> Result<ColumnCloseResult> {
        use std::io::{Seek, SeekFrom};

        self.pages.set_len(0)?;
        (&mut &*self.pages).seek(SeekFrom::Start(0))?;
        let encoding = self.properties.encoding(self.column.path()).unwrap_or(Encoding::PLAIN);
        let there = self.column.max_def_level();
        let mut sink = TrackedWrite::new(self.pages);
        let mut writer = SerializedPageWriter::new(&mut sink);
        let (mut uncompressed, mut compressed) = (0, 0);
        for first in (0..count).step_by(SAMPLES) {
            let samples = first..(first + SAMPLES).min(count);
            let mut page = levels(samples.clone().map(|t| i16::from(t > 0)));
            page.extend(levels(samples.clone().map(|t| there - i16::from(value(t).is_nan()))));
            let values: Vec<[u8; 8]> =
                samples.clone().map(&value).filter(|value| !value.is_nan()).map(f64::to_le_bytes).collect();
            match encoding {
                Encoding::BYTE_STREAM_SPLIT => (0..8).for_each(|k| page.extend(values.iter().map(|bytes| bytes[k]))),
                _ => page.extend(values.iter().flatten()),
            }
            let spec = writer.write_page(CompressedPage::new(
                Page::DataPage {
                    buf: zstd::bulk::compress(&page, LEVEL)?.into(),
                    num_values: samples.len() as u32,
                    encoding,
                    def_level_encoding: Encoding::RLE,
                    rep_level_encoding: Encoding::RLE,
                    statistics: None,
                },
                page.len(),
            ))?;
            uncompressed += spec.uncompressed_size as i64;
            compressed += spec.compressed_size as i64;
        }
        writer.close()?;
        let metadata = ColumnChunkMetaData::builder(self.column.clone())
            .set_compression(self.properties.compression(self.column.path()))
            .set_encodings(vec![Encoding::RLE, encoding])
            .set_num_values(count as i64)
            .set_total_uncompressed_size(uncompressed)
            .set_total_compressed_size(compressed)
            .set_data_page_offset(0)
            .build()?;
        Ok(ColumnCloseResult {
            bytes_written: compressed as u64,
            rows_written: 1,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        })
    }
}

/// Levels of a page: runs of equal ones, behind the length of them all.
fn levels(levels: impl Iterator<Item = i16>) -> Vec<u8> {
    let mut runs: Vec<(i16, u32)> = Vec::new();
    for level in levels {
        match runs.last_mut().filter(|run| run.0 == level) {
            Some(run) => run.1 += 1,
            None => runs.push((level, 1)),
        }
    }
    let mut bytes = vec![0; 4];
    for (level, count) in runs {
        let mut header = count << 1;
        while header >= 1 << 7 {
            bytes.push((header & 0x7f) as u8 | 1 << 7);
            header >>= 7;
        }
        bytes.extend([header as u8, level as u8]);
    }
    let length = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}
