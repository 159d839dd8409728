//! Opens HDF5 files.

use std::path::Path;

use hdf5_metno::File;

use super::generic;
use super::layouts::known_layout;
use super::variables::{COPY, Table, Tables};
use crate::dataset::hdf5_external_problems;
use crate::import::tables::batch::{Batches, Refusal};
use crate::import::tables::format::Format;

/// Offsets at which a file may begin: a user block may precede it, as in files of MATLAB.
const BEGINNINGS: [usize; 4] = [0, 512, 1024, 2048];
/// The first bytes of a file, or of what follows its user block.
pub(crate) const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// HDF5 files of any layout.
pub(crate) const FORMAT: Format = Format {
    #[cfg(test)]
    signature: SIGNATURE,
    name: "HDF5",
    endings: &["h5", "hdf5", "hdf", "nc", "nc4", "mat"],
    is_of: is_hdf5,
    open,
};

/// Whether a file that begins with `head` is an HDF5 file.
pub(crate) fn is_hdf5(head: &[u8]) -> bool {
    BEGINNINGS.iter().any(|&at| head.get(at..).is_some_and(|rest| rest.starts_with(SIGNATURE)))
}

/// Opens a file; its content tells the layout.
///
/// # Errors
/// Why the file cannot be read as a table.
fn open(path: &Path) -> Result<Batches, Refusal> {
    let damaged = |error: hdf5_metno::Error| {
        (format!("an HDF5 file that cannot be read: {error}"), "check that the file was copied whole")
    };
    let file = File::open(path).map_err(damaged)?;
    let reaching = hdf5_external_problems(path, &file)
        .map_err(|error| (error.to_string(), "check that the file was copied whole"))?;
    if !reaching.is_empty() {
        return Err((reaching.join("; "), COPY));
    }
    let Tables { tables, unread, apart } = known_layout(path, &file).unwrap_or_else(|| generic::tables(path, &file))?;
    let columns = || tables.first().into_iter().flat_map(|table| &table.columns);
    let names = columns().map(|column| column.name.clone()).collect();
    let units = columns().map(|column| column.unit.clone()).collect();
    Ok(Batches { unread, units, apart, ..Batches::new(names, tables.into_iter().flat_map(Table::batches)) })
}
