//! Layouts of files of fields: what a file of each says that the settings then need not say. A layout is a file here and an entry of [`ALL`].

mod layout;
mod the_well;
mod pdebench;
mod pdebench_groups;
mod netcdf;

pub(crate) use layout::Layout;

/// Every layout; the first that a file has counts.
pub(crate) const ALL: [Layout; 4] = [the_well::LAYOUT, pdebench::LAYOUT, pdebench_groups::LAYOUT, netcdf::LAYOUT];
