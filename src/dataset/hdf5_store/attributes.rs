//! Creates HDF5 datasets and text attributes.

/// Root attribute that states the format version.
pub(crate) const FORMAT_ATTRIBUTE: &str = "paramill_format";

/// Attribute of an axis in space: what lies beyond its ends.
pub(crate) const BOUNDARY: &str = "boundary";

use std::str::FromStr;

use hdf5_metno::plist::dataset_create::AttrCreationOrder;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{DatasetBuilder, Error, Group, Location, Result};

/// A builder of datasets without creation times, so that bytes depend on contents alone.
pub(crate) fn builder(group: &Group) -> DatasetBuilder {
    group
        .new_dataset_builder()
        .obj_track_times(false)
        .attr_creation_order(AttrCreationOrder::Tracked)
        .char_encoding(hdf5_metno::plist::link_create::CharEncoding::Utf8)
}

/// A text as a variable-length UTF-8 value.
pub(crate) fn string(text: &str) -> Result<VarLenUnicode> {
    VarLenUnicode::from_str(text).map_err(|error| Error::Internal(format!("{text:?}: {error}")))
}

/// Adds a text attribute.
pub(crate) fn text(location: &Location, name: &str, value: &str) -> Result<()> {
    location.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&string(value)?)
}
