//! A dataset in the formats of others: one file a split, streamed a few trajectories at a time.

pub(crate) mod split_writer;
pub(crate) mod csv;
pub(crate) mod netcdf;
pub(crate) mod pdebench;

use std::path::Path;

use self::split_writer::SplitWriter;
use super::copying::{Copying, batch_length};
use super::error::Error;
use super::manifest::SplitSummary;
use super::reader::Dataset;
use super::room::check_room;
use super::store::Store;
use crate::atomic;
use crate::progress::Run;
use crate::schema::Split;

/// A format of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One row a sample (and point of the grid, where there is one).
    Csv,
    /// HDF5 in the data model of netCDF-4.
    NetCdf,
    /// HDF5 as PDEBench lays it out.
    PdeBench,
}

impl ExportFormat {
    pub const ALL: [ExportFormat; 3] = [ExportFormat::Csv, ExportFormat::NetCdf, ExportFormat::PdeBench];

    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Csv => "csv",
            ExportFormat::NetCdf => "netcdf",
            ExportFormat::PdeBench => "pdebench",
        }
    }

    /// The name of the file of a split.
    pub fn file_name(self, split: Split) -> String {
        match self {
            ExportFormat::Csv => format!("{split}.csv"),
            ExportFormat::NetCdf => format!("{split}.nc"),
            ExportFormat::PdeBench => format!("{split}.hdf5"),
        }
    }
}

/// Writes a file of every split into `directory`, which appears complete or not at all.
///
/// # Errors
/// If the dataset cannot be read, is not what its manifest states, or does not fit the format; if the place cannot be written to or has not
/// the room that the trajectories take uncompressed; and [`Error::Interrupted`].
pub fn export(dataset: &Dataset, format: ExportFormat, directory: &Path, run: &Run) -> Result<(), Error> {
    let manifest = dataset.manifest();
    let place = atomic::Directory::create(directory).map_err(Error::io(directory))?;
    if format != ExportFormat::Csv {
        let sizes = manifest.splits.values().map(|summary| uncompressed(summary, manifest.sample_size()));
        check_room(place.path(), directory, sizes.fold(0, u64::saturating_add))?;
    }
    let total = manifest.splits.values().map(|summary| summary.trajectories).sum();
    let mut progress = Copying::begin(run, format!("export {}", manifest.name), total);
    for &split in manifest.splits.keys() {
        let path = place.path().join(format.file_name(split));
        let mut writer: Box<dyn SplitWriter + '_> = match format {
            ExportFormat::Csv => Box::new(csv::CsvFile::create(path, manifest)?),
            ExportFormat::NetCdf => Box::new(netcdf::NetCdfFile::create(path, dataset, split)?),
            ExportFormat::PdeBench => Box::new(pdebench::PdeBenchFile::create(path, dataset, split)?),
        };
        for batch in dataset.batches(split, Store::Parquet, batch_length(manifest))? {
            Error::interrupt(run)?;
            let batch = batch?;
            writer.append(&batch)?;
            progress.advance(batch.len(), split);
        }
        writer.finish()?;
    }
    place.publish().map_err(Error::io(directory))?;
    progress.end();
    Ok(())
}

/// Bytes of a split whose trajectories are all as long as the longest, of `size` values a sample.
fn uncompressed(summary: &SplitSummary, size: usize) -> u64 {
    let values = summary.trajectories.saturating_mul(summary.longest).saturating_mul(size + 1);
    (values as u64).saturating_mul(size_of::<f64>() as u64)
}
