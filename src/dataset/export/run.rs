//! Exports a dataset.

use std::path::Path;

use super::format::ExportFormat;
use super::{csv, netcdf, pdebench};
use crate::atomic;
use crate::dataset::copy_progress::{CopyProgress, batch_length};
use crate::dataset::disk_space::require_space;
use crate::dataset::error::Error;
use crate::dataset::manifest::SplitSummary;
use crate::dataset::reader::Dataset;
use crate::dataset::store::Store;
use crate::progress::Run;
use crate::schema::Split;

impl ExportFormat {
    /// Every format.
    pub const ALL: [ExportFormat; 3] = [csv::FORMAT, netcdf::FORMAT, pdebench::FORMAT];

    /// The format of that name.
    pub fn named(name: &str) -> Option<ExportFormat> {
        Self::ALL.into_iter().find(|format| format.name == name)
    }

    /// The name of the file of a split.
    pub fn file_name(self, split: Split) -> String {
        format!("{split}.{}", self.extension)
    }
}

/// Writes a file of every split into `directory`, which appears complete or not at all.
///
/// # Errors
/// If the dataset cannot be read, does not match its manifest, or cannot be expressed in the format; if `directory` cannot be written to or
/// its disk has less free space than the uncompressed trajectories take; and [`Error::Interrupted`].
pub fn export(dataset: &Dataset, format: ExportFormat, directory: &Path, run: &Run) -> Result<(), Error> {
    let manifest = dataset.manifest();
    let place = atomic::Directory::create(directory).map_err(Error::io(directory))?;
    if format.is_hdf5 {
        let sizes = manifest.splits.values().map(|summary| uncompressed(summary, manifest.sample_size()));
        require_space(place.path(), directory, sizes.fold(0, u64::saturating_add))?;
    }
    let total = manifest.splits.values().map(|summary| summary.trajectories).sum();
    let mut progress = CopyProgress::begin(run, format!("export {}", manifest.name), total);
    for &split in manifest.splits.keys() {
        let path = place.path().join(format.file_name(split));
        let mut writer = (format.create)(path, dataset, split)?;
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

/// Uncompressed bytes of a split whose trajectories are padded to the longest, with `size` values per sample.
fn uncompressed(summary: &SplitSummary, size: usize) -> u64 {
    let values = summary.trajectories.saturating_mul(summary.longest).saturating_mul(size + 1);
    (values as u64).saturating_mul(size_of::<f64>() as u64)
}
