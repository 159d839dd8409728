//! netCDF-4 (HDF5), for netCDF4 and xarray: the variables of the dataset's HDF5 copy in one file per split, without the groups and the one-point
//! axis of The Well's layout.

use std::path::PathBuf;

use hdf5_metno::plist::file_create::LinkCreationOrder;
use hdf5_metno::{File, FileBuilder};

use super::format::{ExportFormat, SplitWriter};
use crate::dataset::error::Error;
use crate::dataset::hdf5_store::write::SplitVariables;
use crate::dataset::reader::Dataset;
use crate::disk;
use crate::schema::{Split, Trajectory};

/// `netcdf`.
pub(crate) const FORMAT: ExportFormat = ExportFormat { name: "netcdf", extension: "nc", is_hdf5: true, create };

struct NetCdfFile {
    path: PathBuf,
    file: File,
    variables: SplitVariables,
}

fn create<'a>(path: PathBuf, dataset: &'a Dataset, split: Split) -> Result<Box<dyn SplitWriter + 'a>, Error> {
    let (index, times) = (dataset.index(split)?, dataset.shared_times(split)?);
    disk::before_library_creates(&path).map_err(Error::io(&path))?;
    // No other process uses the file yet, and a child process would inherit the lock; netCDF-4 asks for links in
    // the order of their creation.
    let file = FileBuilder::new()
        .with_fapl(|plist| plist.file_locking(false))
        .with_fcpl(|plist| plist.link_creation_order(LinkCreationOrder::Indexed).obj_track_times(false))
        .create(&path)
        .map_err(Error::unwritten(&path))?;
    let variables = SplitVariables::lay_out(&file, dataset.manifest(), split, &index, times.as_deref(), false);
    Ok(Box::new(NetCdfFile { variables: variables.map_err(Error::unwritten(&path))?, path, file }))
}

impl SplitWriter for NetCdfFile {
    fn append(&mut self, rows: &[Trajectory]) -> Result<(), Error> {
        disk::before_library_writes(&self.path).map_err(Error::io(&self.path))?;
        self.variables.append(rows).map_err(Error::unwritten(&self.path))
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.file.flush().map_err(Error::unwritten(&self.path))
    }
}
