//! Attributes and texts of HDF5 objects.

/// Root attribute that states the format version.
pub(crate) const FORMAT_ATTRIBUTE: &str = "paramill_format";

use std::ffi::{CString, c_char, c_int};
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_metno::plist::dataset_create::AttrCreationOrder;
use hdf5_metno::plist::file_create::LinkCreationOrder;
use hdf5_metno::sync::sync;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset, DatasetBuilder, Error, File, FileBuilder, Group, Hyperslab, Location, Result, SliceOrIndex};
use hdf5_metno_sys::h5f::H5Fget_file_image;
use hdf5_metno_sys::h5i::hid_t;
use ndarray::{Array1, Array2, ArrayD, ArrayView1};

use super::the_well;
use crate::dataset::layout::{ENVIRONMENT_ID, POINT, SAMPLE, SAMPLE_COUNT, TIME, TRAJECTORY, TRAJECTORY_ID};
use crate::dataset::manifest::Manifest;
use crate::dataset::reader::IndexEntry;
use crate::schema::{FormatVersion, Input, Quantity, Split, StateShape, Trajectory};

pub(crate) fn builder(group: &Group) -> DatasetBuilder {
    group
        .new_dataset_builder()
        .obj_track_times(false)
        .attr_creation_order(AttrCreationOrder::Tracked)
        .char_encoding(hdf5_metno::plist::link_create::CharEncoding::Utf8)
}

pub(crate) fn string(text: &str) -> Result<VarLenUnicode> {
    VarLenUnicode::from_str(text).map_err(|error| Error::Internal(format!("{text:?}: {error}")))
}

pub(crate) fn text(location: &Location, name: &str, value: &str) -> Result<()> {
    location.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&string(value)?)
}
